"""The management commands as scripts use them: arguments in, figures and exit status out."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from deliveries.models import DeadLetter, Delivery, Event, Operation, Resolution
from deliveries.outcomes import Kind
from deliveries.statuses import Status
from endpoints import availability
from endpoints.models import Endpoint, SigningSecret, State
from endpoints.rotation import rotate
from tests.factories import backdate, make_dead_letter, make_delivered, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def figures(*arguments: str):
    return json.loads(run(*arguments, "--json"))


def dead_letters(count: int, **fields) -> list[DeadLetter]:
    tenant = f"tenant-{Endpoint.objects.count()}"
    endpoint = make_endpoint(tenant=tenant)
    return [make_dead_letter(endpoint, **fields) for _ in range(count)]


class TestPublish:
    def test_it_records_the_event_and_prints_its_id_and_the_number_of_deliveries(self):
        make_endpoint(tenant="acme")

        said = figures("publish", "payment.completed", "--data", '{"amount": 5}', "--tenant", "acme")

        event = Event.objects.get(pk=said["id"])
        assert (said["deliveries"], event.data, event.tenant) == (1, {"amount": 5}, "acme")
        assert run("publish", "a.b", "--data", "[1]").split()[1] == "0"

    def test_it_reads_a_file_or_standard_input(self, tmp_path, monkeypatch):
        (tmp_path / "data.json").write_text('{"from": "file"}')
        monkeypatch.setattr("sys.stdin", io.StringIO('{"from": "stdin"}'))

        ids = [figures("publish", "a.b", "--file", path)["id"] for path in (str(tmp_path / "data.json"), "-")]

        assert [Event.objects.get(pk=id).data["from"] for id in ids] == ["file", "stdin"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("payment completed", "--data", "{}"), r"^type: .*\(malformed\)"),
            (("a.b", "--data", '{"a": NaN}'), r"^data\.a: JSON"),
            (("a.b", "--data", "{"), "^data: not JSON"),
            (("a.b", "--data", "5"), "^data: "),
            (("a.b", "--data", "{}", "--id", "a b"), "^id: "),
            (("a.b", "--file", "/nowhere/data.json"), "^--file: No such file"),
            (("a.b",), "required"),
        ],
    )
    def test_bad_input_names_the_field_and_the_rule(self, arguments, message):
        with pytest.raises(CommandError, match=message):
            run("publish", *arguments)
        assert not Event.objects.exists()

    def test_an_id_of_ones_own_publishes_once_and_refuses_other_content(self):
        assert figures("publish", "a.b", "--data", "{}", "--id", "order-1")["id"] == "order-1"
        run("publish", "a.b", "--data", "{}", "--id", "order-1")

        with pytest.raises(CommandError, match=r"^id: .*other content"):
            run("publish", "a.b", "--data", '{"n": 1}', "--id", "order-1")
        assert Event.objects.count() == 1

    def test_a_dry_run_records_nothing(self):
        make_endpoint()

        assert figures("publish", "a.b", "--data", "{}", "--dry-run")["deliveries"] == 1
        assert not Event.objects.exists()


class TestRedrive:
    def test_numbers_are_redriven_on_behalf_of_the_operating_systems_user(self, monkeypatch):
        monkeypatch.setenv("LOGNAME", "anna")
        [letter] = dead_letters(1)

        said = figures("redrive", str(letter.pk), "--note", "fixed")

        operation = Operation.objects.get(pk=said["operation"])
        assert (operation.actor, operation.note, operation.selection) == (
            "command:anna",
            "fixed",
            "1 dead letter by id.",
        )
        assert letter.delivery.__class__.objects.get(pk=letter.delivery_id).status == Status.PENDING

    def test_filters_narrow_the_choice_and_are_kept_in_words(self):
        [wanted] = dead_letters(1, kind=Kind.AUTH, type="payment.completed")
        dead_letters(1, kind=Kind.AUTH, type="paymentx.completed")
        dead_letters(1, kind=Kind.REJECTED, type="payment.completed")

        said = figures("redrive", "--class", "auth", "--type", "payment.*", "--since", "2020-01-01")

        wanted.refresh_from_db()
        assert (said["moved"], wanted.resolution) == (1, Resolution.REDRIVEN)
        assert said["selection"] == "Dead letters by type payment.*, class auth, since 2020-01-01."

    def test_since_and_until_bound_the_time_and_the_endpoint_bounds_the_place(self):
        old, new = dead_letters(2)
        dead_letters(1)
        now = timezone.now()
        DeadLetter.objects.filter(pk=old.pk).update(created_at=now - timedelta(days=3))
        limit = (now - timedelta(days=1)).isoformat()

        assert figures("redrive", "--until", limit, "--dry-run")["ready"] == 1
        assert figures("redrive", "--since", limit, "--endpoint", str(new.endpoint_id), "--dry-run")["ready"] == 1

    def test_a_dry_run_says_what_would_happen_and_changes_nothing(self):
        [letter] = dead_letters(1)

        assert "1 ready" in run("redrive", "--all", "--dry-run")
        letter.refresh_from_db()
        assert letter.resolution == Resolution.OPEN
        assert not Operation.objects.exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "Nothing is selected"),
            (("1", "--all"), "not both"),
            (("1", "--class", "auth"), "not both"),
            (("--endpoint", "4711"), "--endpoint: there is no endpoint 4711"),
            (("--since", "yesterday"), "--since: 'yesterday' is no ISO 8601"),
            (("--until", "2025-02-31"), "--until: "),
            (("--type", "pay ment"), "--type: "),
            (("987654",), "does not exist"),
        ],
    )
    def test_a_choice_that_makes_no_sense_is_refused(self, arguments, message):
        with pytest.raises(CommandError, match=message):
            run("redrive", *arguments)

    def test_numbers_of_which_none_can_move_fail(self):
        letters = dead_letters(2)
        run("discard", *(str(letter.pk) for letter in letters), "--note", "test data")

        with pytest.raises(CommandError, match="None of the dead letters"):
            run("redrive", *(str(letter.pk) for letter in letters))


class TestDiscard:
    def test_it_lets_go_with_a_note(self):
        [letter] = dead_letters(1)

        assert figures("discard", "--all", "--note", "test data")["moved"] == 1
        letter.refresh_from_db()
        assert letter.resolution == Resolution.DISCARDED
        assert Operation.objects.get().note == "test data"

    @pytest.mark.parametrize("note", [(), ("--note", " ")])
    def test_it_wants_a_note(self, note):
        dead_letters(1)

        with pytest.raises(CommandError, match="--note"):
            run("discard", "--all", *note)
        assert DeadLetter.objects.get().resolution == Resolution.OPEN


class TestReplay:
    def test_events_go_out_again_and_to_who_missed_them(self):
        delivered = make_delivered(make_endpoint())
        make_endpoint()

        assert figures("replay", delivered.event_id, "--dry-run") == {
            "dry_run": True,
            "kind": "replay",
            "sent_again": 1,
            "missed": 1,
            "of_them_waiting_for_their_endpoint": 0,
            "refused": 0,
            "why": {},
        }
        assert figures("replay", delivered.event_id)["moved"] == 2

    def test_missed_ones_of_one_endpoint_by_time(self):
        delivered = make_delivered(make_endpoint(tenant="acme"), type="a.b")
        late = make_endpoint(tenant="acme")
        make_endpoint(tenant="acme")
        make_event("a.b", tenant="other")

        said = figures("replay", "--endpoint", str(late.pk), "--type", "a.*", "--since", "2020-01-01", "--missed")

        assert (said["moved"], said["refused"]) == (1, 0)
        assert Delivery.objects.get(endpoint=late).event == delivered.event

    def test_an_unknown_event_is_an_error(self):
        with pytest.raises(CommandError, match="no event evt_none"):
            run("replay", "evt_none")


class TestSweep:
    def test_it_counts_and_then_does_the_duties(self):
        endpoint = make_endpoint()
        expired = make_event().deliveries.get()
        backdate(expired, deadline_at=timedelta(minutes=1))
        due = make_event().deliveries.get()
        backdate(due, next_attempt_at=timedelta(minutes=1))

        assert figures("sweep", "--dry-run")["expired"] == {"found": 1}
        said = figures("sweep")

        assert (said["expired"]["expired"], said["due"]["rung"], said["lapsed"]["lapsed"]) == (1, 1, 0)
        assert DeadLetter.objects.get().endpoint == endpoint

    def test_one_duty_alone_leaves_the_others(self):
        make_endpoint()
        backdate(make_event().deliveries.get(), deadline_at=timedelta(minutes=1))

        assert run("sweep", "unannounced").strip() == "unannounced: announced 0"
        assert not DeadLetter.objects.exists()


class TestEndpoint:
    def test_create_prints_the_number_and_the_secret_once(self):
        said = figures(
            "endpoint", "create", "http://127.0.0.1:9/x?token=T", "--event-type", "a.*", "--event-type", "b.c",
            "--rate-limit", "2.5", "--retry-policy", "stripe", "--header", "X-Key=V", "--owner-email", "o@example.org",
        )  # fmt: skip

        endpoint = Endpoint.objects.get(pk=said["id"])
        assert endpoint.event_types == ["a.*", "b.c"]
        assert (endpoint.headers, endpoint.policy.name) == ({"X-Key": "V"}, "stripe")
        assert said["signing_secret"] == endpoint.signing_secrets.get().secret

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("ftp://127.0.0.1/",), "^url: "),
            (("http://127.0.0.1/", "--event-type", "a b"), "^event_types: "),
            (("http://127.0.0.1/", "--timeout", "31"), "^timeout_seconds: "),
            (("http://127.0.0.1/", "--header", "webhook-id=1"), "^headers: "),
            (("http://127.0.0.1/", "--header", "nothing"), "^--header: "),
            (("http://127.0.0.1/", "--retry-policy", "none"), "^--retry-policy: .*known are .*default"),
        ],
    )
    def test_create_names_the_field_and_the_rule(self, arguments, message):
        with pytest.raises(CommandError, match=message):
            run("endpoint", "create", *arguments)
        assert not Endpoint.objects.exists()

    def test_list_and_show_hide_what_is_secret(self):
        endpoint = make_endpoint(headers={"X-Key": "HIDDEN"})
        secret = endpoint.signing_secrets.get()

        listed, shown = run("endpoint", "list"), run("endpoint", "show", str(endpoint.pk))

        assert "http://127.0.0.1:9" in listed
        assert "token" not in listed
        assert "X-Key" in shown
        assert secret.fingerprint in shown
        assert "HIDDEN" not in shown
        assert secret.secret not in shown
        assert [row["id"] for row in figures("endpoint", "list", "--state", "active")] == [endpoint.pk]
        assert figures("endpoint", "list", "--state", "paused") == []

    def test_show_says_how_healthy_it_is_and_what_was_lost(self):
        endpoint = make_endpoint(health_thresholds={"least_samples": 2})
        make_delivered(endpoint)
        make_dead_letter(endpoint)
        run("sweep", "health")

        shown = figures("endpoint", "show", str(endpoint.pk))

        assert (shown["health_level"], shown["health_score"], shown["success_rate_last_hour"]) == ("warning", 50, 0.5)
        assert shown["health_reason"].startswith("50.0% of 2 attempts succeeded")
        assert shown["open_dead_letters_by_class"] == ["rejected 1"]
        assert shown["health_thresholds"] == ["least_samples 2"]
        assert "health_level           warning" in run("endpoint", "show", str(endpoint.pk))

    def test_a_move_is_made_once_with_its_reason(self):
        endpoint = make_endpoint()

        run("endpoint", "pause", str(endpoint.pk), "--reason", "maintenance", "--dry-run")
        assert Endpoint.objects.get().state == State.ACTIVE
        assert figures("endpoint", "pause", str(endpoint.pk), "--reason", "maintenance")["to"] == "paused"

        endpoint.refresh_from_db()
        assert (endpoint.state, endpoint.state_reason) == (State.PAUSED, "maintenance")
        assert endpoint.state_changed_by.startswith("command:")
        with pytest.raises(CommandError, match="is paused"):
            run("endpoint", "pause", str(endpoint.pk), "--reason", "again")
        run("endpoint", "enable", str(endpoint.pk))

    def test_a_reason_and_an_existing_number_are_needed(self):
        with pytest.raises(CommandError, match="--reason"):
            run("endpoint", "archive", str(make_endpoint().pk))
        with pytest.raises(CommandError, match="no endpoint 4711"):
            run("endpoint", "show", "4711")


class TestRotateSecret:
    def test_it_prints_the_secret_alone(self):
        endpoint = make_endpoint()

        printed = run("rotate_secret", str(endpoint.pk), "--overlap-hours", "1")

        newest = SigningSecret.objects.live(timezone.now()).filter(endpoint=endpoint)[0]
        assert printed.strip() == newest.secret

    def test_a_dry_run_and_a_refusal_change_nothing(self):
        endpoint = make_endpoint()

        run("rotate_secret", str(endpoint.pk), "--dry-run")
        with pytest.raises(CommandError, match="overlap"):
            run("rotate_secret", str(endpoint.pk), "--overlap-hours", "-1")
        availability.archive(endpoint, actor="anna", reason="gone")
        with pytest.raises(CommandError, match="archived"):
            run("rotate_secret", str(endpoint.pk))

        assert endpoint.signing_secrets.count() == 1


class TestSecretsOfAnEndpoint:
    def test_rotate_prints_the_secret_alone_and_revoke_stops_one_by_its_fingerprint(self):
        endpoint = make_endpoint()
        old = endpoint.signing_secrets.get()

        printed = run("endpoint", "rotate", str(endpoint.pk), "--overlap-hours", "1").strip()
        said = figures("endpoint", "revoke", str(endpoint.pk), old.fingerprint, "--reason", "It was in a log.")

        (left,) = SigningSecret.objects.live(timezone.now()).filter(endpoint=endpoint)
        assert left.secret == printed
        assert said == {"id": endpoint.pk, "revoked": old.fingerprint, "dry_run": False}
        revoked, rotated = endpoint.secret_changes.all()
        assert (rotated.act, revoked.act, revoked.reason) == ("rotated", "revoked", "It was in a log.")
        assert revoked.actor.startswith("command:")

    def test_a_dry_run_changes_nothing_and_leaves_no_row(self):
        endpoint = make_endpoint()
        old = endpoint.signing_secrets.get()
        run("endpoint", "rotate", str(endpoint.pk), "--dry-run")
        assert endpoint.signing_secrets.count() == 1
        rotate(endpoint, actor="anna")

        run("endpoint", "revoke", str(endpoint.pk), old.fingerprint, "--reason", "x", "--dry-run")

        assert SigningSecret.objects.live(timezone.now()).filter(endpoint=endpoint).count() == 2
        assert endpoint.secret_changes.count() == 1

    def test_the_last_one_and_an_unknown_one_are_refused_in_words(self):
        endpoint = make_endpoint()
        known = endpoint.signing_secrets.get().fingerprint

        for fingerprint, words in ((known, "rotate first"), ("abc", f"no secret abc; those that sign are: {known}")):
            with pytest.raises(CommandError, match=words):
                run("endpoint", "revoke", str(endpoint.pk), fingerprint, "--reason", "leaked")
        with pytest.raises(CommandError, match="reason"):
            run("endpoint", "revoke", str(endpoint.pk), known)
