"""Signing secrets: fingerprints for all, the secret once, for whoever made it, and that is logged."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from endpoints.models import Endpoint, SigningSecret
from endpoints.rotation import rotate
from tests.factories import make_endpoint
from tests.integration.admin.pages import messages_of, page
from tests.integration.admin.test_endpoint_form import ADD, GOOD

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

PERMISSION = "endpoints.reveal_signing_secret"


def _secret_page(endpoint: Endpoint) -> str:
    return reverse("admin:endpoints_endpoint_secret", args=[endpoint.pk])


def _rotate(client: Client, endpoint: Endpoint, overlap: str = "24") -> str:
    """Rotate, and return the new secret."""
    answer = client.post(reverse("admin:endpoints_endpoint_rotate", args=[endpoint.pk]), {"overlap": overlap})
    assert answer.status_code == 302
    assert answer["Location"] == _secret_page(endpoint)
    return endpoint.signing_secrets.first().secret


def test_a_page_shows_fingerprints_and_never_the_secret(operator: Client):
    endpoint = make_endpoint()
    secret = endpoint.signing_secrets.get()

    text = page(operator, endpoint)

    assert secret.fingerprint in text
    assert "whsec_" not in text


def test_a_new_endpoints_secret_is_shown_once_when_asked_and_that_is_logged(signed_in):
    client = signed_in("endpoints.add_endpoint", PERMISSION)

    answer = client.post(reverse(ADD), GOOD)

    endpoint = Endpoint.objects.get()
    secret = endpoint.signing_secrets.get()
    assert answer.url == _secret_page(endpoint)
    assert secret.secret not in client.get(_secret_page(endpoint)).content.decode()
    shown = client.post(_secret_page(endpoint))
    assert secret.secret in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert secret.fingerprint in LogEntry.objects.latest("pk").change_message
    again = client.post(_secret_page(endpoint), follow=True)
    assert secret.secret not in again.content.decode()
    assert "shown already" in messages_of(again)[0]
    assert not LogEntry.objects.filter(change_message__contains="whsec_").exists()


def test_the_secret_itself_is_not_kept_in_the_session(signed_in):
    client, endpoint = signed_in(PERMISSION), make_endpoint()

    secret = _rotate(client, endpoint)

    assert secret not in str(dict(client.session.items()))


def test_who_may_not_reveal_secrets_gets_none_for_a_new_endpoint(signed_in):
    client = signed_in("endpoints.add_endpoint")

    answer = client.post(reverse(ADD), GOOD)

    assert answer.url == reverse("admin:endpoints_endpoint_changelist")
    endpoint = Endpoint.objects.get()
    for method in (client.get, client.post):
        assert method(_secret_page(endpoint)).status_code == 403
        assert method(reverse("admin:endpoints_endpoint_rotate", args=[endpoint.pk])).status_code == 403
    assert "Rotate" not in page(client, endpoint)
    assert endpoint.signing_secrets.count() == 1


def test_a_secret_somebody_else_made_is_not_shown(signed_in):
    endpoint = make_endpoint()
    secret = _rotate(signed_in(PERMISSION), endpoint)

    answer = signed_in(PERMISSION).post(_secret_page(endpoint), follow=True)

    assert secret not in answer.content.decode()


def test_after_ten_minutes_a_secret_is_not_shown_any_more(signed_in):
    client, endpoint = signed_in(PERMISSION), make_endpoint()
    secret = _rotate(client, endpoint)
    session = client.session
    session["signing_secrets_to_show"] = {
        pk: (timezone.now() - timedelta(minutes=10)).isoformat() for pk in session["signing_secrets_to_show"]
    }
    session.save()

    answer = client.post(_secret_page(endpoint), follow=True)

    assert secret not in answer.content.decode()


def test_rotating_keeps_the_old_secret_for_as_long_as_was_chosen(signed_in):
    client, endpoint = signed_in(PERMISSION), make_endpoint()
    old = endpoint.signing_secrets.get()

    new = _rotate(client, endpoint, overlap="72")

    old.refresh_from_db()
    assert abs(old.expires_at - timezone.now() - timedelta(hours=72)) < timedelta(minutes=1)
    assert new != old.secret
    assert "Rotated the signing secret" in LogEntry.objects.latest("pk").change_message
    assert new in client.post(_secret_page(endpoint)).content.decode()


class TestRevoking:
    @pytest.fixture
    def rotated(self):
        endpoint = make_endpoint()
        old = endpoint.signing_secrets.get()
        return endpoint, old, rotate(endpoint, actor="anna")

    def revoke_page(self, endpoint: Endpoint) -> str:
        return reverse("admin:endpoints_endpoint_revoke", args=[endpoint.pk])

    def test_one_secret_is_stopped_with_a_reason_that_is_kept(self, signed_in, rotated):
        client, (endpoint, old, new) = signed_in(PERMISSION), rotated
        asked = client.get(self.revoke_page(endpoint)).content.decode()
        assert old.fingerprint in asked
        assert "whsec_" not in asked

        answer = client.post(self.revoke_page(endpoint), {"secret": old.pk, "reason": "It was in a log."}, follow=True)

        assert messages_of(answer) == [f"The secret {old.fingerprint} signs no more."]
        live = SigningSecret.objects.live(timezone.now()).filter(endpoint=endpoint)
        assert [row.fingerprint for row in live] == [new.fingerprint]
        assert "It was in a log." in page(client, endpoint)
        assert endpoint.secret_changes.first().act == "revoked"
        assert old.fingerprint in LogEntry.objects.latest("pk").change_message

    def test_the_last_one_stays_and_a_reason_is_needed(self, signed_in, rotated):
        client, (endpoint, old, new) = signed_in(PERMISSION), rotated

        answer = client.post(self.revoke_page(endpoint), {"secret": new.pk, "reason": "leaked"}, follow=True)
        assert "rotate first" in messages_of(answer)[0]
        assert client.post(self.revoke_page(endpoint), {"secret": old.pk, "reason": " "}).status_code == 200

        assert SigningSecret.objects.live(timezone.now()).filter(endpoint=endpoint).count() == 2

    def test_a_secret_of_another_endpoint_is_no_choice(self, signed_in, rotated):
        endpoint, _, _ = rotated
        other = make_endpoint(tenant="other").signing_secrets.get()

        answer = signed_in(PERMISSION).post(self.revoke_page(endpoint), {"secret": other.pk, "reason": "leaked"})

        assert answer.status_code == 200
        assert SigningSecret.objects.live(timezone.now()).filter(pk=other.pk).exists()

    def test_the_button_is_for_those_who_may_and_where_there_is_a_choice(self, signed_in, rotated):
        endpoint, _, _ = rotated
        assert "Revoke" in page(signed_in(PERMISSION), endpoint)
        assert "Revoke" not in page(signed_in(PERMISSION), make_endpoint(tenant="other"))
        onlooker = signed_in()
        assert "Revoke" not in page(onlooker, endpoint)
        for method in (onlooker.get, onlooker.post):
            assert method(self.revoke_page(endpoint)).status_code == 403
