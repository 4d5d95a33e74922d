"""TLS certificates: seen on new connections, remembered, and warned about once before they end."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from deliveries.deliver import deliver
from deliveries.drain import certificates as noted
from deliveries.models import EndpointCertificate, EndpointHealth, Notice
from deliveries.sweeps import certificates, health, outlook
from deliveries.transitions.certificates import keep
from endpoints import availability
from endpoints.models import Endpoint
from tests.factories import make_endpoint, make_event, make_span
from tests.integration.transport.certificates import Authority
from tests.integration.transport.conftest import make_transport, receive
from tests.integration.transport.peers import answering
from tests.unit.deliveries.claims import a_claim, a_result

__all__ = ["make_transport", "receive"]  # fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

NOW = datetime(2026, 6, 10, 12, 30, tzinfo=UTC)
DAY = timedelta(days=1)


def known(endpoint, ends_at, *, seen_at=NOW):
    """What is remembered of its certificate."""
    EndpointCertificate.objects.update_or_create(endpoint=endpoint, defaults={"ends_at": ends_at, "seen_at": seen_at})


def secure(**fields):
    return make_endpoint(url=f"https://127.0.0.1:9/hook?{timezone.now().timestamp()}", **fields)


def figures(now=NOW):
    swept = certificates.sweep(now)
    return swept.ending, swept.told, swept.ended


class TestWarning:
    @pytest.mark.parametrize(
        ("left", "told"), [(timedelta(days=14), 0), (timedelta(days=14, seconds=-1), 1), (-DAY, 1)]
    )
    def test_it_begins_two_weeks_before_the_end(self, left, told):
        known(secure(), NOW + left)

        assert certificates.sweep(NOW).told == told

    def test_the_owner_reads_when_it_ends_and_what_to_do(self):
        endpoint = secure(owner_email="owner@example.org")
        known(endpoint, NOW + 9 * DAY + timedelta(hours=2))

        certificates.sweep(NOW)

        notice = Notice.objects.get()
        assert (notice.kind, notice.owner_email) == ("endpoint.certificate", "owner@example.org")
        assert notice.title.endswith("has a TLS certificate that ends on 2026-06-19")
        assert "valid until 2026-06-19 14:30 UTC (in 9 days)" in notice.text
        assert "Renew it" in notice.text
        assert "hook" not in notice.text

    def test_it_is_told_once_until_a_renewal_ends_it_and_then_of_the_next_one(self):
        endpoint = secure()
        known(endpoint, NOW + 13 * DAY)
        assert figures() == (1, 1, 0)
        assert figures(NOW + DAY) == (1, 0, 0)
        assert figures(NOW + 20 * DAY) == (1, 0, 0)

        known(endpoint, NOW + 90 * DAY)
        assert figures(NOW + 2 * DAY) == (0, 0, 1)
        assert figures(NOW + 3 * DAY) == (0, 0, 0)

        known(endpoint, NOW + 90 * DAY, seen_at=NOW + 80 * DAY)
        assert figures(NOW + 80 * DAY) == (1, 1, 0)

    def test_the_days_are_a_setting_and_an_endpoint_may_have_its_own(self, settings):
        settings.HOLDFAST = {"HEALTH_CERTIFICATE_DAYS": 30}
        early, late, never = secure(), secure(), secure()
        for endpoint, days in ((late, 3), (never, 0)):
            Endpoint.objects.filter(pk=endpoint.pk).update(health_thresholds={"certificate_days": days})
        for endpoint in (early, late, never):
            known(endpoint, NOW + 20 * DAY)

        assert certificates.sweep(NOW).told == 1
        assert Notice.objects.get().endpoint == early

        settings.HOLDFAST = {"HEALTH_CERTIFICATE_DAYS": 0}
        assert figures() == (0, 0, 1)

    def test_what_has_not_been_seen_for_a_week_may_have_been_renewed_and_is_no_news(self):
        endpoint = secure()
        known(endpoint, NOW + 5 * DAY, seen_at=NOW - 8 * DAY)
        assert figures() == (1, 0, 0)

        known(endpoint, NOW + 5 * DAY, seen_at=NOW - 6 * DAY)
        assert figures() == (1, 1, 0)
        # It still stands when nobody connects any more.
        assert figures(NOW + 4 * DAY) == (1, 0, 0)

    def test_an_endpoint_that_left_tls_or_was_archived_is_not_warned_about(self):
        plain, archived = secure(), secure()
        for endpoint in (plain, archived):
            known(endpoint, NOW + DAY)
        certificates.sweep(NOW)
        Endpoint.objects.filter(pk=plain.pk).update(url="http://127.0.0.1:9/hook")
        availability.archive(archived, actor="anna", reason="Gone.")

        assert figures() == (0, 0, 2)

    def test_a_dry_run_counts_what_would_be_told(self):
        endpoint = secure()
        known(endpoint, timezone.now() + DAY, seen_at=timezone.now())

        assert outlook.COUNTS["certificates"]() == 1
        certificates.sweep()
        assert outlook.COUNTS["certificates"]() == 0


class TestVerdict:
    def test_failures_of_tls_are_laid_to_a_certificate_that_is_known_to_be_over(self):
        expired, other = secure(), secure()
        known(expired, NOW - timedelta(hours=2))
        known(other, NOW + 90 * DAY)
        for endpoint in (expired, other):
            for ago in range(1, 41, 3):
                make_span(endpoint, NOW - timedelta(minutes=ago), failed={"tls": 5})

        health.sweep(NOW)

        said = {each.endpoint_id: (each.sign, each.reason) for each in EndpointHealth.objects.all()}
        assert said[expired.pk][0] == "certificate"
        assert "has expired" in said[expired.pk][1]
        assert said[other.pk][0] == "tls"


class TestRemembering:
    def test_of_two_certificates_the_one_that_ends_first_counts_while_it_is_seen(self):
        endpoint = secure()
        keep([(endpoint.pk, NOW + DAY), (endpoint.pk, NOW + 90 * DAY)])
        keep([(endpoint.pk, NOW + 90 * DAY)])
        assert EndpointCertificate.objects.get().ends_at == NOW + DAY

        EndpointCertificate.objects.update(seen_at=timezone.now() - timedelta(minutes=59))
        keep([(endpoint.pk, NOW + 90 * DAY)])
        assert EndpointCertificate.objects.get().ends_at == NOW + DAY

        EndpointCertificate.objects.update(seen_at=timezone.now() - timedelta(minutes=61))
        keep([(endpoint.pk, NOW + 90 * DAY)])
        assert EndpointCertificate.objects.get().ends_at == NOW + 90 * DAY

    def test_an_endpoint_that_is_gone_is_passed_over(self):
        keep([(2_000_000_000, NOW)])

        assert not EndpointCertificate.objects.exists()


class TestNoting:
    """What a process does not write over and over."""

    @pytest.fixture
    def written(self, monkeypatch):
        calls = []
        monkeypatch.setattr(noted, "keep", lambda news: calls.append(sorted(news)))
        return calls

    def result(self, ends_at, endpoint_id=7):
        made = a_result(a_claim(endpoint_id=endpoint_id))
        made.certificate_ends_at = ends_at
        return made

    def test_the_same_is_written_every_quarter_of_an_hour_and_news_at_once(self, written):
        time = [0.0]
        sightings = noted.Sightings(clock=lambda: time[0])
        for at, ends in ((0, NOW), (899, NOW), (899, NOW + DAY), (900, NOW)):
            time[0] = at
            sightings.note([self.result(ends), self.result(None), self.result(ends)])

        assert written == [[(7, NOW)], [(7, NOW + DAY)], [(7, NOW)]]

    def test_a_database_that_refuses_is_asked_again_with_the_next_sighting(self, monkeypatch, written):
        sightings = noted.Sightings()
        with monkeypatch.context() as broken:
            broken.setattr("deliveries.drain.certificates.connection.close", lambda: None)
            broken.setattr(noted, "keep", refuse)
            sightings.note([self.result(NOW)])

        sightings.note([self.result(NOW)])

        assert written == [[(7, NOW)]]


def refuse(_news):
    raise OperationalError("away")


def test_a_delivery_over_tls_leaves_the_end_of_the_certificate_and_people_see_it(
    receive, make_transport, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(noted, "_sightings", noted.Sightings())
    authority, ends = Authority(), datetime(2027, 5, 6, 7, 8, 9, tzinfo=UTC)
    receiver = receive(answering(), tls=authority.server_context(tmp_path, "127.0.0.1", end=ends))
    endpoint = make_endpoint(url=receiver.url(), ca_certificate=authority.pem)
    for _ in range(3):
        make_event()

    deliver([endpoint.pk], transport=make_transport())

    assert len(receiver.requests) == 3
    assert EndpointCertificate.objects.get(endpoint=endpoint).ends_at == ends
    call_command("endpoint", "show", str(endpoint.pk))
    assert "2027-05-06T07:08:09+00:00" in capsys.readouterr().out
