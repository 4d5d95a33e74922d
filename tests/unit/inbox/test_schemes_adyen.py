import copy
import json
from typing import Any

import pytest
from Adyen.util import generate_notification_sig, is_valid_hmac_notification  # type: ignore[import-untyped]

from inbox.schemes import SCHEMES, Reason, Refused, Request, Verified
from tests.unit.inbox.senders import ADYEN, ADYEN_KEY, NOW

EXAMPLE_ITEM = {
    "pspReference": "7914073381342284",
    "originalReference": "",
    "merchantAccountCode": "TestMerchant",
    "merchantReference": "TestPayment-1407325143704",
    "amount": {"value": 1130, "currency": "EUR"},
    "eventCode": "AUTHORISATION",
    "success": "true",
    "eventDate": "2019-06-28T18:03:50+01:00",
    "paymentMethod": "visa",
    "additionalData": {"hmacSignature": "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="},
}


def signed(**changes: Any) -> dict[str, Any]:
    item = copy.deepcopy(EXAMPLE_ITEM) | changes
    signature = generate_notification_sig(item, ADYEN_KEY).decode()
    return item | {"additionalData": {"hmacSignature": signature}}


def notification(*items: Any) -> bytes:
    containers = [{"NotificationRequestItem": item} for item in items]
    return json.dumps({"live": "false", "notificationItems": containers}).encode()


def check(body: bytes, *, key: str = ADYEN_KEY) -> Verified:
    return SCHEMES["adyen"].verify(Request({}, body, "application/json", NOW), [key], {})


def refusal(body: bytes, **changes: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        check(body, **changes)
    return caught.value


class TestSignedItems:
    def test_adyens_published_example_verifies(self):
        verified = check(notification(EXAMPLE_ITEM))
        assert verified.event_id == "AUTHORISATION:7914073381342284:true"
        assert verified.event_type == "AUTHORISATION"
        assert verified.occurred_at == 1561741430

    @pytest.mark.parametrize(
        "item",
        [
            signed(merchantReference="a:b:c"),
            signed(merchantReference="Grüße 😊 %5B\\"),
            signed(amount={"value": 0, "currency": "EUR"}),
            signed(originalReference="9914073381342284", eventCode="REFUND"),
            signed(success="false"),
        ],
    )
    def test_what_adyens_library_signs_and_accepts_we_accept(self, item):
        body = notification(item)
        assert is_valid_hmac_notification(json.loads(body), ADYEN_KEY)
        assert check(body)

    @pytest.mark.parametrize(
        "change",
        [
            {"pspReference": "1"},
            {"originalReference": "1"},
            {"merchantAccountCode": "Other"},
            {"merchantReference": "Other"},
            {"amount": {"value": 1131, "currency": "EUR"}},
            {"amount": {"value": 1130, "currency": "USD"}},
            {"amount": None},
            {"eventCode": "CAPTURE"},
            {"success": "false"},
            {"pspReference": {"a": 1}},
            {"pspReference": "\ud83d"},
        ],
    )
    def test_a_change_of_any_signed_field_is_refused(self, change):
        refused = refusal(notification(EXAMPLE_ITEM | change))
        assert refused.reason == Reason.BAD_SIGNATURE
        assert len(refused.fingerprints) == 1

    def test_one_signed_text_cannot_be_read_as_another_payment(self):
        # Joined by colons, reference "Order:1" over 1130 EUR is the same text as "Order" over 1 "1130:EUR".
        genuine = signed(merchantReference="Order:1")
        moved = genuine | {"merchantReference": "Order", "amount": {"value": 1, "currency": "1130:EUR"}}
        assert is_valid_hmac_notification(json.loads(notification(moved)), ADYEN_KEY)
        assert check(notification(genuine))
        assert refusal(notification(moved)).reason == Reason.BAD_SIGNATURE

    def test_truth_as_json_writes_it_is_signed_in_lower_case(self):
        assert check(notification(EXAMPLE_ITEM | {"success": True}))

    def test_fields_that_are_absent_or_null_are_signed_as_empty(self):
        without = {key: value for key, value in EXAMPLE_ITEM.items() if key != "originalReference"}
        assert check(notification(without))
        assert check(notification(EXAMPLE_ITEM | {"originalReference": None}))

    def test_a_payment_refused_and_then_authorised_is_two_events(self):
        assert check(notification(signed(success="false"))).event_id != check(notification(EXAMPLE_ITEM)).event_id

    def test_the_id_holds_signed_fields_only_so_that_a_replay_cannot_pass_as_new(self):
        replayed = EXAMPLE_ITEM | {"eventDate": "2020-01-01T00:00:00Z", "paymentMethod": "mc"}
        assert check(notification(replayed)).event_id == check(notification(EXAMPLE_ITEM)).event_id

    def test_one_unproven_item_refuses_all(self):
        assert refusal(notification(EXAMPLE_ITEM, signed() | {"success": "false"})).reason == Reason.BAD_SIGNATURE
        assert refusal(notification(EXAMPLE_ITEM, signed() | {"additionalData": {}})).reason == Reason.NO_SIGNATURE

    def test_several_proven_items_make_one_event_with_an_id_of_its_own(self):
        both = check(notification(EXAMPLE_ITEM, signed(eventCode="CAPTURE")))
        assert both.event_id not in {check(notification(EXAMPLE_ITEM)).event_id, ""}
        assert both.event_id.isprintable()

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"{}",
            b'{"notificationItems": {}}',
            b'{"notificationItems": []}',
            b'{"notificationItems": [null]}',
            b'{"notificationItems": [{"NotificationRequestItem": []}]}',
            b'{"notificationItems": [{"NotificationRequestItem": {"additionalData": {"hmacSignature": 1}}}]}',
            notification(*[EXAMPLE_ITEM] * 11),
            b"[" * 100_000,
        ],
    )
    def test_a_body_without_signed_items_carries_no_signature(self, body):
        assert refusal(body).reason == Reason.NO_SIGNATURE

    def test_a_signature_outside_ascii_is_refused(self):
        item = EXAMPLE_ITEM | {"additionalData": {"hmacSignature": "sécret"}}
        assert refusal(notification(item)).reason == Reason.BAD_SIGNATURE


class TestSignedHeader:
    BODY = b'{"data":{"id":"PA1"},"environment":"test","timestamp":"2021-01-01T00:00:00Z","type":"balancePlatform.x"}'

    def test_type_and_time_are_the_bodys(self):
        verified = ADYEN.check(ADYEN.request(self.BODY))
        assert verified.event_type == "balancePlatform.x"
        assert verified.occurred_at == 1609459200

    def test_two_changes_of_one_thing_are_two_events(self):
        other = self.BODY.replace(b"00:00:00", b"00:00:01")
        assert ADYEN.check(ADYEN.request(self.BODY)).event_id != ADYEN.check(ADYEN.request(other)).event_id

    def test_with_the_header_there_signed_items_in_the_body_count_for_nothing(self):
        request = Request({"hmacsignature": "A" * 43 + "="}, notification(EXAMPLE_ITEM), "application/json", NOW)
        with pytest.raises(Refused) as caught:
            ADYEN.check(request)
        assert caught.value.reason == Reason.BAD_SIGNATURE


@pytest.mark.parametrize("key", ["", "ab", "zz" * 32, "ab" * 15, "abc" * 11, "ab" * 65])
def test_a_key_is_hexadecimal_and_long_enough(key):
    assert "hexadecimal" in SCHEMES["adyen"].secret_fault(key)
