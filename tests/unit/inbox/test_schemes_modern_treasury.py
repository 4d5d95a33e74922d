import dataclasses

import pytest

from inbox.schemes import Request
from inbox.schemes.bodies import digest
from tests.unit.inbox.senders import MODERN_TREASURY

BODY = b'{"event":"reconciled","data":{"id":"c7e3","object":"expected_payment"}}'


def changed(**headers: str | None) -> Request:
    request = MODERN_TREASURY.request(BODY)
    merged = dict(request.headers) | {f"X-{name.replace('_', '-')}": value for name, value in headers.items()}
    return dataclasses.replace(request, headers={key: value for key, value in merged.items() if value is not None})


def test_the_id_is_the_webhooks_and_the_type_topic_and_event():
    verified = MODERN_TREASURY.check(changed())
    assert (verified.event_id, verified.event_type) == ("9d7e1f4c", "payment_order.reconciled")


def test_without_a_topic_the_kind_of_object_stands_in():
    assert MODERN_TREASURY.check(changed(Topic=None)).event_type == "expected_payment.reconciled"


def test_without_an_id_the_body_is_its_own():
    assert MODERN_TREASURY.check(changed(Webhook_ID=None)).event_id == digest(BODY)


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_hexadecimal_digits_count_in_either_case(change):
    signature = MODERN_TREASURY.request(BODY).headers["X-Signature"]
    assert MODERN_TREASURY.check(changed(Signature=change(signature)))
