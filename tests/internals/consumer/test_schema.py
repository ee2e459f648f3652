"""Compare each definition of the published schema with the package's own table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning.consumer import EVENTS
from tests.conformance.corpus import SCHEMA, Json
from tests.internals.schema import DEFINITIONS, kinds

pytestmark = pytest.mark.skipif(
    not SCHEMA.exists(), reason=f"no schema at {SCHEMA}; set AGUI_REASONING_SHARED"
)

ANNOTATIONS = {"$anchor", "description", "title", "default", "examples", "$comment", "contentEncoding"}
# Members of an object that have no counterpart: parts of other objects, and what no run carries.
FRAGMENTS = {"BaseEvent", "Attributable", "BaseMessage", "SubagentInfo"}


def definitions() -> Json:
    if not SCHEMA.exists():
        return {}
    loaded: Json = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    return loaded


DEFS = definitions()


def convert(schema: Json) -> kinds.SchemaType:
    """A JSON schema as one of our kinds; fails on anything it does not know."""
    schema = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
    if "$ref" in schema:
        return _reference(schema)
    if "oneOf" in schema:
        return _one_of(schema["oneOf"])
    if "const" in schema:
        return kinds.Const(schema["const"])
    if "enum" in schema:
        return kinds.Choice(frozenset(schema["enum"]))
    if schema in ({}, {"not": {"type": "null"}}):
        return kinds.AnyJSON(null=not schema)
    return _TYPES[schema["type"]](schema)


def _reference(schema: Json) -> kinds.SchemaType:
    kind = convert(DEFS[schema["$ref"].rpartition("/")[2]])
    if len(schema) > 1:
        assert (kind, schema["not"]) == (kinds.ANY, {"type": "null"})
        return kinds.PRESENT
    return kind


def _one_of(options: list[Json]) -> kinds.SchemaType:
    found = [convert(option) for option in options]
    if found[0] == kinds.TEXT:
        assert len(found) == 2
        assert isinstance(found[1], kinds.Sequence)
        return kinds.Either(found[1])
    by = next(name for name in ("type", "role", "op") if _tag(found[0], name) is not None)
    return kinds.Tagged(by, {str(_tag(kind, by)): kind for kind in found})


def _tag(kind: kinds.SchemaType, name: str) -> str | None:
    member = kind.fields.get(name) if isinstance(kind, kinds.Obj) else None
    return member.value if isinstance(member, kinds.Const) else None


def _object(schema: Json) -> kinds.SchemaType:
    if schema == {"type": "object", "additionalProperties": True}:
        return kinds.Open()
    fields, required = _members(schema)
    return kinds.Obj(fields, frozenset(required), open="unevaluatedProperties" not in schema)


def _members(schema: Json) -> tuple[dict[str, kinds.SchemaType], set[str]]:
    fields: dict[str, kinds.SchemaType] = {}
    required = set(schema.get("required", ()))
    for reference in schema.get("allOf", ()):
        inherited, needed = _members(DEFS[reference["$ref"].rpartition("/")[2]])
        fields, required = fields | inherited, required | needed
    own = {name: convert(member) for name, member in schema.get("properties", {}).items()}
    return fields | own, required


def _string(schema: Json) -> kinds.SchemaType:
    return (
        kinds.Text(schema["pattern"].removeprefix("^").removesuffix("$"))
        if "pattern" in schema
        else kinds.Text()
    )


_TYPES = {
    "object": _object,
    "string": _string,
    "array": lambda schema: kinds.Sequence(convert(schema["items"]), schema.get("minItems", 0)),
    "integer": lambda schema: kinds.WholeNumber(schema["minimum"], schema["maximum"]),
    "boolean": lambda schema: kinds.Flag(),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definition(name: str) -> None:
    assert DEFINITIONS[name] == convert(DEFS[name])


def test_every_event_is_described() -> None:
    assert set(EVENTS) == set(DEFS["EventType"]["enum"])
    assert len(DEFS["Event"]["oneOf"]) == len(EVENTS)


def test_everything_that_a_stream_or_an_input_can_hold_is_covered() -> None:
    """Definitions missing in our table are parts of others."""

    def used(value: Any) -> set[str]:
        if isinstance(value, list):
            return {name for element in value for name in used(element)}
        if not isinstance(value, dict):
            return set()
        own = {value["$ref"].rpartition("/")[2]} if "$ref" in value else set()
        return own | {name for member in value.values() for name in used(member)}

    reached: set[str] = set()
    waiting = set(DEFINITIONS)
    while waiting:
        reached |= waiting
        waiting = {name for found in waiting for name in used(DEFS[found])} - reached
    left = {name for name in DEFS if name not in reached and not name.endswith("Capabilities")}
    assert left <= FRAGMENTS | {"Event", "EventType", "Role"}
