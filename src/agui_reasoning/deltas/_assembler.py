"""The one place that knows what a delta does to the units of a response.

`Assembler.receive` turns a delta into **changes** of units; `fold` keeps the units and the emitter turns the
changes into events. Keys, presence, implicit endings, split surrogate pairs and unfinished opaque values are
decided here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import chain
from typing import Any

from agui_reasoning.deltas._operations import (
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
from agui_reasoning.deltas._units import (
    Answered,
    Appeared,
    CallUnit,
    Change,
    Ended,
    Grew,
    NativeUnit,
    OpaqueBuffer,
    ReasoningUnit,
    ResponseBuffer,
    ResponseEnded,
    ResponseOpened,
    ResultUnit,
    Resumed,
    SegmentBuffer,
    TextUnit,
    UnitBuffer,
    Valued,
)
from agui_reasoning.parts import Origin, Status

__all__ = ["Assembler"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "�"


class Assembler:
    """Deltas in, changes of units out. It never refuses a delta, whatever the order."""

    def __init__(self, origin: Origin | None = None) -> None:
        """Start empty.

        Args:
            origin: The origin of a response that no `ResponseStart` announces.
        """
        self.response: ResponseBuffer | None = None
        self.usages: list[UsageDelta] = []
        """The token counts of each response so far that reported any."""
        self._last: ResponseBuffer | None = None
        self._usage_open = False
        self._begun = False
        self._origin = origin
        self._server_calls: set[str] = set()
        self._client_calls: set[str] = set()

    @property
    def finish_reason(self) -> str | None:
        """Why the last response ended, in the provider's own word; ``None`` while it has not said."""
        return self._last.finish_reason if self._last else None

    def receive(self, delta: Delta) -> list[Change]:
        """Apply one delta."""
        changes: list[Change] = []
        _HANDLERS[type(delta)](self, delta, changes)
        return changes

    def close(self) -> list[Change]:
        """The stream ended: what is open is complete."""
        changes: list[Change] = []
        self._end_response(changes)
        return changes

    def abort(self) -> list[Change]:
        """The stream was cut: what is open is incomplete."""
        changes: list[Change] = []
        self._close_all(changes, "incomplete")
        self._end_response(changes)
        return changes

    # -- responses

    def _start(self, delta: ResponseStart, changes: list[Change]) -> None:
        self._end_response(changes)
        self._open_response(ResponseBuffer(delta.origin, delta.id), changes)

    def _open_response(self, response: ResponseBuffer, changes: list[Change]) -> ResponseBuffer:
        self.response = self._last = response
        # Counts that come before anything else are those of the first response.
        self._usage_open = self._usage_open and not self._begun
        self._begun = True
        changes.append(ResponseOpened(response))
        return response

    def _current(self, changes: list[Change]) -> ResponseBuffer:
        return self.response or self._open_response(ResponseBuffer(self._origin), changes)

    def _end_response(self, changes: list[Change]) -> None:
        response = self.response
        if response is None:
            return
        self._close_all(changes, "complete")
        self._settle_waiting(response, changes)
        self.response = None
        changes.append(ResponseEnded(response))

    def _settle_waiting(self, response: ResponseBuffer, changes: list[Change]) -> None:
        """A value whose call or text never came is kept on a reasoning unit of its own."""
        waiting, response.waiting = response.waiting, []
        for delta in waiting:
            unit = self._open_reasoning(response, None)
            self._add_value(unit, delta, changes)
            self._end(unit, "complete", changes)

    def _finish(self, delta: FinishDelta, changes: list[Change]) -> None:
        self._current(changes).finish_reason = delta.reason
        self._end_response(changes)

    def _use(self, delta: UsageDelta, changes: list[Change]) -> None:
        # Counts often come after the finish reason: they belong to the response that has just ended.
        if not self._usage_open:
            self.usages.append(UsageDelta())
            self._usage_open = True
        newer = {f.name: value for f in fields(delta) if (value := getattr(delta, f.name)) is not None}
        self.usages[-1] = replace(self.usages[-1], **newer)

    # -- units

    def _reason(self, delta: ReasoningDelta, changes: list[Change]) -> None:
        if not (delta.text or delta.item_id or delta.ext):
            return
        response = self._current(changes)
        unit = self._reasoning_unit(response, delta, changes)
        if delta.item_id:
            unit.item_id = delta.item_id
        self._extend(unit, delta.ext, changes)
        if delta.text:
            self._turn_to(response, unit, changes)
            self._resume(unit, changes)
            self._grow_reasoning(unit, delta, changes)
        elif unit.item_id or unit.ext.get("explicit_empty"):
            self._appear(unit, changes)

    def _reasoning_unit(
        self, response: ResponseBuffer, delta: ReasoningDelta, changes: list[Change]
    ) -> ReasoningUnit:
        unit = response.reasoning.get(delta.key)
        if unit is None:
            return self._open_reasoning(response, delta.key)
        if delta.key is None and _is_another(unit, delta):
            self._end(unit, "complete", changes)
            return self._open_reasoning(response, None)
        return unit

    def _open_reasoning(self, response: ResponseBuffer, key: str | None) -> ReasoningUnit:
        unit = response.reasoning[key] = ReasoningUnit(key)
        return unit

    def _grow_reasoning(self, unit: ReasoningUnit, delta: ReasoningDelta, changes: list[Change]) -> None:
        last = unit.segments[-1] if len(unit.segments) > unit.stretch else None
        if last is None or last.channel != delta.channel or last.index != delta.index:
            self._release(unit, changes)
            last = SegmentBuffer(delta.channel, delta.index)
            fresh = True
        else:
            fresh = False
        text = _mend(unit, delta.text)
        if not text and not unit.held:
            return
        if fresh:
            unit.segments.append(last)
        self._grow(unit, text, last.pieces, changes, last)

    def _say(self, delta: TextDelta, changes: list[Change]) -> None:
        if not (delta.text or delta.ext):
            return
        response = self._current(changes)
        unit = response.text.get(delta.key)
        if unit is None:
            unit = response.text[delta.key] = TextUnit(delta.key)
        self._extend(unit, delta.ext, changes)
        if delta.text:
            self._turn_to(response, unit, changes)
            self._resume(unit, changes)
            self._grow(unit, _mend(unit, delta.text), unit.pieces, changes)
        elif unit.ext.get("explicit_empty"):
            self._appear(unit, changes)

    def _call(self, delta: ToolCallDelta, changes: list[Change]) -> None:
        response = self._current(changes)
        unit = self._call_unit(response, delta, changes)
        self._extend(unit, delta.ext, changes)
        unit.name = unit.name or delta.name
        unit.server = unit.server or delta.server
        if delta.id:
            (self._server_calls if unit.server else self._client_calls).add(delta.id)
        self._turn_to(response, unit, changes)
        self._resume(unit, changes)
        text = _mend(unit, delta.arguments)
        if unit.name:
            self._appear(unit, changes)
            self._grow(unit, text, unit.pieces, changes)
        elif text:
            # A call without a name cannot be shown yet; its arguments wait for the name.
            unit.pieces.append(text)

    def _call_unit(self, response: ResponseBuffer, delta: ToolCallDelta, changes: list[Change]) -> CallUnit:
        unit = response.calls.get(delta.id)
        if unit is not None and unit.open and not delta.id and delta.name and unit.name:
            # The provider sends no ids: another name is another call.
            self._end(unit, "complete", changes)
        if unit is None or (delta.name and not unit.open):
            unit = response.calls[delta.id] = CallUnit(delta.id)
        return unit

    def _answer(self, delta: ToolResultDelta, changes: list[Change]) -> None:
        unit = ResultUnit(
            None, call_id=delta.tool_call_id, content=_clean(delta.content), native=delta.native
        )
        unit.ext.update(delta.ext or {})
        if not self._is_server_result(delta):
            self._end_response(changes)
            changes.append(Answered(unit))
            return
        self._turn_to(self._current(changes), unit, changes)
        self._appear(unit, changes)

    def _is_server_result(self, delta: ToolResultDelta) -> bool:
        if delta.tool_call_id in self._server_calls:
            return True
        # A server tool that was paused answers in a later run, where its call was never seen.
        return delta.native is not None and delta.tool_call_id not in self._client_calls

    def _keep_native(self, delta: NativeDelta, changes: list[Change]) -> None:
        unit = NativeUnit(None, kind=delta.kind, payload=delta.payload)
        self._turn_to(self._current(changes), unit, changes)
        self._appear(unit, changes)

    # -- values

    def _value(self, delta: OpaqueDelta, changes: list[Change]) -> None:
        response = self._current(changes)
        unit = self._target(response, delta, changes)
        if unit is None:
            response.waiting.append(delta)
            return
        self._add_value(unit, delta, changes)

    def _target(
        self, response: ResponseBuffer, delta: OpaqueDelta, changes: list[Change]
    ) -> UnitBuffer | None:
        if delta.key is not None:
            named = _named(response, delta.key)
            return named[-1] if named else self._open_reasoning(response, delta.key)
        attach = delta.opaque.attach
        if attach == "self":
            return self._bare_reasoning(response, delta, changes)
        if attach.startswith("tool_call:"):
            return response.calls.get(attach.removeprefix("tool_call:"))
        return next((u for u in reversed(response.units) if isinstance(u, TextUnit)), None)

    def _bare_reasoning(
        self, response: ResponseBuffer, delta: OpaqueDelta, changes: list[Change]
    ) -> ReasoningUnit:
        """The unit of a value without a key."""
        unit = response.reasoning.get(None)
        if unit is not None and _begins_another(unit, delta):
            self._end(unit, "complete", changes)
            unit = None
        return unit or self._open_reasoning(response, None)

    def _add_value(self, unit: UnitBuffer, delta: OpaqueDelta, changes: list[Change]) -> None:
        opaque = delta.opaque
        slot = (opaque.kind, opaque.attach)
        before = unit.values.get(slot)
        if delta.append and before is not None:
            before.fragments.append(opaque.value)
        else:
            unit.values[slot] = OpaqueBuffer(opaque, [opaque.value], whole=not delta.append)
        if unit.present:
            changes.append(Valued(unit))
        elif not isinstance(unit, CallUnit):
            self._appear(unit, changes)

    def _extend(self, unit: UnitBuffer, ext: Any, changes: list[Change]) -> None:
        if not ext:
            return
        unit.ext.update(ext)
        if unit.present:
            changes.append(Valued(unit))

    # -- life of a unit

    def _appear(self, unit: UnitBuffer, changes: list[Change]) -> None:
        if unit.present:
            return
        response = self._current(changes)
        self._turn_to(response, unit, changes)
        self._register(response, unit, changes)

    def _register(self, response: ResponseBuffer, unit: UnitBuffer, changes: list[Change]) -> None:
        unit.present = True
        # It may have been closed while there was nothing of it.
        unit.open = not isinstance(unit, ResultUnit | NativeUnit)
        unit.seq = len(response.units)
        response.units.append(unit)
        changes.append(Appeared(unit))
        if isinstance(unit, CallUnit) and unit.pieces:
            changes.append(Grew(unit, "".join(unit.pieces)))
        if isinstance(unit, TextUnit | CallUnit):
            self._deliver_waiting(response, unit, changes)

    def _deliver_waiting(self, response: ResponseBuffer, unit: UnitBuffer, changes: list[Change]) -> None:
        attach = "text" if isinstance(unit, TextUnit) else f"tool_call:{unit.key}"
        due = [delta for delta in response.waiting if delta.opaque.attach == attach]
        if due:
            response.waiting = [delta for delta in response.waiting if delta.opaque.attach != attach]
            for delta in due:
                self._add_value(unit, delta, changes)

    def _grow(
        self,
        unit: UnitBuffer,
        text: str,
        pieces: list[str],
        changes: list[Change],
        segment: SegmentBuffer | None = None,
    ) -> None:
        if not text:
            return
        if not unit.present:
            self._register(self._current(changes), unit, changes)
        pieces.append(text)
        changes.append(Grew(unit, text, segment))

    def _resume(self, unit: UnitBuffer, changes: list[Change]) -> None:
        if unit.open:
            return
        unit.open = True
        if isinstance(unit, ReasoningUnit):
            unit.stretch = len(unit.segments)
        if unit.present:
            changes.append(Resumed(unit))

    def _release(self, unit: UnitBuffer, changes: list[Change]) -> None:
        """Give up waiting for the other half of a surrogate pair."""
        if not unit.held:
            return
        unit.held = ""
        if isinstance(unit, ReasoningUnit):
            segment = unit.segments[-1]
            self._grow(unit, _REPLACEMENT, segment.pieces, changes, segment)
        elif isinstance(unit, TextUnit | CallUnit):
            self._grow(unit, _REPLACEMENT, unit.pieces, changes)

    def _end(self, unit: UnitBuffer, status: Status, changes: list[Change]) -> None:
        self._release(unit, changes)
        if isinstance(unit, CallUnit) and not unit.present:
            # Its name never came: it is shown as it is, and ends nothing by appearing now.
            self._register(self._current(changes), unit, changes)
        unit.open = False
        unit.status = status
        if status == "incomplete":
            unit.values = {slot: value for slot, value in unit.values.items() if value.whole}
        if self.response is not None and unit.key is None and isinstance(unit, ReasoningUnit):
            self.response.reasoning.pop(None, None)
        if self.response is not None and unit.key is None and isinstance(unit, TextUnit):
            self.response.text.pop(None, None)
        if unit.present:
            changes.append(Ended(unit))

    def _turn_to(self, response: ResponseBuffer, unit: UnitBuffer, changes: list[Change]) -> None:
        """End what the arrival of ``unit`` ends by itself.

        Units without a key end when another kind follows; calls end on anything that is not a call.
        """
        if response.last is unit:
            return
        response.last = unit
        reasoning, text = response.reasoning.get(None), response.text.get(None)
        if reasoning is not None and not isinstance(unit, ReasoningUnit):
            self._end(reasoning, "complete", changes)
        if text is not None and not isinstance(unit, TextUnit):
            self._end(text, "complete", changes)
        if not isinstance(unit, CallUnit):
            for call in response.calls.values():
                if call.open:
                    self._end(call, "complete", changes)

    def _close(self, delta: CloseDelta, changes: list[Change]) -> None:
        if self.response is None:
            return
        if delta.key is None:
            self._close_all(changes, delta.status)
            return
        for unit in _named(self.response, delta.key):
            if unit.open:
                self._end(unit, delta.status, changes)
            elif delta.status == "incomplete" and unit.status == "complete":
                unit.status = "incomplete"
                changes.append(Valued(unit))

    def _close_all(self, changes: list[Change], status: Status) -> None:
        if self.response is None:
            return
        for unit in list(_units(self.response)):
            if unit.open:
                self._end(unit, status, changes)


def _units(response: ResponseBuffer) -> Iterator[UnitBuffer]:
    return chain(response.reasoning.values(), response.text.values(), response.calls.values())


def _named(response: ResponseBuffer, key: str) -> list[UnitBuffer]:
    candidates = (response.reasoning.get(key), response.text.get(key), response.calls.get(key))
    return [unit for unit in candidates if unit is not None]


def _is_another(unit: ReasoningUnit, delta: ReasoningDelta) -> bool:
    """Whether a delta without a key begins another unit: providers sign at the end of a block."""
    if delta.item_id and unit.item_id and delta.item_id != unit.item_id:
        return True
    return bool(delta.text) and any(value.whole for value in unit.values.values())


def _begins_another(unit: ReasoningUnit, delta: OpaqueDelta) -> bool:
    """Whether a value without a key is of another unit: a redacted block has one value and no other."""
    if delta.append and (delta.opaque.kind, delta.opaque.attach) in unit.values:
        return False
    whole = [value.opaque for value in unit.values.values() if value.whole]
    return any(opaque.redacts for opaque in whole) or (delta.opaque.redacts and bool(whole))


def _mend(unit: UnitBuffer, text: str) -> str:
    """Join a surrogate pair that was split between deltas; hold back a high half at the end."""
    if not unit.held and (text.isascii() or _SURROGATE.search(text) is None):
        return text
    text = unit.held + text
    unit.held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
    return _clean(text[:-1] if unit.held else text)


def _clean(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 stream can carry, by U+FFFD."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_HANDLERS: dict[type, Callable[[Assembler, Any, list[Change]], None]] = {
    ResponseStart: Assembler._start,
    ReasoningDelta: Assembler._reason,
    OpaqueDelta: Assembler._value,
    TextDelta: Assembler._say,
    ToolCallDelta: Assembler._call,
    ToolResultDelta: Assembler._answer,
    CloseDelta: Assembler._close,
    NativeDelta: Assembler._keep_native,
    UsageDelta: Assembler._use,
    FinishDelta: Assembler._finish,
}
