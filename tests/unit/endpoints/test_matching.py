import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoints.matching import MAX_TYPE_LENGTH, candidate_patterns, event_type_fault, pattern_fault

segments = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=20)
event_types = st.lists(segments, min_size=1, max_size=6).map(".".join).filter(lambda text: len(text) <= MAX_TYPE_LENGTH)


def takes(pattern: str, event_type: str) -> bool:
    """What a pattern means, told in another way than by the code under test."""
    return pattern in ("*", event_type) or (pattern.endswith(".*") and event_type.startswith(pattern[:-1]))


def test_a_type_expands_to_itself_then_to_ever_wider_patterns():
    assert candidate_patterns("payment.card.completed") == (
        "payment.card.completed",
        "payment.card.*",
        "payment.*",
        "*",
    )


def test_a_type_of_one_segment_expands_to_itself_and_everything():
    assert candidate_patterns("ping") == ("ping", "*")


@given(event_types)
def test_every_candidate_is_a_usable_pattern_that_takes_the_type(event_type):
    candidates = candidate_patterns(event_type)
    assert [pattern_fault(pattern) for pattern in candidates] == [None] * len(candidates)
    assert all(takes(pattern, event_type) for pattern in candidates)
    assert len(set(candidates)) == len(candidates)


@given(event_types, event_types)
def test_a_pattern_that_takes_the_type_is_always_among_the_candidates(event_type, other):
    for pattern in candidate_patterns(other):
        assert (pattern in candidate_patterns(event_type)) == takes(pattern, event_type)


@given(event_types)
def test_every_well_formed_type_is_usable_as_type_and_as_pattern(event_type):
    assert event_type_fault(event_type) is None
    assert pattern_fault(event_type) is None


@pytest.mark.parametrize(
    ("event_type", "words"),
    [
        (None, "must be text, not NoneType"),
        (7, "must be text, not int"),
        ("", "must not be empty"),
        ("x" * 129, "at most 128 characters, not 129"),
        (".a", "single dots"),
        ("a.", "single dots"),
        ("a..b", "single dots"),
        ("a b", "ASCII letters"),
        ("a\n", "ASCII letters"),
        ("zahlung.ausgeführt", "ASCII letters"),
        ("a.*", "ASCII letters"),
        ("*", "ASCII letters"),
        ("a\udc80", "ASCII letters"),
    ],
)
def test_an_unusable_type_is_told_which_rule_it_breaks(event_type, words):
    assert words in (event_type_fault(event_type) or "")


def test_the_longest_type_is_usable_and_so_are_all_its_patterns():
    longest = "a." * 63 + "bb"
    assert len(longest) == MAX_TYPE_LENGTH
    assert event_type_fault(longest) is None
    assert not any(pattern_fault(pattern) for pattern in candidate_patterns(longest))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (None, "must be text"),
        ("", "must not be empty"),
        (".*", "must not be empty"),
        ("**", "whole text or as its last segment"),
        ("pay*", "whole text or as its last segment"),
        ("*.completed", "whole text or as its last segment"),
        ("payment.*.completed", "whole text or as its last segment"),
        ("payment.*.*", "whole text or as its last segment"),
        ("payment..*", "single dots"),
        ("payment.* ", "whole text or as its last segment"),
        ("x" * 127 + ".*", "at most 128 characters, not 129"),
    ],
)
def test_an_unusable_pattern_is_told_which_rule_it_breaks(pattern, words):
    assert words in (pattern_fault(pattern) or "")
