"""Decode the toy's payloads to deltas."""

from __future__ import annotations

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import Opaque
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import JSONObject, array, string


class ToyDecoder(Decoder):
    """Reads a stream of steps."""

    api = "toy"
    vendor = "toymaker"
    repeatable = Repeatable(texts=frozenset({"text"}))

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._started = self._ended = False

    def _decode(self, data: JSONObject) -> list[Delta]:
        kind = string(data, "t")
        start: list[Delta] = [] if self._started else [ResponseStart(self._origin(data))]
        self._started = True
        return [*start, *self._step(kind, data)]

    def _step(self, kind: str, data: JSONObject) -> list[Delta]:
        if kind == "think":
            return [
                ReasoningDelta(string(data, "text")),
                OpaqueDelta(Opaque("toy.seal", string(data, "seal"))),
                CloseDelta(),
            ]
        if kind == "say":
            return [TextDelta(string(data, "text"))]
        if kind == "call":
            return [
                ToolCallDelta(string(data, "id"), string(data, "name"), string(data, "args")),
                CloseDelta(),
            ]
        self._ended = kind == "end"
        return [FinishDelta("end")] if self._ended else []

    def _end(self) -> list[Delta]:
        if self._started and not self._ended:
            self._ended = True
            raise self._truncated()
        return []

    def _whole(self, data: JSONObject) -> list[Delta]:
        return [delta for step in array(data, "steps") for delta in self._decode(step)]
