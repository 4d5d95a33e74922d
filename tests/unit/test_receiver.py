"""The pure parts of the receiver: reading requests, choosing answers, checking signatures."""

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from demo.receiver.answers import Manner
from demo.receiver.behaviours import WORDS, UnknownBehaviour, behaviour_from
from demo.receiver.parsing import Malformed, Request, RequestReader
from demo.receiver.records import Record
from demo.receiver.routes import RouteTable
from demo.receiver.tallies import Tally
from demo.receiver.verification import Verifier

SECRET = "whsec_" + "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = 1_800_000_000


def post(body: bytes, target: str = "/ok", **headers: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
    return f"POST {target} HTTP/1.1\r\nContent-Length: {len(body)}\r\n{''.join(lines)}\r\n".encode() + body


def read(data: bytes) -> Request:
    reader = RequestReader()
    reader.feed(data)
    request = reader.next()
    assert request is not None
    return request


def test_pipelined_requests_come_out_in_order_however_the_bytes_are_cut() -> None:
    data = post(b"one", "/ok/1") + post(b"", "/ok/2") + post(b"\r\n\r\n", "/ok/3")
    for size in (1, 7, len(data)):
        reader, found = RequestReader(), []
        for start in range(0, len(data), size):
            reader.feed(data[start : start + size])
            while (request := reader.next()) is not None:
                found.append((request.head.target, request.body))
        assert found == [("/ok/1", b"one"), ("/ok/2", b""), ("/ok/3", b"\r\n\r\n")]
        assert not reader.mid_request


def test_a_request_that_has_begun_and_not_ended_shows() -> None:
    reader = RequestReader()
    reader.feed(post(b"whole")[:-1])
    assert reader.next() is None
    assert reader.mid_request


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"POST /ok HTTP/2.0\r\n\r\n", 505),
        (b"POST /ok HTTP/1.1\r\nContent-Length: 5, 6\r\n\r\n", 400),
        (b"POST /ok HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /ok HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /ok HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST /ok HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST /ok HTTP/1.1\r\nname : value\r\n\r\n", 400),
        (b"x" * 70_000, 431),
    ],
)
def test_what_is_not_a_readable_request_is_refused(data: bytes, status: int) -> None:
    reader = RequestReader()
    reader.feed(data)
    with pytest.raises(Malformed) as refusal:
        reader.next()
    assert refusal.value.status == status


@pytest.mark.parametrize(
    ("version", "wish", "kept"),
    [("1.1", "", True), ("1.1", "Close", False), ("1.0", "", False), ("1.0", "keep-alive", True)],
)
def test_a_connection_is_kept_as_its_version_and_wish_say(version: str, wish: str, kept: bool) -> None:
    request = read(f"POST /ok HTTP/{version}\r\nConnection: {wish}\r\n\r\n".encode())
    assert request.head.keep_alive is kept


@pytest.mark.parametrize(
    ("text", "status"),
    [("ok/17", 200), ("/status/422/x", 422), ("nobody204", 204), ("redirect/307", 307), ("big", 200)],
)
def test_a_path_names_its_answer(text: str, status: int) -> None:
    plan = behaviour_from(text)("")
    assert plan.status == status
    assert plan.data.startswith(f"HTTP/1.1 {status} ".encode())
    assert plan.manner is Manner.NOW


@pytest.mark.parametrize(
    "text", ["", "nothing", "status", "status/600", "status/x", "slow/-1", "redirect/200", "random/101/1"]
)
def test_a_behaviour_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UnknownBehaviour):
        behaviour_from(text)


def test_every_word_makes_a_behaviour_from_small_numbers() -> None:
    numbers = {"status": "500", "redirect": "301"}
    for word, (arity, _) in WORDS.items():
        assert behaviour_from("/".join([word, *[numbers.get(word, "1")] * arity]))("id").label


def test_stumble_and_brake_count_requests_whichever_events_they_bring() -> None:
    stumble, brake = behaviour_from("stumble/2"), behaviour_from("brake/7/1")

    assert [stumble(webhook_id).status for webhook_id in "abca"] == [500, 500, 200, 200]
    braked = brake("a")
    assert braked.status == 429
    assert b"\r\nRetry-After: 7\r\n" in braked.data
    assert brake("b").status == 200


def test_flaky_and_throttle_count_the_attempts_of_each_webhook_id() -> None:
    flaky, throttle = behaviour_from("flaky/2"), behaviour_from("throttle/7/1")
    assert [flaky(webhook_id).status for webhook_id in "abababa"] == [500, 500, 500, 500, 200, 200, 200]
    throttled = throttle("a")
    assert throttled.status == 429
    assert b"\r\nRetry-After: 7\r\n" in throttled.data
    assert throttle("a").status == 200


def test_random_failures_depend_on_seed_and_id_and_attempt_and_not_on_the_order_of_arrival() -> None:
    ids = [f"evt_{number}" for number in range(1000)]
    forwards, backwards, other = (behaviour_from(f"random/30/{seed}") for seed in ("7", "7", "8"))
    first = {webhook_id: forwards(webhook_id).status for webhook_id in ids}
    assert {webhook_id: backwards(webhook_id).status for webhook_id in reversed(ids)} == first
    assert {webhook_id: other(webhook_id).status for webhook_id in ids} != first
    assert 250 < list(first.values()).count(500) < 350


def test_a_named_path_follows_its_name_and_keeps_its_counts() -> None:
    routes = RouteTable()
    route = routes.of("/named/shop/1?x=1")
    assert route.behaviour("a").status == 404
    routes.name("shop", "status/503")
    assert route.behaviour("a").status == 503
    routes.name("shop", "ok")
    assert route.behaviour("a").status == 200
    assert routes.of("/named/shop/1") is route


def test_only_what_comes_after_a_2xx_is_a_duplicate() -> None:
    tally = Tally()
    for accepted in (False, True, True):
        tally.arrive("a", "")
        if accepted:
            tally.accept("a")
        tally.leave()
    assert (tally.requests, tally.repeats, tally.duplicates, len(tally.accepted)) == (3, 2, 1, 1)


def signed(number: int, path: str, body: bytes, **changed: str) -> Record:
    signature = Webhook(SECRET).sign("msg", datetime.fromtimestamp(NOW, UTC), body.decode())
    headers = {"webhook_id": "msg", "webhook_timestamp": str(NOW), "webhook_signature": f"v1a,x {signature}"} | changed
    request, routes = read(post(body, path, **headers)), RouteTable()
    route = routes.of(path)
    return Record(number, 1, 0.0, NOW + 1.0, request.head, request.body, route, "msg", route.behaviour("msg"))


def test_signatures_are_judged_at_the_time_of_arrival() -> None:
    verifier = Verifier()
    verifier.set("shop", ["whsec_" + "A" * 32, SECRET])
    records = [
        signed(1, "/ok/shop", b'{"a":"\xc3\xa4"}'),
        signed(2, "/ok/shop", b"{}", webhook_signature="v1,AAAA"),
        signed(3, "/ok/shop", b"{}", webhook_timestamp=str(NOW - 400)),
        signed(4, "/ok/shop", b"{}", webhook_signature="v1,not base64!"),
        signed(5, "/ok/shop", b"{}", webhook_timestamp="soon"),
        signed(6, "/ok/other", b"{}"),
    ]
    verifier.check(records[:3])
    figures = verifier.check(records)
    counts = {name: figures[name] for name in ("good", "bad_signatures", "stale", "unsigned", "no_secret")}
    assert counts == {"good": 1, "bad_signatures": 2, "stale": 1, "unsigned": 1, "no_secret": 1}
