"""What every scheme is given, what it answers, and how it refuses. Pure: no Django, no HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

TOLERANCE_SECONDS = 300
"""Five minutes in both directions: what Standard Webhooks, Stripe, Slack and Plaid all recommend or enforce."""


class Reason(StrEnum):
    """Why a request was refused; the value is what rows, logs and metrics carry."""

    MISSING_HEADER = "missing-header"  # a header the scheme needs is not there
    MALFORMED_HEADER = (
        "malformed-header"  # it is there, but is not what the scheme prescribes, or came twice and differs
    )
    NO_SIGNATURE = "no-signature"  # the body should carry its own signature, and does not
    STALE = "stale"  # signed too long before it arrived, or after
    BAD_SIGNATURE = "bad-signature"  # well formed, but made with no key of ours over these bytes
    NO_SECRET = "no-secret"  # nothing to verify with: our configuration
    MALFORMED_SECRET = "malformed-secret"  # a secret that cannot be a key of this scheme: our configuration
    BAD_OPTIONS = "bad-options"  # the scheme's options make no sense: our configuration
    UNSUPPORTED_CONTENT_TYPE = "unsupported-content-type"  # proven, but in a form that the provider does not send
    UNKNOWN_KEY = "unknown-key"  # it names a key that the provider does not know
    KEY_UNAVAILABLE = "key-unavailable"  # the provider could not be asked for the key just now; a retry may pass


class Refused(Exception):
    """The request is not proven to come from the provider, so nothing in it may be believed or stored as an event.

    `reason` is a short id, `sentence` says it to an operator, `fingerprints` names the keys that were tried and gives
    nothing of them away. Neither holds any text of the request or of a secret.
    """

    def __init__(self, reason: Reason, sentence: str, fingerprints: tuple[str, ...] = ()) -> None:
        tried = f" Tried keys: {', '.join(fingerprints)}." if fingerprints else ""
        super().__init__(sentence + tried)
        self.reason = reason
        self.sentence = sentence
        self.fingerprints = fingerprints


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came off the wire."""

    headers: Mapping[str, str]
    """Names in any case; every scheme looks them up whatever their case."""
    body: bytes
    """Exactly the bytes received; parsing and writing them again would break every signature."""
    content_type: str
    received_at: float
    """When it arrived, in Unix seconds. Ages are judged against this, never against the time of a later job."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a proven request says about itself."""

    event_id: str
    """The key to deduplicate on, 1 to 255 printable characters: the provider's, or else the SHA-256 of the body."""
    event_type: str
    """In the provider's own words; empty when there is none, and always when `payload` is not JSON."""
    payload: bytes
    """The JSON text for handlers: the body, or the part of a form that holds the JSON."""
    occurred_at: float | None
    """When it happened at the provider, in Unix seconds, where the provider says so."""


class Scheme(Protocol):
    """One provider's rules. Stateless: secrets and options belong to the source and come with every call."""

    @property
    def name(self) -> str: ...

    @property
    def needs_secret(self) -> bool:
        """Whether a source without a stored secret must refuse everything. False where keys come from elsewhere."""

    def options_faults(self, options: Mapping[str, Any]) -> dict[str, str]:
        """A sentence for each option that makes no sense; empty when all is well."""

    def secret_fault(self, secret: str) -> str | None:
        """Why this text cannot be a secret of the scheme, without quoting it; None when it can."""

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        """Prove the request with any one of the live secrets, before anything in it is parsed.

        Raises Refused, and nothing else, whatever headers and body hold.
        """
