"""A look at the whole pipeline over real services: figures, and a finding instead of an error for what is away."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta

import pytest
from celery import current_app
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings

from deliveries import dispatch, pacing
from deliveries.management.commands import pipeline_status
from deliveries.models import Delivery
from deliveries.redis_client import redis_client
from deliveries.watch import heartbeats, liveness
from deliveries.watch import survey as surveying
from deliveries.watch.survey import survey
from endpoints import availability
from tests.broker import CLOSED_PORT, away
from tests.factories import backdate, lease, make_dead_letter, make_delivered, make_endpoint, make_event
from tests.integration.deliveries.test_racing import in_another_connection
from tests.integration.inbox.conftest import make_sender

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


@pytest.fixture
def running(empty_redis):
    """What workers and beat say of themselves while they run."""
    heartbeats.beat("healthy@here", ["dead_letters", "deliveries", "inbox", "upkeep"])
    heartbeats.beat("slow@here", ["deliveries.slow"], busy_seconds=3.0)
    heartbeats.note("due")


def due_delivery(endpoint, overdue: timedelta = timedelta(minutes=5)) -> Delivery:
    delivery = make_event(tenant=endpoint.tenant).deliveries.get(endpoint=endpoint)
    backdate(delivery, next_attempt_at=overdue)
    return delivery


@contextmanager
def database_away() -> Iterator[None]:
    """The database's address leads nowhere."""
    kept = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(HOST="127.0.0.1", PORT="1")
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(kept)


@contextmanager
def broker_alone_away() -> Iterator[None]:
    """Celery's broker is elsewhere than Redis, and not there."""
    kept = {name: current_app.conf[name] for name in ("broker_url", "broker_read_url")}
    current_app.conf.update(dict.fromkeys(kept, CLOSED_PORT))
    try:
        yield
    finally:
        current_app.conf.update(kept)


@pytest.mark.usefixtures("running")
class TestFigures:
    def test_a_pipeline_at_rest_is_healthy(self):
        found = survey()

        assert found.problems == []
        assert (found.pending, found.sending, found.open_dead_letters) == (0, 0, 0)
        assert found.oldest_due_seconds is found.oldest_lapsed_lease_seconds is None

    def test_deliveries_dead_letters_and_endpoints_are_counted(self):
        waiting, paused = make_endpoint(tenant="a"), make_endpoint(tenant="b")
        make_event(tenant="a")
        availability.pause(paused, actor="anna", reason="maintenance")
        make_event(tenant="b")
        lease(make_event(tenant="a").deliveries.get(endpoint=waiting), expires_in=timedelta(minutes=1))
        letter = make_dead_letter(make_endpoint(tenant="c"))
        type(letter).objects.update(created_at=letter.created_at - timedelta(hours=1))

        found = survey()

        assert (found.pending, found.sending, found.open_dead_letters) == (2, 1, 1)
        assert found.oldest_open_dead_letter_seconds == pytest.approx(3600, abs=60)
        assert found.endpoints == {"active": 2, "paused": 1}
        assert found.endpoints_with_due_work == 1

    def test_counts_stop_at_their_bound(self, monkeypatch):
        monkeypatch.setattr(surveying, "COUNTED", 2)
        make_endpoint()
        for _ in range(3):
            make_event()

        assert survey().pending == 2

    def test_queues_workers_and_sweeps_are_seen(self):
        make_endpoint()
        make_event()
        dispatch.wake(Delivery.objects.values_list("endpoint_id", flat=True))

        found = survey()

        assert found.queue_depths["deliveries"] == 1
        assert set(found.queue_depths) == {"deliveries", "deliveries.slow", "dead_letters", "inbox", "upkeep"}
        assert [worker["name"] for worker in found.workers] == ["healthy@here", "slow@here"]
        assert found.workers[1]["busy_seconds"] == 3.0
        assert 0 <= found.seconds_since["due"] < 5


@pytest.mark.usefixtures("running")
class TestVerdict:
    def test_due_work_that_nobody_attends_to_is_a_problem_until_somebody_does(self):
        endpoint = make_endpoint()
        due_delivery(endpoint)
        heartbeats.note("recorded")

        assert "nothing attends to it" in " ".join(survey().problems)
        dispatch.wake([endpoint.pk])
        assert survey().is_healthy

    def test_due_work_is_a_problem_when_no_result_is_recorded_whatever_rings(self):
        endpoint = make_endpoint()
        due_delivery(endpoint)
        dispatch.wake([endpoint.pk])

        assert "work is not moving" in " ".join(survey().problems)
        heartbeats.note("recorded")
        assert survey().is_healthy

    @pytest.mark.parametrize("reason", ["paused", "circuit", "not due"])
    def test_what_may_not_be_sent_now_is_no_problem(self, reason):
        endpoint = make_endpoint()
        delivery = due_delivery(endpoint)
        if reason == "paused":
            availability.pause(endpoint, actor="anna", reason="maintenance")
        elif reason == "circuit":
            pacing.report({endpoint.pk: pacing.Tally(hold_seconds=300.0)})
        else:
            backdate(delivery, next_attempt_at=timedelta(hours=-1))

        assert survey().is_healthy

    def test_a_lease_that_nobody_took_back_is_a_problem(self):
        delivery = make_event(tenant=make_endpoint().tenant).deliveries.get()
        lease(delivery, expires_in=timedelta(seconds=-liveness.LAPSED_SECONDS - 5))

        assert "lease lapsed" in " ".join(survey().problems)

    def test_a_sweep_that_fell_silent_is_a_problem(self):
        redis_client().hset(heartbeats.DUTIES_KEY, "due", "1700000000.000 ")

        assert "due sweep last ran" in " ".join(survey().problems)

    def test_a_worker_that_is_stuck_in_one_task_is_a_problem_though_it_is_alive(self):
        heartbeats.beat("slow@here", ["deliveries.slow"], busy_seconds=liveness.STUCK_SECONDS + 1)

        assert "stuck" in " ".join(survey().problems)


class TestWhatIsAway:
    def test_without_any_process_the_missing_ones_are_named(self):
        said = " ".join(survey().problems)

        assert "sweep has never run" in said
        assert "deliveries.slow" in said

    def test_redis_away_is_a_finding_and_the_rows_are_still_told(self):
        due_delivery(make_endpoint())

        with away(), broker_alone_away():
            found = survey()

        assert found.pending == 1
        assert [sentence.split()[0:2] for sentence in found.problems] == [["Redis", "does"], ["The", "broker"]]

    def test_a_broker_that_is_away_alone_is_a_finding_of_its_own(self, running):
        with broker_alone_away():
            found = survey()

        assert found.problems == ["The broker does not answer: no wake-up reaches a worker."]

    @pytest.mark.django_db(transaction=True)
    def test_a_database_that_is_away_is_a_finding_and_the_rest_is_still_told(self, running):
        with database_away():
            found = survey()

        assert found.problems == ["The database does not answer: nothing is published and nothing is sent."]
        assert len(found.workers) == 2
        assert survey().is_healthy

    @pytest.mark.django_db(transaction=True)
    def test_a_connection_that_was_cut_is_a_finding_once(self, running):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid = cursor.fetchone()[0]
        thread = in_another_connection(lambda: terminate(pid))
        thread.join(10)

        assert not survey().is_healthy
        connection.close_if_unusable_or_obsolete()
        assert survey().is_healthy

    @pytest.mark.django_db(transaction=True)
    def test_a_database_that_does_not_answer_in_time_holds_up_nobody(self, running, monkeypatch):
        monkeypatch.setattr(surveying, "PATIENCE_SECONDS", 0.2)
        locked, looked = threading.Event(), threading.Event()
        thread = in_another_connection(lambda: lock_the_table(locked, looked))
        assert locked.wait(10)

        found = survey()
        looked.set()
        thread.join(10)

        assert "database" in found.problems[0]
        assert survey().is_healthy

    @pytest.mark.django_db(transaction=True)
    def test_everything_away_is_three_findings(self):
        with database_away(), away(), broker_alone_away():
            assert len(survey().problems) == 3


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def lock_the_table(locked: threading.Event, looked: threading.Event) -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE deliveries_delivery IN ACCESS EXCLUSIVE MODE")
        locked.set()
        looked.wait(10)
        cursor.execute("ROLLBACK")


def test_a_look_reads_indexes_of_what_is_unfinished_and_never_the_finished_rows():
    endpoint = make_endpoint()
    event = make_event()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint)
            SELECT 'bulk-' || n, type, tenant, -n, occurred_at, created_at, body, fingerprint
            FROM deliveries_event, generate_series(1, 10000) n WHERE id = %s
            """,
            [event.pk],
        )
        cursor.execute(
            """
            INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset,
                                             next_attempt_at, deadline_at, last_outcome, created_at)
            SELECT id, %s, 'pending', 0, 0, now(), now() + interval '1 day', '', now()
            FROM deliveries_event WHERE id LIKE 'bulk-%%'
            """,
            [endpoint.pk],
        )
        cursor.execute("ANALYZE deliveries_delivery")
        # The backlog is gone, and the planner does not know yet.
        cursor.execute(
            "UPDATE deliveries_delivery SET status = 'delivered', next_attempt_at = NULL, finished_at = now()"
        )
        cursor.execute(surveying.BOUNDED, ["3000ms"])
        cursor.execute("EXPLAIN " + surveying._FIGURES, {"most": surveying.COUNTED})
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert plan.count("Index Only Scan") >= 3, plan
    assert "Seq Scan" not in plan, plan


class TestTheCommand:
    def run(self, *arguments: str) -> tuple[str, int]:
        out, status = io.StringIO(), 0
        try:
            call_command("pipeline_status", *arguments, stdout=out)
        except SystemExit as end:
            status = int(end.code or 0)
        return out.getvalue(), status

    def test_its_exit_status_and_its_first_line_say_whether_work_moves(self, running):
        assert self.run()[0].startswith("Healthy")
        assert self.run()[1] == 0
        heartbeats.leave("slow@here")
        said, status = self.run()
        assert (said.splitlines()[:2], status) == (["NOT healthy:", "  No worker was seen for deliveries.slow."], 1)

    def test_its_json_names_every_figure(self, running):
        said = json.loads(self.run("--json")[0])

        assert said["healthy"] is True
        assert said["problems"] == []
        assert {
            "database",
            "redis",
            "broker",
            "oldest_due_seconds",
            "oldest_unattended_seconds",
            "endpoints_with_due_work",
            "pending",
            "sending",
            "oldest_lapsed_lease_seconds",
            "open_dead_letters",
            "oldest_open_dead_letter_seconds",
            "endpoints",
            "queue_depths",
            "seconds_since",
            "workers",
        } <= set(said)
        assert said["workers"][0]["queues"] == ["dead_letters", "deliveries", "inbox", "upkeep"]

    def test_it_says_how_the_last_hour_went(self, running):
        endpoint = make_endpoint()
        make_delivered(endpoint)
        make_dead_letter(endpoint)

        said, parsed = self.run()[0], json.loads(self.run("--json")[0])

        assert "Last hour    2 attempts, 50.0% succeeded" in said
        assert "Dead, open   rejected 1" in said
        assert "at attempt 1: 1; 0.0% took more than one" in said
        assert parsed["last_hour"]["success_rate"] == 0.5
        assert parsed["last_hour"]["latency_ms"].keys() == {"p50", "p95", "p99"}
        assert parsed["backlog"]["dead_letters_by_class"] == {"rejected": 1}

    @pytest.mark.django_db(transaction=True)
    def test_with_everything_away_it_still_says_what_it_knows(self):
        with database_away(), away(), broker_alone_away():
            said, status = self.run("--json")
            text, _status = self.run()

        assert (json.loads(said)["database"], json.loads(said)["redis"], status) == (False, False, 1)
        assert "NOT healthy" in text

    def test_it_says_when_a_count_stopped(self, running, monkeypatch):
        for module in (surveying, pipeline_status):
            monkeypatch.setattr(module, "COUNTED", 1)
        make_endpoint()
        make_event()

        assert "1 or more pending" in self.run()[0]

    def test_it_says_how_the_inbox_is_doing(self, running, settings, tmp_path):
        settings.STATIC_ROOT = str(tmp_path)
        sender = make_sender(slug="status-shop")
        sender.post()

        said, parsed = self.run()[0], json.loads(self.run("--json")[0])

        assert "status-shop\n  24 hours      1 received, 0 repeats" in said
        assert "now           1 wait" in said
        assert parsed["inbox"]["status-shop"]["received"] == 1

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize(("asked", "every"), [(("--watch", "5"), 5.0), (("--watch",), 2.0)])
    def test_a_watch_looks_again_until_it_is_interrupted_which_is_no_error(self, asked, every, watched):
        said, status = self.run("--json", *asked)

        assert [json.loads(line)["healthy"] for line in said.splitlines()] == [False] * 3
        assert (watched, status) == ([every] * 3, 0)

    @pytest.mark.django_db(transaction=True)
    def test_a_watch_clears_a_terminal_before_each_look_and_nothing_else(self, running, watched):
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        terminal = Terminal()
        call_command("pipeline_status", "--watch", stdout=terminal)

        looks = terminal.getvalue().split(pipeline_status.CLEAR_SCREEN)
        assert [look.splitlines()[:1] for look in looks] == [[], *[["Healthy: work moves."]] * 3]
        assert "\033" not in self.run()[0]

    @pytest.fixture
    def watched(self, monkeypatch):
        """The waits of a watch, which is interrupted during the third."""
        naps = []

        def nap(seconds):
            naps.append(seconds)
            if len(naps) == 3:
                raise KeyboardInterrupt

        monkeypatch.setattr("time.sleep", nap)
        return naps

    def test_a_watch_takes_time_between_looks(self):
        with pytest.raises(CommandError, match="--watch"):
            self.run("--watch", "0")


@override_settings(DEBUG=False)
def test_no_secret_and_no_address_is_told(running, caplog):
    make_dead_letter(make_endpoint(headers={"authorization": "Bearer SECRET"}))

    with away(), broker_alone_away():
        said = json.dumps(survey().problems)
    told = json.dumps(asdict(survey())) + said + caplog.text

    assert "SECRET" not in told
    assert "whsec_" not in told
