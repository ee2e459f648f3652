"""Test deltas as values: how they are made, compared, copied, matched and shown."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.parts import Opaque, Origin

SIGNATURE = Opaque("anthropic.signature", "top secret")
DELTAS: list[tuple[Delta, str]] = [
    (
        ResponseStart(Origin("anthropic"), id="r1"),
        "ResponseStart(origin=Origin(provider='anthropic', api=None, model=None), id='r1')",
    ),
    (ReasoningDelta(), "ReasoningDelta()"),
    (ReasoningDelta("top secret", key="k", index=1), "ReasoningDelta(text=<10>, key='k', index=1)"),
    (ReasoningDelta(ext={"a": "secret"}), "ReasoningDelta(ext=<1>)"),
    (
        OpaqueDelta(SIGNATURE, append=True),
        "OpaqueDelta(opaque=Opaque(kind='anthropic.signature', value=<10>), key=None, append=True)",
    ),
    (TextDelta("secret"), "TextDelta(text=<6>)"),
    (
        ToolCallDelta("c1", "weather", '{"secret":1}', server=True),
        "ToolCallDelta(id='c1', name='weather', arguments=<12>, server=True)",
    ),
    (
        ToolResultDelta("c1", "secret", native=1.5),
        "ToolResultDelta(tool_call_id='c1', content=<6>, native=<…>)",
    ),
    (CloseDelta(status="incomplete"), "CloseDelta(key=None, status='incomplete')"),
    (NativeDelta("compaction", {"secret": 1}), "NativeDelta(kind='compaction', payload=<1>)"),
    (FinishDelta("stop"), "FinishDelta(reason='stop')"),
]
COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    replace,
    lambda delta: pickle.loads(pickle.dumps(delta)),
]
each = pytest.mark.parametrize(("delta", "shown"), DELTAS)


@each
def test_a_repr_shows_kinds_and_lengths(delta: Delta, shown: str) -> None:
    assert repr(delta) == shown


@each
def test_a_pretty_printer_sees_what_repr_shows(delta: Delta, shown: str) -> None:
    members = ", ".join(f"{name}={value!r}" for name, value in delta.__rich_repr__())
    assert f"{type(delta).__name__}({members})" == shown


@each
@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_is_equal_and_of_the_same_type(delta: Delta, shown: str, copied: Callable[[Any], Any]) -> None:
    other = copied(delta)
    assert (type(other), other) == (type(delta), delta)


@each
def test_members_cannot_be_set(delta: Delta, shown: str) -> None:
    with pytest.raises(AttributeError):
        setattr(delta, delta.__struct_fields__[0], "other")


def test_equal_deltas_hash_alike() -> None:
    assert len({TextDelta("a", key="k"), TextDelta("a", key="k"), TextDelta("a"), FinishDelta("a")}) == 3


def test_deltas_of_other_types_differ() -> None:
    assert TextDelta("a") != ReasoningDelta("a")


def test_patterns_match_what_is_positional() -> None:
    match ToolCallDelta("c1", "weather", "{}", server=True):
        case ToolCallDelta(call_id, name, arguments, server=True):
            assert (call_id, name, arguments) == ("c1", "weather", "{}")
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ReasoningDelta("a", "k"),  # type: ignore[call-arg]
        lambda: TextDelta("a", "k"),  # type: ignore[call-arg]
        lambda: ToolCallDelta("c", "n", "{}", True),  # type: ignore[call-arg]
        lambda: CloseDelta("k"),  # type: ignore[call-arg]
        lambda: UsageDelta("openai"),  # type: ignore[call-arg]
        lambda: TextDelta(),  # type: ignore[call-arg]
        lambda: TextDelta("a", channel="text"),  # type: ignore[call-arg]
    ],
)
def test_other_arguments_are_keyword_only_and_known(make: Callable[[], Delta]) -> None:
    with pytest.raises(TypeError):
        make()
