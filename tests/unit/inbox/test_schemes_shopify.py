import dataclasses
from datetime import UTC, datetime

import pytest

from inbox.schemes import Reason, Refused, Request
from inbox.schemes.bodies import digest
from tests.unit.inbox.senders import SHOPIFY

BODY = b'{"id":788032119674292922,"title":"Example T-Shirt"}'


def changed(**headers: str | None) -> Request:
    request = SHOPIFY.request(BODY)
    named = {f"X-Shopify-{name.replace('_', '-')}": value for name, value in headers.items()}
    merged = {key: value for key, value in (dict(request.headers) | named).items() if value is not None}
    return dataclasses.replace(request, headers=merged)


def test_the_type_is_the_topic_and_the_time_that_of_the_trigger():
    verified = SHOPIFY.check(SHOPIFY.request(BODY))
    assert verified.event_type == "orders/create"
    assert verified.occurred_at == datetime(2023, 3, 29, 18, 0, 27, 877041, UTC).timestamp()


def test_a_second_delivery_of_the_same_event_has_the_same_id():
    assert SHOPIFY.check(changed(Webhook_Id="another")).event_id == SHOPIFY.check(changed()).event_id


def test_two_topics_rung_by_one_event_are_not_duplicates():
    assert SHOPIFY.check(changed(Topic="orders/paid")).event_id != SHOPIFY.check(changed()).event_id


def test_without_an_event_id_the_delivery_names_the_event_and_without_both_the_body_does():
    assert SHOPIFY.check(changed(Event_Id=None)).event_id == "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043"
    assert SHOPIFY.check(changed(Event_Id=None, Webhook_Id=None)).event_id == digest(BODY)


def test_hours_of_retries_with_the_first_trigger_time_are_accepted():
    assert SHOPIFY.check(changed(Triggered_At="2019-01-01T00:00:00Z"))


@pytest.mark.parametrize("header", ["00" * 32, "!" * 44, "A" * 43, "A" * 44])
def test_a_signature_that_is_no_base64_of_32_bytes_is_malformed(header):
    with pytest.raises(Refused) as caught:
        SHOPIFY.check(changed(Hmac_Sha256=header))
    assert caught.value.reason == Reason.MALFORMED_HEADER
