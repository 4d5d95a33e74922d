"""The inbox as a provider sees it: gunicorn at the door, real workers behind it, and every effect exactly once."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from inbox.models import DeadLetter, ReceivedEvent, Source
from inbox.redis_client import redis_client
from inbox.redrive import redrive
from tests.acceptance.hurrying import take_back_received
from tests.acceptance.waiting import eventually
from tests.bookshop.inbox_handlers import SOURCE
from tests.bookshop.models import Effect


def effects(ids: Sequence[str]) -> list[str]:
    return sorted(Effect.objects.filter(event_id__in=ids).values_list("event_id", flat=True))


def are_processed(ids: Sequence[str]) -> bool:
    return ReceivedEvent.objects.filter(event_id__in=ids, status="processed").count() == len(ids)


def test_every_event_has_its_effect_once_though_each_comes_twice_and_workers_are_killed(stack, post, name):
    ids = [f"{name}-{number}" for number in range(150)]
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda id: post("order.paid", id), [*ids[:100], *ids[:100]])
        eventually(lambda: effects(ids), within=30)
        stack.kill("inbox")
        assert set(answers) == {200}
        # Nobody works now, and the door answers all the same.
        assert set(pool.map(lambda id: post("order.paid", id), ids[100:])) == {200}
    stack.start("inbox")
    take_back_received(Source.objects.get(slug=SOURCE))

    eventually(lambda: are_processed(ids), within=60)
    assert effects(ids) == sorted(ids)


def test_what_the_broker_forgot_is_processed_all_the_same(stack, post, name):
    ids = [f"{name}-{number}" for number in range(5)]
    for id in ids:
        post("order.paid", id)
    redis_client().flushdb()

    eventually(lambda: are_processed(ids), within=30)
    assert effects(ids) == sorted(ids)


def test_a_worker_killed_between_the_two_phases_is_followed_by_one_with_the_same_key(stack, post, name):
    post("charge", name)
    eventually(lambda: effects([name]), within=30)
    stack.kill("inbox")
    stack.start("inbox")
    take_back_received(Source.objects.get(slug=SOURCE))

    eventually(lambda: are_processed([name]), within=60)
    keys = list(Effect.objects.filter(event_id=name).values_list("key", flat=True))
    assert (len(keys), len(set(keys))) == (2, 1)


def test_a_dead_letter_is_redriven_to_its_handler(post, name):
    post("broken", name)
    letter = eventually(lambda: DeadLetter.objects.filter(event__event_id=name).first(), within=30)

    redrive([letter.pk], actor="test")

    eventually(lambda: DeadLetter.objects.filter(event__event_id=name).count() == 2, within=30)
    assert ReceivedEvent.objects.get(event_id=name).attempt_count == 2


def test_a_chunked_body_is_read_and_one_without_end_is_cut_off(post, name):
    content = json.dumps({"type": "order.paid", "data": {"id": name}}).encode()

    assert post("order.paid", name, body=iter([content[:10], content[10:]])) == 200
    assert post("order.paid", f"{name}-big", body=iter([b"a" * 65_536] * 200)) == 413


def test_neither_spelling_is_redirected(post, name):
    assert [post("order.paid", name, path=path) for path in (SOURCE, f"{SOURCE}/")] == [200, 200]
