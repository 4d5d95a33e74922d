"""Slack: `X-Slack-Signature: v0=…`, HMAC-SHA256 in hex over `v0:{timestamp}:{body}`, keyed with a secret's text. Pure.

https://docs.slack.dev/authentication/verifying-requests-from-slack
https://docs.slack.dev/apis/events-api
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from inbox.schemes import bodies, headers, keys, macs
from inbox.schemes.freshness import UNIX_SECONDS, check_age
from inbox.schemes.scheme import TOLERANCE_SECONDS, Request, Verified
from inbox.schemes.text_secret import TextSecret

SIGNATURE_HEADER = "X-Slack-Signature"
TIMESTAMP_HEADER = "X-Slack-Request-Timestamp"

_SIGNATURE = re.compile(r"v0=[0-9a-fA-F]{64}")


class Slack(TextSecret):
    """Events API, interactive components (a form whose `payload` field holds JSON) and slash commands (a plain form).

    The `url_verification` request that Slack sends once, when a URL is entered, comes out as an event of that type; its
    `challenge` stands in the payload and has to be in the answer.
    """

    name = "slack"

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
        timestamp = headers.required(request.headers, TIMESTAMP_HEADER, UNIX_SECONDS)
        check_age(int(timestamp), request.received_at, tolerance_seconds)
        signed = b"v0:" + timestamp.encode() + b":" + request.body
        macs.prove(live, [offered], lambda key: b"v0=" + macs.hex_mac(key, signed))
        return _verified(request)


def _verified(request: Request) -> Verified:
    payload = _payload(request)
    document = bodies.parsed(payload)
    return Verified(
        event_id=bodies.name_at(document, "event_id") or bodies.digest(request.body),
        event_type=_event_type(document),
        payload=payload,
        occurred_at=bodies.unix_seconds(bodies.at(document, "event_time")),
    )


def _payload(request: Request) -> bytes:
    if headers.media_type(request.content_type) != bodies.FORM:
        return request.body
    fields = bodies.form_fields(request.body)
    if "command" in fields:
        return json.dumps({name: value.decode(errors="replace") for name, value in fields.items()}).encode()
    return fields.get("payload", request.body)


def _event_type(document: Any) -> str:
    """`message` rather than the envelope's `event_callback`; other envelopes (`block_actions`, …) name themselves."""
    if bodies.at(document, "type") == "event_callback":
        return bodies.name_at(document, "event.type")
    return bodies.name_at(document, "type") or ("slash_commands" if bodies.at(document, "command") else "")
