import base64
import dataclasses

import pytest

from inbox.schemes import SCHEMES, Reason, Refused
from tests.unit.inbox.senders import (
    ED25519,
    ED25519_KEY,
    NOW,
    OTHER_PUBLIC,
    OTHER_SHARED,
    PUBLIC_KEY,
    SHARED_SECRET,
    STANDARD,
    Sender,
)

BODY = b'{"id":"evt_1","type":"payment.card.completed","created_at":"2026-01-02T03:04:05Z","data":{}}'
BOTH = (OTHER_SHARED, SHARED_SECRET, OTHER_PUBLIC, PUBLIC_KEY)


def refusal(sender: Sender, request, **changes) -> Refused:
    with pytest.raises(Refused) as caught:
        sender.check(request, **changes)
    return caught.value


def with_signature(request, change):
    headers = dict(request.headers)
    return dataclasses.replace(request, headers=headers | {"webhook-signature": change(headers["webhook-signature"])})


@pytest.mark.parametrize("sender", [STANDARD, ED25519], ids=["shared", "public"])
class TestBothKinds:
    def test_the_id_is_the_messages_and_type_and_time_are_the_bodys(self, sender):
        verified = sender.check(sender.request(BODY))
        assert (verified.event_id, verified.event_type) == ("msg_1", "payment.card.completed")
        assert verified.occurred_at == 1767323045

    def test_one_match_among_many_signatures_and_unknown_versions_is_enough(self, sender):
        request = with_signature(sender.request(BODY), lambda good: f"v1,bad v1a,AAAA {good} v2,zzz")
        assert sender.check(request)

    def test_a_source_may_hold_secrets_of_both_kinds(self, sender):
        assert sender.check(sender.request(BODY), secrets=BOTH)

    def test_with_both_kinds_a_refusal_names_every_key(self, sender):
        wrong = (OTHER_SHARED, OTHER_PUBLIC)
        assert len(refusal(sender, sender.request(BODY), secrets=wrong).fingerprints) == 2

    def test_a_signature_of_one_kind_is_worth_nothing_under_the_other_name(self, sender):
        def swapped(text: str) -> str:
            version, signature = text.split(",")
            return {"v1": "v1a", "v1a": "v1"}[version] + "," + signature

        request = with_signature(sender.request(BODY), swapped)
        assert refusal(sender, request, secrets=BOTH).reason == Reason.BAD_SIGNATURE

    def test_a_right_signature_without_its_version_proves_nothing(self, sender):
        request = with_signature(sender.request(BODY), lambda good: good.partition(",")[2])
        assert refusal(sender, request).reason == Reason.BAD_SIGNATURE

    @pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
    def test_each_header_is_needed(self, sender, name):
        request = sender.request(BODY)
        rest = {key: value for key, value in request.headers.items() if key != name}
        assert refusal(sender, dataclasses.replace(request, headers=rest)).reason == Reason.MISSING_HEADER

    @pytest.mark.parametrize(("name", "value"), [("webhook-id", "a.b"), ("webhook-timestamp", "1e9")])
    def test_an_id_or_time_that_the_specification_forbids_is_malformed(self, sender, name, value):
        request = sender.request(BODY)
        changed = dataclasses.replace(request, headers=dict(request.headers) | {name: value})
        assert refusal(sender, changed).reason == Reason.MALFORMED_HEADER

    def test_another_id_than_the_signed_one_is_refused(self, sender):
        request = sender.request(BODY)
        changed = dataclasses.replace(request, headers=dict(request.headers) | {"webhook-id": "msg_2"})
        assert refusal(sender, changed).reason == Reason.BAD_SIGNATURE


def test_the_published_example_verifies():
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    request = dataclasses.replace(STANDARD.request(b'{"test": 2432232314}'), headers=headers, received_at=1614265330.0)
    verified = STANDARD.check(request, secrets=("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",))
    assert verified.event_id == "msg_p5jXN8AQM9LWM0D4loKWxJek"


@pytest.mark.parametrize("secret", ["whpk_", "whpk_" + "A" * 43, "whpk_" + base64.b64encode(bytes(31)).decode()])
def test_a_public_key_is_the_base64_of_32_bytes(secret):
    assert "32 bytes" in SCHEMES["standard-webhooks"].secret_fault(secret)


def test_a_private_key_is_not_taken_for_a_secret():
    assert "private" in SCHEMES["standard-webhooks"].secret_fault("whsk_" + base64.b64encode(bytes(32)).decode())


def test_a_header_full_of_signatures_is_refused_before_any_is_checked():
    signature = ED25519_KEY.sign(f"msg_1.{NOW}.".encode() + BODY)
    good = "v1a," + base64.b64encode(signature).decode()
    request = with_signature(ED25519.request(BODY), lambda _: " ".join([good] * 9))
    assert refusal(ED25519, request).reason == Reason.MALFORMED_HEADER
