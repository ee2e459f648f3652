"""Applies deltas to the units of a response.

`Assembler.receive` translates a delta to **changes** of units. `fold` collects the units, and the emitter
translates the changes to events. Keys, presence, implicit ends, split surrogate pairs and incomplete opaque
values are handled only here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import field
from msgspec.structs import asdict, replace

from agui_reasoning._strict_json import well_formed
from agui_reasoning._wire_events import content_parts, text_of
from agui_reasoning.deltas._operations import (
    CloseDelta,
    Delta,
    FinishDelta,
    InputTransformationsDelta,
    NativeDelta,
    OpaqueDelta,
    ReadCounts,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
    counts_of,
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
    Unshown,
    Valued,
)
from agui_reasoning.parts import Origin, Part, Status

_REPLACEMENT = "�"
_WHOLE = frozenset({ResultUnit, NativeUnit})
"""The units that a single delta has whole."""


class Assembler(Unshown, gc=True, eq=False):
    """Translates deltas to changes of units. Accepts deltas in any order.

    Attributes:
        origin: The origin of responses without a `ResponseStart`.
        response: The response that is open, if one is.
    """

    origin: Origin | None = None
    response: ResponseBuffer | None = None
    _last: ResponseBuffer | None = None
    _usages: list[UsageDelta] = field(default_factory=list)
    _read_counts: ReadCounts | None = None
    _counted: dict[tuple[str | None, str | None] | None, int] = field(default_factory=dict)
    _usage_open: bool = False
    _started: bool = False
    _is_server_call: dict[str, bool] = field(default_factory=dict)

    @property
    def usages(self) -> list[UsageDelta]:
        """The token counts of the responses that reported any, and of other models that worked for them."""
        self._ask_for_counts()
        return self._usages

    @property
    def finish_reason(self) -> str | None:
        """The provider's finish reason of the last response; ``None`` if not reported."""
        return self._last.finish_reason if self._last else None

    @property
    def finish_details(self) -> Mapping[str, Any] | None:
        """What the provider says about the end of the last response; ``None`` if nothing."""
        return self._last.finish_details if self._last else None

    def receive(self, delta: Delta) -> list[Change]:
        """Apply one delta."""
        changes: list[Change] = []
        _HANDLERS[type(delta)](self, delta, changes)
        return changes

    def close(self) -> list[Change]:
        """End the stream. Open units count as complete."""
        changes: list[Change] = []
        self._end_response(changes)
        return changes

    def abort(self) -> list[Change]:
        """End a truncated stream. Open units become incomplete."""
        changes: list[Change] = []
        self._close_all(changes, "incomplete")
        self._end_response(changes)
        return changes

    # -- responses

    def _start(self, delta: ResponseStart, changes: list[Change]) -> None:
        self._end_response(changes)
        self._open_response(ResponseBuffer(delta.origin, delta.id, delta.conversation), changes)
        self._read_counts = counts_of(delta)

    def _open_response(self, response: ResponseBuffer, changes: list[Change]) -> ResponseBuffer:
        self.response = self._last = response
        # Counts before any other delta belong to the first response.
        self._usage_open = self._usage_open and not self._started
        self._started = True
        changes.append(ResponseOpened(response))
        return response

    def _current(self, changes: list[Change]) -> ResponseBuffer:
        return self.response or self._open_response(ResponseBuffer(self.origin), changes)

    def _end_response(self, changes: list[Change]) -> None:
        response = self.response
        if response is None:
            return
        self._ask_for_counts()
        self._read_counts = None
        self._close_all(changes, "complete")
        if response.waiting:
            self._settle_waiting(response, changes)
        self.response = None
        changes.append(ResponseEnded(response))

    def _settle_waiting(self, response: ResponseBuffer, changes: list[Change]) -> None:
        """Keep values whose call or text never started on separate reasoning units."""
        waiting, response.waiting = response.waiting, []
        for delta in waiting:
            unit = self._open_reasoning(response, None)
            self._add_value(unit, delta, changes)
            self._end(unit, "complete", changes)

    def _note_input(self, delta: InputTransformationsDelta, changes: list[Change]) -> None:
        self._current(changes).withheld += delta.units

    def _finish(self, delta: FinishDelta, changes: list[Change]) -> None:
        response = self._current(changes)
        response.finish_reason, response.finish_details = delta.reason, delta.details
        if delta.refused:
            self._refuse(response, changes)
        self._end_response(changes)

    def _refuse(self, response: ResponseBuffer, changes: list[Change]) -> None:
        """Mark what the response has so far as incomplete: it must not be sent back, and no call is made."""
        response.refused = True
        self._close_all(changes, "incomplete")
        for unit in response.units:
            if unit.status == "complete" and isinstance(unit, ReasoningUnit | TextUnit | CallUnit):
                unit.status = "incomplete"
                changes.append(Valued(unit))

    def _receive_usage(self, delta: UsageDelta, changes: list[Change]) -> None:
        # Counts often arrive after the finish reason and belong to the response that just ended.
        if not self._usage_open:
            self._counted = {}
            self._usage_open = True
        who = (delta.provider, delta.model) if delta.apart else None
        if who not in self._counted:
            self._counted[who] = len(self._usages)
            self._usages.append(UsageDelta())
        place = self._counted[who]
        newer = {name: value for name, value in asdict(delta).items() if value is not None}
        self._usages[place] = replace(self._usages[place], **newer)

    def _ask_for_counts(self) -> None:
        """Read the counts of the open response that its decoder has kept."""
        if self._read_counts is not None and (counts := self._read_counts()) is not None:
            self._receive_usage(counts, [])

    # -- units

    def _receive_reasoning(self, delta: ReasoningDelta, changes: list[Change]) -> None:
        if not (delta.text or delta.item_id or delta.ext):
            return
        response = self._current(changes)
        unit = response.reasoning.get(delta.key)
        if unit is not None and delta.key is None and _is_another(unit, delta):
            self._end(unit, "complete", changes)
            unit = None
        if unit is None:
            unit = self._open_reasoning(response, delta.key)
        if delta.item_id and delta.item_id != unit.item_id:
            unit.item_id = delta.item_id
            if not unit.open and unit.present:
                changes.append(Valued(unit))
        if delta.ext:
            self._update_ext(unit, delta.ext, changes)
        if delta.text:
            self._end_implicitly(response, unit, changes)
            if not unit.open:
                self._resume(unit, changes)
            self._grow_reasoning(unit, delta, changes)
        elif unit.item_id or unit.ext.get("explicit_empty"):
            self._appear(unit, changes)

    def _open_reasoning(self, response: ResponseBuffer, key: str | None) -> ReasoningUnit:
        unit = response.reasoning[key] = ReasoningUnit(key)
        return unit

    def _grow_reasoning(self, unit: ReasoningUnit, delta: ReasoningDelta, changes: list[Change]) -> None:
        segments = unit.segments
        last = segments[-1] if len(segments) > unit.stretch else None
        if last is None or last.channel != delta.channel or last.index != delta.index:
            if unit.held:
                self._release(unit, changes)
            last = SegmentBuffer(delta.channel, delta.index)
            segments.append(last)
        self._grow(unit, _join_surrogates(unit, delta.text), last.pieces, changes, last)

    def _receive_text(self, delta: TextDelta, changes: list[Change]) -> None:
        if not (delta.text or delta.ext):
            return
        response = self._current(changes)
        unit = response.text.get(delta.key)
        if unit is None:
            unit = response.text[delta.key] = TextUnit(delta.key)
        if delta.ext:
            self._update_ext(unit, delta.ext, changes)
        if delta.text:
            self._end_implicitly(response, unit, changes)
            if not unit.open:
                self._resume(unit, changes)
            self._grow(unit, _join_surrogates(unit, delta.text), unit.pieces, changes)
        elif unit.ext.get("explicit_empty"):
            self._appear(unit, changes)

    def _receive_call(self, delta: ToolCallDelta, changes: list[Change]) -> None:
        response = self._current(changes)
        unit = response.calls.get(delta.id)
        if unit is not None and unit.open and not delta.id and delta.name and unit.name:
            # Without provider IDs, another name starts another call.
            self._end(unit, "complete", changes)
        if unit is None or (delta.name and not unit.open):
            unit = response.calls[delta.id] = CallUnit(delta.id)
        if delta.ext:
            self._update_ext(unit, delta.ext, changes)
        unit.name = unit.name or delta.name
        unit.server = unit.server or delta.server
        if delta.id:
            self._is_server_call[delta.id] = unit.server or self._is_server_call.get(delta.id, False)
        self._end_implicitly(response, unit, changes)
        if not unit.open:
            self._resume(unit, changes)
        text = _join_surrogates(unit, delta.arguments)
        if unit.name:
            self._appear(unit, changes)
            self._grow(unit, text, unit.pieces, changes)
        elif text:
            # A call cannot be shown without a name; keep its arguments until the name arrives.
            unit.pieces.append(text)

    def _receive_result(self, delta: ToolResultDelta, changes: list[Change]) -> None:
        error = None if delta.error is None else well_formed(delta.error)
        given = delta.content
        content = content_parts(given) if isinstance(given, list) else well_formed(given)
        unit = ResultUnit(None, call_id=delta.tool_call_id, content=content, error=error, native=delta.native)
        unit.ext.update(delta.ext or {})
        # A paused server tool may return in a later run that does not include its call.
        if not self._is_server_call.get(delta.tool_call_id, delta.native is not None):
            self._end_response(changes)
            changes.append(Answered(unit))
            return
        unit.content = text_of(content)
        self._end_implicitly(self._current(changes), unit, changes)
        self._appear(unit, changes)

    def _keep_native(self, delta: NativeDelta, changes: list[Change]) -> None:
        unit, response = NativeUnit(None, kind=delta.kind, payload=delta.payload), self._current(changes)
        if delta.model is not None and response.origin is not None:
            response.origin = replace(response.origin, model=delta.model)
        self._end_implicitly(response, unit, changes)
        self._appear(unit, changes)

    # -- values

    def _receive_value(self, delta: OpaqueDelta, changes: list[Change]) -> None:
        response = self._current(changes)
        unit = self._target(response, delta, changes)
        if unit is None:
            response.waiting.append(delta)
        else:
            self._add_value(unit, delta, changes)

    def _target(
        self, response: ResponseBuffer, delta: OpaqueDelta, changes: list[Change]
    ) -> UnitBuffer | None:
        if delta.key is not None:
            named = _units_with_key(response, delta.key)
            return named[-1] if named else self._open_reasoning(response, delta.key)
        attach = delta.opaque.attach
        if attach == "self":
            unit = response.reasoning.get(None)
            if unit is not None and _begins_another(unit, delta):
                self._end(unit, "complete", changes)
                unit = None
            return unit or self._open_reasoning(response, None)
        if attach.startswith("tool_call:"):
            return response.calls.get(attach.removeprefix("tool_call:"))
        return next((u for u in reversed(response.units) if isinstance(u, TextUnit)), None)

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

    def _update_ext(self, unit: UnitBuffer, ext: Any, changes: list[Change]) -> None:
        unit.ext.update(ext)
        if unit.present:
            changes.append(Valued(unit))

    # -- life of a unit

    def _appear(self, unit: UnitBuffer, changes: list[Change]) -> None:
        if unit.present:
            return
        response = self._current(changes)
        self._end_implicitly(response, unit, changes)
        self._register(response, unit, changes)

    def _register(self, response: ResponseBuffer, unit: UnitBuffer, changes: list[Change]) -> None:
        unit.present = True
        # It may have been closed while it was empty.
        unit.open = type(unit) not in _WHOLE
        unit.seq = len(response.units)
        response.units.append(unit)
        changes.append(Appeared(unit))
        if isinstance(unit, CallUnit) and unit.pieces:
            changes.append(Grew(unit, "".join(unit.pieces), unit.pieces))
        if response.waiting and isinstance(unit, TextUnit | CallUnit):
            self._deliver_waiting(response, unit, changes)

    def _deliver_waiting(self, response: ResponseBuffer, unit: UnitBuffer, changes: list[Change]) -> None:
        attach = "text" if isinstance(unit, TextUnit) else f"tool_call:{unit.key}"
        due = [delta for delta in response.waiting if delta.opaque.attach == attach]
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
        changes.append(Grew(unit, text, pieces, segment))

    def _resume(self, unit: UnitBuffer, changes: list[Change]) -> None:
        unit.open = True
        if isinstance(unit, ReasoningUnit):
            unit.stretch = len(unit.segments)
        if unit.present:
            changes.append(Resumed(unit))

    def _release(self, unit: UnitBuffer, changes: list[Change]) -> None:
        """Replace the held high surrogate, whose low surrogate did not arrive."""
        unit.held = ""
        if isinstance(unit, ReasoningUnit):
            segment = unit.segments[-1]
            self._grow(unit, _REPLACEMENT, segment.pieces, changes, segment)
        elif isinstance(unit, TextUnit | CallUnit):
            self._grow(unit, _REPLACEMENT, unit.pieces, changes)

    def _end(self, unit: UnitBuffer, status: Status, changes: list[Change]) -> None:
        if unit.held:
            self._release(unit, changes)
        if not unit.present and isinstance(unit, CallUnit):
            # The name never arrived: show the call anyway, without implicitly ending other units.
            self._register(self._current(changes), unit, changes)
        unit.open = False
        unit.status = status
        if status == "incomplete":
            unit.values = {slot: value for slot, value in unit.values.items() if value.whole}
        if self.response is not None and unit.key is None:
            if isinstance(unit, ReasoningUnit):
                self.response.reasoning.pop(None, None)
            elif isinstance(unit, TextUnit):
                self.response.text.pop(None, None)
        if unit.present:
            changes.append(Ended(unit))

    def _end_implicitly(self, response: ResponseBuffer, unit: UnitBuffer, changes: list[Change]) -> None:
        """End the units that a delta for ``unit`` ends implicitly.

        Units without a key end when another kind follows; calls end when anything but a call follows.
        """
        if response.last is unit:
            return
        response.last, kind = unit, type(unit)
        if kind is not ReasoningUnit and (reasoning := response.reasoning.get(None)) is not None:
            self._end(reasoning, "complete", changes)
        if kind is not TextUnit and (text := response.text.get(None)) is not None:
            self._end(text, "complete", changes)
        if kind is not CallUnit:
            for call in response.calls.values():
                if call.open:
                    self._end(call, "complete", changes)

    def _close(self, delta: CloseDelta, changes: list[Change]) -> None:
        if self.response is None:
            return
        if delta.key is None:
            self._close_all(changes, delta.status)
            return
        for unit in _units_with_key(self.response, delta.key):
            if unit.open:
                self._end(unit, delta.status, changes)
            elif delta.status == "incomplete" and unit.status == "complete":
                unit.status = "incomplete"
                changes.append(Valued(unit))

    def _close_all(self, changes: list[Change], status: Status) -> None:
        if (response := self.response) is None:
            return
        for unit in [*response.reasoning.values(), *response.text.values(), *response.calls.values()]:
            if unit.open:
                self._end(unit, status, changes)


def fold(deltas: Iterable[Delta]) -> list[Part]:
    """Combine deltas into parts, in order of first appearance.

    Open units count as complete. Only units closed with `CloseDelta` can be incomplete.

    Examples:
        >>> fold([ReasoningDelta("Hm, "), ReasoningDelta("yes."), TextDelta("Yes.")])
        [ReasoningPart(segments=(Segment(channel='text', index=0, text=<8>),)), TextPart(text=<4>)]
    """
    assembler = Assembler()
    parts: list[Part] = []
    for delta in deltas:
        _collect(assembler.receive(delta), parts)
    _collect(assembler.close(), parts)
    return parts


def _collect(changes: Iterable[Change], parts: list[Part]) -> None:
    for change in changes:
        if isinstance(change, ResponseEnded):
            parts.extend(change.response.parts())
        elif isinstance(change, Answered):
            parts.append(change.unit.part(None))


def _units_with_key(response: ResponseBuffer, key: str) -> list[UnitBuffer]:
    candidates = (response.reasoning.get(key), response.text.get(key), response.calls.get(key))
    return [unit for unit in candidates if unit is not None]


def _is_another(unit: ReasoningUnit, delta: ReasoningDelta) -> bool:
    """Return whether an unkeyed delta starts a new unit: signatures come at the end of a block."""
    if delta.item_id and unit.item_id and delta.item_id != unit.item_id:
        return True
    return bool(delta.text) and any(value.whole for value in unit.values.values())


def _begins_another(unit: ReasoningUnit, delta: OpaqueDelta) -> bool:
    """Return whether an unkeyed value starts a new unit: redacted blocks have exactly one value."""
    if delta.append and (delta.opaque.kind, delta.opaque.attach) in unit.values:
        return False
    whole = [value.opaque for value in unit.values.values() if value.whole]
    return any(opaque.redacts for opaque in whole) or (delta.opaque.redacts and bool(whole))


def _join_surrogates(unit: UnitBuffer, text: str) -> str:
    """Join a surrogate pair split between deltas, holding back a high surrogate at the end."""
    if not unit.held and text.isascii():
        return text
    whole: str = well_formed(unit.held + text if unit.held else text)
    if whole is not text:
        text = unit.held + text
        unit.held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        whole = well_formed(text[:-1] if unit.held else text)
    return whole


_HANDLERS: dict[type, Callable[[Assembler, Any, list[Change]], None]] = {
    ResponseStart: Assembler._start,
    ReasoningDelta: Assembler._receive_reasoning,
    OpaqueDelta: Assembler._receive_value,
    TextDelta: Assembler._receive_text,
    ToolCallDelta: Assembler._receive_call,
    ToolResultDelta: Assembler._receive_result,
    CloseDelta: Assembler._close,
    NativeDelta: Assembler._keep_native,
    UsageDelta: Assembler._receive_usage,
    InputTransformationsDelta: Assembler._note_input,
    FinishDelta: Assembler._finish,
}
