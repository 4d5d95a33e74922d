"""The transport for users' own tests."""

from deliveries.outcomes import Exchange, Failure
from deliveries.transport import MemoryTransport, Request

A, B = "https://a.example/hook", "https://b.example/hook"


def _request(url):
    return Request(url, {}, b"{}", timeout_seconds=5)


def test_everything_is_answered_200_unless_scripted():
    transport = MemoryTransport()

    assert transport.send(_request(A)).status_code == 200


def test_each_url_goes_through_its_own_answers_and_stays_with_the_last():
    transport = MemoryTransport(otherwise=404)
    transport.script(A, 503, Failure.TIMEOUT, 200)

    first, second, third, fourth = (transport.send(_request(A)) for _ in range(4))

    assert (first.status_code, second.failure, third.status_code, fourth.status_code) == (503, "timeout", 200, 200)
    assert transport.send(_request(B)).status_code == 404


def test_requests_are_remembered_by_url():
    transport = MemoryTransport()
    to_a, to_b = _request(A), _request(B)
    transport.send(to_a)
    transport.send(to_b)

    assert transport.requests == [to_a, to_b]
    assert transport.requests_to(B) == [to_b]


def test_an_answer_may_be_computed_from_the_request():
    transport = MemoryTransport(otherwise=lambda request: Exchange(status_code=len(request.body) + 200))

    assert transport.send(_request(A)).status_code == 202


def test_a_scripted_exchange_is_not_shared_between_sends():
    transport = MemoryTransport(otherwise=Exchange(status_code=200))

    assert transport.send(_request(A)) is not transport.send(_request(A))


def test_a_blocked_request_was_not_sent():
    transport = MemoryTransport(otherwise=Failure.BLOCKED)

    assert transport.send(_request(A)).failure is Failure.BLOCKED
    assert transport.requests == []
