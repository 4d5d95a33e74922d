"""Rotation: the new secret signs at once, the old ones until the overlap has passed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from endpoints import availability, signing
from endpoints.errors import TransitionRefused
from endpoints.models import SigningSecret
from endpoints.rotation import revoke, rotate
from tests.factories import make_endpoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

HOUR = timedelta(hours=1)


def live(endpoint, at):
    return [row.fingerprint for row in SigningSecret.objects.live(at).filter(endpoint=endpoint)]


def test_both_secrets_sign_during_the_overlap_newest_first_and_then_only_the_new_one():
    endpoint = make_endpoint()
    old = endpoint.signing_secrets.get()
    now = timezone.now()

    new = rotate(endpoint, actor="anna", now=now)

    assert live(endpoint, now) == [new.fingerprint, old.fingerprint]
    assert live(endpoint, now + 23 * HOUR) == [new.fingerprint, old.fingerprint]
    assert live(endpoint, now + 24 * HOUR) == [new.fingerprint]


def test_a_receiver_with_either_secret_can_verify_during_the_overlap():
    endpoint = make_endpoint()
    old = endpoint.signing_secrets.get().secret
    new = rotate(endpoint, actor="anna").secret
    now = timezone.now()
    secrets = [row.secret for row in SigningSecret.objects.live(now).filter(endpoint=endpoint)]
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signing.sign(secrets, "evt_1", int(now.timestamp()), b"{}"),
    }

    for known in (old, new):
        assert signing.verify([known], headers, b"{}", now=now.timestamp()) == "evt_1"


def test_a_second_rotation_does_not_lengthen_the_life_of_the_first_secret():
    endpoint = make_endpoint()
    first = endpoint.signing_secrets.get()
    now = timezone.now()
    rotate(endpoint, actor="anna", overlap=HOUR, now=now)

    rotate(endpoint, actor="anna", overlap=24 * HOUR, now=now + timedelta(minutes=1))

    first.refresh_from_db()
    assert first.expires_at == now + HOUR


def test_without_an_overlap_the_old_secret_stops_at_once():
    endpoint = make_endpoint()

    new = rotate(endpoint, actor="anna", overlap=timedelta(0))

    assert live(endpoint, timezone.now()) == [new.fingerprint]


@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), timedelta(days=31)])
def test_an_overlap_without_sense_is_refused(overlap):
    endpoint = make_endpoint()

    with pytest.raises(ValueError, match="overlap"):
        rotate(endpoint, actor="anna", overlap=overlap)

    assert endpoint.signing_secrets.count() == 1


def test_a_leaked_secret_can_be_revoked_but_not_the_only_one():
    endpoint = make_endpoint()
    leaked = endpoint.signing_secrets.get()
    with pytest.raises(TransitionRefused, match="rotate first"):
        revoke(leaked, actor="anna", reason="leaked")
    new = rotate(endpoint, actor="anna")

    revoke(leaked, actor="anna", reason="leaked")

    assert live(endpoint, timezone.now()) == [new.fingerprint]
    with pytest.raises(TransitionRefused, match="expired already"):
        revoke(leaked, actor="anna", reason="leaked")


def test_the_last_one_that_signs_for_good_stays_also_when_an_older_one_signs_on_for_a_while():
    endpoint = make_endpoint()
    new = rotate(endpoint, actor="anna")

    with pytest.raises(TransitionRefused, match="rotate first"):
        revoke(new, actor="anna", reason="leaked")

    assert len(live(endpoint, timezone.now())) == 2


def test_each_rotation_and_revocation_leaves_a_row_with_who_why_and_when():
    endpoint = make_endpoint()
    old, now = endpoint.signing_secrets.get(), timezone.now()
    new = rotate(endpoint, actor="anna", now=now)
    revoke(old, actor="bert", reason="It was in a log.", now=now + HOUR)

    rows = [(row.act, row.fingerprint, row.actor, row.reason, row.at) for row in endpoint.secret_changes.all()]
    assert rows[0] == ("revoked", old.fingerprint, "bert", "It was in a log.", now + HOUR)
    assert rows[1][:3] == ("rotated", new.fingerprint, "anna")
    assert rows[1][4] == now


@pytest.mark.parametrize(("actor", "reason"), [("", "leaked"), ("anna", " ")])
def test_nobody_revokes_without_a_name_and_a_reason(actor, reason):
    endpoint = make_endpoint()
    old = endpoint.signing_secrets.get()
    rotate(endpoint, actor="anna")

    with pytest.raises(ValueError, match="reason"):
        revoke(old, actor=actor, reason=reason)


def test_an_archived_endpoint_gets_no_new_secret():
    endpoint = make_endpoint()
    availability.archive(endpoint, actor="anna", reason="gone")

    with pytest.raises(TransitionRefused):
        rotate(endpoint, actor="anna")


def test_the_log_names_who_and_which_secret_but_never_the_secret(caplog, django_capture_on_commit_callbacks):
    caplog.set_level("INFO")
    with django_capture_on_commit_callbacks(execute=True):
        new = rotate(make_endpoint(), actor="anna")

    assert "anna" in caplog.text
    assert new.fingerprint in caplog.text
    assert new.secret.removeprefix("whsec_") not in caplog.text
