"""Checks signatures in bulk, long after the answers went out, with an implementation that is not Holdfast's."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hmac import compare_digest

from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from demo.receiver.records import Record

TOLERANCE_SECONDS = 300
"""How far webhook-timestamp may be from the arrival; the tolerance of the Standard Webhooks libraries."""


def fault(record: Record, hooks: Iterable[Webhook]) -> str | None:
    """Why a request is not authentic: 'unsigned', 'stale', 'bad_signature'; None when it is."""
    headers = record.head.headers
    try:
        message_id, signatures = headers["webhook-id"], headers["webhook-signature"]
        timestamp = int(headers["webhook-timestamp"])
    except (KeyError, ValueError):
        return "unsigned"
    if abs(record.arrived_wall - timestamp) > TOLERANCE_SECONDS:
        return "stale"
    offered = [
        value for version, _, value in (part.partition(",") for part in signatures.split(" ")) if version == "v1"
    ]
    return (
        None
        if any(_signed_by(hook, message_id, timestamp, record.body, offered) for hook in hooks)
        else "bad_signature"
    )


def _signed_by(hook: Webhook, message_id: str, timestamp: int, body: bytes, offered: list[str]) -> bool:
    try:
        signed = hook.sign(message_id, datetime.fromtimestamp(timestamp, UTC), body.decode())
        expected = base64.b64decode(signed.partition(",")[2])
        return any(compare_digest(expected, base64.b64decode(value, validate=True)) for value in offered)
    except (UnicodeDecodeError, binascii.Error, OverflowError):
        return False


@dataclass(slots=True)
class Verifier:
    """The secrets by name, and what came of the requests checked so far.

    A secret under a name checks every path that ends in ``/<name>``; paths without one count as ``no_secret``.
    """

    hooks: dict[str, list[Webhook]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    faulty: list[dict[str, object]] = field(default_factory=list)
    checked_up_to: int = 0

    def set(self, name: str, secrets: Iterable[str]) -> None:
        """Replace the secrets of a name (any of them may sign); raises ValueError. Everything is checked anew."""
        try:
            hooks = [Webhook(secret) for secret in secrets]
        except EmptyWebhookSecretError as error:
            raise ValueError(str(error)) from None
        if not hooks:
            raise ValueError("at least one secret is needed")
        self.hooks[name] = hooks
        self.forget()

    def forget(self) -> None:
        """Drop the counts, keep the secrets."""
        self.counts, self.faulty, self.checked_up_to = {}, [], 0

    def check(self, records: Iterable[Record]) -> dict[str, object]:
        """Check what was not checked yet and give the figures of all."""
        for record in records:
            if record.number > self.checked_up_to:
                self._check(record)
                self.checked_up_to = record.number
        return self.figures()

    def figures(self) -> dict[str, object]:
        """What came of the checks so far; ``bad_signatures`` and ``unsigned`` are what a test asserts to be 0."""
        counts = self.counts
        return {
            "checked": sum(counts.values()),
            "good": counts.get("good", 0),
            "bad_signatures": counts.get("bad_signature", 0),
            "unsigned": counts.get("unsigned", 0),
            "stale": counts.get("stale", 0),
            "no_secret": counts.get("no_secret", 0),
            "faulty": self.faulty,
        }

    def _check(self, record: Record) -> None:
        hooks = self.hooks.get(record.route.path.rpartition("/")[2])
        verdict = "no_secret" if hooks is None else fault(record, hooks) or "good"
        self.counts[verdict] = self.counts.get(verdict, 0) + 1
        if hooks is not None and verdict != "good" and len(self.faulty) < 20:
            self.faulty.append({"n": record.number, "path": record.route.path, "fault": verdict})
