import base64
import dataclasses
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from inbox.schemes import SCHEMES, Reason, Refused, Request
from tests.unit.inbox.senders import NOW, PLAID, PLAID_JWK, PLAID_KEY, PLAID_KEY_ID, plaid_headers

BODY = (
    b'{"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"wz666MBjYWTp2PDzzggYhM6oWWmBb"}'
)
CLAIMS = {"iat": NOW, "request_body_sha256": hashlib.sha256(BODY).hexdigest()}


def request(token: str) -> Request:
    return Request({"plaid-verification": token}, BODY, "application/json", NOW)


def token(claims=CLAIMS, key=PLAID_KEY, algorithm="ES256", **headers) -> str:
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": PLAID_KEY_ID} | headers)


def unsigned(header: object, claims: object = CLAIMS) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims)]
    return ".".join([*parts, "AAAA"])


def refusal(sent: Request, **changes) -> Refused:
    with pytest.raises(Refused) as caught:
        PLAID.check(sent, **changes)
    return caught.value


def fetching(answer):
    return {"key_fetcher": lambda key_id: answer}


def failing(key_id: str):
    raise ConnectionError("secret text")


def test_the_type_is_plaids_type_and_code():
    assert PLAID.check(PLAID.request(BODY)).event_type == "TRANSACTIONS.SYNC_UPDATES_AVAILABLE"


def test_the_same_words_at_another_time_are_another_event_and_the_same_token_is_the_same():
    first, again, later = (PLAID.check(PLAID.request(BODY, sent_at=NOW + delay)) for delay in (0, 0, 1))
    assert first.event_id == again.event_id != later.event_id


@pytest.mark.parametrize("algorithm", ["HS256", "none", "es256", "ES384"])
def test_the_token_does_not_choose_how_it_is_checked(algorithm):
    forged = unsigned({"alg": algorithm, "kid": PLAID_KEY_ID})
    assert refusal(request(forged)).reason == Reason.MALFORMED_HEADER


def test_plaids_public_key_as_an_hmac_secret_proves_nothing():
    signed = unsigned({"alg": "ES256", "kid": PLAID_KEY_ID}).rpartition(".")[0]
    public = PLAID_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    mac = base64.urlsafe_b64encode(hmac.digest(public, signed.encode(), "sha256")).rstrip(b"=").decode()
    assert refusal(request(f"{signed}.{mac}")).reason == Reason.BAD_SIGNATURE


def test_a_token_of_another_key_is_refused_naming_the_key_id():
    refused = refusal(request(token(key=ec.generate_private_key(ec.SECP256R1()))))
    assert (refused.reason, refused.fingerprints) == (Reason.BAD_SIGNATURE, (PLAID_KEY_ID,))


@pytest.mark.parametrize("claimed", ["", "0" * 64, "é", None, 1, ["x"], hashlib.sha256(BODY).hexdigest().upper()])
def test_a_genuine_token_for_another_body_is_refused(claimed):
    assert refusal(request(token(CLAIMS | {"request_body_sha256": claimed}))).reason == Reason.BAD_SIGNATURE


def test_a_genuine_token_without_a_body_hash_is_refused():
    assert refusal(request(token({"iat": NOW}))).reason == Reason.BAD_SIGNATURE


@pytest.mark.parametrize("claims", [{}, {"iat": None}, {"iat": "2026"}, {"iat": True}, {"iat": 10**400}])
def test_a_genuine_token_without_a_time_is_malformed(claims):
    without = {"request_body_sha256": CLAIMS["request_body_sha256"]} | claims
    signed = jwt.PyJWS().encode(json.dumps(without).encode(), PLAID_KEY, "ES256", headers={"kid": PLAID_KEY_ID})
    assert refusal(request(signed)).reason == Reason.MALFORMED_HEADER


def test_no_other_time_in_the_token_is_judged_by_the_clock_of_this_machine():
    assert PLAID.check(dataclasses.replace(PLAID.request(BODY), headers=plaid_headers(BODY, NOW, exp=1, nbf=10**10)))


@pytest.mark.parametrize(
    "garbage",
    [
        "a.b",
        "a.b.c",
        "....",
        unsigned({"alg": "ES256"}),
        unsigned({"alg": "ES256", "kid": 1}),
        unsigned({"alg": "ES256", "kid": "../../keys?x=1"}),
        unsigned({"alg": "ES256", "kid": "x" * 101}),
        unsigned({"kid": PLAID_KEY_ID}),
        unsigned([]),
        unsigned("text"),
        base64.urlsafe_b64encode(b"[" * 1400).decode().rstrip("=") + ".AAAA.AAAA",
        "A" * 5000 + ".A.A",
    ],
)
def test_what_is_no_token_of_plaids_is_malformed(garbage):
    assert refusal(request(garbage)).reason == Reason.MALFORMED_HEADER


def test_a_key_that_plaid_does_not_know_is_refused():
    assert refusal(PLAID.request(BODY), options=fetching(None)).reason == Reason.UNKNOWN_KEY


def test_a_retired_key_is_refused_and_one_that_will_be_retired_is_not():
    assert refusal(PLAID.request(BODY), options=fetching(PLAID_JWK | {"expired_at": NOW})).reason == Reason.UNKNOWN_KEY
    assert PLAID.check(PLAID.request(BODY), options=fetching(PLAID_JWK | {"expired_at": NOW + 1}))
    assert PLAID.check(PLAID.request(BODY), options=fetching(PLAID_JWK | {"expired_at": None}))


@pytest.mark.parametrize(
    "options", [{"key_fetcher": failing}, fetching("text"), fetching({"kty": "EC"}), fetching([1])]
)
def test_a_key_that_cannot_be_had_refuses_for_now_and_says_nothing_of_the_cause(options):
    refused = refusal(PLAID.request(BODY), options=options)
    assert refused.reason == Reason.KEY_UNAVAILABLE
    assert "secret text" not in str(refused)


@pytest.mark.parametrize("options", [{}, {"key_fetcher": None}, {"key_fetcher": "plaid_keys.fetch"}])
def test_without_a_function_to_fetch_keys_everything_is_refused(options):
    assert refusal(PLAID.request(BODY), options=options).reason == Reason.BAD_OPTIONS


def test_a_source_stores_the_path_of_its_fetcher_and_no_secret():
    scheme = SCHEMES["plaid"]
    assert scheme.options_faults({"key_fetcher": "plaid_keys.fetch"}) == {}
    for wrong in ({}, {"key_fetcher": "fetch"}, {"key_fetcher": "a..b"}, {"key_fetcher": 1}):
        assert "key_fetcher" in scheme.options_faults(wrong)
    assert not scheme.needs_secret
    assert scheme.secret_fault("anything")
