"""Reads the events of a Pydantic AI run.

Parts arrive as starts, deltas and ends. Their values can change until the part is over, and for the Responses
API even after its end, so a value is emitted when its unit ends: when the next unit or a tool result arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.interop._content import result_part
from agui_reasoning.interop._subagents import Subagent
from agui_reasoning.interop.pydantic_ai._spelling import (
    REDACTED_ID,
    SPELLINGS,
    THOUGHT_SIGNATURE,
    Spelling,
    result_blocks,
)
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.providers.payload import compact_json
from agui_reasoning.run import Run

__all__ = ["EventReader"]

_FAILED: Final = frozenset({"failed", "retried"})
"""The outcomes of tools that Pydantic AI reports as errors."""


class EventReader:
    """Reads the events of one run of an agent."""

    def __init__(self, run: Run) -> None:
        """Start before the first event."""
        self._run = run
        self._subagents: dict[tuple[str | None, str], Subagent[EventReader]] = {}
        self._origin = Origin(run.provider, run.api, run.model)
        self._spelling = SPELLINGS.get(run.api or "", Spelling())
        self._values: dict[str, Opaque] = {}
        self._segments: dict[str, list[int]] = {}
        self._calls: dict[int, str] = {}
        self._open: str | None = None
        self._response = 0

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read an event; those that repeat what the model streamed give nothing."""
        read = _EVENTS.get(getattr(payload, "event_kind", ""))
        return [] if read is None else read(self, payload)

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream: one event."""
        return self.receive(response)

    def close(self) -> Sequence[AgentItem]:
        """End the subagents and the run."""
        ended = [item for call_id, _ in list(self._subagents) for item in self._end_subagents(call_id)]
        return [*ended, *self._end_unit()]

    # -- events

    def _start(self, event: Any) -> list[Delta]:
        part, started = event.part, []
        if event.index == 0:
            started = [*self._end_unit(), ResponseStart(self._origin)]
            self._response += 1
            self._segments, self._calls = {}, {}
        key = self._key(event.index, part)
        if key != self._open:
            started += self._end_unit()
            self._open = key
        return [*started, *_PARTS.get(part.part_kind, _nothing)(self, event.index, part)]

    def _delta(self, event: Any) -> list[Delta]:
        delta = event.delta
        return _PART_DELTAS.get(delta.part_delta_kind, _nothing)(self, event.index, delta)

    def _end(self, event: Any) -> list[Delta]:
        part = event.part
        self._keep_value(self._key(event.index, part), part)
        if part.part_kind == "thinking" and self._spelling.id_is_item:
            return []
        return self._end_unit()

    def _result(self, event: Any) -> list[AgentItem]:
        part = event.part
        failed = getattr(part, "outcome", "success") in _FAILED
        result = result_part(part.tool_call_id, result_blocks(event), failed=failed)
        return [*self._end_subagents(part.tool_call_id), *self._end_unit(), result]

    # -- subagents

    def _custom(self, event: Any) -> Sequence[AgentItem]:
        """Read an event of a delegate; others are the application's."""
        if type(event).__name__ != "DelegateEvent":
            return []
        key = event.tool_call_id, event.delegate
        begun: list[AgentItem] = [*self._end_unit()]
        if key not in self._subagents:
            begun.append(CloseDelta())  # the call runs, so the response is over
            run = self._run.subagent(event.delegate)
            self._subagents[key] = Subagent(run, EventReader(run))
            begun += run.start()
        subagent = self._subagents[key]
        return [*begun, *subagent.shown(subagent.reader.receive(event.event))]

    def _end_subagents(self, call_id: str | None) -> list[AgentItem]:
        """End the subagents of a call."""
        keys = [key for key in self._subagents if key[0] == call_id]
        return [item for key in keys for item in self._subagents.pop(key).end()]

    # -- parts

    def _thinking(self, index: int, part: Any) -> list[Delta]:
        key = self._key(index, part)
        self._keep_value(key, part)
        segments = self._segments.setdefault(key, [])
        if index not in segments and part.content is not None:
            segments.append(index)
        return self._reasoning(index, key, part.content or "", part.id)

    def _more_thinking(self, index: int, delta: Any) -> list[Delta]:
        key = self._key_of(index)
        if delta.signature_delta and self._spelling.signature:
            self._values[key] = Opaque(self._spelling.signature, delta.signature_delta)
        return self._reasoning(index, key, delta.content_delta or "", None)

    def _reasoning(self, index: int, key: str, text: str, part_id: str | None) -> list[Delta]:
        spelling = self._spelling
        segment = self._segments[key].index(index) if spelling.id_is_item else 0
        item_id = part_id if spelling.id_is_item else None
        ext = {"field": part_id} if spelling.id_is_field and part_id else None
        if not text and item_id is None:
            return []
        return [
            ReasoningDelta(text, key=key, channel=spelling.channel, index=segment, item_id=item_id, ext=ext)
        ]

    def _text(self, index: int, part: Any) -> list[Delta]:
        details = part.provider_details or {}
        ext = {"id": part.id, "phase": details.get("phase")}
        given = {name: value for name, value in ext.items() if value is not None}
        if not part.content and not given:
            return []
        return [TextDelta(part.content, key=self._key(index, part), ext=given or None)]

    def _more_text(self, index: int, delta: Any) -> list[Delta]:
        return [TextDelta(delta.content_delta, key=self._key_of(index))] if delta.content_delta else []

    def _call(self, index: int, part: Any) -> list[Delta]:
        ext = {"id": part.id} if part.id else None
        server = part.part_kind == "builtin-tool-call"
        arguments = _arguments(part.args)
        self._calls[index] = part.tool_call_id
        return [ToolCallDelta(part.tool_call_id, part.tool_name, arguments, server=server, ext=ext)]

    def _more_call(self, index: int, delta: Any) -> list[Delta]:
        arguments = _arguments(delta.args_delta)
        return [ToolCallDelta(self._calls.get(index, ""), arguments=arguments)] if arguments else []

    def _server_result(self, index: int, part: Any) -> list[Delta]:
        return [ToolResultDelta(part.tool_call_id, part.model_response_str())]

    # -- units

    def _key(self, index: int, part: Any) -> str:
        """Return the key of a part's unit: its call ID, its item's ID, or its place."""
        if part.part_kind in ("tool-call", "builtin-tool-call"):
            return str(part.tool_call_id)
        if part.part_kind == "thinking" and self._spelling.id_is_item and part.id:
            return f"{self._response}:{part.id}"
        return f"{self._response}:{index}"

    def _key_of(self, index: int) -> str:
        """Return the key of the unit that contains a part, which has started."""
        found = (key for key, segments in self._segments.items() if index in segments)
        return next(found, f"{self._response}:{index}")

    def _keep_value(self, key: str, part: Any) -> None:
        if (value := self._value(part)) is not None:
            self._values[key] = value

    def _value(self, part: Any) -> Opaque | None:
        spelling = self._spelling
        if part.part_kind == "thinking" and part.signature:
            kind = spelling.redacted if part.id == REDACTED_ID else spelling.signature
            return Opaque(kind, part.signature) if kind else None
        signature = (getattr(part, "provider_details", None) or {}).get(THOUGHT_SIGNATURE)
        if not signature or not spelling.thought_signature:
            return None
        called = part.part_kind == "tool-call"
        attach = f"tool_call:{part.tool_call_id}" if called else "text"
        return Opaque(spelling.thought_signature, signature, "base64", attach)

    def _end_unit(self) -> list[Delta]:
        """End the open unit, with its value; calls stay open, because parallel ones may alternate."""
        key, self._open = self._open, None
        if key is None:
            return []
        value = self._values.pop(key, None)
        given: list[Delta] = [] if value is None else [OpaqueDelta(value, key=key)]
        return given if key in self._calls.values() else [*given, CloseDelta(key=key)]


def _nothing(reader: EventReader, index: int, part: Any) -> list[Delta]:
    return []


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else "" if args is None else compact_json(args)


_EVENTS: Final[Mapping[str, Callable[[EventReader, Any], Sequence[AgentItem]]]] = {
    "part_start": EventReader._start,
    "part_delta": EventReader._delta,
    "part_end": EventReader._end,
    "function_tool_result": EventReader._result,
    "output_tool_result": EventReader._result,
    "custom": EventReader._custom,
}
_PARTS: Final[Mapping[str, Callable[[EventReader, int, Any], list[Delta]]]] = {
    "thinking": EventReader._thinking,
    "text": EventReader._text,
    "tool-call": EventReader._call,
    "builtin-tool-call": EventReader._call,
    "builtin-tool-return": EventReader._server_result,
}
_PART_DELTAS: Final[Mapping[str, Callable[[EventReader, int, Any], list[Delta]]]] = {
    "thinking": EventReader._more_thinking,
    "text": EventReader._more_text,
    "tool_call": EventReader._more_call,
}
