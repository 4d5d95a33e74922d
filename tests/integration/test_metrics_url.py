"""The metrics URL, as Prometheus scrapes it: guarded, in its format, and with an answer whatever is broken."""

import re

import pytest
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families

from deliveries.outcomes import Kind
from deliveries.watch import heartbeats
from inbox import metrics as inbox_metrics
from inbox.refusals import count_refusal
from tests.broker import away
from tests.factories import make_dead_letter, make_delivered, make_endpoint
from tests.integration.deliveries.test_survey import broker_alone_away, database_away, running  # noqa: F401
from tests.integration.inbox.conftest import make_sender

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

URL = "/metrics"
UNITS = ("_seconds", "_total", "_bucket", "_count", "_sum")


@pytest.fixture(autouse=True)
def no_collected_files(settings, tmp_path):
    """WhiteNoise warns when nobody has run collectstatic."""
    settings.STATIC_ROOT = str(tmp_path)


@pytest.fixture
def scrape(client, settings):
    """Scrapes with the token; gives the value of each series by its name and labels, as they are written."""
    settings.HOLDFAST_METRICS_TOKEN = "token"

    def scrape():
        answer = client.get(URL, headers={"authorization": "Bearer token"})
        assert answer.status_code == 200
        return dict(line.rsplit(" ", 1) for line in answer.content.decode().splitlines() if line[0] != "#")

    return scrape


class TestTheGuard:
    def test_in_production_it_is_closed_until_a_token_is_set(self, client, settings):
        settings.DEBUG, settings.HOLDFAST_METRICS_TOKEN = False, ""

        answer = client.get(URL)

        assert answer.status_code == 403
        assert b"HOLDFAST_METRICS_TOKEN" in answer.content

    def test_in_development_it_is_open_until_a_token_is_set(self, client, settings):
        settings.DEBUG, settings.HOLDFAST_METRICS_TOKEN = True, ""
        assert client.get(URL).status_code == 200

        settings.HOLDFAST_METRICS_TOKEN = "token"
        assert client.get(URL).status_code == 401

    @pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Bearer töken", "Basic token", "token"])
    def test_a_token_that_is_wrong_or_missing_is_refused(self, client, settings, given):
        settings.HOLDFAST_METRICS_TOKEN = "token"

        answer = client.get(URL, headers={"authorization": given.encode().decode("latin-1")})

        assert answer.status_code == 401
        assert answer["www-authenticate"] == "Bearer"
        assert b"holdfast_" not in answer.content

    def test_the_token_opens_it(self, client, settings):
        settings.HOLDFAST_METRICS_TOKEN = "token"

        answer = client.get(URL, headers={"authorization": "Bearer token"})

        assert answer.status_code == 200
        assert answer["content-type"].startswith("text/plain; version=0.0.4")
        assert "no-store" in answer["cache-control"]
        assert reverse("metrics") == URL

    def test_nothing_but_reading_is_possible(self, client):
        assert client.post(URL).status_code == 405


class TestWhatItSays:
    def test_attempts_are_counted_by_what_came_of_them(self, scrape):
        make_delivered(make_endpoint())
        make_dead_letter(make_endpoint(tenant="other"), kind=Kind.AUTH)

        found = scrape()

        assert found["holdfast_attempts_total"] == "2.0"
        assert found['holdfast_deliveries_acknowledged_total{attempt="1"}'] == "1.0"
        assert found['holdfast_attempts_failed_total{class="auth"}'] == "1.0"
        assert found['holdfast_attempts_failed_total{class="throttled"}'] == "0.0"
        assert found['holdfast_dead_letters_open{class="auth"}'] == "1.0"
        assert found['holdfast_attempt_duration_seconds_bucket{le="0.005"}'] == "0.0"
        assert found['holdfast_attempt_duration_seconds_bucket{le="0.01"}'] == "2.0"
        assert found["holdfast_attempt_duration_seconds_sum"] == "0.014"
        assert found["holdfast_event_to_acknowledgement_seconds_count"] == "1.0"

    def test_workers_sweeps_and_queues_are_there(self, scrape, running):  # noqa: F811
        heartbeats.note("recorded")

        found = scrape()

        assert float(found['holdfast_sweep_age_seconds{sweep="due"}']) < 60
        assert float(found["holdfast_result_age_seconds"]) < 60
        assert 'holdfast_sweep_age_seconds{sweep="recorded"}' not in found
        assert found["holdfast_workers"] == "2.0"
        assert found['holdfast_queue_workers{queue="deliveries.slow"}'] == "1.0"
        assert found["holdfast_worker_busy_seconds"] == "3.0"
        assert found['holdfast_queue_depth{queue="upkeep"}'] == "0.0"

    def test_the_inbox_tells_signature_failures_from_other_refusals(self, scrape):
        sender = make_sender(slug="shop")
        sender.post(id="msg_1")
        sender.post(id="msg_1")
        sender.post_bytes(b"{}", secret="whsec_" + "A" * 32)
        count_refusal(None, "unknown-source")

        found = scrape()

        assert found['holdfast_inbox_received_total{source="shop"}'] == "1.0"
        assert found['holdfast_inbox_duplicates_total{source="shop"}'] == "1.0"
        assert found['holdfast_inbox_signature_failures_total{reason="bad-signature",source="shop"}'] == "1.0"
        assert found['holdfast_inbox_refusals_total{reason="unknown-source",source=""}'] == "1.0"
        assert not any("signature" in series for series in found if series.startswith("holdfast_inbox_refusals"))
        assert found['holdfast_inbox_unprocessed{source="shop"}'] == "1.0"

    def test_it_is_the_format_of_prometheus_with_help_and_units(self, client, settings, running):  # noqa: F811
        settings.DEBUG = True
        make_sender().post()
        make_delivered(make_endpoint())

        text = client.get(URL).content.decode()

        families = list(text_string_to_metric_families(text))
        assert len(families) > 40
        assert len({family.name for family in families}) == len(families)
        for family in families:
            assert family.name.startswith("holdfast_")
            assert len(family.documentation) > 15
            assert not re.search(r"_(ms|milliseconds|minutes|hours)\b", family.name)
            assert family.type in {"counter", "gauge", "histogram"}
            if "seconds" in family.name:
                assert family.name.endswith("_seconds")

    def test_the_number_of_series_depends_on_no_endpoint_and_on_few_sources(self, scrape, monkeypatch):
        make_delivered(make_endpoint()), make_sender(slug="first")
        few = len(scrape())
        make_delivered(make_endpoint(tenant="other"))
        assert len(scrape()) == few

        monkeypatch.setattr(inbox_metrics, "LABELLED_SOURCES", 1)
        for slug in ("second", "third"):
            make_sender(slug=slug).post()
        found = scrape()

        assert found['holdfast_inbox_received_total{source="first"}'] == "0.0"
        assert found['holdfast_inbox_received_total{source="other"}'] == "2.0"
        assert found['holdfast_inbox_processing_seconds_count{source="other"}'] == "0.0"
        assert found['holdfast_inbox_unprocessed{source="other"}'] == "2.0"
        assert not any("second" in series or "third" in series for series in found if 'source="s' in series)

    def test_it_names_no_host_no_endpoint_and_no_secret(self, scrape, running):  # noqa: F811
        make_dead_letter(make_endpoint(headers={"authorization": "Bearer SECRET"}, description="Acme"))

        said = "\n".join(scrape())

        for word in ("SECRET", "Acme", "127.0.0.1", "@here", "hooks"):
            assert word not in said


class TestWhenSomethingIsAway:
    @pytest.mark.django_db(transaction=True)
    def test_without_the_database_the_rest_is_still_told(self, scrape, running):  # noqa: F811
        with database_away():
            found = scrape()

        assert found['holdfast_service_up{service="database"}'] == "0.0"
        assert found['holdfast_service_up{service="redis"}'] == "1.0"
        assert found["holdfast_workers"] == "2.0"
        assert found["holdfast_inbox_up"] == "0.0"
        assert "holdfast_attempts_total" not in found

    def test_without_redis_and_broker_the_rows_are_still_told(self, scrape):
        make_delivered(make_endpoint())

        with away(), broker_alone_away():
            found = scrape()

        assert found['holdfast_service_up{service="redis"}'] == "0.0"
        assert found['holdfast_service_up{service="broker"}'] == "0.0"
        assert found['holdfast_service_up{service="database"}'] == "1.0"
        assert found["holdfast_attempts_total"] == "1.0"
        assert found["holdfast_deliveries_pending"] == "0.0"
        assert "holdfast_workers" not in found
