"""Test the caches of keys: the last ones used, for a while, and each derived once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from tests.internals.tokens import Key, TimedCache, derive
from tests.unit.crypto.tokens import NEW, NEW_KEY, OLD, OLD_KEY, TEXT, forged

FAR = Binding("t" * 1_000_000)
AT = Binding("t" * 1_000_000, entity_id="m")


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Key]:
    """The ring keys of which something is derived, in order."""
    keys: list[Key] = []

    def counting(key: Key, info: bytes) -> Key:
        keys.append(key)
        return derive(key, info)

    monkeypatch.setattr("agui_reasoning.crypto._jwe.derive", counting)
    return keys


def test_a_reader_derives_each_key_once(derived: list[Key]) -> None:
    tokens = [given.encrypt(TEXT, FAR) for given in (OLD, NEW)] + [forged(kid) for kid in "abc"]
    derived.clear()
    reader = KeyRing({"new": NEW_KEY, "old": OLD_KEY}).reader(FAR)
    for text in tokens * 20:
        reader.open(text)
    assert len(derived) == 3  # two keys, and the stand-in for what is unknown


@pytest.mark.parametrize(("binding", "count"), [(FAR, 1), (AT, 2)])
def test_a_ring_derives_the_key_of_a_thread_once(binding: Binding, count: int, derived: list[Key]) -> None:
    ring = KeyRing({"old": OLD_KEY})
    for _ in range(20):
        assert ring.decrypt(ring.rekey(ring.encrypt(TEXT, binding), binding), binding) == TEXT
    assert len(derived) == count  # one more where tokens are bound to an entity
    ring.forget()
    ring.encrypt(TEXT, binding)
    assert len(derived) == 2 * count


def test_few_derived_keys_are_remembered(derived: list[Key]) -> None:
    ring = KeyRing({"old": OLD_KEY})
    for _ in range(2):
        for thread in range(100):
            ring.encrypt(TEXT, Binding(f"thread-{thread}"))
    assert len(derived) == 200


def test_a_cache_holds_the_last_ones_used() -> None:
    clock: list[float] = [0.0]
    cache: TimedCache[str, int] = TimedCache(2, 10, lambda: clock[0])
    steps: list[tuple[float, Callable[[], object], object]] = [
        (0, lambda: cache.put("a", 1), None),
        (5, lambda: cache.put("b", 2), None),
        (9, lambda: cache.get("a"), 1),
        (9, lambda: cache.put("c", 3), None),  # instead of b, which was used longer ago
        (9, lambda: cache.get("b"), None),
        (10, lambda: cache.get("a"), None),  # expired, whenever it was used
        (18, lambda: cache.get("c"), 3),
        (19, lambda: cache.get("c"), None),
    ]
    for time, step, expected in steps:
        clock[0] = time
        assert step() == expected
