"""The door: what is let in, what is refused, and that no answer is ever a redirect or our fault."""

import hashlib
import hmac
import io
import json
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone

from endpoints.signing import new_secret
from inbox import dispatch
from inbox.caps import DEFAULT_CAP_BYTES
from inbox.models import DeadLetter, ReceivedEvent, RefusalCount, Source
from inbox.reading import LengthRequired, TooLarge, read_body
from inbox.replies import reply
from tests.broker import away, hung_redis
from tests.integration.inbox.conftest import make_sender, make_source

__all__ = ["hung_redis"]

pytestmark = pytest.mark.django_db


def refusals(source=None):
    return dict(RefusalCount.objects.filter(source=source).values_list("reason", "count"))


def test_a_proven_request_is_stored_with_its_exact_bytes_and_answered_200(sender):
    body = (
        b'{ "type": "order.paid",\n "score": 0.0, "weight": 136.0, "d": "\\u001B[34m \\\\u2665 '
        + "😊".encode()
        + b'" }'
    )

    answer = sender.post_bytes(body, id="msg_exact")

    event = sender.event("msg_exact")
    assert (answer.status_code, bytes(event.body), event.type, event.status) == (200, body, "order.paid", "received")


@pytest.mark.parametrize("path", ["/inbox/{}", "/inbox/{}/"])
def test_both_spellings_of_the_address_lead_to_the_door(sender, path):
    answer = sender.post_bytes(b'{"a":1}', id="msg_1", path=path.format(sender.source.slug))

    assert answer.status_code == 200
    assert sender.event("msg_1")


def test_a_provider_needs_no_csrf_token_and_no_cookie(sender):
    sender.client = Client(enforce_csrf_checks=True)

    assert sender.post_bytes(b"{}").status_code == 200


@pytest.mark.parametrize("method", ["get", "put", "delete", "options", "head"])
@pytest.mark.parametrize("path", ["/inbox/{}", "/inbox/{}/"])
def test_no_other_method_is_taken_and_none_is_redirected(sender, method, path):
    assert getattr(Client(), method)(path.format(sender.source.slug)).status_code == 405


def test_a_hook_is_not_redirected_to_https_either(sender, settings):
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = [r"^inbox/"]

    assert sender.post_bytes(b"{}").status_code == 200


def test_a_repeat_is_answered_200_and_counted(sender):
    for _ in range(3):
        assert sender.post_bytes(b'{"a":1}', id="msg_1").status_code == 200

    event = ReceivedEvent.objects.get()
    assert (event.duplicates, event.conflicts) == (2, 0)


def test_a_repeat_with_another_body_is_answered_200_counted_apart_and_changes_nothing(sender, caplog):
    sender.post_bytes(b'{"a":1}', id="msg_1")

    assert sender.post_bytes(b'{"a":2}', id="msg_1").status_code == 200

    event = ReceivedEvent.objects.get()
    assert (bytes(event.body), event.duplicates, event.conflicts) == (b'{"a":1}', 1, 1)
    assert "has_other_body=true" in caplog.text


def test_the_same_id_of_two_sources_is_two_events(new_sender):
    for sender in (new_sender(), new_sender()):
        sender.post_bytes(b"{}", id="msg_1")

    assert ReceivedEvent.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_eight_copies_at_once_are_one_event(empty_redis):
    sender = make_sender()
    start, answers = threading.Barrier(8), []

    def post():
        start.wait()
        answers.append(sender.post_bytes(b'{"a":1}', id="msg_1").status_code)
        connection.close()

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [200] * 8
    assert ReceivedEvent.objects.get().duplicates == 7


def test_a_wrong_signature_is_401_stored_nowhere_and_counted_with_the_keys_fingerprint(sender):
    answer = sender.post_bytes(b'{"a":1}', secret=new_secret())

    counted = RefusalCount.objects.get(source=sender.source)
    assert (answer.status_code, ReceivedEvent.objects.count()) == (401, 0)
    assert (counted.reason, counted.keys) == ("bad-signature", sender.source.secrets.get().fingerprint)
    assert sender.secret not in f"{answer.content!r}{counted.keys}"


@pytest.mark.parametrize("offset", [-3600, 3600])
def test_a_timestamp_too_far_off_in_either_direction_is_401(sender, offset):
    assert sender.post_bytes(b"{}", at=timezone.now().timestamp() + offset).status_code == 401
    assert refusals(sender.source) == {"stale": 1}


@pytest.mark.parametrize(
    "headers",
    [
        {"webhook-signature": "v1,\xe9\xff"},
        {"webhook-signature": ""},
        {"webhook-timestamp": "9" * 5000},
        {"webhook-id": "s\xe9cret"},
        {"webhook-signature": "v1," * 2000},
    ],
)
def test_garbage_in_a_header_is_401_and_never_500(sender, headers):
    assert sender.post_bytes(b"{}", headers=headers).status_code == 401


def test_without_any_header_it_is_401(sender):
    assert Client().post(f"/inbox/{sender.source.slug}/", data=b"{}", content_type="x/y").status_code == 401


def test_an_unknown_source_is_404_and_all_unknown_ones_are_counted_together(db):
    for name in ("nobody", "nothing"):
        assert Client().post(f"/inbox/{name}/", data=b"{}", content_type="application/json").status_code == 404

    assert refusals() == {"unknown-source": 2}


def test_a_source_without_a_live_secret_refuses_everything(sender):
    sender.source.secrets.all().delete()

    assert sender.post_bytes(b"{}").status_code == 401
    assert refusals(sender.source) == {"no-secret": 1}


def test_each_of_several_live_secrets_proves_a_request(sender):
    newer = new_secret()
    sender.source.secrets.create(secret=newer)

    assert sender.post_bytes(b"{}", id="a").status_code == 200
    assert sender.post_bytes(b"{}", id="b", secret=newer).status_code == 200


def test_a_secret_that_nobody_can_decrypt_is_503_so_that_the_provider_comes_again(sender, settings):
    settings.HOLDFAST_SECRET_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]

    answer = sender.post_bytes(b"{}")

    assert (answer.status_code, answer["Retry-After"]) == (503, "60")


def test_a_disabled_source_is_503(sender):
    sender.source.enabled = False
    sender.source.save()

    assert sender.post_bytes(b"{}").status_code == 503


def test_a_body_above_the_cap_is_413_before_any_signature_is_looked_at(new_sender):
    sender = new_sender(body_cap_bytes=100)

    assert sender.post_bytes(b'"' + b"a" * 99 + b'"').status_code == 413
    assert sender.post_bytes(b'"' + b"a" * 98 + b'"').status_code == 200
    assert refusals(sender.source) == {"too-large": 1}


def github(body, content_type="application/json"):
    source, secret = make_source(scheme="github"), "a secret of twenty-odd characters"
    source.secrets.create(secret=secret)
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Delivery": "d1", "X-GitHub-Event": "push"}
    return Client().post(f"/inbox/{source.slug}/", data=body, content_type=content_type, headers=headers)


def test_github_may_send_its_documented_25_megabytes_where_others_may_not(db):
    above_the_default = DEFAULT_CAP_BYTES + 1

    assert github(b"1" + b" " * above_the_default).status_code == 200
    assert Source.objects.get().cap_bytes == 25_000_000


def test_a_content_type_that_the_provider_does_not_send_is_415(db):
    assert github(b"{}", content_type="text/plain").status_code == 415


class Endless(io.RawIOBase):
    """A chunked body that never ends, and counts what was asked of it."""

    given = 0

    def read(self, size=-1):
        assert size > 0
        self.given += size
        return b"a" * size


def test_an_endless_body_is_read_up_to_the_cap_and_one_byte_more():
    request, stream = RequestFactory().post("/inbox/shop/"), Endless()
    del request.META["CONTENT_LENGTH"]
    request.META |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True, "wsgi.input": stream}

    with pytest.raises(TooLarge):
        read_body(request, 1_000_000)
    assert stream.given == 1_000_001


def test_a_chunked_body_is_read_whole_where_the_server_ends_the_stream():
    request = RequestFactory().post("/inbox/shop/")
    del request.META["CONTENT_LENGTH"]
    request.META |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(b"abc")}

    with pytest.raises(LengthRequired):
        read_body(request, 10)
    request.META["wsgi.input_terminated"] = True
    assert read_body(request, 10) == b"abc"


@pytest.mark.parametrize("body", [b"{not json", b"", b"\xff\x00", b'{"a":' * 100_000, b"1" * 5000])
def test_poison_with_a_good_signature_is_stored_and_a_dead_letter_on_first_sight(sender, body):
    answer = sender.post_bytes(body, id="msg_1")

    letter = DeadLetter.objects.get()
    assert (answer.status_code, letter.failure_class, letter.resolution) == (200, "poison", "open")
    assert (bytes(sender.event("msg_1").body), sender.event("msg_1").status) == (body, "dead")
    assert sender.event("msg_1").attempt_count == 0


def test_poison_that_comes_again_is_a_repeat(sender):
    for _ in range(2):
        sender.post_bytes(b"{not json", id="msg_1")

    assert DeadLetter.objects.count() == 1
    assert sender.event("msg_1").duplicates == 1


def test_headers_are_kept_without_credentials(sender):
    secret = {"Authorization": "Basic aGk6aG8=", "Cookie": "a=b", "X-Gitlab-Token": "hush", "X-Api-Key": "k"}

    sender.post_bytes(b"{}", id="msg_1", headers={**secret, "X-Request-Id": "r\x001"})

    kept = sender.event("msg_1").headers
    assert {"webhook-id", "webhook-signature", "x-request-id"} <= set(kept)
    assert not {name.lower() for name in secret} & set(kept)


def test_the_door_rings_once_for_many_events(sender, monkeypatch):
    sent = []
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda app, name, **more: sent.append((name, more["args"])))

    for _ in range(5):
        sender.post({})

    assert sent == [("inbox.process", [sender.source.pk])]


def test_a_broker_that_is_away_does_not_fail_the_door(sender):
    with away():
        answers = [sender.post({}).status_code for _ in range(3)]

    assert answers == [200] * 3
    assert ReceivedEvent.objects.filter(status="received").count() == 3


def test_a_broker_that_is_away_is_asked_once_in_five_seconds(sender, monkeypatch):
    asked, now = [], [100.0]

    def refuse():
        asked.append(now[0])
        raise OSError("nobody listens")

    monkeypatch.setattr(dispatch, "redis_client", refuse)
    for second in (100.0, 101.0, 104.9, 105.1):
        now[0] = second
        dispatch.wake([sender.source.pk], clock=lambda: now[0])

    assert sorted(set(asked)) == [100.0, 105.1]


def test_the_door_waits_for_a_hung_broker_once(sender, hung_redis):
    answers = [sender.post({}).status_code for _ in range(2)]

    assert answers == [200] * 2
    hung_redis.accept()[0].close()
    with pytest.raises(BlockingIOError):
        hung_redis.accept()


def test_slack_reads_its_challenge_in_the_answer():
    answer = json.loads(reply("slack", "url_verification", {"challenge": "abc"}))

    assert answer == {"challenge": "abc"}


def test_the_ordering_key_is_taken_from_the_payload(new_sender):
    sender = new_sender(ordering_path="data.order")

    sender.post({"order": 7}, id="with")
    sender.post({}, id="without")

    assert (sender.event("with").ordering_key, sender.event("without").ordering_key) == ("7", "")


def test_a_secret_that_expires_goes_by_itself(sender):
    sender.source.secrets.update(
        created_at=timezone.now() - timedelta(hours=2), expires_at=timezone.now() - timedelta(hours=1)
    )

    assert sender.post_bytes(b"{}").status_code == 401
