"""GitHub: `X-Hub-Signature-256: sha256=…`, HMAC-SHA256 in hex over the body, keyed with the text of the secret. Pure.

https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inbox.schemes import bodies, headers, keys, macs
from inbox.schemes.scheme import TOLERANCE_SECONDS, Reason, Refused, Request, Verified
from inbox.schemes.text_secret import TextSecret

SIGNATURE_HEADER = "X-Hub-Signature-256"
DELIVERY_HEADER = "X-GitHub-Delivery"
EVENT_HEADER = "X-GitHub-Event"

_SIGNATURE = re.compile(r"sha256=[0-9a-fA-F]{64}")


class GitHub(TextSecret):
    """There is no timestamp, so age cannot be judged; and only the body is signed.

    Someone who captured a request could send it again under a new delivery id: handlers of what must not happen twice
    look at the body's own ids. A hook may send JSON, or a form whose `payload` field holds the JSON; what is signed is
    the raw body either way.
    """

    name = "github"

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        live = keys.live_keys(secrets, keys.text_key)
        header = headers.required(request.headers, SIGNATURE_HEADER, _SIGNATURE)
        offered = header.removeprefix("sha256=").lower()
        delivery = headers.optional(request.headers, DELIVERY_HEADER)
        event = headers.optional(request.headers, EVENT_HEADER)
        macs.prove(live, [offered], lambda key: macs.hex_mac(key, request.body))
        payload = _payload(request)
        return Verified(
            event_id=bodies.name(delivery) or bodies.digest(request.body),
            event_type=bodies.name(event) if bodies.parsed(payload) is not None else "",
            payload=payload,
            occurred_at=None,
        )


def _payload(request: Request) -> bytes:
    match headers.media_type(request.content_type):
        case "application/json":
            return request.body
        case bodies.FORM:
            # Without the field the form itself is kept: as it is no JSON, it is seen as malformed, not as empty.
            return bodies.form_fields(request.body).get("payload", request.body)
    raise Refused(
        Reason.UNSUPPORTED_CONTENT_TYPE, "GitHub sends application/json or application/x-www-form-urlencoded."
    )
