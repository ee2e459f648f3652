"""Decodes tool calls: fragments by index, with IDs that arrive once, twice or never."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from agui_reasoning.deltas import CloseDelta, Delta, OpaqueDelta, ToolCallDelta, ToolResultDelta
from agui_reasoning.parts import Ext, Opaque
from agui_reasoning.providers._apis.openai_chat.blocks import UnitTracker
from agui_reasoning.providers.payload import (
    JSONObject,
    as_text,
    compact_json,
    integer,
    obj,
    other_fields,
    reject,
    string,
)

LITELLM_MARK = "__thought__"
"""LiteLLM's separator between the ID of a call and Gemini's signature."""

PLAIN_TYPES = ("", "function")
CUSTOM = "custom"
KNOWN = ("index", "id", "type", "function", "custom", "extra_content", "thought_signature")


class CallPiece(Struct, frozen=True, gc=False):
    """A call, or a fragment of one.

    Attributes:
        input: The text of a custom tool, which is not JSON.
        signature: Its thought signature.
    """

    index: int | None
    id: str
    name: str
    arguments: str
    input: str | None
    signature: str
    ext: Ext | None


class ExecutedTool(Struct, frozen=True, gc=False):
    """A call that the provider ran itself (Groq), with its result as soon as there is one."""

    id: str
    name: str
    arguments: str
    content: str
    native: JSONObject | None


def read_calls(entries: list[JSONObject], path: str, *, whole: bool) -> list[CallPiece]:
    """Read calls, numbering those of a whole message by position if they have no number."""
    return [_read_call(entry, f"{path}/{at}", at if whole else None) for at, entry in enumerate(entries)]


def _read_call(entry: JSONObject, path: str, position: int | None) -> CallPiece:
    kind = string(entry, "type", path)
    function, custom = obj(entry, "function", path), obj(entry, "custom", path)
    # Snowflake puts an empty `custom` beside every function.
    is_custom = kind == CUSTOM or (not function and bool(custom))
    index = integer(entry, "index", path)
    identity, _, embedded = string(entry, "id", path).partition(LITELLM_MARK)
    signature, ext = read_call_signature(entry) or (embedded, None)
    return CallPiece(
        position if index is None else index,
        identity,
        string(custom if is_custom else function, "name", path),
        "" if is_custom else _arguments(function, path),
        string(custom, "input", path) if is_custom else None,
        signature,
        {**_leftovers(entry, CUSTOM if is_custom else kind), **(ext or {})} or None,
    )


def _leftovers(entry: JSONObject, kind: str) -> JSONObject:
    ext = other_fields(entry, *KNOWN)
    if isinstance(ext.get("provider_specific_fields"), dict):
        fields = other_fields(ext.pop("provider_specific_fields"), "thought_signature")
        ext.update({"provider_specific_fields": fields} if fields else {})
    return ext if kind in PLAIN_TYPES else {"type": kind, **ext}


def _arguments(function: JSONObject, path: str) -> str:
    """Return JSON text, although some servers send an object."""
    value = function.get("arguments")
    if value is not None and not isinstance(value, str | dict):
        raise reject("a string or an object", value, f"{path}/function/arguments")
    return as_text(value)


def read_executed_tool(entry: JSONObject, path: str, position: int) -> ExecutedTool:
    """Read a call of the provider's own."""
    index = integer(entry, "index", path)
    rest = other_fields(entry, "index", "type", "name", "arguments")
    return ExecutedTool(
        f"executed:{position if index is None else index}",
        string(entry, "type", path) or string(entry, "name", path),
        _arguments(entry, path),
        as_text(entry.get("output")),
        entry if _holds(rest) else None,
    )


def _holds(value: Any) -> bool:
    """Return whether there is a result: the announcement of a search has ``{"results": []}``."""
    if isinstance(value, dict):
        return any(_holds(item) for item in value.values())
    return value not in (None, "", [], False)


# -- thought signatures of Gemini, from the places where compatible endpoints and gateways put them

SIGNATURE_FIELD = "thought_signature"
_SPECIFIC = "provider_specific_fields"
SIGNATURE_FIELDS = (f"function.{SIGNATURE_FIELD}", f"{_SPECIFIC}.{SIGNATURE_FIELD}", SIGNATURE_FIELD)

_PLACES: tuple[tuple[tuple[str, ...], Ext], ...] = (
    # AI Studio and Vertex AI do not accept each other's namespace.
    (("extra_content", "google", SIGNATURE_FIELD), {"extra_content": "google"}),
    (("extra_content", "vertex", SIGNATURE_FIELD), {"extra_content": "vertex"}),
    *((tuple(path.split(".")), {"signature_field": path}) for path in SIGNATURE_FIELDS),
)
"""Paths within a call or a message, in order of preference, and the ``ext`` of the unit for each."""


def read_signature(source: Any, path: tuple[str, ...]) -> str:
    """Follow a path to a string; return ``""`` for anything else, as these fields are not standardized."""
    for name in path:
        source = source.get(name) if isinstance(source, dict) else None
    return source if isinstance(source, str) else ""


def read_call_signature(source: JSONObject) -> tuple[str, Ext] | None:
    """Return the signature of a call, which may be in several places."""
    places = ((path, ext) for path, ext in _PLACES if path[0] in source)
    return next(((value, ext) for path, ext in places if (value := read_signature(source, path))), None)


def read_signatures(message: JSONObject) -> list[tuple[str, Ext]]:
    """Return the signatures of a message; LiteLLM has a list of them."""
    found = read_call_signature(message)
    signatures = [found] if found else []
    fields = message.get(_SPECIFIC)
    listed = fields.get(f"{SIGNATURE_FIELD}s") if isinstance(fields, dict) else None
    if isinstance(listed, list):
        ext = {"signature_field": f"{_SPECIFIC}.{SIGNATURE_FIELD}s"}
        signatures += [(value, ext) for value in listed if isinstance(value, str) and value]
    return signatures


# -- the calls of a response


@dataclass(slots=True, eq=False)
class _OpenCall:
    id: str
    name: str
    inputs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Calls:
    """The calls of one response."""

    units: UnitTracker
    signature_kind: str
    ids: dict[str, None] = field(default_factory=dict)
    _begun: list[str] = field(default_factory=list)
    _by_index: dict[int, _OpenCall] = field(default_factory=dict)
    _by_id: dict[str, _OpenCall] = field(default_factory=dict)
    _last: _OpenCall | None = None
    _custom: list[_OpenCall] = field(default_factory=list)
    _started: dict[str, str] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)

    def receive(self, piece: CallPiece) -> list[Delta]:
        """Add a call, or the next fragment of one."""
        if not (piece.id or piece.name or piece.arguments or piece.input):
            return []
        call = self._find(piece)
        deltas = self._begin(piece) if call is None else self._continue(call, piece)
        if piece.signature:
            call_id = self._last.id if self._last else ""
            value = Opaque(self.signature_kind, piece.signature, attach=f"tool_call:{call_id}")
            deltas.append(OpaqueDelta(value))
        return deltas

    def begun(self) -> list[str]:
        """Return the calls that started since the last request."""
        begun, self._begun = self._begun, []
        return begun

    def settle(self) -> list[Delta]:
        """End all calls; the free text of custom tools becomes JSON only when it is complete."""
        pending, self._custom = self._custom, []
        return [ToolCallDelta(call.id, "", compact_json({"input": "".join(call.inputs)})) for call in pending]

    def execute(self, tool: ExecutedTool) -> list[Delta]:
        """Add the announcement or result of a call of the provider's own; both can be repeated."""
        deltas: list[Delta] = []
        if self._started.get(tool.id) is None or (tool.arguments and not self._started[tool.id]):
            name = tool.name if tool.id not in self._started else ""
            self._started[tool.id] = tool.arguments
            deltas += self.units.call(tool.id)
            deltas.append(ToolCallDelta(tool.id, name, tool.arguments, server=True))
        if tool.native is not None and tool.id not in self._answered:
            self._answered.add(tool.id)
            deltas.append(ToolResultDelta(tool.id, tool.content, native=tool.native))
        return deltas

    def _find(self, piece: CallPiece) -> _OpenCall | None:
        """Return the call that a fragment continues: by index, else by ID, else the last one."""
        if piece.index is not None:
            known = self._by_index.get(piece.index)
        elif piece.id:
            known = self._by_id.get(piece.id)
        else:
            known = self._last
        return known if known is not None and not _is_another(known, piece) else None

    def _begin(self, piece: CallPiece) -> list[Delta]:
        deltas = self.units.call(piece.id)
        if piece.id in self.ids and piece.id:
            # A second call with the same ID starts only after the first was closed.
            deltas.append(CloseDelta(key=piece.id))
        call = self._last = self._by_id[piece.id] = _OpenCall(piece.id, piece.name)
        if piece.index is not None:
            self._by_index[piece.index] = call
        if piece.input is not None:
            call.inputs.append(piece.input)
            self._custom.append(call)
        self.ids[call.id] = None
        self._begun.append(call.id)
        return [*deltas, ToolCallDelta(piece.id, piece.name, piece.arguments, ext=piece.ext)]

    def _continue(self, call: _OpenCall, piece: CallPiece) -> list[Delta]:
        deltas = self.units.call(call.id)
        self._last = call
        if piece.input:
            call.inputs.append(piece.input)
        name = "" if call.name else piece.name
        call.name = call.name or name
        if name or piece.arguments or piece.ext:
            deltas.append(ToolCallDelta(call.id, name, piece.arguments, ext=piece.ext))
        return deltas


def _is_another(known: _OpenCall, piece: CallPiece) -> bool:
    """Return whether a fragment starts another call after all: gateways reuse indexes and omit IDs."""
    if piece.id and known.id:
        return piece.id != known.id
    return bool(piece.name and known.name) and (not known.id or piece.name != known.name)
