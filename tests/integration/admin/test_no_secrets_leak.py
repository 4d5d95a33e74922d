"""For many services the path or the query of the URL is the credential: after a failure it is nowhere to be read."""

import logging

import pytest
from django.core import mail
from django.urls import reverse

from deliveries import alerts
from deliveries.deliver import deliver
from deliveries.models import Attempt, DeadLetter
from deliveries.transport import HttpTransport
from endpoints.conf import allowed_networks
from endpoints.models import RetryPolicy
from tests.factories import make_event
from tests.integration.transport.peers import closed_port


@pytest.fixture
def dead_letter(make_endpoint):
    """What is left of a request to an endpoint that does not listen, and whose URL and headers are credentials."""
    policy = RetryPolicy.objects.create(name="once", max_attempts=1)
    url = f"http://127.0.0.1:{closed_port()}/services/T0-SECRET?token=T1-SECRET"
    endpoint = make_endpoint(url=url, retry_policy=policy, headers={"X-Key": "T2-SECRET"})
    make_event()
    deliver([endpoint.pk], transport=HttpTransport(allowed_networks()))
    return DeadLetter.objects.get()


@pytest.fixture(autouse=True)
def told_operators(settings):
    settings.HOLDFAST = {"OPERATORS": ["ops@example.com"]}


def test_no_row_log_or_mail_holds_the_credentials_of_an_endpoint_that_failed(caplog, dead_letter):
    caplog.set_level(logging.DEBUG)

    alerts.announce([dead_letter.pk])

    attempt, (sent,) = Attempt.objects.get(), mail.outbox
    said = [sent.subject, sent.body, attempt.reason, attempt.host, attempt.snippet, dead_letter.reason]
    assert "SECRET" not in "\n".join([caplog.text, *said, str(dead_letter.headers), str(dead_letter.attempts)])
    assert dead_letter.endpoint.host in sent.body


def test_no_page_shows_the_credentials_to_somebody_who_only_looks(signed_in, dead_letter):
    onlooker = signed_in()
    rows = (dead_letter.endpoint, dead_letter, dead_letter.delivery, Attempt.objects.get())

    pages = [
        onlooker.get(reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{page}", args=args))
        for row in rows
        for page, args in (("changelist", []), ("change", [row.pk]))
    ]

    assert [page.status_code for page in pages] == [200] * 8
    assert not [page.request["PATH_INFO"] for page in pages if "SECRET" in page.content.decode()]
