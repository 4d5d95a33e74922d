"""Turns what happened on the wire into one verdict an operator can act on. Pure: an Exchange in, an Outcome out.

A status code, once known, decides alone: whatever the body or the connection did afterwards changes nothing.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum, auto
from typing import Final
from urllib.parse import urlsplit, urlunsplit

MAX_RETRY_AFTER_SECONDS: Final = 86_400.0
"""One day, the longest wait in any shipped policy; longer values seen in the field are milliseconds or an epoch."""

MAX_LOCATION_SHOWN: Final = 300
"""Characters of a Location that a reason shows."""

_DELAY_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HTTP_DATE = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*[0-9]{2}:[0-9]{2}:[0-9]{2}.*", re.ASCII)
_PRINTABLE = re.compile(r"[!-~]+")


class Failure(StrEnum):
    """What went wrong when no status code came back. The transport says which."""

    TIMEOUT = auto()  # the attempt's total time ran out
    CONNECTION = auto()  # refused, unreachable, or reset before the body went out
    DNS = auto()  # the name did not resolve
    TLS = auto()  # no trusted encrypted connection
    UNKNOWN = auto()  # lost after the body went out: the receiver may have acted on it
    BLOCKED = auto()  # the address guard refused; nothing was sent
    INTERNAL = auto()  # our own fault: could not render, sign or build the request


class Kind(StrEnum):
    """The class of an attempt's outcome; the value is what the Attempt row and the metrics carry."""

    DELIVERED = auto()
    REDIRECT = auto()
    REJECTED = auto()
    AUTH = auto()
    GONE = auto()
    THROTTLED = auto()
    SERVER_ERROR = auto()
    TIMEOUT = auto()
    CONNECTION = auto()
    DNS = auto()
    TLS = auto()
    UNKNOWN = auto()
    BLOCKED = auto()
    INTERNAL = auto()


class Permanence(StrEnum):
    """Whether another attempt could end differently."""

    FINAL = auto()  # delivered
    PERMANENT = auto()  # the same request would fail the same way; a person has to change something
    TRANSIENT = auto()  # worth another attempt


_PERMANENT: Final = frozenset({Kind.REDIRECT, Kind.REJECTED, Kind.AUTH, Kind.GONE, Kind.BLOCKED, Kind.INTERNAL})
_NOT_THE_ENDPOINTS_FAULT: Final = frozenset({Kind.BLOCKED, Kind.INTERNAL})
_THROTTLING: Final = frozenset({408, 425, 429})
_SLOWING: Final = _THROTTLING | {502, 503, 504}


@dataclass(slots=True)
class Exchange:
    """What happened on the wire in one attempt, without a verdict. Either `status_code` or `failure` is set.

    `error` is one scrubbed sentence and never holds the URL's path or query, which are credentials for many services.
    `retry_after` and `location` are the raw header values; `snippet` is cleaned text of the answer's first bytes.
    `certificate_ends_at` is that of the receiver's TLS certificate, where a connection was opened for this request.
    """

    status_code: int | None = None
    failure: Failure | None = None
    error: str = ""
    retry_after: str | None = None
    location: str | None = None
    snippet: str = ""
    host: str = ""
    address: str = ""
    duration_ms: int = 0
    certificate_ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one attempt.

    `reason` is for an operator: what happened and what to do. `retry_after_seconds` is the receiver's wish, parsed and
    clamped. `slows_endpoint`: the whole endpoint asked for a slower pace. `blames_endpoint`: counts against its health.
    """

    kind: Kind
    reason: str
    retry_after_seconds: float | None = None
    slows_endpoint: bool = False
    blames_endpoint: bool = True

    @property
    def permanence(self) -> Permanence:
        """Whether another attempt could end differently; follows from the kind alone."""
        if self.kind is Kind.DELIVERED:
            return Permanence.FINAL
        return Permanence.PERMANENT if self.kind in _PERMANENT else Permanence.TRANSIENT


def judge(exchange: Exchange, *, now: datetime) -> Outcome:
    """Return the verdict on an attempt. `now` (aware) is what a Retry-After date is measured against."""
    if exchange.status_code is None:
        return _judge_failure(exchange)
    if 200 <= exchange.status_code <= 299:
        return Outcome(Kind.DELIVERED, f"Delivered: answered {exchange.status_code}.", blames_endpoint=False)
    return _judge_refusal(exchange, exchange.status_code, now)


def parse_retry_after(raw: str | None, now: datetime) -> float | None:
    """Return the seconds a Retry-After asks to wait, 0 to MAX_RETRY_AFTER_SECONDS, or None when it is not usable.

    Seconds or an HTTP date (RFC 9110, 10.2.3); fractions too, which some services send. A date in the past asks for no
    wait. Negative numbers, durations such as `1m0s`, `NaN` and other nonsense are ignored. `now` is aware.
    """
    text = (raw or "").strip()
    if _DELAY_SECONDS.fullmatch(text):
        return min(float(text), MAX_RETRY_AFTER_SECONDS)
    date = _http_date(text)
    if date is None:
        return None
    return min(max((date - now).total_seconds(), 0.0), MAX_RETRY_AFTER_SECONDS)


def _http_date(text: str) -> datetime | None:
    # The email parser alone is too kind: it finds a date in texts that are none, hence the shape first.
    if not _HTTP_DATE.fullmatch(text):
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _judge_failure(exchange: Exchange) -> Outcome:
    failure = exchange.failure or Failure.UNKNOWN
    kind = Kind(failure.value)
    error = exchange.error.strip().rstrip(".")
    reason = _FAILURE_REASONS[failure] + (f" ({error})" if error else "") + "."
    return Outcome(kind, reason, blames_endpoint=kind not in _NOT_THE_ENDPOINTS_FAULT)


def _judge_refusal(exchange: Exchange, status: int, now: datetime) -> Outcome:
    kind = _kind_of_refusal(status)
    transient = kind in (Kind.THROTTLED, Kind.SERVER_ERROR)
    return Outcome(
        kind,
        _redirect_reason(exchange, status) if kind is Kind.REDIRECT else _status_reason(kind, status),
        retry_after_seconds=parse_retry_after(exchange.retry_after, now) if transient else None,
        slows_endpoint=status in _SLOWING,
    )


def _kind_of_refusal(status: int) -> Kind:
    if status in _THROTTLING:
        return Kind.THROTTLED
    if status in (401, 403):
        return Kind.AUTH
    if status == 410:
        return Kind.GONE
    if 300 <= status <= 399:
        return Kind.REDIRECT
    # A status outside 100-599 is to be processed as a 5xx (RFC 9110, 15); so is a 1xx, which cannot end an exchange.
    return Kind.REJECTED if 400 <= status <= 499 else Kind.SERVER_ERROR


def _status_reason(kind: Kind, status: int) -> str:
    advice = _STATUS_REASONS.get(status) or _KIND_REASONS[kind]
    return f"Answered {status}: {advice}."


def _redirect_reason(exchange: Exchange, status: int) -> str:
    return (
        f"Answered {status} with a redirect{_whereto(exchange.location)}, which is never followed: "
        "save the final URL as the endpoint's URL, then redrive."
    )


def _whereto(location: str | None) -> str:
    """Name the Location without its user, query and fragment, where credentials travel: reasons reach logs and mail."""
    if not location:
        return " that names no Location"
    try:
        parts = urlsplit(location)
    except ValueError:
        return " to an unreadable Location"
    host = parts.netloc.rpartition("@")[2]
    plain = urlunsplit((parts.scheme, host, parts.path, "", ""))
    if not _PRINTABLE.fullmatch(plain):
        return " to an unreadable Location"
    hidden = "?…" if parts.query else ""
    return f" to {plain[:MAX_LOCATION_SHOWN]}{hidden}"


_KIND_REASONS: Final = {
    Kind.REJECTED: "the endpoint refuses this request and would again; compare its answer with what it expects",
    Kind.AUTH: "the endpoint refused the signature or credentials; check for a rotated secret or a changed endpoint, "
    "then redrive",
    Kind.GONE: "the endpoint says it is gone for good; it is disabled until its owner enables it again",
    Kind.THROTTLED: "the endpoint asks for a slower pace; it is sent less and this delivery waits longer",
    Kind.SERVER_ERROR: "the endpoint failed on its side; it is tried again",
}

_STATUS_REASONS: Final = {
    404: "nothing is served at the endpoint's URL; check its path, then redrive",
    405: "the endpoint's URL does not take POST; check its path, then redrive",
    408: "the endpoint gave up waiting for the request; it is sent less and this delivery waits longer",
    413: "the body is larger than the endpoint takes and a retry sends the same; raise its limit or publish less data",
    415: "the endpoint does not take application/json; let it accept that content type, then redrive",
    502: "a gateway in front of the endpoint got no good answer from it; it is sent less and tried again",
    503: "the endpoint is unavailable for now; it is sent less and tried again",
    504: "a gateway in front of the endpoint waited too long for it; it is sent less and tried again",
}

_FAILURE_REASONS: Final = {
    Failure.TIMEOUT: "No answer within the endpoint's timeout; tried again",
    Failure.CONNECTION: "Could not connect to the endpoint, or it hung up before the request was sent; tried again",
    Failure.DNS: "The endpoint's host name did not resolve; check its spelling and DNS if this goes on",
    Failure.TLS: "No trusted TLS connection; check the endpoint's certificate, its name, dates and issuer",
    Failure.UNKNOWN: "The connection was lost after the request went out: it may have been processed, so it is sent "
    "again with the same id",
    Failure.BLOCKED: "Not sent: the endpoint's address may not be dialled; give it a public URL, or allow its network",
    Failure.INTERNAL: "Not sent: Holdfast could not build the request; the fault is ours, not the endpoint's",
}
