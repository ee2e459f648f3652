"""Attribution by whole results, one vector per situation."""

from __future__ import annotations

import pytest

from agui_reasoning.attribution import Attribution, PartKind, Shared, attribute

KINDS: dict[str, PartKind] = {
    "R": "reasoning",
    "T": "text",
    "C": "call",
    "S": "call",
    "O": "result",
    "B": "boundary",
}


def walk(wire: str) -> Attribution:
    """Attribute a line such as ``R1 T C1``; ``|`` is the next response."""
    return attribute(("boundary", "") if item == "|" else (KINDS[item[0]], item) for item in wire.split())


VECTORS = [
    ("R1 C1", Attribution(calls={"C1": ("R1",)})),
    ("R1 T C1", Attribution(calls={"C1": ("R1",)})),
    ("R1 T S1 O1 R2 T T C1", Attribution(calls={"S1": ("R1",), "C1": ("R2",)})),
    ("R1 S1 R2 C1", Attribution(calls={"S1": ("R1",), "C1": ("R2",)})),
    (
        "R1 C1 C2 C3",
        Attribution(
            calls={"C1": ("R1",)}, shared={"C2": Shared("C1", "parallel"), "C3": Shared("C1", "parallel")}
        ),
    ),
    ("R1 C1 T C2", Attribution(calls={"C1": ("R1",)}, shared={"C2": Shared("C1", "parallel")})),
    ("R1 S1 O1 C1", Attribution(calls={"S1": ("R1",)}, shared={"C1": Shared("S1", "carried")})),
    ("R1 R2 C1", Attribution(calls={"C1": ("R1", "R2")})),
    ("R1 T", Attribution(texts=[("R1",)])),
    ("R1 S1 O1 R2 T", Attribution(calls={"S1": ("R1",)}, texts=[("R2",)])),
    ("R1 S1 O1 T", Attribution(calls={"S1": ("R1",)})),
    ("T C1", Attribution()),
    ("R1", Attribution(orphans=["R1"])),
    ("R1 T R2", Attribution(texts=[("R1",)], orphans=["R2"])),
    ("R1 C1 | C2", Attribution(calls={"C1": ("R1",)})),
    ("R1 T R2 C1", Attribution(calls={"C1": ("R1", "R2")})),
    ("", Attribution()),
]


@pytest.mark.parametrize(("wire", "expected"), VECTORS, ids=[wire or "nothing" for wire, _ in VECTORS])
def test_a_call_owns_the_reasoning_before_it_and_the_next_ones_share_it(
    wire: str, expected: Attribution
) -> None:
    assert walk(wire) == expected
