"""The health of an endpoint: figures of the last hour in, a score and a verdict out. Pure.

Our own faults never count against an endpoint; an absolute number of failures never does, as a busy endpoint that is
mostly well has many; and few samples prove nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Final

from endpoints.thresholds import Thresholds

RULE: Final = "rule: health"
"""Who disables an endpoint by a verdict, in the ledger of its states."""

NOT_ITS_FAULT: Final = frozenset({"blocked", "internal"})
"""Outcomes that are not counted: the endpoint had no part in them."""

UNANSWERED: Final = frozenset({"timeout", "connection", "dns", "tls", "unknown"})
"""Outcomes without an answer: where they strike many endpoints at once, the network at fault may be ours."""

SILENT_HOUR_SAMPLES: Final = 8
SILENT_HOUR_MINUTES: Final = 50
"""An open circuit lets out about ten probes an hour, so a dead endpoint makes few samples. When all of them failed and
they span nearly the whole hour, these few are enough."""

AUTH_SPIKE_SAMPLES: Final = 10
AUTH_SPIKE_SHARE: Final = 0.2
"""A spike: so many refused credentials lately, and so large a share of the attempts of that time."""

OURS_AT_LEAST: Final = 3
OURS_SHARE: Final = 0.5
"""When so many endpoints, and this share of all, fail at once without an answer, the fault is taken for ours."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one hour of attempts came to.

    `failed` counts by outcome class; `recently_delivered` and `recently_failed` cover the last `silent_minutes`;
    `minutes_active` says how long ago the first attempt of the hour was, as an endpoint that only just began has not
    been silent for long. `is_certificate_over`: the TLS certificate that was last seen there is not valid any more.
    """

    delivered: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    recently_delivered: int = 0
    minutes_active: float = 60
    recently_failed: Mapping[str, int] = field(default_factory=dict)
    is_certificate_over: bool = False

    @property
    def blamed(self) -> int:
        """Failures that count against the endpoint."""
        return sum(count for kind, count in self.failed.items() if kind not in NOT_ITS_FAULT)

    @property
    def samples(self) -> int:
        return self.delivered + self.blamed

    @property
    def success_rate(self) -> float | None:
        """Share of attempts that were acknowledged, our own faults left out; None without any."""
        return self.delivered / self.samples if self.samples else None

    @property
    def is_unanswered(self) -> bool:
        """Whether nearly all failures that count came without an answer."""
        return sum(self.failed.get(kind, 0) for kind in UNANSWERED) >= _SIGN_SHARE * self.blamed > 0


class Level(StrEnum):
    """How an endpoint does."""

    UNKNOWN = auto()  # too few attempts to say
    HEALTHY = auto()
    WARNING = auto()
    FAILING = auto()  # to be disabled


class Sign(StrEnum):
    """What the failures look like, where they look alike."""

    NONE = auto()
    AUTH = auto()  # refused credentials at an endpoint that answers: a rotated secret or a changed endpoint
    TIMEOUTS = auto()
    TLS = auto()
    CERTIFICATE = auto()  # TLS, and the certificate known of it has ended
    DNS = auto()
    THROTTLING = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The level, a score from 0 to 100 (None when unknown), the sign, and a sentence for its owner."""

    level: Level
    score: int | None
    sign: Sign
    reason: str


_SIGNS: Final = {
    "auth": Sign.AUTH,
    "timeout": Sign.TIMEOUTS,
    "tls": Sign.TLS,
    "dns": Sign.DNS,
    "throttled": Sign.THROTTLING,
}
_SIGN_SHARE: Final = 0.8
"""Share of the failures that must be of one class for it to be the sign."""

_ADVICE: Final = {
    Sign.AUTH: "Most failures are 401 or 403: check for a rotated secret or a changed endpoint.",
    Sign.TIMEOUTS: "Nearly all failures are timeouts: the endpoint answers too slowly, or not at all.",
    Sign.TLS: "Nearly all failures are TLS: check the certificate's dates, name and issuer.",
    Sign.CERTIFICATE: "Nearly all failures are TLS, and the certificate last seen there has expired: renew it.",
    Sign.DNS: "Nearly all failures are DNS: the host name does not resolve any more.",
    Sign.THROTTLING: "Nearly all failures are 429: the endpoint wants fewer requests; set a rate limit.",
    Sign.NONE: "The failures are of several kinds; the attempts show them.",
}


def judge(record: Record, thresholds: Thresholds, before: Level = Level.UNKNOWN) -> Verdict:
    """Return the verdict on one hour. `before` is the last level: whoever was warned recovers a little later.

    Disabling needs more than a low rate: enough samples, and no success in the last stretch, so that an endpoint that
    has just recovered is let be.
    """
    rate = record.success_rate
    if rate is None or record.samples < _samples_needed(record, thresholds):
        return Verdict(Level.UNKNOWN, None, Sign.NONE, f"Only {record.samples} attempts in the last hour.")
    score, sign = round(100 * rate), _sign(record)
    share = f"{rate:.1%} of {record.samples:,} attempts succeeded in the last hour."
    if rate < thresholds.disable_below and _is_silent(record, thresholds):
        silence = f"None did in the last {thresholds.silent_minutes:g} minutes."
        return Verdict(Level.FAILING, score, sign, f"{share} {silence} {_ADVICE[sign]}")
    if rate < (thresholds.recover_from if before is Level.WARNING else thresholds.warn_below):
        return Verdict(Level.WARNING, score, sign, f"{share} {_ADVICE[sign]}")
    return Verdict(Level.HEALTHY, score, Sign.NONE, share)


def is_auth_spike(record: Record, thresholds: Thresholds) -> bool:
    """Whether an endpoint that is well otherwise has lately begun to refuse credentials."""
    auth = record.recently_failed.get("auth", 0)
    recent = record.recently_delivered + sum(
        count for kind, count in record.recently_failed.items() if kind not in NOT_ITS_FAULT
    )
    other = record.blamed - record.failed.get("auth", 0)
    is_well_otherwise = other <= (1 - thresholds.warn_below) * record.samples
    return auth >= AUTH_SPIKE_SAMPLES and auth >= AUTH_SPIKE_SHARE * recent and is_well_otherwise


def is_our_fault(judged: Iterable[tuple[Record, Verdict]]) -> bool:
    """Whether so many endpoints fail at once without an answer that the network at fault must be ours."""
    known = [(record, verdict) for record, verdict in judged if verdict.level is not Level.UNKNOWN]
    silent = sum(verdict.level is Level.FAILING and record.is_unanswered for record, verdict in known)
    return silent >= OURS_AT_LEAST and silent >= OURS_SHARE * len(known)


def _samples_needed(record: Record, thresholds: Thresholds) -> float:
    if record.delivered == 0 and record.minutes_active >= SILENT_HOUR_MINUTES:
        return min(thresholds.least_samples, SILENT_HOUR_SAMPLES)
    return thresholds.least_samples


def _is_silent(record: Record, thresholds: Thresholds) -> bool:
    return record.recently_delivered == 0 and record.minutes_active >= thresholds.silent_minutes


def _sign(record: Record) -> Sign:
    blamed = {kind: count for kind, count in record.failed.items() if kind not in NOT_ITS_FAULT and count}
    if not blamed:
        return Sign.NONE
    kind, count = max(blamed.items(), key=lambda pair: pair[1])
    if count < _SIGN_SHARE * record.blamed:
        return Sign.NONE
    sign = _SIGNS.get(kind, Sign.NONE)
    return Sign.CERTIFICATE if sign is Sign.TLS and record.is_certificate_over else sign
