"""Sources: their secrets, what is wrong with them, their figures, and the command line."""

import io
import json
from datetime import timedelta

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone

from endpoints.signing import fingerprint, new_secret
from inbox import Logic, accounts
from inbox.accounts import look_up
from inbox.errors import SecretRefused
from inbox.figures import figures
from inbox.models import DeadLetter, ReceivedEvent, SourceSecret
from inbox.rotation import revoke, rotate
from tests.integration.inbox.conftest import make_source

pytestmark = pytest.mark.django_db


def inbox(*arguments, stdin="", monkeypatch=None):
    out = io.StringIO()
    if monkeypatch:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    call_command("inbox", *arguments, stdout=out)
    return out.getvalue()


def warnings():
    return [message.msg for message in run_checks(tags=["database"], databases=["default"]) if "inbox" in message.id]


def test_during_a_rotation_both_secrets_prove_and_then_the_old_one_ends_by_itself(sender):
    old, new = sender.secret, new_secret()

    rotate(sender.source, f" {new}\n", actor="nora", overlap=timedelta(hours=1))
    assert [sender.post(secret=each, id=each[-8:].strip("=")).status_code for each in (old, new)] == [200, 200]

    SourceSecret.objects.filter(expires_at__isnull=False).update(
        created_at=timezone.now() - timedelta(hours=2), expires_at=timezone.now() - timedelta(hours=1)
    )
    assert [sender.post(secret=each).status_code for each in (old, new)] == [401, 200]


def test_a_secret_in_the_wrong_format_is_refused_with_the_fault_and_without_the_secret(sender):
    with pytest.raises(SecretRefused) as refusal:
        rotate(sender.source, "v1,whsec_AAAAAAAAAAAA", actor="nora")

    assert "AAAA" not in str(refusal.value)


def test_the_same_secret_is_not_taken_twice(sender):
    with pytest.raises(SecretRefused, match="already"):
        rotate(sender.source, sender.secret, actor="nora")


def test_a_revoked_secret_proves_nothing_from_then_on(sender):
    revoke(sender.source.secrets.get(), actor="nora", now=timezone.now() - timedelta(seconds=0))

    with pytest.raises(SecretRefused):
        revoke(sender.source.secrets.get(), actor="nora")


def test_a_change_to_a_source_holds_at_the_door_within_a_second(sender, monkeypatch):
    monkeypatch.setattr(accounts, "REMEMBERED_SECONDS", 1.0)
    slug = sender.source.slug
    assert look_up(slug, clock=lambda: 100.0).enabled
    type(sender.source).objects.update(enabled=False)

    assert look_up(slug, clock=lambda: 100.9).enabled
    assert not look_up(slug, clock=lambda: 101.0).enabled
    assert look_up("nobody", clock=lambda: 100.0) is None


def test_the_column_holds_ciphertext(sender):
    assert sender.secret not in str(SourceSecret.objects.extra(select={"raw": "secret::text"}).values_list("raw"))


@pytest.mark.parametrize(
    ("scheme", "secret"),
    [
        ("standard-webhooks", new_secret()),
        ("standard-webhooks", "whpk_" + "A" * 43 + "="),
        ("stripe", "whsec_abcdefghijklmnopqrstuvwx"),
        ("github", "a secret of twenty-odd characters"),
        ("adyen", "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"),
    ],
)
def test_a_refusal_names_the_key_by_the_fingerprint_that_the_source_shows(scheme, secret):
    source = make_source(scheme=scheme)

    shown = source.secrets.create(secret=secret).fingerprint

    assert len(shown) == 12
    assert scheme != "standard-webhooks" or secret.startswith("whpk_") or shown == fingerprint(secret)


def test_options_that_the_scheme_does_not_know_are_refused():
    with pytest.raises(ValidationError, match="no such option"):
        make_source(scheme="github", options={"colour": "blue"})
    with pytest.raises(ValidationError, match="no scheme"):
        make_source(scheme="carrier-pigeon")


def test_a_system_check_names_sources_that_refuse_everything(sender):
    assert warnings() == []
    sender.source.secrets.all().delete()
    make_source(slug="old").__class__.objects.filter(slug="old").update(scheme="gone")

    assert len(warnings()) == 2
    assert any("no live secret" in words for words in warnings())
    assert any("no scheme gone" in words for words in warnings())


def test_figures_say_what_came_in_what_was_refused_and_what_waits(sender, handles, work):
    @handles(sender, "order.*")
    def fail(event):
        raise Logic("Broken.")

    sender.post(id="msg_1")
    sender.post_bytes(b"{}", id="msg_1")
    sender.post(type="other", id="msg_2")
    work(sender)
    sender.post(secret=new_secret())
    sender.post(at=0)
    sender.post(id="waiting")
    ReceivedEvent.objects.filter(event_id="waiting").update(received_at=timezone.now() - timedelta(minutes=5))

    (found,) = figures()

    assert (found.received, found.duplicates, found.conflicts, found.waiting) == (3, 1, 1, 1)
    assert found.duplicate_rate == 0.25
    assert found.refusals == {"stale": 1}
    assert found.signature_failures == {sender.source.secrets.get().fingerprint: 1}
    assert found.open_dead_letters == {"logic": 1}
    assert found.unhandled_types == {"other": 1}
    assert 299 < found.oldest_unprocessed_seconds < 310
    assert found.latency_p95_seconds is not None


def test_the_pipelines_status_tells_of_the_inbox_and_of_what_nobody_processes(sender):
    sender.post(id="msg_1")
    ReceivedEvent.objects.update(next_attempt_at=timezone.now() - timedelta(minutes=5))

    def status(*arguments):
        out = io.StringIO()
        with pytest.raises(SystemExit):
            call_command("pipeline_status", *arguments, stdout=out)
        return out.getvalue()

    told = json.loads(status("--json"))
    assert told["inbox"][sender.source.slug]["waiting"] == 1
    assert any("Inbox" in problem and "due for 300 s" in problem for problem in told["problems"])
    assert "1 received, 0 repeats" in status()


class TestCommand:
    def test_status_prints_the_figures_for_people_and_for_programs(self, sender):
        sender.post()

        assert "1 received" in inbox("status")
        (source,) = json.loads(inbox("status", "--json"))["sources"]
        assert (source["source"], source["waiting"]) == (sender.source.slug, 1)

    def test_sources_are_listed_with_their_addresses(self, sender):
        assert f"/inbox/{sender.source.slug}/" in inbox("sources")

    def test_a_secret_is_read_from_standard_input(self, sender, monkeypatch):
        secret = new_secret()

        printed = inbox("rotate-secret", sender.source.slug, stdin=f"{secret}\n", monkeypatch=monkeypatch)

        assert fingerprint(secret) in printed
        assert secret not in printed
        assert sender.post(secret=secret).status_code == 200

    def test_dead_letters_are_redriven_and_discarded_by_filter(self, sender):
        sender.post_bytes(b"{", id="a")
        sender.post_bytes(b"[", id="b")

        dry = json.loads(inbox("redrive", "--source", sender.source.slug, "--dry-run", "--json"))
        assert (dry["ready"], DeadLetter.objects.filter(resolution="open").count()) == (2, 2)
        with pytest.raises(CommandError, match="above 0"):
            inbox("redrive", "--source", sender.source.slug, "--rate", "0")
        assert "2 moved" in inbox("discard", "--class", "poison", "--note", "Theirs to mend.")
        with pytest.raises(CommandError, match="already discarded"):
            inbox("redrive", str(DeadLetter.objects.first().pk))

    @pytest.mark.parametrize("arguments", [["redrive"], ["redrive", "1", "--type", "x"], ["redrive", "--source", "no"]])
    def test_nothing_chosen_or_nothing_known_is_an_error_and_not_everything(self, arguments):
        with pytest.raises(CommandError):
            inbox(*arguments)

    def test_the_sweeps_run_by_hand(self, sender):
        sender.post()

        assert json.loads(inbox("sweep", "--json"))["due"]["due"] == 1
