"""The outcome table, row by row, over every status code a receiver can send and some it cannot."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deliveries.outcomes import (
    MAX_RETRY_AFTER_SECONDS,
    Exchange,
    Failure,
    Kind,
    Outcome,
    Permanence,
    judge,
    parse_retry_after,
)

NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)

FINAL = {Kind.DELIVERED}
PERMANENT = {Kind.REDIRECT, Kind.REJECTED, Kind.AUTH, Kind.GONE, Kind.BLOCKED, Kind.INTERNAL}
SLOWING = {408, 425, 429, 502, 503, 504}

EXPECTED = (
    dict.fromkeys(range(100, 200), Kind.SERVER_ERROR)
    | dict.fromkeys(range(200, 300), Kind.DELIVERED)
    | dict.fromkeys(range(300, 400), Kind.REDIRECT)
    | dict.fromkeys(range(400, 500), Kind.REJECTED)
    | dict.fromkeys(range(500, 600), Kind.SERVER_ERROR)
    | {401: Kind.AUTH, 403: Kind.AUTH, 410: Kind.GONE}
    | {408: Kind.THROTTLED, 425: Kind.THROTTLED, 429: Kind.THROTTLED}
    | dict.fromkeys((-1, 0, 1, 99, 600, 700, 999, 2000), Kind.SERVER_ERROR)
)


def judged(**facts: object) -> Outcome:
    return judge(Exchange(host="h.example", **facts), now=NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "kind"), EXPECTED.items())
def test_each_status_code_has_the_class_of_the_table(code: int, kind: Kind) -> None:
    outcome = judged(status_code=code)

    assert outcome.kind is kind
    assert outcome.slows_endpoint is (code in SLOWING)
    assert str(code) in outcome.reason


@pytest.mark.parametrize("kind", Kind)
def test_permanence_follows_from_the_class_alone(kind: Kind) -> None:
    permanence = Outcome(kind, "a reason").permanence

    if kind in FINAL:
        assert permanence is Permanence.FINAL
    else:
        assert permanence is (Permanence.PERMANENT if kind in PERMANENT else Permanence.TRANSIENT)


@pytest.mark.parametrize("failure", Failure)
def test_a_failure_without_a_status_keeps_its_name_as_its_class(failure: Failure) -> None:
    outcome = judged(failure=failure, error="The peer closed the connection.")

    assert outcome.kind.value == failure.value
    assert "The peer closed the connection)." in outcome.reason
    assert not outcome.slows_endpoint
    assert outcome.retry_after_seconds is None


def test_the_class_names_are_the_lower_case_words_that_rows_and_metrics_carry() -> None:
    assert {kind.value for kind in Kind} == {
        *("delivered", "redirect", "rejected", "auth", "gone", "throttled", "server_error"),
        *("timeout", "connection", "dns", "tls", "unknown", "blocked", "internal"),
    }


@pytest.mark.parametrize("failure", Failure)
def test_a_status_that_arrived_decides_whatever_the_connection_did_afterwards(failure: Failure) -> None:
    assert judged(status_code=200, failure=failure, error="reset while reading the body").kind is Kind.DELIVERED
    assert judged(status_code=410, failure=failure).kind is Kind.GONE


def test_an_exchange_that_says_nothing_is_retried_as_it_may_have_been_processed() -> None:
    assert judged().kind is Kind.UNKNOWN


def test_our_own_faults_and_blocked_addresses_never_count_against_the_endpoint() -> None:
    blameless = {failure for failure in Failure if not judged(failure=failure).blames_endpoint}

    assert blameless == {Failure.BLOCKED, Failure.INTERNAL}
    assert judged(status_code=500).blames_endpoint
    assert judged(status_code=404).blames_endpoint
    assert not judged(status_code=204).blames_endpoint


@pytest.mark.parametrize("code", sorted(EXPECTED))
def test_every_reason_is_one_sentence(code: int) -> None:
    reason = judged(status_code=code, location="https://h.example/hook/").reason

    assert reason[0].isupper()
    assert reason.endswith(".")
    assert "\n" not in reason


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_shows_the_location_and_says_to_save_the_final_url(code: int) -> None:
    reason = judged(status_code=code, location="https://h.example/hook/").reason

    assert "https://h.example/hook/" in reason
    assert "save the final URL" in reason


def test_a_redirect_never_shows_the_credentials_in_its_location() -> None:
    outcome = judged(status_code=302, location="https://user:pw@h.example/in/?token=SECRET#SECRET")

    assert "https://h.example/in/?…" in outcome.reason
    assert "SECRET" not in outcome.reason
    assert "pw" not in outcome.reason


@pytest.mark.parametrize(
    "location", [None, "", "http://[::1", "/a\r\nX-Injected: 1", "/\x00", "//[", "/ü" * 9, "#only"]
)
def test_a_missing_or_unreadable_location_is_said_and_not_repeated(location: str | None) -> None:
    outcome = judged(status_code=302, location=location)

    assert outcome.kind is Kind.REDIRECT
    assert "Location" in outcome.reason
    assert outcome.reason.isprintable()


def test_an_endless_location_is_cut() -> None:
    assert len(judged(status_code=302, location="/" + "a" * 100_000).reason) < 600


@pytest.mark.parametrize(
    ("facts", "advice"),
    [
        ({"status_code": 401}, "rotated secret"),
        ({"status_code": 403}, "changed endpoint"),
        ({"status_code": 404}, "check its path"),
        ({"status_code": 410}, "disabled"),
        ({"status_code": 413}, "raise its limit"),
        ({"status_code": 429}, "slower pace"),
        ({"status_code": 503}, "tried again"),
        ({"failure": Failure.TLS}, "certificate"),
        ({"failure": Failure.DNS}, "spelling"),
        ({"failure": Failure.UNKNOWN}, "same id"),
        ({"failure": Failure.BLOCKED}, "allow its network"),
        ({"failure": Failure.INTERNAL}, "fault is ours"),
    ],
)
def test_the_reason_says_what_to_do(facts: dict[str, object], advice: str) -> None:
    assert advice in judged(**facts).reason


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("1.337", 1.337),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("43323", 43_323.0),
        ("9999999999", MAX_RETRY_AFTER_SECONDS),
        ("9" * 5_000, MAX_RETRY_AFTER_SECONDS),
        ("Sun, 29 Mar 2026 00:31:30 GMT", 90.0),
        ("Sunday, 29-Mar-26 00:31:30 GMT", 90.0),
        ("Sun Mar 29 00:31:30 2026", 90.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER_SECONDS),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_and_clamped(raw: str, seconds: float) -> None:
    assert parse_retry_after(raw, NOW) == seconds


@pytest.mark.parametrize(
    "raw",
    [
        *(None, "", " ", "-5", "-0.1", "+5", "1m0s", "NaN", "inf", "Infinity", "1e3", "0x10", "1_000", "5 s", "soon"),
        *("1,5", "120, 60", "٣", "1.2.3", ".", "{'retry_after': 1}", "\x00", "Wed", "Wed, 99 Foo 2015 99:99:99 GMT"),
        *("Wed, 21 Oct 99999999999 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 +99999999", "2026-03-29T00:31:30Z"),
        *("29 Mar 2026 00:31:30 GMT", "29 Mar 2027", "Mar 29 2026 00:31:30", "Sunday 29 Mar 2026"),
    ],
)
def test_a_retry_after_that_makes_no_sense_is_ignored(raw: str | None) -> None:
    assert parse_retry_after(raw, NOW) is None


@given(st.text(max_size=60) | st.from_regex(r"(Mon|Wed), [0-9]{1,3} [A-Z][a-z]{2} [0-9]+ [0-9:]{8} [A-Z+0-9-]*"))
def test_no_retry_after_text_breaks_the_verdict(raw: str) -> None:
    seconds = parse_retry_after(raw, NOW)

    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER_SECONDS


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504])
def test_retry_after_is_honoured_on_every_answer_that_is_retried(code: int) -> None:
    assert judged(status_code=code, retry_after="60").retry_after_seconds == 60


@pytest.mark.parametrize("code", [200, 301, 400, 401, 410, 413])
def test_retry_after_means_nothing_where_nothing_is_retried(code: int) -> None:
    assert judged(status_code=code, retry_after="60").retry_after_seconds is None


def test_a_retry_after_date_counts_in_absolute_time_whatever_the_zone_of_the_clock() -> None:
    raw = "Sun, 29 Mar 2026 01:30:00 GMT"

    assert parse_retry_after(raw, NOW) == timedelta(hours=1).total_seconds()
    assert parse_retry_after(raw, datetime.fromisoformat("2026-03-28T20:30:00-04:00")) == 3_600
