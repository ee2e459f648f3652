"""Test the law *round trip* over every recording: the client's history restores what was decoded.

The values are plain. Of those, nothing that names an object stored at the provider is taken, unless that is
allowed, as it is here where a recording does so; ``unit/request/test_stored_objects.py`` tests the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning import Emitter
from agui_reasoning.deltas import Delta, ResponseStart, fold
from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.request import restore
from tests.laws import law
from tests.recordings.test_recordings import ALL, decode
from tests.support.frontends import FRONT_ENDS
from tests.support.recordings import load
from tests.support.verifier import replay


def responses(deltas: list[Delta]) -> Iterator[list[Part]]:
    """The parts of each response of a recording."""
    one: list[Delta] = []
    for delta in deltas:
        if isinstance(delta, ResponseStart) and one:
            yield fold(one)
            one = []
        one.append(delta)
    yield fold(one)


def history(deltas: list[Delta]) -> list[dict[str, Any]]:
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None)
    return replay([e for delta in deltas for e in emitter.receive(delta)] + emitter.close()).messages


def names_objects(file: Path) -> bool:
    """Whether a recording names a container or a file of its provider."""
    text = file.read_text(encoding="utf-8")
    return "container_id" in text or "file_id" in text


def has_envelope(parts: list[Part]) -> bool:
    """Whether the response has an envelope: one of nothing but text and calls has none."""
    return any(
        isinstance(p, ReasoningPart | NativePart | ToolResultPart) or getattr(p, "opaque", ()) for p in parts
    )


def wire(part: Part) -> Part:
    """A part as it can come back: a call without an id of its own was given one."""
    if isinstance(part, ToolCallPart) and not part.id:
        return replace(part, id="minted", ext=None)
    return part


def same(part: Part) -> Part:
    if isinstance(part, ToolCallPart) and part.ext and part.ext.get("native_id") == "":
        return replace(part, id="minted", ext=None)
    return part


@law("round trip")
@pytest.mark.parametrize(("api", "file"), ALL)
def test_a_recording_comes_back_from_the_clients_history(api: str, file: Path) -> None:
    deltas = decode(load(file))
    expected = [parts for parts in responses(deltas) if has_envelope(parts)]
    restored = [
        turn
        for turn in restore(history(deltas), allow_file_ids=names_objects(file)).turns
        if has_envelope(list(turn.parts))
    ]
    assert [list(map(same, turn.parts)) for turn in restored] == [
        list(map(wire, parts)) for parts in expected
    ]


def essentials(parts: list[Part]) -> list[Any]:
    """What a provider may require back, in order."""
    kept: list[Any] = []
    for part in parts:
        if isinstance(part, ReasoningPart):
            kept.append((part.text, part.opaque, part.item_id))
        elif isinstance(part, NativePart):
            kept.append(part.payload)
        elif isinstance(part, ToolResultPart):
            kept.append(part.native)
        elif not isinstance(part, TextPart):
            kept.append((part.name, part.opaque))
    return kept


@law("round trip")
@pytest.mark.parametrize(("api", "file"), ALL)
def test_what_a_provider_requires_survives_the_front_ends(api: str, file: Path) -> None:
    deltas = decode(load(file))
    expected = [essentials(parts) for parts in responses(deltas) if _thinks(parts)]
    sent = history(deltas)
    for front_end in ("copilotkit", "assistant-ui"):
        turns = restore(FRONT_ENDS[front_end](sent), allow_file_ids=names_objects(file)).turns
        assert [essentials(list(turn.parts)) for turn in turns if _thinks(turn.parts)] == expected, front_end


def _thinks(parts: Iterable[Part]) -> bool:
    return any(isinstance(part, ReasoningPart) for part in parts)
