"""A wire format in one module: everything that a new API needs.

A stream is ``{"type": "think" | "say" | "call" | "end" | "error", …}``; a request is a list of ``turns``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final, Literal

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
from agui_reasoning.parts import Opaque, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.encoding import (
    EchoUnit,
    EncodingOptions,
    PreparedConversation,
    ResponseStep,
    text_of,
    tools_of,
    values,
)
from agui_reasoning.providers.payload import Events, JSONObject, Members, shape


class _Step(Members):
    """A step of a stream; all steps have the same members."""

    text: str | None = None
    seal: str | None = None
    id: str | None = None
    name: str | None = None
    args: str | None = None


class _Answer(Members):
    """A whole response."""

    turns: list[JSONObject] | None = None


_MORE: Final = shape({"type": Literal["say"], "text": str})
"""What steps have that only add text."""


class ToyDecoder(Decoder):
    """Reads a stream of steps."""

    api = "toy"
    vendor = "toymaker"
    response = _Answer

    def _start(self) -> list[Delta]:
        if self._running:
            return []
        self._running = True
        return [ResponseStart(self._origin_of(self.model))]

    def _think(self, step: _Step, raw: JSONObject) -> list[Delta]:
        seal = OpaqueDelta(Opaque("toy.seal", step.seal or ""))
        return [*self._start(), ReasoningDelta(step.text or ""), seal, CloseDelta()]

    def _say(self, step: _Step, raw: JSONObject) -> list[Delta]:
        deltas = [*self._start(), TextDelta(step.text or "")]
        self._continue(_MORE, attrgetter("text"), raw, deltas)
        return deltas

    def _call(self, step: _Step, raw: JSONObject) -> list[Delta]:
        call = ToolCallDelta(step.id or "", step.name or "", step.args or "")
        return [*self._start(), call, CloseDelta()]

    def _finish(self, step: _Step, raw: JSONObject) -> list[Delta]:
        self._running = False
        return [FinishDelta("end")]

    def _error(self, step: _Step, raw: JSONObject) -> list[Delta]:
        raise self._refusal(raw)

    def _whole(self, response: _Answer, raw: JSONObject) -> list[Delta]:
        return [delta for step in response.turns or () for delta in self._of_members(step)]

    events = Events(
        "type",
        {
            "think": (_Step, _think),
            "say": (_Step, _say),
            "call": (_Step, _call),
            "end": (_Step, _finish),
            "error": (_Step, _error),
        },
    )


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``turns``, and ``tools`` where there are any."""
    turns: list[JSONObject] = []
    for item in conversation:
        if isinstance(item, ResponseStep):
            turns += _step(item, options)
        else:
            turns.append({"role": "user", "text": text_of(item.content, options.report, "user message")})
    tools = tools_of(options.tools, lambda name, text, schema: {"name": name, "about": text, "takes": schema})
    return {"turns": turns, **({"tools": tools} if tools else {})}


def _step(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    said = [turn for unit in step.units for turn in _unit(unit, options)]
    results = [
        {
            "role": "tool",
            "answers": answer.call_id,
            "text": text_of(answer.content, options.report, "tool result"),
        }
        for answer in step.answers
    ]
    return [*said, *results]


def _unit(unit: EchoUnit, options: EncodingOptions) -> list[JSONObject]:
    part = unit.part
    if isinstance(part, TextPart):
        return [{"role": "model", "type": "say", "text": part.text}]
    if isinstance(part, ToolCallPart) and not unit.incomplete:
        return [
            {"role": "model", "type": "call", "id": unit.call_id, "name": part.name, "args": part.arguments}
        ]
    if isinstance(part, ReasoningPart) and (seals := values(unit, "toy.seal")):
        options.report.echo(unit)
        return [{"role": "model", "type": "think", "text": part.text, "seal": seals[0].value}]
    return []
