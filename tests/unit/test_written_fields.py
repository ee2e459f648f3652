"""Compare the written fields of a unit with the table, and learn nothing of concealed ones."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning._envelope import (
    WRITTEN,
    Envelope,
    Exposure,
    PlacedPart,
    ResponsePlace,
    digest,
    unit_record,
    write_envelope,
)
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
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
EXPOSURES: tuple[Exposure, ...] = ("encrypted", "shown", "blank", "concealed")
EXPECTED: dict[tuple[str, Exposure], set[str]] = {
    ("ReasoningPart", "encrypted"): {"text", "opaque", "item", "ext"},
    ("ReasoningPart", "shown"): {"hash", "opaque", "item", "ext"},
    ("ReasoningPart", "blank"): {"text", "opaque", "item", "ext"},
    ("TextPart", "shown"): {"hash", "opaque", "ext"},
    ("TextPart", "blank"): {"text", "opaque", "ext"},
    ("ToolCallPart", "encrypted"): {"arguments", "opaque", "ext"},
    ("ToolCallPart", "shown"): {"hash", "opaque", "ext"},
    ("ToolCallPart", "concealed"): set(),
    ("ToolResultPart", "encrypted"): {"content", "error", "native", "ext"},
    ("ToolResultPart", "shown"): {"native", "ext"},
    ("ToolResultPart", "blank"): {"content", "error", "native", "ext"},
    ("ToolResultPart", "concealed"): set(),
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
