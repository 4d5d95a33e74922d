"""A sender for each scheme: the provider's own library signs wherever there is one, so that we check only our half."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jwt
import standardwebhooks
import stripe
from Adyen.util import generate_payload_sig  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from modern_treasury import ModernTreasury
from slack_sdk.signature import SignatureVerifier

from inbox.schemes import SCHEMES, Request, Verified

NOW = 1_760_000_000

SHARED_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
STRIPE_SECRET = "whsec_4eC39HqLyjWDarjtT1zdp7dc"
TEXT_SECRET = "It's a Secret to Everybody"
ADYEN_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"

ED25519_KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = "whpk_" + base64.b64encode(ED25519_KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

PLAID_KEY_ID = "bfbd5111-8e33-4643-8ced-b2e642a72f3c"
PLAID_KEY = ec.derive_private_key(0x5EED, ec.SECP256R1())
PLAID_JWK = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(PLAID_KEY.public_key())) | {"kid": PLAID_KEY_ID, "use": "sig"}

GENERIC_OPTIONS = {
    "header": "X-Signature",
    "algorithm": "sha512",
    "encoding": "base64",
    "prefix": "sig ",
    "timestamp_header": "X-Timestamp",
    "template": "{timestamp}.{body}",
    "id_path": "meta.id",
    "type_path": "meta.kind",
}

_modern_treasury = ModernTreasury(api_key="none", organization_id="none")


@dataclass(frozen=True)
class Sender:
    """Signs any body at any time; `headers` uses the spelling of the provider's documentation."""

    name: str
    scheme: str
    secrets: tuple[str, ...]
    another_secret: str
    signature_header: str
    headers: Callable[[bytes, int], dict[str, str]]
    options: Mapping[str, Any] = field(default_factory=dict)
    has_age: bool = True
    content_type: str = "application/json"

    def request(self, body: bytes, *, sent_at: int = NOW, received_at: float = NOW) -> Request:
        return Request(self.headers(body, sent_at), body, self.content_type, received_at)

    def check(self, request: Request, **changes: Any) -> Verified:
        given = {"secrets": self.secrets, "options": self.options} | changes
        return SCHEMES[self.scheme].verify(request, given["secrets"], given["options"])


def standard_headers(body: bytes, sent_at: int) -> dict[str, str]:
    moment = datetime.fromtimestamp(sent_at, UTC)
    signature = standardwebhooks.Webhook(SHARED_SECRET).sign("msg_1", moment, body.decode())
    return {"webhook-id": "msg_1", "webhook-timestamp": str(sent_at), "webhook-signature": signature}


def ed25519_headers(body: bytes, sent_at: int) -> dict[str, str]:
    signature = ED25519_KEY.sign(f"msg_1.{sent_at}.".encode() + body)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(sent_at),
        "webhook-signature": "v1a," + base64.b64encode(signature).decode(),
    }


def stripe_headers(body: bytes, sent_at: int) -> dict[str, str]:
    header = stripe.WebhookSignature.generate_signature_header(body.decode(), STRIPE_SECRET, sent_at)
    return {"Stripe-Signature": header}


def github_headers(body: bytes, sent_at: int) -> dict[str, str]:
    signature = hmac.new(TEXT_SECRET.encode(), body, hashlib.sha256).hexdigest()
    delivery = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    return {"X-GitHub-Delivery": delivery, "X-GitHub-Event": "issues", "X-Hub-Signature-256": "sha256=" + signature}


def slack_headers(body: bytes, sent_at: int) -> dict[str, str]:
    signature = SignatureVerifier(TEXT_SECRET).generate_signature(timestamp=str(sent_at), body=body)
    return {"X-Slack-Request-Timestamp": str(sent_at), "X-Slack-Signature": signature}


def shopify_headers(body: bytes, sent_at: int) -> dict[str, str]:
    mac = hmac.new(TEXT_SECRET.encode(), body, hashlib.sha256).digest()
    return {
        "X-Shopify-Topic": "orders/create",
        "X-Shopify-Hmac-Sha256": base64.b64encode(mac).decode(),
        "X-Shopify-Webhook-Id": "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
        "X-Shopify-Event-Id": "98880550-7158-44d4-b7cd-2c97c8a091b5",
        "X-Shopify-Triggered-At": "2023-03-29T18:00:27.877041743Z",
    }


def modern_treasury_headers(body: bytes, sent_at: int) -> dict[str, str]:
    signature = _modern_treasury.webhooks.get_signature(body.decode(), key=TEXT_SECRET)
    return {"X-Signature": signature, "X-Webhook-ID": "9d7e1f4c", "X-Topic": "payment_order"}


def adyen_headers(body: bytes, sent_at: int) -> dict[str, str]:
    return {"HmacSignature": generate_payload_sig(body, ADYEN_KEY).decode(), "Protocol": "HmacSHA256"}


def plaid_headers(body: bytes, sent_at: int, **changes: Any) -> dict[str, str]:
    claims = {"iat": sent_at, "request_body_sha256": hashlib.sha256(body).hexdigest()} | changes
    token = jwt.encode(claims, PLAID_KEY, algorithm="ES256", headers={"kid": PLAID_KEY_ID})
    return {"Plaid-Verification": token}


def generic_headers(body: bytes, sent_at: int) -> dict[str, str]:
    mac = hmac.new(TEXT_SECRET.encode(), f"{sent_at}.".encode() + body, hashlib.sha512).digest()
    return {"X-Signature": "sig " + base64.b64encode(mac).decode(), "X-Timestamp": str(sent_at)}


OTHER_SHARED = "whsec_" + base64.b64encode(bytes(32)).decode()
OTHER_PUBLIC = "whpk_" + base64.b64encode(bytes(31) + b"\x01").decode()
OTHER_TEXT = "another secret, also long enough"

STANDARD = Sender(
    "standard", "standard-webhooks", (SHARED_SECRET,), OTHER_SHARED, "webhook-signature", standard_headers
)
ED25519 = Sender("ed25519", "standard-webhooks", (PUBLIC_KEY,), OTHER_PUBLIC, "webhook-signature", ed25519_headers)
STRIPE = Sender("stripe", "stripe", (STRIPE_SECRET,), "whsec_" + "x" * 32, "Stripe-Signature", stripe_headers)
GITHUB = Sender("github", "github", (TEXT_SECRET,), OTHER_TEXT, "X-Hub-Signature-256", github_headers, has_age=False)
SLACK = Sender("slack", "slack", (TEXT_SECRET,), OTHER_TEXT, "X-Slack-Signature", slack_headers)
SHOPIFY = Sender(
    "shopify", "shopify", (TEXT_SECRET,), OTHER_TEXT, "X-Shopify-Hmac-Sha256", shopify_headers, has_age=False
)
MODERN_TREASURY = Sender(
    "modern-treasury",
    "modern-treasury",
    (TEXT_SECRET,),
    OTHER_TEXT,
    "X-Signature",
    modern_treasury_headers,
    has_age=False,
)
ADYEN = Sender("adyen", "adyen", (ADYEN_KEY,), "ab" * 32, "HmacSignature", adyen_headers, has_age=False)
PLAID = Sender(
    "plaid",
    "plaid",
    (),
    "",
    "Plaid-Verification",
    plaid_headers,
    options={"key_fetcher": {PLAID_KEY_ID: PLAID_JWK}.get},
)
GENERIC = Sender(
    "generic", "generic-hmac", (TEXT_SECRET,), OTHER_TEXT, "X-Signature", generic_headers, options=GENERIC_OPTIONS
)

SENDERS = (STANDARD, ED25519, STRIPE, GITHUB, SLACK, SHOPIFY, MODERN_TREASURY, ADYEN, PLAID, GENERIC)
KEYED = tuple(sender for sender in SENDERS if sender.secrets)
AGED = tuple(sender for sender in SENDERS if sender.has_age)
