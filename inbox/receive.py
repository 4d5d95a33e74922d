"""The door: prove, store once, ring, answer. Nothing in a request is believed before it is proven.

What cannot be proven is refused and only counted. What is proven is answered with 200 once it is stored, whatever it
says: its sender can do nothing about what we make of it.
"""

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from inbox import dispatch, lines
from inbox.accounts import Account
from inbox.key_fetchers import FetcherUnusable, with_fetcher
from inbox.refusals import SIGNATURE_REASONS, count_refusal
from inbox.replies import reply
from inbox.schemes import SCHEMES, Reason, Refused, Request, Verified, bodies
from inbox.transitions.arrive import Arrival, Stored, arrive, arrive_poisoned
from vault.errors import UndecryptableValue

logger = logging.getLogger(__name__)

# In headers of webhooks these words mark a credential, which is not ours to keep.
_SECRET_HEADER = re.compile(r"auth|cookie|token|secret|password|credential|api-?key", re.IGNORECASE)
MAX_HEADERS = 64
MAX_HEADER_CHARACTERS = 1000

_STATUSES = {Reason.UNSUPPORTED_CONTENT_TYPE: 415, Reason.KEY_UNAVAILABLE: 503}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the provider reads: a status and a few words, which give nothing away."""

    status: int
    text: str = ""


def receive(account: Account, request: Request) -> Answer:
    """Take one request to a source that is enabled."""
    try:
        verified = _verify(account, request)
    except Refused as refusal:
        return _refused(account, refusal)
    except UndecryptableValue as error:
        count_refusal(account.id, "unreadable-secret")
        _tell_refusal(account, 503, "unreadable-secret", level=logging.ERROR, why=str(error))
        return Answer(503, "unavailable")
    return _store(account, request, verified)


def refuse(account: Account | None, status: int, reason: str) -> Answer:
    """Turn a request away that is not even looked at, and count it."""
    count_refusal(account.id if account else None, reason)
    _tell_refusal(account, status, reason)
    return Answer(status, reason)


def _refused(account: Account, refusal: Refused) -> Answer:
    count_refusal(account.id, refusal.reason, refusal.fingerprints)
    status = _STATUSES.get(refusal.reason, 401)
    level = logging.WARNING if refusal.reason in SIGNATURE_REASONS else logging.INFO
    _tell_refusal(account, status, refusal.reason, level=level, why=refusal.sentence, keys=refusal.fingerprints)
    return Answer(status, refusal.reason)


def _tell_refusal(
    account: Account | None,
    status: int,
    refusal: str,
    *,
    level: int = logging.INFO,
    why: str | None = None,
    keys: Sequence[str] = (),
) -> None:
    # The name of a source that does not exist is a stranger's text.
    facts = {
        "source": account.slug if account else None,
        "status_code": status,
        "refusal": refusal,
        "reason": why,
        "key_fingerprints": list(keys) or None,
    }
    lines.REQUEST_REFUSED.say(facts, level=level)


def _verify(account: Account, request: Request) -> Verified:
    scheme = SCHEMES.get(account.scheme)
    if scheme is None:
        raise Refused(Reason.BAD_OPTIONS, f"There is no scheme {account.scheme}.")
    secrets = account.secrets()
    if scheme.needs_secret and not secrets:
        raise Refused(Reason.NO_SECRET, "No secret is configured, so nothing can be verified.")
    try:
        options = with_fetcher(account.options)
        return scheme.verify(request, secrets, options, tolerance_seconds=account.tolerance_seconds)
    except Refused:
        raise
    except FetcherUnusable as error:
        raise Refused(Reason.BAD_OPTIONS, str(error)) from None
    except Exception:
        # Whatever a stranger's headers make of a scheme, it must not look like our fault from outside.
        logger.exception("%s: scheme %s failed", account.slug, account.scheme)
        raise Refused(Reason.MALFORMED_HEADER, "The request could not be verified.") from None


def _store(account: Account, request: Request, verified: Verified) -> Answer:
    document, fault = _parsed(verified.payload)
    arrival = Arrival(
        source_id=account.id,
        event_id=verified.event_id,
        type=verified.event_type,
        body=request.body,
        payload=None if verified.payload == request.body else verified.payload,
        content_type=_storable(request.content_type)[:255],
        headers=kept_headers(request.headers),
        fingerprint=hashlib.sha256(request.body).hexdigest(),
        occurred_at=_moment(verified.occurred_at),
        ordering_key=bodies.name_at(document, account.ordering_path) if account.ordering_path else "",
    )
    stored = arrive_poisoned(arrival, fault) if fault else arrive(arrival)
    _tell(account, arrival, stored, fault)
    if stored.is_new and not fault:
        dispatch.wake([account.id])
    return Answer(200, reply(account.scheme, verified.event_type, document))


def _tell(account: Account, arrival: Arrival, stored: Stored, fault: str) -> None:
    # Another body is answered like any repeat: refusing it would make a genuine sender try again for days, and then
    # give up on us. The first one is kept.
    level = logging.WARNING if stored.has_other_body else logging.ERROR if fault and stored.is_new else logging.INFO
    facts = {
        "source": account.slug,
        "event_id": arrival.event_id,
        "event_type": arrival.type or None,
        "received_id": stored.id,
        "body_bytes": len(arrival.body),
        "body_fingerprint": arrival.fingerprint[:12],
        "is_repeat": not stored.is_new,
        "has_other_body": stored.has_other_body,
        "fault": fault or None,
    }
    lines.EVENT_RECEIVED.say(facts, level=level)


def _parsed(payload: bytes) -> tuple[Any, str]:
    """The document, and what is wrong with it."""
    try:
        return json.loads(payload), ""
    except (ValueError, RecursionError) as error:
        position = f" at byte {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        return None, f"The signature is good, but the payload is no JSON{position}."


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """What is stored of the headers: lower-case names, no credentials, nothing endless."""
    kept = [(name.lower(), value) for name, value in headers.items() if not _SECRET_HEADER.search(name)]
    return {_storable(name): _storable(value)[:MAX_HEADER_CHARACTERS] for name, value in kept[:MAX_HEADERS]}


def _storable(text: str) -> str:
    """PostgreSQL cannot store NUL, and UTF-8 no lone surrogate."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
