"""Reads the events of a Pydantic AI run.

Parts arrive as starts, deltas and ends. Their values can change until the part is over, and for the Responses
API even after its end, so a value is emitted when its unit ends: when the next unit or a tool begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import CustomEvent

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.deltas import (
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.interop._content import result_part
from agui_reasoning.interop._lanes import ResponseLane
from agui_reasoning.interop._stream import events_in, note_ignored
from agui_reasoning.interop._subagents import Subagents
from agui_reasoning.interop.pydantic_ai._spelling import (
    SPELLINGS,
    THOUGHT_SIGNATURE,
    Spelling,
    result_blocks,
)
from agui_reasoning.parts import Opaque
from agui_reasoning.providers.payload import compact_json
from agui_reasoning.run import Run

__all__ = ["EventReader"]

_FAILED: Final = frozenset({"failed", "retried"})
"""The outcomes of tools that Pydantic AI reports as errors."""

_CALLS: Final = frozenset({"tool-call", "builtin-tool-call"})


_SILENT: Final = frozenset({"final_result", "deferred_tool_requests", "deferred_tool_results"})
"""The events that repeat what others say."""


class EventReader:
    """Reads the events of one run of an agent."""

    def __init__(self, run: Run) -> None:
        """Start before the first event."""
        self._run = run
        self._subagents: Subagents[tuple[str | None, str], EventReader] = Subagents(EventReader)
        self._origin = run.origin
        self._spelling = SPELLINGS.get(run.api or "", Spelling())
        self._begin()

    def _begin(self) -> None:
        self._lane = ResponseLane(self._origin)
        self._keys: dict[int, str] = {}

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read an event; those that repeat what the model streamed give nothing."""
        kind = getattr(payload, "event_kind", type(payload).__name__)
        if kind in _SILENT:
            return []
        read = _EVENTS.get(kind)
        return self._ignored(f"Events of the kind {kind!r}") if read is None else read(self, payload)

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream: one event."""
        return self.receive(response)

    def close(self) -> Sequence[AgentItem]:
        """End the subagents and the run."""
        return [*self._subagents.end(), *self._lane.end()]

    # -- events

    def _start(self, event: Any) -> list[Delta]:
        part, ended = event.part, []
        if event.index == 0:
            ended = self._lane.end()
            self._begin()
        key = self._keys[event.index] = self._key(event.index, part)
        begun = self._lane.end_unit() if part.part_kind in _CALLS else self._lane.unit(key, part.part_kind)
        read = _PARTS.get(part.part_kind, _nothing)
        if part.part_kind not in _PARTS:
            self._ignored(f"Parts of the kind {part.part_kind!r}")
        return [*ended, *self._lane.begin(), *begun, *read(self, event.index, part)]

    def _delta(self, event: Any) -> list[Delta]:
        delta = event.delta
        return _PART_DELTAS.get(delta.part_delta_kind, _nothing)(self, event.index, delta)

    def _end(self, event: Any) -> list[Delta]:
        part = event.part
        value, key = self._value(part), self._keys[event.index]
        if part.part_kind in _CALLS:
            return [] if value is None else [OpaqueDelta(value, key=key)]
        self._keep(key, value)
        if part.part_kind == "thinking" and self._spelling.id_is_item:
            return []
        return self._lane.end_unit()

    def _tools_begin(self, event: Any) -> list[Delta]:
        """End the response before its tools run: one that raises ends the run."""
        return self._lane.end()

    def _result(self, event: Any) -> list[AgentItem]:
        part = event.part
        failed = getattr(part, "outcome", "success") in _FAILED
        result = result_part(part.tool_call_id, result_blocks(event), failed=failed)
        ended = self._subagents.end(lambda key: key[0] == part.tool_call_id)
        return [*ended, *self._lane.end(), result, *events_in(getattr(part, "metadata", None))]

    def _custom(self, event: Any) -> Sequence[AgentItem]:
        """Read an event of a delegate; others are the application's, and pass as they do in AGUIAdapter."""
        if type(event).__name__ != "DelegateEvent":
            payload = event.to_payload()
            return [*events_in(payload)] or [CustomEvent(name=event.name, value=payload)]
        key = event.tool_call_id, event.delegate
        return self._subagents.read(
            key, self._run, event.delegate, lambda reader: reader.receive(event.event)
        )

    def _ignored(self, what: str) -> list[AgentItem]:
        note_ignored(self._run, what)
        return []

    def _usage(self, event: Any) -> list[Delta]:
        """Read the counts of the whole run, with its last event."""
        usage = event.result.usage
        counts = UsageDelta(
            input_tokens=usage.input_tokens or None,
            output_tokens=usage.output_tokens or None,
            total_tokens=usage.total_tokens or None,
            reasoning_tokens=usage.details.get("reasoning_tokens"),
            cached_input_tokens=usage.cache_read_tokens or None,
            cache_write_input_tokens=usage.cache_write_tokens or None,
        )
        return [counts] if usage.total_tokens else []

    # -- parts

    def _thinking(self, index: int, part: Any) -> list[Delta]:
        self._keep(self._keys[index], self._value(part))
        if part.content is not None:
            self._lane.segment(self._keys[index], index)
        return self._reasoning(index, part.content or "", part.id)

    def _more_thinking(self, index: int, delta: Any) -> list[Delta]:
        if delta.signature_delta and self._spelling.signature:
            self._keep(self._keys[index], Opaque(self._spelling.signature, delta.signature_delta))
        return self._reasoning(index, delta.content_delta or "", None)

    def _reasoning(self, index: int, text: str, part_id: str | None) -> list[Delta]:
        spelling, key = self._spelling, self._keys[index]
        segment = self._lane.segment(key, index) if text and spelling.id_is_item else 0
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
        return [TextDelta(part.content, key=self._keys[index], ext=given or None)]

    def _more_text(self, index: int, delta: Any) -> list[Delta]:
        return [TextDelta(delta.content_delta, key=self._keys[index])] if delta.content_delta else []

    def _call(self, index: int, part: Any) -> list[Delta]:
        ext = {"id": part.id} if part.id else None
        server = part.part_kind == "builtin-tool-call"
        arguments = _arguments(part.args)
        return [ToolCallDelta(part.tool_call_id, part.tool_name, arguments, server=server, ext=ext)]

    def _more_call(self, index: int, delta: Any) -> list[Delta]:
        arguments = _arguments(delta.args_delta)
        return [ToolCallDelta(self._keys[index], arguments=arguments)] if arguments else []

    def _server_result(self, index: int, part: Any) -> list[Delta]:
        return [ToolResultDelta(part.tool_call_id, part.model_response_str())]

    # -- units

    def _key(self, index: int, part: Any) -> str:
        """Return the key of a part's unit: its call ID, its item's ID, or its place."""
        if part.part_kind in _CALLS:
            return str(part.tool_call_id)
        is_item = part.part_kind == "thinking" and self._spelling.id_is_item
        return part.id if is_item and part.id else str(index)

    def _keep(self, key: str, value: Opaque | None) -> None:
        if value is not None:
            self._lane.keep(key, value)

    def _value(self, part: Any) -> Opaque | None:
        spelling = self._spelling
        if part.part_kind == "thinking" and part.signature:
            return spelling.value(part.id, part.signature)
        signature = (getattr(part, "provider_details", None) or {}).get(THOUGHT_SIGNATURE)
        if not signature or not spelling.thought_signature:
            return None
        called = part.part_kind == "tool-call"
        attach = f"tool_call:{part.tool_call_id}" if called else "text"
        return Opaque(spelling.thought_signature, signature, "base64", attach)


def _nothing(reader: EventReader, index: int, part: Any) -> list[Delta]:
    return []


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else "" if args is None else compact_json(args)


_EVENTS: Final[Mapping[str, Callable[[EventReader, Any], Sequence[AgentItem]]]] = {
    "part_start": EventReader._start,
    "part_delta": EventReader._delta,
    "part_end": EventReader._end,
    "function_tool_call": EventReader._tools_begin,
    "output_tool_call": EventReader._tools_begin,
    "function_tool_result": EventReader._result,
    "output_tool_result": EventReader._result,
    "custom": EventReader._custom,
    "agent_run_result": EventReader._usage,
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
