"""Test that the work of the emitter grows with the text, however the text is cut and interleaved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agui_reasoning import Emitter
from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.emitter._writer import Writer
from tests.laws import law
from tests.support.growth import assert_linear

STREAMS: dict[str, Callable[[int], list[Delta]]] = {
    "one text": lambda count: [TextDelta("word ") for _ in range(count)],
    "one reasoning unit": lambda count: [ReasoningDelta("word ") for _ in range(count)],
    "one call": lambda count: [ToolCallDelta("c1", "get", '{"a":1}') for _ in range(count)],
    "two units in turn": lambda count: [ReasoningDelta("word ", key="ab"[n % 2]) for n in range(count)],
    "two calls in turn, by threes": lambda count: [
        ToolCallDelta(f"c{n // 3 % 2}", "get", '{"a":1}') for n in range(count)
    ],
    "lone surrogates between": lambda count: [
        TextDelta("\ud83d" if n % 5 == 4 else "a") for n in range(count)
    ],
}
each = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


@law("linear")
@pytest.mark.growth
@each
def test_frames_take_time_in_proportion_to_the_deltas(stream: Callable[[int], list[Delta]]) -> None:
    def work(deltas: list[Delta]) -> None:
        emitter = Emitter()
        for delta in deltas:
            emitter.frames(delta)
        emitter.close()

    assert_linear(stream, work, 2_000)


@each
def test_every_piece_is_caught_up_with_once(
    stream: Callable[[int], list[Delta]], monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[int] = []
    catch_up = Writer.catch_up

    def counting(writer: Writer, grew: object, pieces: list[str]) -> None:
        caught.append(len(pieces))
        catch_up(writer, grew, pieces)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "catch_up", counting)
    deltas = stream(600)
    emitter = Emitter()
    for delta in deltas:
        emitter.frames(delta)
    emitter.close()
    assert sum(caught) <= len(deltas)
