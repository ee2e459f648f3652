"""Attack what a ring remembers: keys that were destroyed, replaced, or belong to somebody else."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.errors import ConfigurationError
from tests.unit.crypto.tokens import HOME, NEW_KEY, OLD, OLD_KEY, TEXT, closed, header_of

AT = Binding(HOME.thread_id, tenant=HOME.tenant, entity_id="m1")


@dataclass
class Service:
    """A key management service, and a clock."""

    keys: dict[str, bytes]
    time: float = 1000.0
    asked: list[str] = field(default_factory=list)
    outage: Exception | None = None

    def __call__(self, kid: str) -> bytes:
        self.asked.append(kid)
        if self.outage is not None:
            raise self.outage
        return self.keys[kid]

    def ring(self, **options: Any) -> KeyRing:
        return KeyRing(self, primary="old", now=lambda: self.time, **options)


@pytest.mark.parametrize("binding", [HOME, AT])
def test_a_key_that_the_callable_no_longer_gives_stops_working_within_the_age(binding: Binding) -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring(max_age_s=60)
    token = ring.encrypt(TEXT, binding)
    assert ring.decrypt(token, binding) == TEXT
    del service.keys["old"]
    service.time += 59.9
    assert ring.decrypt(token, binding) == TEXT
    service.time += 0.1
    closed(ring, token, binding)
    with pytest.raises(ConfigurationError, match="no key with this ID"):
        ring.encrypt(TEXT, binding)


def test_using_a_key_does_not_make_it_younger() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring(max_age_s=60)
    token = ring.encrypt(TEXT, HOME)
    del service.keys["old"]
    for _ in range(59):
        service.time += 1
        assert ring.decrypt(token, HOME) == TEXT
    service.time += 1
    closed(ring, token)


def test_the_age_is_five_minutes_by_default() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring()
    for seconds, asked in ((0, 1), (299, 1), (1, 2)):
        service.time += seconds
        ring.encrypt(TEXT, HOME)
        assert len(service.asked) == asked


def test_a_clock_that_is_set_back_does_not_keep_a_key() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring()
    token = ring.encrypt(TEXT, HOME)
    del service.keys["old"]
    service.time -= 3600
    closed(ring, token)


def test_a_key_that_was_replaced_under_its_id_is_used_within_the_age() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring(max_age_s=60)
    before = ring.encrypt(TEXT, HOME)
    service.keys["old"] = NEW_KEY
    service.time += 60
    after = ring.encrypt(TEXT, HOME)
    closed(ring, before)
    closed(OLD, after)
    assert KeyRing({"old": NEW_KEY}).decrypt(after, HOME) == TEXT


def test_an_outage_after_the_age_is_an_outage_and_not_the_old_key() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring(max_age_s=60)
    token = ring.encrypt(TEXT, HOME)
    service.outage = TimeoutError("no route")
    service.time += 60
    for action in (lambda: ring.decrypt(token, HOME), lambda: ring.encrypt(TEXT, HOME)):
        with pytest.raises(TimeoutError):
            action()


def test_with_age_zero_every_use_asks() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring(max_age_s=0)
    token = ring.encrypt(TEXT, HOME)
    assert ring.decrypt(token, HOME) == TEXT
    assert service.asked == ["old", "old"]


def test_forgetting_leaves_no_key_and_no_cipher() -> None:
    service = Service({"old": OLD_KEY})
    ring = service.ring()
    ring.decrypt(ring.encrypt(TEXT, AT), AT)
    assert remembered(ring) > 0
    ring.forget()
    assert remembered(ring) == 0


def test_what_has_expired_is_dropped_when_something_else_is_used() -> None:
    service = Service({"old": OLD_KEY, "new": NEW_KEY})
    ring = service.ring(max_age_s=60)
    ring.encrypt(TEXT, HOME)
    many = remembered(ring)
    service.time += 60
    ring.encrypt(TEXT, Binding("another thread"))
    assert remembered(ring) == many


def remembered(ring: KeyRing) -> int:
    """How many ciphers are reachable from a ring."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting: list[Any] = [ring._keys, ring._derived]  # not the stand-in, which is no key of anything
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type) or callable(item):
            continue
        seen.add(id(item))
        if isinstance(item, AESGCM):
            found.add(id(item))
        waiting += gc.get_referents(item)
    return len(found)


@pytest.mark.parametrize(
    ("mine", "yours"),
    [
        (Binding("t", tenant="acme"), Binding("t", tenant="evil")),
        (Binding("bc", tenant="a"), Binding("c", tenant="ab")),
        (Binding("t"), Binding("t", tenant="acme")),
        (Binding("t", tenant="acme", entity_id="e"), Binding("t", tenant="evil", entity_id="e")),
    ],
)
def test_the_cache_of_one_tenant_opens_nothing_of_another(mine: Binding, yours: Binding) -> None:
    ring = KeyRing({"old": OLD_KEY})
    token = ring.encrypt(TEXT, mine)
    closed(ring, token, yours)
    assert ring.decrypt(token, mine) == TEXT
    closed(ring, token, yours)
    closed(ring, ring.encrypt(TEXT, yours), mine)


def test_rings_share_nothing() -> None:
    token = KeyRing({"old": OLD_KEY}).encrypt(TEXT, HOME)
    closed(KeyRing({"old": NEW_KEY}), token)


def test_the_header_of_the_last_token_decides_nothing_about_the_next() -> None:
    ring = KeyRing({"old": OLD_KEY, "new": NEW_KEY}, now=lambda: 1000.0)
    plain, expiring = ring.encrypt(TEXT, HOME), ring.encrypt(TEXT, HOME, ttl_s=60)
    reader = ring.reader(HOME)
    assert [reader.open(token) is None for token in (plain, expiring, plain)] == [False] * 3
    mixed = ".".join([expiring.partition(".")[0], *plain.split(".")[1:]])
    assert reader.open(mixed) is None
    assert not reader.recognizes("not.a.token.at.all")
    assert reader.recognizes(plain)
    assert "exp" not in header_of(ring.encrypt(TEXT, HOME))


@pytest.mark.parametrize("age", [-1, "60", None, True, float("nan")])
def test_an_age_that_is_no_number_of_seconds_is_refused(age: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        KeyRing({"old": OLD_KEY}, max_age_s=age)
    assert caught.value.code == "bad_limit"
