"""Compare the written fields of a unit with the table, and learn nothing of hidden ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.internals.envelopes import (
    WRITTEN,
    Envelope,
    Exposure,
    PlacedPart,
    ResponsePlace,
    digest,
    unit_record,
    write_envelope,
)

EXT = {"x": "CANARY-ext"}
VALUES = (Opaque("a.b", "CANARY-opaque"),)
PARTS: list[Part] = [
    ReasoningPart((Segment("raw", 7, "CANARY-text"),), VALUES, "CANARY-item", ext=EXT),
    TextPart("CANARY-text", VALUES, ext=EXT),
    ToolCallPart("call", "CANARY-name", "CANARY-arguments", True, VALUES, ext=EXT),
    ToolResultPart("call", "CANARY-content", "CANARY-error", {"x": "CANARY-native"}, ext=EXT),
    NativePart("a.block", {"x": "CANARY-payload"}),
]
EXPOSURES: tuple[Exposure, ...] = ("encrypted", "shown", "blank", "hidden")
EXPECTED: dict[tuple[str, Exposure], set[str]] = {
    ("ReasoningPart", "encrypted"): {"text", "opaque", "item", "ext"},
    ("ReasoningPart", "shown"): {"hash", "opaque", "item", "ext"},
    ("ReasoningPart", "blank"): {"text", "opaque", "item", "ext"},
    ("TextPart", "shown"): {"hash", "opaque", "ext"},
    ("TextPart", "blank"): {"text", "opaque", "ext"},
    ("ToolCallPart", "encrypted"): {"arguments", "opaque", "ext"},
    ("ToolCallPart", "shown"): {"hash", "opaque", "ext"},
    ("ToolCallPart", "hidden"): set(),
    ("ToolResultPart", "encrypted"): {"content", "error", "native", "ext"},
    ("ToolResultPart", "shown"): {"native", "ext"},
    ("ToolResultPart", "blank"): {"content", "error", "native", "ext"},
    ("ToolResultPart", "hidden"): set(),
    ("NativePart", "encrypted"): {"payload"},
    ("NativePart", "shown"): {"payload"},
}
CANARIES = ("text", "opaque", "item", "name", "arguments", "content", "error", "native", "ext", "payload")


def written(part: Part, exposure: Exposure) -> set[str] | None:
    """Which canaries are in the value of a unit; ``None`` when nothing is said of it."""
    shown = "what the client is shown"
    places: dict[str, Any] = {"id": "call", "message": "m"}
    unit = unit_record(PlacedPart(0, part, exposure, shown, **places))
    if unit is None:
        return None
    value = write_envelope(Envelope(response=ResponsePlace(id="r"), units=(unit,)))
    found = {name for name in CANARIES if f"CANARY-{name}" in value}
    return found | ({"hash"} if digest(shown) in value else set())


@pytest.mark.parametrize("exposure", EXPOSURES)
@pytest.mark.parametrize("part", PARTS, ids=[type(part).__name__ for part in PARTS])
def test_what_is_written_is_what_the_table_lists(part: Part, exposure: Exposure) -> None:
    assert written(part, exposure) == EXPECTED.get((type(part).__name__, exposure))


def test_the_table_has_no_row_that_is_not_tested() -> None:
    assert {(part.__name__, exposure) for part, exposure in WRITTEN} == set(EXPECTED)


@given(
    text=st.text(st.characters(codec=None), max_size=20)
    | st.sampled_from(["\ud800", "\x7f\u2028\b\f/", "1e16"]),
    ext=st.none() | st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.none()),
    number=st.integers(0, 2**70),
)
def test_an_envelope_is_written_as_the_standard_library_writes_json(
    text: str, ext: dict[str, Any] | None, number: int
) -> None:
    part = ReasoningPart((Segment("raw", number, text),), (Opaque("a.b", text),), text, ext=ext)
    units = [unit_record(PlacedPart(0, part, exposure, text)) for exposure in EXPOSURES]
    origin = Origin(text, "api", account=text)
    response = ResponsePlace(id=text, number=number, messages=(text,))
    envelope = Envelope(origin=origin, response=response, units=tuple(unit for unit in units if unit))
    fields = {"k": envelope.k, "v": envelope.v, **to_builtins(envelope)}
    written = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    if any("\ud800" <= character <= "\udfff" for character in written):
        written = json.dumps(fields, separators=(",", ":"))
    assert write_envelope(envelope) == written
