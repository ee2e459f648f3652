"""``reasoning_details``: typed entries, streamed in fragments, to be given back as they came.

OpenRouter's shape, also spoken by Vercel's gateway, MiniMax, Novita, Snowflake and others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agui_reasoning.deltas import Delta, NativeDelta, OpaqueDelta, ReasoningDelta, ToolCallDelta
from agui_reasoning.parts import Channel, Opaque
from agui_reasoning.providers.openai_chat.units import FLAT, Units
from agui_reasoning.providers.payload import JSONObject, integer, string

__all__ = ["Detail", "Details", "read_detail"]

ENCRYPTED = "openrouter.encrypted"
SIGNATURE = "openrouter.signature"
GEMINI = "google-gemini-v1"

_TEXT = "reasoning.text"
_SUMMARY = "reasoning.summary"
_DATA = "reasoning.encrypted"

_CHANNELS: dict[str, tuple[str, Channel]] = {_TEXT: ("text", "text"), _SUMMARY: ("summary", "summary")}
"""Type of an entry to the field its text is in, and what that text is."""

_CONTENT = ("text", "summary", "data", "signature")
"""What the unit itself holds; all other fields are the skeleton that ``ext["details"]`` keeps."""


@dataclass(frozen=True, slots=True)
class Detail:
    """An entry, or a fragment of one."""

    type: str
    index: int | None
    id: str
    text: str
    data: str
    signature: str
    skeleton: JSONObject
    entry: JSONObject

    @property
    def call_id(self) -> str:
        """The call whose signature this is: Gemini's entries bear the id of their call."""
        return self.id if self.type == _DATA and self.skeleton.get("format") == GEMINI else ""


def read_detail(entry: JSONObject, path: str) -> Detail:
    """Read one entry.

    Raises:
        DecodeError: A field has the wrong type.
    """
    kind = string(entry, "type", path)
    text_field = _CHANNELS[kind][0] if kind in _CHANNELS else ""
    return Detail(
        kind,
        integer(entry, "index", path),
        string(entry, "id", path),
        string(entry, text_field, path) if text_field else "",
        string(entry, "data", path) if kind == _DATA else "",
        string(entry, "signature", path),
        {key: value for key, value in entry.items() if key not in _CONTENT},
        entry,
    )


@dataclass(slots=True, eq=False)
class _Unit:
    key: str
    item_id: str = ""
    entries: list[_Entry] = field(default_factory=list)
    fields: dict[str, object] = field(default_factory=dict)

    def takes(self, detail: Detail) -> bool:
        """A unit holds one value of a kind; of summaries, which have none, it may hold several."""
        if detail.id and self.item_id and detail.id != self.item_id:
            return False
        return detail.type == _SUMMARY or all(entry.type != detail.type for entry in self.entries)

    def ext(self) -> dict[str, object]:
        return {**self.fields, "details": [dict(entry.skeleton) for entry in self.entries]}


@dataclass(slots=True, eq=False)
class _Entry:
    """An entry under way: fragments of one type and index."""

    unit: _Unit
    type: str
    id: str
    channel: Channel
    number: int
    skeleton: JSONObject
    has_data: bool = False
    shown: bool = False

    def update(self, detail: Detail) -> None:
        """The last value that says something wins; a null that came first stays, as it came."""
        for key, value in detail.skeleton.items():
            if key not in self.skeleton or (value not in (None, "") and self.skeleton[key] != value):
                self.skeleton[key] = value
                self.shown = False
        self.id = self.id or detail.id


class Details:
    """Merges the entries of one response into units.

    Fragments of one type and index are one entry. Entries make one unit when they have the same id, else when
    they have the same index, as long as a unit holds one signature and one encrypted value. An entry without
    text joins the flat reasoning, if the text came there.
    """

    def __init__(self, units: Units) -> None:
        self._track = units
        self._entries: dict[tuple[str, int | None], _Entry] = {}
        self._units: dict[str, _Unit] = {}
        self._by_index: dict[int, _Unit] = {}
        self._for_calls: list[tuple[Detail, list[str]]] = []

    def receive(
        self, details: Iterable[Detail], texts: Iterable[str], *, mirror: str | None, flat: bool, whole: bool
    ) -> list[Delta]:
        """Take the entries of one payload.

        Args:
            details: The entries.
            texts: What to say of each; ``""`` where another field says it.
            mirror: The field that has the same text, which is noted so that it can be sent there again.
            flat: There is reasoning in a plain string.
            whole: These are not fragments: nothing is merged.
        """
        deltas: list[Delta] = []
        for detail, text in zip(details, texts, strict=True):
            if detail.type not in (_TEXT, _SUMMARY, _DATA):
                name = detail.type.removeprefix("reasoning.") or "detail"
                deltas.append(NativeDelta(f"openrouter.{name}", detail.entry))
            elif detail.call_id:
                self._hold(detail)
            else:
                entry = self._entry(detail, flat=flat and not text, whole=whole)
                deltas += self._grow(entry, detail, text, mirror)
        return deltas

    def release(self, calls: Iterable[str]) -> list[Delta]:
        """Hand out the values of calls that have begun by now."""
        if not self._for_calls:
            return []
        held, self._for_calls = self._for_calls, []
        deltas: list[Delta] = []
        known = set(calls)
        for detail, data in held:
            if detail.id not in known:
                self._for_calls.append((detail, data))
                continue
            value = Opaque(ENCRYPTED, "".join(data), attach=f"tool_call:{detail.id}")
            deltas.append(ToolCallDelta(detail.id, ext={"details": [detail.skeleton]}))
            deltas.append(OpaqueDelta(value))
        return deltas

    def end(self) -> list[Delta]:
        """Values whose call never came get a unit of their own."""
        held, self._for_calls = self._for_calls, []
        deltas: list[Delta] = []
        for detail, data in held:
            unit = self._new_unit(detail)
            value = Opaque(ENCRYPTED, "".join(data), attach=f"tool_call:{detail.id}")
            deltas += self._track.reasoning(unit.key)
            deltas.append(ReasoningDelta(key=unit.key, ext={"details": [detail.skeleton]}))
            deltas.append(OpaqueDelta(value, key=unit.key))
        return deltas

    def _hold(self, detail: Detail) -> None:
        for known, data in self._for_calls:
            if (known.id, known.index) == (detail.id, detail.index):
                data.append(detail.data)
                return
        self._for_calls.append((detail, [detail.data]))

    def _entry(self, detail: Detail, *, flat: bool, whole: bool) -> _Entry:
        slot = (detail.type, detail.index)
        # Without an index only text is known to come in fragments (MiniMax).
        separate = whole or (detail.index is None and detail.type == _DATA)
        known = None if separate else self._entries.get(slot)
        if known is not None and (not detail.id or not known.id or detail.id == known.id):
            known.update(detail)
            return known
        unit = self._unit(detail, flat=flat)
        channel: Channel = _CHANNELS[detail.type][1] if detail.type in _CHANNELS else "text"
        number = sum(entry.type == detail.type for entry in unit.entries)
        entry = _Entry(unit, detail.type, detail.id, channel, number, dict(detail.skeleton))
        unit.entries.append(entry)
        self._entries[slot] = entry
        return entry

    def _unit(self, detail: Detail, *, flat: bool) -> _Unit:
        candidates = [unit for unit in self._units.values() if detail.id and unit.item_id == detail.id]
        if detail.index in self._by_index:
            candidates.append(self._by_index[detail.index])
        if flat:
            candidates.append(self._units.setdefault(FLAT, _Unit(FLAT)))
        unit = next((unit for unit in candidates if unit.takes(detail)), None) or self._new_unit(detail)
        if detail.index is not None:
            self._by_index.setdefault(detail.index, unit)
        return unit

    def _new_unit(self, detail: Detail) -> _Unit:
        key = name = "detail" if detail.index is None else f"detail:{detail.index}"
        number = 1
        while key in self._units:
            number += 1
            key = f"{name}/{number}"
        unit = self._units[key] = _Unit(key)
        return unit

    def _grow(self, entry: _Entry, detail: Detail, text: str, mirror: str | None) -> list[Delta]:
        unit = entry.unit
        named = bool(detail.id) and not unit.item_id
        unit.item_id = unit.item_id or detail.id
        if text and mirror and "field" not in unit.fields:
            unit.fields["field"] = mirror
            entry.shown = False
        ext = None if entry.shown else unit.ext()
        entry.shown = True
        values = self._values(entry, detail)
        deltas: list[Delta] = []
        if text or values or named:
            deltas += self._track.reasoning(unit.key, grows=bool(text))
        if text or named or ext:
            item_id = unit.item_id if named else None
            deltas.append(
                ReasoningDelta(
                    text, key=unit.key, channel=entry.channel, index=entry.number, item_id=item_id, ext=ext
                )
            )
        return deltas + values

    def _values(self, entry: _Entry, detail: Detail) -> list[Delta]:
        deltas: list[Delta] = []
        if detail.signature:
            deltas.append(OpaqueDelta(Opaque(SIGNATURE, detail.signature), key=entry.unit.key))
        if detail.data:
            value = Opaque(ENCRYPTED, detail.data)
            deltas.append(OpaqueDelta(value, key=entry.unit.key, append=entry.has_data))
            entry.has_data = True
        return deltas
