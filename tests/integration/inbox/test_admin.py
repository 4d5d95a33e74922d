"""The inbox in the admin: what is shown to whom, and the same two ways out of the dead letters."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from endpoints.signing import fingerprint, new_secret
from inbox.models import DeadLetter, Operation, RefusalCount, Source
from tests.integration.admin.pages import address, messages_of, page, run_action

pytestmark = pytest.mark.django_db

VIEWS = ("deadletter", "operation", "receivedevent", "refusalcount", "source")
SECRET_PART = "very-private-payload"


@pytest.fixture
def signed_in(db):
    def sign_in(*permissions, name="colleague"):
        user = User.objects.create_user(name, is_staff=True)
        for codename in (*(f"view_{view}" for view in VIEWS), *permissions):
            user.user_permissions.add(Permission.objects.get(content_type__app_label="inbox", codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def letter(sender):
    sender.post_bytes(b"{not json: " + SECRET_PART.encode(), id="msg_1")
    return DeadLetter.objects.get()


@pytest.mark.parametrize("view", VIEWS)
def test_every_list_opens_and_offers_no_bulk_deletion(signed_in, letter, view):
    RefusalCount.objects.create(day="2026-12-01", reason="stale", count=1, last_at=letter.created_at)

    answer = signed_in().get(reverse(f"admin:inbox_{view}_changelist"))

    assert answer.status_code == 200
    assert "delete_selected" not in answer.content.decode()


@pytest.mark.parametrize("term", ["0", "msg_1", "nothing"])
@pytest.mark.parametrize("view", ["deadletter", "receivedevent"])
def test_searching_by_number_or_event_id_works(signed_in, letter, view, term):
    answer = signed_in().get(reverse(f"admin:inbox_{view}_changelist"), {"q": term})

    assert answer.context["cl"].result_count == (term == "msg_1")


def test_bodies_are_shown_to_those_who_may_see_them_only(signed_in, letter):
    assert SECRET_PART not in page(signed_in(name="a"), letter) + page(signed_in(name="b"), letter.event)
    assert SECRET_PART in page(signed_in("view_body", name="c"), letter)


def test_redrive_needs_its_permission_and_leaves_its_mark(signed_in, letter):
    run_action(signed_in(name="looker"), "redrive_selected", letter)
    letter.refresh_from_db()
    assert letter.resolution == "open"

    nora = signed_in("redrive_deadletter", name="nora")
    asked = run_action(nora, "redrive_selected", letter, confirmed=False)
    assert "go back to their handlers" in asked.content.decode()
    done = run_action(nora, "redrive_selected", letter, note="Mended.")

    letter.refresh_from_db()
    operation = Operation.objects.get()
    assert (letter.resolution, operation.actor, operation.note) == ("redriven", "nora", "Mended.")
    assert "1 dead letter redriven" in messages_of(done)[0]
    assert LogEntry.objects.filter(change_message__contains="Redriven. Mended.").exists()
    assert str(letter) in page(nora, operation)


def test_many_are_redriven_at_the_pace_of_the_settings(signed_in, sender, letter, monkeypatch):
    monkeypatch.setattr("inbox.admin.dead_letter_actions.AT_ONCE", 1)
    nora = signed_in("redrive_deadletter", name="nora")
    run_action(nora, "redrive_selected", letter, note="One.")
    sender.post_bytes(b"{", id="msg_2")
    sender.post_bytes(b"{", id="msg_3")

    run_action(nora, "redrive_selected", *DeadLetter.objects.filter(resolution="open"), note="Two.")

    few, many = Operation.objects.order_by("pk")
    assert "a second" not in few.selection
    assert "At 50 a second." in many.selection


def test_discard_needs_a_note_and_its_own_permission(signed_in, letter):
    redriver, discarder = signed_in("redrive_deadletter", name="a"), signed_in("discard_deadletter", name="b")
    run_action(redriver, "discard_selected", letter, note="x")
    run_action(discarder, "discard_selected", letter, note="")
    letter.refresh_from_db()
    assert letter.resolution == "open"

    run_action(discarder, "discard_selected", letter, note="Theirs to mend.")

    letter.refresh_from_db()
    assert letter.resolution == "discarded"
    assert "msg_1" in page(discarder, letter.event)
    asked = run_action(discarder, "discard_selected", letter, confirmed=False)
    assert "already discarded" in asked.content.decode()


def test_rows_that_the_inbox_writes_cannot_be_changed_even_by_an_administrator(letter):
    client = Client()
    client.force_login(User.objects.create_superuser("nora"))

    for row in (letter, letter.event):
        assert client.post(address(row), {"reason": "x"}).status_code == 403


def test_a_secret_is_taken_in_and_never_shown(signed_in, sender):
    client, secret = signed_in("rotate_source_secret"), new_secret()
    url = reverse("admin:inbox_source_rotate", args=[sender.source.pk])

    assert secret not in client.post(url, {"secret": f"v1,{secret}", "overlap": "24"}).content.decode()
    answer = client.post(url, {"secret": secret, "overlap": "24"}, follow=True).content.decode()

    assert fingerprint(secret) in answer
    assert secret not in answer + page(client, sender.source)
    assert sender.secret not in page(client, sender.source)
    assert sender.source.secrets.count() == 2


def test_the_page_for_a_secret_needs_its_permission(signed_in, sender):
    url = reverse("admin:inbox_source_rotate", args=[sender.source.pk])

    assert signed_in().post(url, {"secret": new_secret(), "overlap": "0"}).status_code == 403


def test_a_source_is_made_in_the_admin_and_says_that_it_refuses_everything_without_a_secret(signed_in):
    client = signed_in("add_source", "change_source")
    fields = {"slug": "shop", "scheme": "shopify", "options": "{}", "enabled": "on", "tolerance_seconds": "300"}
    fields |= {"unhandled": "ignore", "concurrency": "4", "ordering_path": "", "body_cap_bytes": ""}

    refused = client.post(reverse("admin:inbox_source_add"), fields | {"options": '{"a": 1}'})
    assert "no such option" in refused.content.decode()
    client.post(reverse("admin:inbox_source_add"), fields)

    source = Source.objects.get(slug="shop")
    shown = page(client, source)
    assert "no live secret" in shown
    assert "/inbox/shop/" in shown
