"""Verdicts on endpoints: each with its opposite."""

import pytest

from endpoints.health import Level, Record, Sign, is_auth_spike, is_our_fault, judge
from endpoints.thresholds import Thresholds, order_fault, threshold_fault

RULES = Thresholds()


def verdict(delivered=0, recently=0, active=60, **failed):
    return judge(Record(delivered, failed, recently, active), RULES)


def test_few_samples_prove_nothing():
    assert verdict(timeout=19, active=49).level is Level.UNKNOWN
    assert verdict(timeout=20, active=49).level is Level.FAILING


def test_the_few_probes_of_an_open_circuit_are_enough_when_a_whole_hour_brought_nothing_else():
    assert verdict(timeout=8, active=50).level is Level.FAILING
    assert verdict(timeout=7, active=50).level is Level.UNKNOWN
    assert verdict(timeout=8, active=49).level is Level.UNKNOWN
    assert verdict(delivered=1, timeout=8, active=50).level is Level.UNKNOWN


def test_a_warning_begins_below_95_percent():
    assert verdict(delivered=95, recently=5, timeout=5).level is Level.HEALTHY
    assert verdict(delivered=94, recently=5, timeout=6).level is Level.WARNING


def test_a_busy_endpoint_that_is_mostly_well_is_left_alone_whatever_the_number_of_its_failures():
    assert verdict(delivered=999_000, recently=9_000, timeout=1_000).level is Level.HEALTHY


def test_disabling_needs_a_low_rate_and_a_silent_stretch():
    assert verdict(delivered=10, recently=0, timeout=90).level is Level.FAILING
    assert verdict(delivered=10, recently=1, timeout=90).level is Level.WARNING
    assert verdict(delivered=50, recently=0, timeout=50).level is Level.WARNING


def test_an_endpoint_that_has_only_just_begun_is_not_silent_yet():
    assert verdict(active=14, timeout=90).level is Level.WARNING
    assert verdict(active=15, timeout=90).level is Level.FAILING


def test_our_own_faults_never_count():
    assert verdict(delivered=100, recently=5, internal=500, blocked=500).level is Level.HEALTHY
    assert verdict(internal=500).level is Level.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        ("auth", Sign.AUTH),
        ("timeout", Sign.TIMEOUTS),
        ("tls", Sign.TLS),
        ("dns", Sign.DNS),
        ("throttled", Sign.THROTTLING),
    ],
)
def test_failures_that_look_alike_are_told_apart(kind, sign):
    assert verdict(delivered=50, recently=5, **{kind: 80, "connection": 20}).sign is sign
    assert verdict(delivered=50, recently=5, **{kind: 70, "connection": 30}).sign is Sign.NONE


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("auth", "401 or 403: check for a rotated secret"),
        ("timeout", "timeouts: the endpoint answers too slowly, or not at all"),
        ("tls", "TLS: check the certificate's dates, name and issuer"),
        ("dns", "DNS: the host name does not resolve any more"),
        ("throttled", "429: the endpoint wants fewer requests"),
        ("connection", "of several kinds"),
    ],
)
def test_the_reason_tells_the_owner_what_to_look_at_on_warning_and_on_disabling(kind, words):
    for judged in (verdict(delivered=50, recently=5, **{kind: 50}), verdict(**{kind: 50})):
        assert words in judged.reason


def test_timeouts_and_a_host_name_that_is_gone_are_told_apart():
    slow, gone = verdict(timeout=90, dns=10), verdict(timeout=10, dns=90)

    assert (slow.sign, gone.sign) == (Sign.TIMEOUTS, Sign.DNS)
    assert slow.reason != gone.reason
    assert verdict(timeout=50, dns=50).sign is Sign.NONE


def test_failures_of_tls_are_laid_to_the_certificate_only_when_it_is_known_to_be_over():
    def sign(is_over, **failed):
        return judge(Record(0, failed, is_certificate_over=is_over), RULES).sign

    assert sign(True, tls=50) is Sign.CERTIFICATE
    assert sign(False, tls=50) is Sign.TLS
    assert sign(True, timeout=50) is Sign.TIMEOUTS


def test_the_score_is_the_success_rate_in_percent():
    assert verdict(delivered=70, recently=5, timeout=30).score == 70
    assert verdict(timeout=3).score is None


def test_a_rate_that_swings_about_the_threshold_is_one_warning():
    def next_level(delivered, failed, before):
        return judge(Record(delivered, {"timeout": failed}, 1), RULES, before).level

    assert next_level(96, 4, Level.HEALTHY) is Level.HEALTHY
    assert next_level(94, 6, Level.HEALTHY) is Level.WARNING
    assert next_level(96, 4, Level.WARNING) is Level.WARNING
    assert next_level(98, 2, Level.WARNING) is Level.HEALTHY


def spike(delivered=0, lately=0, auth_lately=0, **failed):
    return is_auth_spike(Record(delivered, failed, lately, recently_failed={"auth": auth_lately}), RULES)


def test_refused_credentials_at_an_endpoint_that_was_well_are_a_spike():
    assert spike(delivered=1000, lately=40, auth=10, auth_lately=10)
    assert not spike(delivered=1000, lately=40, auth=9, auth_lately=9)
    assert not spike(delivered=1000, lately=41, auth=10, auth_lately=10)
    assert not spike(delivered=1000, lately=40, auth=10, auth_lately=0)


def test_refused_credentials_among_failures_of_every_kind_are_no_spike():
    assert spike(delivered=95, auth=50, auth_lately=50, timeout=5)
    assert not spike(delivered=50, auth=50, auth_lately=50, timeout=50)


def looked(level_of):
    return [(record, judge(record, RULES)) for record in level_of]


DEAD, SICK, WELL = Record(0, {"connection": 30}), Record(0, {"server_error": 30}), Record(100, {}, 100)


def test_many_endpoints_that_cannot_be_reached_at_once_are_our_own_fault():
    assert is_our_fault(looked([DEAD, DEAD, DEAD, WELL, WELL, WELL]))
    assert not is_our_fault(looked([DEAD, DEAD, DEAD, WELL, WELL, WELL, WELL]))
    assert not is_our_fault(looked([DEAD, DEAD]))


def test_many_that_answer_with_errors_fail_by_themselves():
    assert not is_our_fault(looked([SICK, SICK, SICK, SICK]))


def test_endpoints_of_which_nothing_is_known_prove_nothing_about_us():
    quiet = Record(1, {"timeout": 1})
    assert is_our_fault(looked([DEAD, DEAD, DEAD, quiet, quiet, quiet, quiet]))


def test_an_endpoint_may_have_thresholds_of_its_own():
    assert RULES.overridden({"warn_below": 0.5}).warn_below == 0.5
    assert RULES.overridden({"warn_below": 0.5}).silent_minutes == RULES.silent_minutes
    assert RULES.overridden({}) == RULES


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"warn_above": 0.9}, "warn_above"),
        ({"warn_below": 1.1}, "warn_below"),
        ({"warn_below": "0.9"}, "warn_below"),
        ({"warn_below": True}, "warn_below"),
        ({"silent_minutes": 61}, "silent_minutes"),
        ({"least_samples": 0}, "least_samples"),
        ({"probe_minutes": -1}, "probe_minutes"),
        ({"certificate_days": 366}, "certificate_days"),
        ([], "object"),
        (None, "object"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused_in_words(given, word):
    assert word in threshold_fault(given)


def test_thresholds_that_make_sense_are_taken():
    assert threshold_fault({}) is None
    assert threshold_fault({"disable_below": 0, "silent_minutes": 0, "least_samples": 1, "warn_below": 1.0}) is None
    assert order_fault(RULES) is None
    assert "above" in order_fault(Thresholds(warn_below=0.4))


def test_thresholds_can_be_set():
    strict = Thresholds(warn_below=0.999, least_samples=5)
    assert judge(Record(4, {"timeout": 1}, 1), strict).level is Level.WARNING
