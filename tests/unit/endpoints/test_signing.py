import base64
import hashlib
import hmac
import logging
from datetime import UTC, datetime

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from endpoints.signing import (
    MalformedSecret,
    VerificationFailed,
    decode_secret,
    fingerprint,
    new_secret,
    sign,
    verify,
)

# The example that the Standard Webhooks libraries share.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIMESTAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

OTHER_SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()

message_ids = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="."), min_size=1)
keys = st.binary(min_size=24, max_size=64)
timestamps = st.integers(min_value=0, max_value=4_000_000_000)


def secret_of(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


def headers(**changes: str) -> dict[str, str]:
    return {"webhook-id": MESSAGE_ID, "webhook-timestamp": str(TIMESTAMP), "webhook-signature": SIGNATURE} | {
        f"webhook-{name}": value for name, value in changes.items()
    }


def check(sent, body=BODY, *, secrets=(SECRET,), now=TIMESTAMP):
    return verify(secrets, sent, body, now=now)


def refusal(sent, body=BODY, **options) -> VerificationFailed:
    with pytest.raises(VerificationFailed) as caught:
        check(sent, body, **options)
    return caught.value


class TestSigning:
    def test_the_published_example_gives_the_published_signature(self):
        assert sign([SECRET], MESSAGE_ID, TIMESTAMP, BODY) == SIGNATURE

    def test_the_key_is_what_the_secret_encodes_and_not_its_text(self):
        expected = hmac.new(bytes(range(32)), b"msg_1.7.{}", hashlib.sha256).digest()
        assert sign([OTHER_SECRET], "msg_1", 7, b"{}") == "v1," + base64.b64encode(expected).decode()

    def test_during_a_rotation_there_is_one_signature_a_secret_in_their_order(self):
        both = sign([OTHER_SECRET, SECRET], MESSAGE_ID, TIMESTAMP, BODY)
        assert both == f"{sign([OTHER_SECRET], MESSAGE_ID, TIMESTAMP, BODY)} {SIGNATURE}"

    def test_a_retry_keeps_id_and_body_and_is_signed_for_its_own_time(self):
        later = sign([SECRET], MESSAGE_ID, TIMESTAMP + 3600, BODY)
        assert later != SIGNATURE
        assert check(headers(timestamp=str(TIMESTAMP + 3600), signature=later), now=TIMESTAMP + 3600) == MESSAGE_ID

    def test_nothing_is_signed_without_a_secret(self):
        with pytest.raises(MalformedSecret):
            sign([], MESSAGE_ID, TIMESTAMP, BODY)

    @pytest.mark.parametrize("message_id", ["", "evt.1", "evt 1", "evt\n1", "evt_é", "x" * 257])
    def test_an_id_that_could_blur_the_signed_parts_is_refused(self, message_id):
        with pytest.raises(ValueError, match="message id"):
            sign([SECRET], message_id, TIMESTAMP, BODY)

    @given(keys, message_ids, timestamps, st.text(st.characters(exclude_categories=["Cs"])))
    def test_the_reference_library_agrees_on_every_signature(self, key, message_id, timestamp, body):
        reference = standardwebhooks.Webhook(secret_of(key))
        theirs = reference.sign(message_id, datetime.fromtimestamp(timestamp, UTC), body)
        assert sign([secret_of(key)], message_id, timestamp, body.encode()) == theirs

    def test_the_reference_library_accepts_what_was_signed_here(self):
        now = int(datetime.now(UTC).timestamp())
        signature = sign([OTHER_SECRET, SECRET], MESSAGE_ID, now, BODY)
        for secret in (SECRET, OTHER_SECRET):
            sent = headers(timestamp=str(now), signature=signature)
            assert standardwebhooks.Webhook(secret).verify(BODY, sent) == {"test": 2432232314}


class TestVerifying:
    def test_a_genuine_request_gives_its_message_id(self):
        assert check(headers()) == MESSAGE_ID

    @given(keys, message_ids, timestamps, st.binary())
    def test_what_is_signed_verifies_whatever_the_bytes(self, key, message_id, timestamp, body):
        signature = sign([secret_of(key)], message_id, timestamp, body)
        sent = headers(id=message_id, timestamp=str(timestamp), signature=signature)
        assert check(sent, body, secrets=[secret_of(key)], now=timestamp) == message_id

    @given(st.binary(min_size=1, max_size=200), st.data())
    def test_one_flipped_bit_in_the_body_fails(self, body, data):
        position = data.draw(st.integers(0, len(body) * 8 - 1))
        changed = bytearray(body)
        changed[position // 8] ^= 1 << position % 8
        sent = headers(signature=sign([SECRET], MESSAGE_ID, TIMESTAMP, body))
        assert refusal(sent, bytes(changed)).rule == "signature"

    @given(st.integers(0, 32 * 8 - 1))
    def test_one_flipped_bit_in_the_signature_fails(self, position):
        digest = bytearray(base64.b64decode(SIGNATURE.removeprefix("v1,")))
        digest[position // 8] ^= 1 << position % 8
        assert refusal(headers(signature="v1," + base64.b64encode(digest).decode())).rule == "signature"

    @pytest.mark.parametrize("change", [{"id": MESSAGE_ID + "x"}, {"timestamp": str(TIMESTAMP + 1)}])
    def test_id_and_timestamp_are_signed_too(self, change):
        assert refusal(headers(**change)).rule == "signature"

    @pytest.mark.parametrize(
        "body",
        [
            rb'{"log": "\u001B[34m", "text": "\\u2665"}',
            b'{"score": 0.0, "weight": 136.0}',
            '{"d":"😊 …"}'.encode(),
            b'{"a": 1}',
            b"payload=%7B%22t%22%3A%22%2Abold%2A%22%7D",
            b"\xff\x00\xc3\x28",
        ],
    )
    def test_the_received_bytes_are_checked_as_they_are(self, body):
        sent = headers(signature=sign([SECRET], MESSAGE_ID, TIMESTAMP, body))
        assert check(sent, body) == MESSAGE_ID
        refusal(sent, body + b" ")

    @pytest.mark.parametrize("offset", [-300, -299, 0, 299, 300])
    def test_a_timestamp_within_the_tolerance_passes_on_both_sides(self, offset):
        assert check(headers(), now=TIMESTAMP + offset) == MESSAGE_ID

    @pytest.mark.parametrize(("offset", "words"), [(301, "301 s old"), (-301, "301 s in the future")])
    def test_a_timestamp_beyond_the_tolerance_fails_on_both_sides(self, offset, words):
        failure = refusal(headers(), now=TIMESTAMP + offset)
        assert failure.rule == "timestamp"
        assert words in failure.reason

    def test_the_age_is_judged_even_when_one_of_many_signatures_matches(self):
        assert refusal(headers(signature=f"v1,bad {SIGNATURE}"), now=TIMESTAMP + 7200).rule == "timestamp"

    def test_any_one_matching_signature_suffices_and_unknown_versions_are_skipped(self):
        assert check(headers(signature=f"v1,bad {SIGNATURE} v2,zzz v1a,yyy")) == MESSAGE_ID

    def test_a_right_signature_under_another_version_does_not_count(self):
        assert refusal(headers(signature=SIGNATURE.replace("v1,", "v2,"))).rule == "signature"
        assert refusal(headers(signature=SIGNATURE.removeprefix("v1,"))).rule == "signature"

    def test_during_a_rotation_old_and_new_secret_are_both_accepted(self):
        assert check(headers(), secrets=[OTHER_SECRET, SECRET]) == MESSAGE_ID
        assert refusal(headers(), secrets=[OTHER_SECRET]).rule == "signature"

    @pytest.mark.parametrize("spell", [str.upper, str.title, str.lower])
    def test_header_names_are_found_in_any_case(self, spell):
        assert check({spell(name): value for name, value in headers().items()}) == MESSAGE_ID

    def test_two_different_values_of_one_header_are_refused(self):
        assert refusal(headers() | {"Webhook-Signature": "v1,other"}).rule == "headers"
        assert check(headers() | {"Webhook-Signature": SIGNATURE}) == MESSAGE_ID

    @pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
    def test_a_missing_header_is_named(self, name):
        sent = headers()
        del sent[name]
        assert name in refusal(sent).reason

    @pytest.mark.parametrize(
        "change",
        [
            {"timestamp": ""},
            {"timestamp": "-1"},
            {"timestamp": "1e9"},
            {"timestamp": " 1614265330"},
            {"timestamp": "١٦١٤٢٦٥٣٣٠"},
            {"timestamp": "9" * 10_000},
            {"id": ""},
            {"id": "a.1"},
            {"id": "é"},
            {"signature": ""},
            {"signature": "v1,"},
            {"signature": "v1,\xe9"},
            {"signature": "v1,\udc88 sécret"},
            {"signature": "," * 1000},
            {"signature": None},
            {"signature": ["v1,x"]},
            {"id": b"msg"},
        ],
    )
    def test_a_garbage_header_is_refused_and_nothing_else_happens(self, change):
        refusal(headers(**change))

    @given(st.dictionaries(st.sampled_from(sorted(headers())), st.text()))
    def test_no_header_text_whatever_causes_another_error(self, garbage):
        refusal(headers(signature="v1,AAAA") | garbage)

    def test_without_any_secret_nothing_is_accepted(self):
        assert refusal(headers(), secrets=[]).rule == "secrets"

    def test_a_mismatch_names_the_keys_by_fingerprint_only(self):
        failure = refusal(headers(signature="v1,bad"), secrets=[SECRET, OTHER_SECRET])
        assert failure.fingerprints == (fingerprint(SECRET), fingerprint(OTHER_SECRET))
        assert fingerprint(SECRET) in str(failure)
        assert SECRET.removeprefix("whsec_") not in repr(failure) + str(failure)


class TestSecrets:
    @pytest.mark.parametrize("size", [24, 32, 64])
    def test_a_key_of_the_specified_size_is_decoded(self, size):
        assert decode_secret(secret_of(b"k" * size)) == b"k" * size

    @pytest.mark.parametrize("size", [1, 23, 65])
    def test_a_key_of_another_size_is_refused_with_its_size(self, size):
        with pytest.raises(MalformedSecret, match=f"encodes {size}"):
            decode_secret(secret_of(b"k" * size))

    @pytest.mark.parametrize(
        ("secret", "words"),
        [
            ("", "starts with whsec_"),
            ("whsec_", "encodes 0"),
            ("whsec_!!!!", "standard base64"),
            (SECRET[:-1], "standard base64"),
            (SECRET + "=", "standard base64"),
            (SECRET + "é", "standard base64"),
            ("whsec_" + "_-" * 20, "standard base64"),
            ("whsec_" + "A" * 42 + "B=", "standard base64"),
            (SECRET[:20] + " " + SECRET[20:], "no white space"),
            (SECRET[:20] + "\n" + SECRET[20:], "no white space"),
            ("v1," + SECRET, "version"),
            (SIGNATURE, "version"),
            ("whpk_" + SECRET, "public key"),
            ("whsk_" + SECRET, "private key"),
            (SECRET.removeprefix("whsec_"), "starts with whsec_"),
            (SECRET.upper(), "starts with whsec_"),
        ],
    )
    def test_a_malformed_secret_is_refused_by_rule_and_never_quoted(self, secret, words):
        with pytest.raises(MalformedSecret, match=words) as caught:
            decode_secret(secret)
        assert SECRET[8:16] not in str(caught.value)

    def test_white_space_around_a_secret_is_dropped_with_a_warning_that_hides_it(self, caplog):
        decode_secret.cache_clear()
        with caplog.at_level(logging.WARNING):
            assert decode_secret(f" {SECRET}\n") == decode_secret(SECRET)
        assert fingerprint(SECRET) in caplog.text
        assert SECRET not in caplog.text

    def test_a_new_secret_is_usable_random_and_of_32_bytes(self):
        assert len(decode_secret(new_secret())) == 32
        assert new_secret() != new_secret()

    def test_a_fingerprint_is_stable_and_tells_keys_apart(self):
        assert fingerprint(f"{SECRET}\n") == fingerprint(SECRET)
        assert fingerprint(SECRET) != fingerprint(OTHER_SECRET)
        assert len(fingerprint(SECRET)) == 12
