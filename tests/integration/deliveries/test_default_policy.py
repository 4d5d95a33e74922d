"""The policy that endpoints without one of their own follow: it stays, and nothing hangs on its row."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from deliveries.models import Delivery
from deliveries.recipients import load_recipients
from endpoints.models import RetryPolicy
from endpoints.policies import DEFAULT_POLICY
from tests.factories import make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def test_the_default_policy_cannot_be_deleted():
    with pytest.raises(ValidationError, match="default stays"):
        RetryPolicy.default().delete()


def test_the_default_policy_cannot_be_renamed():
    policy = RetryPolicy.default()
    policy.name = "standard"

    with pytest.raises(ValidationError, match="keeps its name"):
        policy.save()


def test_an_event_reaches_every_endpoint_even_with_the_default_policys_row_gone():
    endpoint = make_endpoint()
    RetryPolicy.objects.filter(name="default").delete()

    event = make_event()

    delivery = Delivery.objects.get(event=event, endpoint=endpoint)
    deadline = timezone.now() + timedelta(seconds=DEFAULT_POLICY.deadline_seconds)
    assert abs(delivery.deadline_at - deadline) < timedelta(minutes=1)
    assert load_recipients([endpoint.pk], timezone.now())[endpoint.pk].policy == DEFAULT_POLICY
