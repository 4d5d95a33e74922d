"""Modern Treasury: `X-Signature`, HMAC-SHA256 in hex over the body, keyed with the text of the webhook key. Pure.

https://docs.moderntreasury.com/platform/reference/webhooks
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inbox.schemes import bodies, headers, keys, macs
from inbox.schemes.scheme import TOLERANCE_SECONDS, Request, Verified
from inbox.schemes.text_secret import TextSecret

SIGNATURE_HEADER = "X-Signature"
ID_HEADER = "X-Webhook-ID"
TOPIC_HEADER = "X-Topic"

_SIGNATURE = re.compile(r"[0-9a-fA-F]{64}")


class ModernTreasury(TextSecret):
    """There is no timestamp, so age is not judged. The type, `payment_order.created`, is topic and event."""

    name = "modern-treasury"

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        live = keys.live_keys(secrets, keys.text_key)
        offered = headers.required(request.headers, SIGNATURE_HEADER, _SIGNATURE).lower()
        webhook_id = bodies.name(headers.optional(request.headers, ID_HEADER))
        topic = bodies.name(headers.optional(request.headers, TOPIC_HEADER))
        macs.prove(live, [offered], lambda key: macs.hex_mac(key, request.body))
        document = bodies.parsed(request.body)
        return Verified(
            event_id=webhook_id or bodies.digest(request.body),
            event_type=_event_type(topic, document),
            payload=request.body,
            occurred_at=None,
        )


def _event_type(topic: str, document: Any) -> str:
    if document is None:
        return ""
    event = bodies.name_at(document, "event")
    return ".".join(part for part in (topic or bodies.name_at(document, "data.object"), event) if part)
