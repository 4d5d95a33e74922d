"""Events overtake each other: the newest wins, whatever arrives when."""

import itertools
import threading

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection

from inbox import Result, apply_if_newer

pytestmark = pytest.mark.django_db


def apply(name: str, version: int, word: str) -> Result:
    """The table of users stands for one of the application's: `last_login` is the version, as any ordered column."""
    at = f"2026-12-01T00:00:{version:02d}Z"
    return apply_if_newer(User, {"username": name}, ("last_login", at), {"first_name": word})


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
def test_whatever_the_order_the_newest_state_stays(order):
    for version in order:
        apply("ada", version, f"state {version}")

    assert User.objects.get(username="ada").first_name == "state 3"


def test_an_older_event_is_stale_and_changes_nothing():
    assert apply("ada", 2, "newer") is Result.PROCESSED
    assert apply("ada", 1, "older") is Result.STALE

    assert User.objects.get(username="ada").first_name == "newer"


def test_of_two_events_in_one_second_the_later_arrival_wins():
    apply("ada", 1, "first")

    assert apply("ada", 1, "second") is Result.PROCESSED
    assert User.objects.get(username="ada").first_name == "second"


def test_an_update_that_comes_before_the_create_is_kept():
    apply("ada", 2, "updated")
    apply("ada", 1, "created")

    assert User.objects.get(username="ada").first_name == "updated"


def test_an_event_that_says_no_version_is_an_error_and_not_the_newest():
    with pytest.raises(ValueError, match="last_login"):
        apply_if_newer(User, {"username": "ada"}, ("last_login", None), {})


def test_another_broken_rule_is_not_taken_for_a_race():
    apply("ada", 1, "x")

    with pytest.raises(IntegrityError):
        # A new row under a primary key that is taken.
        apply_if_newer(User, {"username": "bob"}, ("last_login", "2026-12-01T00:00:00Z"), {"id": User.objects.get().pk})


@pytest.mark.django_db(transaction=True)
def test_many_at_once_end_with_the_newest():
    start = threading.Barrier(6)

    def run(version):
        start.wait()
        apply("ada", version, f"state {version}")
        connection.close()

    threads = [threading.Thread(target=run, args=[version]) for version in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert User.objects.get(username="ada").first_name == "state 5"


def test_a_stale_event_ends_as_stale(sender, handles, work):
    @handles(sender)
    def keep(event):
        return apply("ada", event.data["data"]["version"], event.id)

    sender.post({"version": 2}, id="newer")
    sender.post({"version": 1}, id="older")
    work(sender)

    assert (sender.event("newer").status, sender.event("older").status) == ("processed", "stale")
