"""Decodes ``reasoning_details``: typed entries, streamed in fragments, which requests return unchanged.

OpenRouter's format, also used by Vercel's gateway, MiniMax, Novita, Snowflake and others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from msgspec import Struct

from agui_reasoning.deltas import Delta, NativeDelta, OpaqueDelta, ReasoningDelta, ToolCallDelta
from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import Channel, Opaque
from agui_reasoning.providers._apis.openai_chat.blocks import FLAT, UnitTracker
from agui_reasoning.providers.payload import JSONObject, integer, string

ENCRYPTED = "openrouter.encrypted"
SIGNATURE = "openrouter.signature"
GEMINI = "google-gemini-v1"

TEXT = "reasoning.text"
SUMMARY = "reasoning.summary"
DATA = "reasoning.encrypted"

CHANNELS: dict[str, Channel] = {TEXT: "text", SUMMARY: "summary"}
"""Type of an entry to the channel of its text, and the field with it, which is called the same."""

PROMPT_CHANGES = 8
"""How many changes of a unit's fields are sent at once; later ones at every power of two, and at the end."""

_CONTENT = ("text", "summary", "data", "signature")
"""Fields that become content of the unit; the others are the skeleton in ``ext["details"]``."""


class Detail(Struct, frozen=True, gc=False):
    """An entry or a fragment of one; ``unread`` marks one that is kept as it is."""

    entry: Any
    type: str = ""
    index: int | None = None
    id: str = ""
    text: str = ""
    data: str = ""
    signature: str = ""
    skeleton: JSONObject = {}
    unread: bool = False

    @property
    def call_id(self) -> str:
        """The call that this entry signs: Gemini's entries have the ID of their call."""
        return self.id if self.type == DATA and self.skeleton.get("format") == GEMINI else ""


def read_detail(entry: Any, path: str) -> Detail:
    """Read one entry; text alone is one, too."""
    if isinstance(entry, str):
        entry = {"type": TEXT, "text": entry}
    if not isinstance(entry, dict):
        return Detail(entry, unread=True)
    try:
        kind = string(entry, "type", path)
        return Detail(
            entry,
            kind,
            integer(entry, "index", path),
            string(entry, "id", path),
            string(entry, CHANNELS[kind], path) if kind in CHANNELS else "",
            string(entry, "data", path) if kind == DATA else "",
            string(entry, "signature", path),
            {key: value for key, value in entry.items() if key not in _CONTENT},
        )
    except DecodeError:
        return Detail(entry, unread=True)


@dataclass(slots=True, eq=False)
class _Unit:
    key: str
    item_id: str = ""
    entries: list[_Entry] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)
    fields: dict[str, object] = field(default_factory=dict)
    changes: int = 0

    def takes(self, detail: Detail) -> bool:
        """Return whether an entry fits: a unit holds one entry of each type, but any number of summaries."""
        if detail.id and self.item_id and detail.id != self.item_id:
            return False
        return detail.type == SUMMARY or not self.numbers[detail.type]

    def ext(self) -> dict[str, object]:
        return {**self.fields, "details": [dict(entry.skeleton) for entry in self.entries]}


@dataclass(slots=True, eq=False)
class _Entry:
    """An open entry: the fragments of one type and index."""

    unit: _Unit
    type: str
    id: str
    channel: Channel
    number: int
    skeleton: JSONObject
    has_data: bool = False
    announced: bool = False

    def update(self, detail: Detail) -> None:
        """Update the fields: the last nonempty value wins, and an initial null is kept."""
        for key, value in detail.skeleton.items():
            if key not in self.skeleton or (value not in (None, "") and self.skeleton[key] != value):
                self.skeleton[key] = value
                self.announced = False
        self.id = self.id or detail.id


class Details:
    """Merges the entries of one response into units.

    Fragments of one type and index are one entry. Entries with the same ID, or else with the same index, are
    one unit, as long as it has at most one signature and one encrypted value. An entry without text joins the
    flat reasoning, if there is any.
    """

    def __init__(self, units: UnitTracker) -> None:
        self._track = units
        self._entries: dict[tuple[str, int | None], _Entry] = {}
        self._units: dict[str, _Unit] = {}
        self._by_index: dict[int, _Unit] = {}
        self._by_id: dict[str, list[_Unit]] = {}
        self._first: Counter[tuple[str, str]] = Counter()
        self._keys: Counter[str] = Counter()
        self._unannounced: dict[str, _Unit] = {}
        self._for_calls: dict[str, dict[int | None, tuple[Detail, list[str]]]] = {}
        self._requested: dict[str, None] = {}

    def receive(
        self, details: Iterable[Detail], texts: Iterable[str], *, mirror: str | None, flat: bool, whole: bool
    ) -> list[Delta]:
        """Add the entries of one payload, with the new text of each; ``""`` if another field provides it.

        ``mirror`` is the field with the same text, noted so that requests can use it again. ``flat`` tells
        whether there is reasoning in a plain string, ``whole`` whether the entries are complete.
        """
        deltas: list[Delta] = []
        for detail, text in zip(details, texts, strict=True):
            if detail.type not in (TEXT, SUMMARY, DATA):
                name = detail.type.removeprefix("reasoning.") or "detail"
                if isinstance(detail.entry, dict):
                    deltas.append(NativeDelta(f"openrouter.{name}", detail.entry))
            elif detail.call_id:
                self._hold(detail)
            else:
                entry = self._entry(detail, flat=flat and not text, whole=whole)
                deltas += self._grow(entry, detail, text, mirror)
        return deltas

    def release(self, calls: Container[str], begun: Iterable[str]) -> list[Delta]:
        """Return the values of all calls that have started; ``begun`` are those since the last request."""
        requested, self._requested = self._requested, {}
        deltas: list[Delta] = []
        for call in dict.fromkeys((*requested, *begun)):
            held = self._for_calls.pop(call, {}) if call in calls else {}
            for detail, data in held.values():
                value = Opaque(ENCRYPTED, "".join(data), attach=f"tool_call:{detail.id}")
                deltas.append(ToolCallDelta(detail.id, ext={"details": [detail.skeleton]}))
                deltas.append(OpaqueDelta(value))
        return deltas

    def end(self) -> list[Delta]:
        """Return values whose call never arrived as separate units, and fields not sent yet."""
        held, self._for_calls = self._for_calls, {}
        unannounced, self._unannounced = self._unannounced, {}
        deltas: list[Delta] = [ReasoningDelta(key=unit.key, ext=unit.ext()) for unit in unannounced.values()]
        for detail, data in chain.from_iterable(by_index.values() for by_index in held.values()):
            unit = self._new_unit(detail)
            value = Opaque(ENCRYPTED, "".join(data), attach=f"tool_call:{detail.id}")
            deltas += self._track.reasoning(unit.key)
            deltas.append(ReasoningDelta(key=unit.key, ext={"details": [detail.skeleton]}))
            deltas.append(OpaqueDelta(value, key=unit.key))
        return deltas

    def _hold(self, detail: Detail) -> None:
        self._requested[detail.id] = None
        by_index = self._for_calls.setdefault(detail.id, {})
        by_index.setdefault(detail.index, (detail, []))[1].append(detail.data)

    def _entry(self, detail: Detail, *, flat: bool, whole: bool) -> _Entry:
        slot = (detail.type, detail.index)
        # Without an index, only text is fragmented (MiniMax).
        separate = whole or (detail.index is None and detail.type == DATA)
        known = None if separate else self._entries.get(slot)
        if known is not None and (not detail.id or not known.id or detail.id == known.id):
            known.update(detail)
            return known
        unit = self._unit(detail, flat=flat)
        channel = CHANNELS.get(detail.type, "text")
        number = unit.numbers[detail.type]
        entry = _Entry(unit, detail.type, detail.id, channel, number, dict(detail.skeleton))
        unit.entries.append(entry)
        unit.numbers[detail.type] = number + 1
        self._entries[slot] = entry
        return entry

    def _unit(self, detail: Detail, *, flat: bool) -> _Unit:
        named = self._free(detail)
        numbered = None if detail.index is None else self._by_index.get(detail.index)
        candidates = (named, numbered, self._units.setdefault(FLAT, _Unit(FLAT)) if flat else None)
        unit = next((unit for unit in candidates if unit and unit.takes(detail)), None)
        unit = unit or self._new_unit(detail)
        if detail.index is not None:
            self._by_index.setdefault(detail.index, unit)
        return unit

    def _free(self, detail: Detail) -> _Unit | None:
        """Return the first unit of an ID that accepts an entry; others are skipped from then on."""
        units = self._by_id.get(detail.id, ())
        slot = (detail.id, detail.type)
        while self._first[slot] < len(units):
            unit = units[self._first[slot]]
            if unit.takes(detail):
                return unit
            self._first[slot] += 1
        return None

    def _new_unit(self, detail: Detail) -> _Unit:
        key = name = "detail" if detail.index is None else f"detail:{detail.index}"
        self._keys[name] += 1
        if self._keys[name] > 1:
            key = f"{name}/{self._keys[name]}"
        unit = self._units[key] = _Unit(key)
        return unit

    def _grow(self, entry: _Entry, detail: Detail, text: str, mirror: str | None) -> list[Delta]:
        unit = entry.unit
        named = bool(detail.id) and not unit.item_id
        if named:
            unit.item_id = detail.id
            self._by_id.setdefault(detail.id, []).append(unit)
        if text and mirror and "field" not in unit.fields:
            unit.fields["field"] = mirror
            entry.announced = False
        ext = None if entry.announced else self._ext_if_due(unit)
        entry.announced = True
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

    def _ext_if_due(self, unit: _Unit) -> dict[str, object] | None:
        """Return the fields of a unit, if a change of them is sent now: the more changes, the less often.

        Each change sends all entries, so sending every change would take quadratic time.
        """
        unit.changes += 1
        if unit.changes > PROMPT_CHANGES and unit.changes & (unit.changes - 1):
            self._unannounced[unit.key] = unit
            return None
        self._unannounced.pop(unit.key, None)
        return unit.ext()

    def _values(self, entry: _Entry, detail: Detail) -> list[Delta]:
        deltas: list[Delta] = []
        if detail.signature:
            deltas.append(OpaqueDelta(Opaque(SIGNATURE, detail.signature), key=entry.unit.key))
        if detail.data:
            value = Opaque(ENCRYPTED, detail.data)
            deltas.append(OpaqueDelta(value, key=entry.unit.key, append=entry.has_data))
            entry.has_data = True
        return deltas
