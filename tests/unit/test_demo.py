"""The demo's own judgement: it must see a loss where there is one."""

import json
import math

import pytest

from demo import cast, figures
from demo.account import read_log, settle_up
from demo.place import PlaceRefused, place
from demo.table import table

ONE, TWO = ("evt_1", "healthy"), ("evt_2", "healthy")


def test_a_delivery_counts_as_arrived_when_both_sides_say_so() -> None:
    account = settle_up([ONE], delivered={ONE}, accepted={ONE}, dead=set())
    assert (account.arrived, account.kept, account.lost) == (1, 0, ())


def test_an_open_dead_letter_keeps_what_did_not_arrive() -> None:
    account = settle_up([ONE], delivered=set(), accepted=set(), dead={ONE})
    assert (account.arrived, account.kept, account.lost) == (0, 1, ())


@pytest.mark.parametrize(
    ("delivered", "accepted"),
    [
        pytest.param({ONE}, set(), id="said to be delivered, but the receiver never saw it"),
        pytest.param(set(), {ONE}, id="seen by the receiver, but not recorded"),
        pytest.param(set(), set(), id="gone without a trace"),
    ],
)
def test_anything_else_is_lost(delivered: set[tuple[str, str]], accepted: set[tuple[str, str]]) -> None:
    assert settle_up([ONE, TWO], delivered | {TWO}, accepted | {TWO}, dead=set()).lost == (ONE,)


def test_the_log_tells_what_was_accepted_and_whose_body_changed() -> None:
    log = read_log(
        [
            _request("evt_1", "/named/flaky", 500, "aa"),
            _request("evt_1", "/named/flaky", 200, "aa"),
            _request("evt_2", "/ok/healthy", 200, "bb"),
            _request("evt_2", "/ok/healthy", None, "cc"),
            json.dumps({"control": "behaviour", "name": "flaky"}),
        ]
    )
    assert log.requests == 4
    assert log.accepted == {("evt_1", "flaky"), ("evt_2", "healthy")}
    assert log.changed_bodies == {"evt_2"}


def test_the_place_keeps_everything_of_the_urls_but_the_databases() -> None:
    where = place("postgresql://me:pw@db:5433/shop?sslmode=require", "rediss://:pw@cache:6380/0")
    assert where.database_url == "postgresql://me:pw@db:5433/holdfast_demo?sslmode=require"
    assert where.redis_url == "rediss://:pw@cache:6380/14"


@pytest.mark.parametrize(
    ("database_url", "redis_url"),
    [
        ("postgresql://db/holdfast_demo", "redis://cache/0"),
        ("postgresql://db/shop", "redis://cache/14"),
        ("postgresql://db/shop", "redis://cache?db=3"),
        ("postgresql://db/shop", "unix:///run/redis.sock"),
    ],
)
def test_urls_that_leave_no_place_of_its_own_are_refused(database_url: str, redis_url: str) -> None:
    with pytest.raises(PlaceRefused):
        place(database_url, redis_url)


def test_the_processes_of_a_demo_mail_nobody_and_dial_this_machine_only() -> None:
    environment = place("postgresql://db/shop", "redis://cache/0").environment(
        {"HOLDFAST_OPERATORS": "boss@example.com", "HOLDFAST_ALLOWED_NETWORKS": "10.0.0.0/8", "BROKER_URL": "x"}
    )
    assert environment["HOLDFAST_OPERATORS"] == ""
    assert environment["HOLDFAST_ALLOWED_NETWORKS"] == "127.0.0.0/8"
    assert environment["BROKER_URL"] == environment["REDIS_URL"]


def test_each_part_is_told_apart_by_the_last_segment_of_its_path() -> None:
    assert [part.path.rpartition("/")[2] for part in cast.CAST] == [part.name for part in cast.CAST]
    assert len(cast.events()) == cast.EVENTS


def test_a_percentile_is_a_value_that_occurred() -> None:
    assert [figures.percentile([1.0, 2.0, 3.0, 4.0], percent) for percent in (1, 50, 95, 100)] == [1.0, 2.0, 4.0, 4.0]
    assert math.isnan(figures.percentile([], 50))


def test_figures_are_set_flush_right_below_their_heading() -> None:
    assert table(["name", "dead"], [["a", "1"], ["longer", "1,000"]], right=[1]) == [
        "name      dead",
        "──────   ─────",
        "a            1",
        "longer   1,000",
    ]


def _request(event_id: str, target: str, status: int | None, sha256: str) -> str:
    return json.dumps({"webhook-id": event_id, "target": target, "status": status, "sha256": sha256})
