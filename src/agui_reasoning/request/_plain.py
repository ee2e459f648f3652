"""Decides what is taken of values that are not authenticated: clients can write such values themselves.

The lists are those of the API that the value names (`PlainValues`). Blocks of other kinds, blocks that have
nothing but an ID, and everything that names an object stored at the provider are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

from msgspec import Struct

from agui_reasoning._envelope import CallRecord, ResultRecord, UnitRecord
from agui_reasoning.providers.api import NOTHING_WRITTEN, Fields, PlainValues
from agui_reasoning.providers.registry import find_api
from agui_reasoning.providers.stored_objects import stored_objects

NEEDS_KEYS: Final = "needs_keys"
STORED_OBJECT: Final = "stored_object"

_CACHING: Final = frozenset({"cache_control", "cachePoint"})
"""The fields that cost money, wherever they are in a block."""

_MEMBERS: Final[dict[str, frozenset[str] | None]] = {
    **dict.fromkeys(("type", "id", "phase", "status", "explicit_empty", "native_id", "field")),
    **dict.fromkeys(("signature_field", "extra_content", "summary_parts", "content_parts")),
    "tag": frozenset({"open", "close"}),
    "details": frozenset({"type", "format", "index", "id"}),
}
"""The names in ``ext`` that decoders of all APIs use."""


class Intake(Struct, frozen=True, gc=False):
    """What is taken of the units of one response.

    Attributes:
        lists: The lists of the API; ``None`` if the values are authenticated.
        json_fields: The API's fields with JSON of somebody else.
        allow_file_ids: Whether objects stored at the provider may be named.
    """

    lists: PlainValues | None = None
    json_fields: frozenset[str] = frozenset()
    allow_file_ids: bool = False

    def native(self, kind: str, payload: Any) -> tuple[Any, str]:
        """Return what is taken of a native part; else ``None`` and the reason."""
        if self.lists is None or self.lists.unwritten:
            return payload, ""
        fields = self.lists.natives.get(kind.partition(".")[2])
        reason = self._refusal(payload, fields)
        return (None, reason) if reason else (_taken(payload, fields), "")

    def result(self, native: Any) -> Any:
        """Return what is taken of the result of a server tool that is not `withheld`."""
        if self.lists is None or self.lists.unwritten or native is None:
            return native
        return _taken(native, _fields_of(native, self.lists))

    def members(self, ext: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, bool]:
        """Return what is taken of ``ext``, and whether something in it named a stored object."""
        if self.lists is None or not ext:
            return dict(ext) if ext else None, False
        known = {**_MEMBERS, **self.lists.members}
        kept: dict[str, Any] = {}
        named = False
        for name, value in ext.items():
            if name in known:
                named = named or self._names_stored({name: value})
                value = self._member(value, known[name])
            elif not self.lists.unwritten:
                continue
            if value is not None:
                kept[name] = value
        return kept or None, named

    def withheld(self, units: Iterable[UnitRecord]) -> dict[str, str]:
        """Return why calls of server tools are left out with their results, by call ID."""
        if self.lists is None or self.lists.unwritten:
            return {}
        found: dict[str, str] = {}
        for unit in units:
            part, reason = unit.part, ""
            if type(part) is CallRecord:
                reason = STORED_OBJECT if part.server and self._names_stored(part.ext) else ""
            elif type(part) is ResultRecord and part.native is not None:
                reason = self._refusal(part.native, _fields_of(part.native, self.lists))
            if reason:
                found.setdefault(unit.id or "", reason)
        return found

    def _refusal(self, payload: Any, fields: Fields | None) -> str:
        """Return why a block is not taken; empty if it is."""
        if self._names_stored(payload):
            return STORED_OBJECT
        if fields is None or not isinstance(payload, dict) or any(map(payload.get, fields.empty)):
            return NEEDS_KEYS
        only_id = fields.content and not any(payload.get(name) for name in fields.content)
        return STORED_OBJECT if only_id else ""

    def _names_stored(self, value: Any) -> bool:
        return not self.allow_file_ids and any(True for _ in stored_objects(value, self.json_fields))

    def _member(self, value: Any, fields: frozenset[str] | None) -> Any:
        """Return what is taken of one member; ``None`` if it is nothing."""
        if isinstance(value, list):
            entries = (self._member(one, fields) for one in value)
            return [entry for entry in entries if entry is not None] or None
        if not isinstance(value, dict):
            return value
        if fields is None or self._names_stored({"annotations": value}):
            return None
        return {name: inner for name, inner in value.items() if name in fields}


AUTHENTICATED: Final = Intake()
"""Takes everything."""


def intake_of(api_id: str | None, *, allow_file_ids: bool) -> Intake:
    """Return what is taken of a response of an API whose values are not authenticated."""
    api = find_api(api_id)
    if api is None:  # no request contains its blocks
        return Intake(NOTHING_WRITTEN)
    return Intake(api.plain, api.json_fields, allow_file_ids)


def _fields_of(native: Any, lists: PlainValues) -> Fields | None:
    """Return the fields of a result, by its type, or by the field that tells it."""
    if not isinstance(native, dict):
        return None
    kind = native.get("type", next((name for name in native if name in lists.results), None))
    return lists.results.get(kind) if isinstance(kind, str) else None


def _taken(payload: Any, fields: Fields | None) -> Any:
    if fields is None:
        return None
    return {name: without_members(value, _CACHING) for name, value in payload.items() if name in fields.all}


def without_members(value: Any, names: Set[str]) -> Any:
    """Return a copy of JSON without the members of these names, wherever they are."""
    if isinstance(value, dict):
        return {name: without_members(inner, names) for name, inner in value.items() if name not in names}
    return [without_members(one, names) for one in value] if isinstance(value, list) else value
