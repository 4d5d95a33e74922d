"""The receiver as a process: what a sender meets on the wire, and what the receiver tells afterwards."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.receiver.client import REPOSITORY, ReceiverFailed, ReceiverProcess


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("receiver") / "requests.jsonl"


@pytest.fixture(scope="module")
def process(log: Path) -> Iterator[ReceiverProcess]:
    with ReceiverProcess(log=log) as running:
        yield running


@pytest.fixture
def receiver(process: ReceiverProcess) -> ReceiverProcess:
    process.forget()
    return process


def post(receiver: ReceiverProcess, path: str, body: bytes = b"{}", webhook_id: str = "msg_1") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=10)
    try:
        connection.request("POST", path, body, {"webhook-id": webhook_id})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def raw(path: str, body: bytes = b"{}", webhook_id: str = "msg_1") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nwebhook-id: {webhook_id}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def dial(receiver: ReceiverProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", receiver.port), timeout=10)


def logged(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_request_is_kept_with_its_headers_and_body(receiver: ReceiverProcess) -> None:
    post(receiver, "/ok/1?key=x", '{"a":"ä"}'.encode())
    post(receiver, "/ok/2", b"\xff")
    [kept] = receiver.requests("/ok/1")
    assert (kept["method"], kept["target"], kept["body"]) == ("POST", "/ok/1?key=x", '{"a":"ä"}')
    assert kept["headers"]["webhook-id"] == "msg_1"
    assert kept["answered_monotonic"] >= kept["monotonic"]
    assert receiver.requests(prefix="/ok/", after=kept["n"])[0]["body_base64"] == "/w=="


def test_the_log_line_is_there_before_the_answer(receiver: ReceiverProcess, log: Path) -> None:
    with dial(receiver) as connection:
        for number in range(20):
            connection.sendall(raw("/ok/logged", webhook_id=f"msg_{number}"))
            assert connection.recv(1)
            assert logged(log)[-1]["webhook-id"] == f"msg_{number}"
            connection.recv(4096)


def test_a_killed_receiver_leaves_every_answered_request_in_its_log(tmp_path: Path) -> None:
    with ReceiverProcess(log=tmp_path / "log") as doomed:
        for number in range(50):
            post(doomed, "/ok", webhook_id=f"msg_{number}")
        os.kill(doomed.pid, signal.SIGKILL)
    assert [line["webhook-id"] for line in logged(tmp_path / "log")] == [f"msg_{number}" for number in range(50)]


def test_pipelined_answers_keep_their_order_behind_a_slow_one(receiver: ReceiverProcess) -> None:
    with dial(receiver) as connection:
        connection.sendall(raw("/status/201") + raw("/slow/0.05") + raw("/status/202") + raw("/hangup"))
        answers = b"".join(iter(lambda: connection.recv(65536), b""))
    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"201", b"200", b"202"]
    assert len({request["connection"] for request in receiver.requests()}) == 1


def test_a_reset_comes_after_the_body_was_read(receiver: ReceiverProcess) -> None:
    with dial(receiver) as connection:
        connection.sendall(raw("/reset", b"x" * 100_000))
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    assert len(receiver.requests("/reset")[0]["body"]) == 100_000


def test_a_hang_up_is_an_end_without_an_answer(receiver: ReceiverProcess) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        post(receiver, "/hangup")


def test_a_hang_never_answers_and_shows_when_the_sender_leaves(receiver: ReceiverProcess) -> None:
    with dial(receiver) as connection:
        connection.sendall(raw("/hang"))
        assert receiver.wait_for(requests=1)
        assert receiver.stats()["in_flight"] == 1
        connection.settimeout(0.05)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(10)
        assert connection.recv(1) == b""
    assert receiver.requests("/hang")[0]["left"] is True
    assert receiver.stats()["in_flight"] == 0


def test_a_drip_sends_the_head_byte_by_byte_and_a_dribble_only_the_body(receiver: ReceiverProcess) -> None:
    assert post(receiver, "/drip/0.001") == (200, b"ok")
    assert post(receiver, "/dribble/0.001") == (200, b"ok")
    with dial(receiver) as connection:
        connection.sendall(raw("/drip/60"))
        assert connection.recv(100) == b"H"
    with dial(receiver) as connection:
        connection.sendall(raw("/dribble/60"))
        assert connection.recv(9) == b"HTTP/1.1 "
    assert receiver.stats()["paths"]["/dribble/60"]["accepted"] == 1


def test_answers_that_break_the_protocol(receiver: ReceiverProcess) -> None:
    with pytest.raises(http.client.BadStatusLine):
        post(receiver, "/nonsense")
    with pytest.raises(http.client.IncompleteRead):
        post(receiver, "/short")
    assert post(receiver, "/garbled")[1].startswith(b"\xff\x00\xc3\x28")
    assert len(post(receiver, "/big")[1]) == 5 * 1024 * 1024


def test_one_call_mends_a_named_receiver(receiver: ReceiverProcess) -> None:
    receiver.behave("shop", "status/503")
    assert post(receiver, "/named/shop")[0] == 503
    receiver.behave("shop", "ok")
    assert post(receiver, "/named/shop")[0] == 200
    with pytest.raises(ReceiverFailed, match="no behaviour is called 'broken'"):
        receiver.behave("shop", "broken")
    assert receiver.stats()["paths"]["/named/shop"]["answers"] == {"503": 1, "200": 1}


def test_stats_tell_repeats_from_duplicates(receiver: ReceiverProcess) -> None:
    for webhook_id in ("a", "a", "a", "b"):
        post(receiver, "/flaky/1", webhook_id=webhook_id)
    stats = receiver.stats()
    counts = {name: stats[name] for name in ("requests", "distinct", "accepted", "repeats", "duplicates")}
    assert counts == {"requests": 4, "distinct": 2, "accepted": 1, "repeats": 2, "duplicates": 1}
    assert stats["answers"] == {"500": 2, "200": 2}


def test_the_peak_of_requests_in_flight_is_kept(receiver: ReceiverProcess) -> None:
    connections = [dial(receiver) for _ in range(3)]
    for connection in connections:
        connection.sendall(raw("/hang"))
    assert receiver.wait_for(requests=3)
    for connection in connections:
        connection.close()
    post(receiver, "/ok")
    paths = receiver.stats()["paths"]
    assert (paths["/hang"]["peak_in_flight"], paths["/ok"]["peak_in_flight"]) == (3, 1)


def test_waiting_ends_when_the_count_is_reached_or_the_time_is_over(receiver: ReceiverProcess) -> None:
    sender = threading.Timer(0.05, post, (receiver, "/ok/late"))
    sender.start()
    assert receiver.wait_for(accepted=1, path="/ok/late")
    sender.join()
    assert not receiver.wait_for(distinct=2, timeout=0.01)


def test_a_request_cut_short_by_its_sender_is_counted(receiver: ReceiverProcess) -> None:
    with dial(receiver) as connection:
        connection.sendall(raw("/ok/cut")[:-1])
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    with dial(receiver) as connection:
        connection.sendall(raw("/ok/long") + b"{}\r\n\r\n")
        answers = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 400 " in answers
    assert len(receiver.requests()) == 1
    assert receiver.stats()["broken"]["cut short"] == 1
    assert sum(receiver.stats()["broken"].values()) == 2


def test_unsigned_requests_are_found_by_verifying(receiver: ReceiverProcess) -> None:
    receiver.secret("guarded", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
    post(receiver, "/ok/guarded")
    assert receiver.verify()["unsigned"] == 1
    with pytest.raises(ReceiverFailed):
        receiver.secret("guarded", "whsec_")


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "demo.receiver", "--until-stdin-closes", "--ready-file", str(ready)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert json.loads(running.stdout.readline()) == json.loads(ready.read_text())
        running.stdin.close()
        try:
            assert running.wait(10) == 0
        finally:
            running.kill()


def test_a_receiver_that_cannot_start_says_so(receiver: ReceiverProcess) -> None:
    second = ReceiverProcess(port=receiver.port)
    with pytest.raises(ReceiverFailed, match="not ready"):
        second.start()
    with pytest.raises(ReceiverFailed, match="not running"):
        assert second.pid
