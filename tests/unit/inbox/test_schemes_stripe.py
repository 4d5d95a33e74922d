import dataclasses

import pytest

from inbox.schemes import SCHEMES, Reason, Refused
from tests.unit.inbox.senders import NOW, STRIPE, STRIPE_SECRET

BODY = b'{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","type":"payment_intent.succeeded","created":1686089970}'


def with_header(change):
    request = STRIPE.request(BODY)
    return dataclasses.replace(request, headers={"Stripe-Signature": change(request.headers["Stripe-Signature"])})


def refusal(request) -> Refused:
    with pytest.raises(Refused) as caught:
        STRIPE.check(request)
    return caught.value


def test_id_type_and_time_are_the_events_own():
    verified = STRIPE.check(STRIPE.request(BODY))
    assert verified.event_id == "evt_1NG8Du2eZvKYlo2CUI79vXWy"
    assert verified.event_type == "payment_intent.succeeded"
    assert verified.occurred_at == 1686089970


def test_any_of_several_v1_signatures_is_enough_while_a_secret_is_rolled():
    assert STRIPE.check(with_header(lambda good: good.replace(",v1=", ",v1=" + "0" * 64 + ",v0=zz,v1=")))


def test_a_v0_signature_proves_nothing_however_right():
    assert refusal(with_header(lambda good: good.replace("v1=", "v0="))).reason == Reason.MALFORMED_HEADER


def test_the_time_is_part_of_what_is_signed():
    later = with_header(lambda good: good.replace(f"t={NOW}", f"t={NOW + 10}"))
    assert refusal(later).reason == Reason.BAD_SIGNATURE


@pytest.mark.parametrize(
    "change",
    [
        lambda good: f"t={NOW + 1}," + good,  # two times
        lambda good: good.replace(f"t={NOW}", "t="),
        lambda good: good.replace(f"t={NOW}", "t=-1"),
        lambda good: good.replace(f"t={NOW}", "t=" + "9" * 30),
        lambda good: good.replace(",", ";"),
        lambda good: f"t={NOW}",
        lambda good: "v1=" + "0" * 64,
    ],
)
def test_a_header_of_another_form_is_malformed(change):
    assert refusal(with_header(change)).reason == Reason.MALFORMED_HEADER


@pytest.mark.parametrize("secret", ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "v1," + STRIPE_SECRET])
def test_an_api_key_or_a_prefixed_secret_is_named_as_such(secret):
    fault = SCHEMES["stripe"].secret_fault(secret)
    assert "whsec_" in fault
    assert secret not in fault
