"""The health URL, as a load balancer asks it: without signing in, and with an answer whatever is broken."""

import pytest
from django.urls import reverse

from deliveries.watch import heartbeats
from tests.broker import away
from tests.factories import make_dead_letter, make_endpoint
from tests.integration.deliveries.test_survey import broker_alone_away, database_away, running  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

URL = "/health/"


@pytest.fixture(autouse=True)
def no_collected_files(settings, tmp_path):
    """WhiteNoise warns when nobody has run collectstatic."""
    settings.STATIC_ROOT = str(tmp_path)


def test_it_answers_200_and_the_figures_when_work_moves(client, running):  # noqa: F811
    answer = client.get(URL)

    assert reverse("health") == URL
    assert answer.status_code == 200
    assert answer["content-type"] == "application/json"
    said = answer.json()
    assert said["status"] == "healthy"
    assert {"problems", "oldest_due_seconds", "queue_depths", "seconds_since", "workers"} <= set(said)


def test_it_answers_503_and_the_reason_when_it_does_not(client, running):  # noqa: F811
    heartbeats.leave("slow@here")

    answer = client.get(URL)

    assert answer.status_code == 503
    assert answer.json()["problems"] == ["No worker was seen for deliveries.slow."]


def test_it_is_never_stored_on_the_way(client):
    assert "no-store" in client.get(URL)["cache-control"]


def test_a_probe_may_ask_for_the_head_alone_and_change_nothing(client, running):  # noqa: F811
    assert client.head(URL).status_code == 200
    assert client.post(URL).status_code == 405


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_answered_503_and_not_500(client, running):  # noqa: F811
    with database_away():
        answer = client.get(URL)

    assert answer.status_code == 503
    assert "database" in answer.json()["problems"][0]


def test_a_redis_that_is_away_is_answered_503_and_not_500(client):
    with away(), broker_alone_away():
        answer = client.get(URL)

    assert answer.status_code == 503
    assert answer.json()["workers"] == []


def test_it_names_no_host_no_endpoint_and_no_secret(client, running):  # noqa: F811
    make_dead_letter(make_endpoint(headers={"authorization": "Bearer SECRET"}, description="Acme"))

    said = client.get(URL).content.decode()

    for word in ("SECRET", "Acme", "127.0.0.1", "@here", "hooks"):
        assert word not in said
