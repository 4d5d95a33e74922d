"""Health in the admin: the score in the list, the verdict and the last hour on the page, and what people were told."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from deliveries.models import EndpointCertificate, Notice
from deliveries.sweeps import health, notices
from endpoints import availability
from endpoints.health import RULE
from endpoints.models import Endpoint
from tests.factories import make_dead_letter, make_endpoint, make_span
from tests.integration.admin.pages import page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


@pytest.fixture
def sick():
    endpoint = make_endpoint(owner_email="owner@example.org")
    make_dead_letter(endpoint)
    make_span(endpoint, timezone.now() - timedelta(minutes=5), delivered=69, failed={"timeout": 20, "throttled": 10})
    health.sweep()
    return endpoint


def test_the_list_shows_the_score_with_its_level(operator, sick):
    text = operator.get(reverse("admin:endpoints_endpoint_changelist")).content.decode()

    assert '69 <span class="state held">warning</span>' in text


def test_the_list_has_no_score_for_what_was_never_judged(operator):
    make_endpoint()

    assert operator.get(reverse("admin:endpoints_endpoint_changelist")).status_code == 200


def test_the_page_says_the_verdict_and_the_last_hour(operator, sick):
    text = page(operator, sick)

    for said in (
        "69 of 100",
        "69.0% of 100 attempts succeeded in the last hour.",
        "100 attempts, 69.0% succeeded",
        "rejected 1, throttled 10, timeout 20",
        "10.0%",
        "rejected 1, the oldest from",
    ):
        assert said in text, said


def test_the_page_says_when_it_is_tried_next_and_when_its_certificate_ends(operator):
    endpoint = make_endpoint(url="https://127.0.0.1:9/hook")
    assert "TLS certificate" not in page(operator, endpoint)
    ends_at = datetime(2027, 5, 6, 7, 8, tzinfo=UTC)
    EndpointCertificate.objects.create(endpoint=endpoint, ends_at=ends_at, seen_at=timezone.now())
    availability.disable(endpoint, actor=RULE, reason="None succeeded.")

    text = page(operator, endpoint)

    assert "It is not tried again by itself: probing is off." in text
    assert re.search(r"TLS certificate.*2027-05-06.*last seen", text, re.DOTALL)


def test_the_page_of_what_was_never_judged_says_so(operator):
    assert "it was never judged" in page(operator, make_endpoint())


def test_an_endpoints_own_thresholds_are_edited_on_its_page_and_nonsense_is_refused(operator, sick):
    from_page = {"url": sick.url, "event_types": "*", "max_concurrency": 8, "timeout_seconds": 5}
    address = reverse("admin:endpoints_endpoint_change", args=[sick.pk])

    operator.post(address, {**from_page, "health_thresholds": '{"warn_below": 0.6}'})
    assert Endpoint.objects.get(pk=sick.pk).health_thresholds == {"warn_below": 0.6}

    answer = operator.post(address, {**from_page, "health_thresholds": '{"warn_beneath": 0.6}'})
    assert "There is no threshold" in answer.content.decode()


def test_a_notice_says_what_was_told_and_who_has_it_since_when(signed_in, sick):
    onlooker = signed_in()
    notice = Notice.objects.get()
    assert "not yet everybody" in onlooker.get(reverse("admin:deliveries_notice_changelist")).content.decode()

    notices.sweep()

    text = page(onlooker, notice)
    assert "69.0% of 100 attempts succeeded" in text
    assert "mailed to the owner" in text.lower()
    assert "mailed to the operators" not in text.lower()


def test_notices_are_filtered_by_kind(operator, sick):
    availability.disable(sick, actor="anna", reason="broken")
    address = reverse("admin:deliveries_notice_changelist")

    listed = operator.get(f"{address}?kind=endpoint.disabled").content.decode()

    assert "is disabled" in listed
    assert "fails too often" not in listed
