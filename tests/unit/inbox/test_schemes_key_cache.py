from collections import Counter

import pytest

from inbox.schemes.key_cache import CachedKeys, TooManyNewKeys


class Provider:
    """Answers for keys, counts the questions, and fails when told to."""

    def __init__(self, **keys: object) -> None:
        self.keys = keys
        self.asked: Counter[str] = Counter()
        self.down = False
        self.now = 0.0

    def fetch(self, key_id: str):
        self.asked[key_id] += 1
        if self.down:
            raise ConnectionError
        return self.keys.get(key_id)

    def cached(self, **options) -> CachedKeys:
        return CachedKeys(self.fetch, clock=lambda: self.now, **options)


def test_a_key_is_asked_for_once_while_it_is_fresh_and_again_after():
    provider = Provider(a={"kid": "a"})
    keys = provider.cached(fresh_seconds=600)
    assert [keys("a"), keys("a")] == [{"kid": "a"}] * 2
    provider.now = 599
    keys("a")
    assert provider.asked["a"] == 1
    provider.now = 600
    keys("a")
    assert provider.asked["a"] == 2


def test_an_unknown_id_is_asked_about_once_a_minute():
    provider = Provider()
    keys = provider.cached()
    assert [keys("x"), keys("x")] == [None, None]
    assert provider.asked["x"] == 1
    provider.now = 60
    provider.keys["x"] = {"kid": "x"}
    assert keys("x") == {"kid": "x"}


def test_made_up_ids_do_not_reach_the_provider_without_end_and_known_keys_go_on_being_served():
    provider = Provider(a={"kid": "a"})
    keys = provider.cached(new_per_minute=3)
    keys("a")
    keys("x1")
    keys("x2")
    with pytest.raises(TooManyNewKeys):
        keys("x3")
    assert keys("a") == {"kid": "a"}
    assert provider.asked.total() == 3
    provider.now = 60
    assert keys("x3") is None


def test_a_known_key_is_renewed_even_while_made_up_ids_are_held_off():
    provider = Provider(a={"kid": "a"})
    keys = provider.cached(fresh_seconds=10, new_per_minute=2)
    keys("a")
    keys("x1")
    provider.now = 10
    assert keys("a") == {"kid": "a"}
    assert provider.asked["a"] == 2


def test_while_the_provider_is_down_an_old_key_serves_and_a_new_one_is_an_error_not_unknown():
    provider = Provider(a={"kid": "a"}, b={"kid": "b"})
    keys = provider.cached()
    keys("a")
    provider.now = 10_000
    provider.down = True
    assert keys("a") == {"kid": "a"}
    with pytest.raises(ConnectionError):
        keys("b")
    provider.down = False
    assert keys("b") == {"kid": "b"}


def test_what_strangers_made_up_is_forgotten():
    provider = Provider(a={"kid": "a"})
    keys = provider.cached()
    for minute in range(100):
        provider.now = minute * 60.0
        keys(f"x{minute}")
    assert len(keys._answers) <= 2
