"""Shopify: `X-Shopify-Hmac-Sha256`, HMAC-SHA256 in base64 over the body, keyed with the app's client secret. Pure.

https://shopify.dev/docs/apps/build/webhooks/subscribe/https
https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inbox.schemes import bodies, headers, keys, macs
from inbox.schemes.scheme import TOLERANCE_SECONDS, Request, Verified
from inbox.schemes.text_secret import TextSecret

SIGNATURE_HEADER = "X-Shopify-Hmac-Sha256"
EVENT_ID_HEADER = "X-Shopify-Event-Id"
WEBHOOK_ID_HEADER = "X-Shopify-Webhook-Id"
TOPIC_HEADER = "X-Shopify-Topic"
TRIGGERED_AT_HEADER = "X-Shopify-Triggered-At"

_SIGNATURE = re.compile(r"[A-Za-z0-9+/]{43}=")


class Shopify(TextSecret):
    """Only the body is signed. `X-Shopify-Triggered-At` stays the same over hours of retries, so age is not judged."""

    name = "shopify"

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        live = keys.live_keys(secrets, keys.text_key)
        offered = headers.required(request.headers, SIGNATURE_HEADER, _SIGNATURE)
        topic = bodies.name(headers.optional(request.headers, TOPIC_HEADER))
        event_id = _event_id(request.headers, topic)
        macs.prove(live, [offered], lambda key: macs.base64_mac(key, request.body))
        return Verified(
            event_id=event_id or bodies.digest(request.body),
            event_type=topic if bodies.parsed(request.body) is not None else "",
            payload=request.body,
            occurred_at=bodies.unix_seconds(headers.optional(request.headers, TRIGGERED_AT_HEADER)),
        )


def _event_id(received: Mapping[str, str], topic: str) -> str:
    """The event's id with its topic, else the delivery's.

    Shopify names the event id as the key to deduplicate on. What one click of a merchant sets off may ring several
    topics under one event id; with the topic in the key none of them passes for a duplicate of another.
    """
    event_id = bodies.name(headers.optional(received, EVENT_ID_HEADER))
    if event_id:
        return bodies.name(f"{event_id}:{topic}")
    return bodies.name(headers.optional(received, WEBHOOK_ID_HEADER))
