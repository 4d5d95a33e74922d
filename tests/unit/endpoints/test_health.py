"""Verdicts on endpoints: each with its opposite."""

import pytest

from endpoints.health import Level, Record, Sign, Thresholds, judge

RULES = Thresholds()


def verdict(delivered=0, recently=0, active=60, **failed):
    return judge(Record(delivered, failed, recently, active), RULES)


def test_few_samples_prove_nothing():
    assert verdict(timeout=19).level is Level.UNKNOWN
    assert verdict(timeout=20).level is Level.FAILING


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


def test_the_score_is_the_success_rate_in_percent():
    assert verdict(delivered=70, recently=5, timeout=30).score == 70
    assert verdict(timeout=3).score is None


def test_thresholds_can_be_set():
    strict = Thresholds(warn_below=0.999, least_samples=5)
    assert judge(Record(4, {"timeout": 1}, 1), strict).level is Level.WARNING
