"""Compare the matrix that the page of providers answers with the one that was asked, and what it shows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from scripts.tables import CALL, MATRIX, request
from tests.support.recordings import SHARED

SEED = next((SHARED / "seeds").glob("004_*"), None)
needs_seed = pytest.mark.skipif(SEED is None, reason="the matrix is not here; set AGUI_REASONING_SHARED")


def seed_text() -> str:
    assert SEED is not None
    return SEED.read_text(encoding="utf-8")


def providers_of_the_matrix() -> list[str]:
    table = seed_text().partition("| Provider | Status |")[2].partition("What Kai does today")[0]
    first = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ") and row.count("|") > 2]
    return [name.strip() for cell in first for name in cell.split(",")]


def known_gaps() -> list[str]:
    section = seed_text().partition("Known gaps\n")[2].partition("\nKey Files")[0]
    joined = section.replace("\n", " ")
    return [re.split(" — |—", gap)[0].strip() for gap in joined.split("- ")[1:] if gap.strip()]


@needs_seed
def test_every_row_of_the_matrix_has_an_answer() -> None:
    assert [row["name"] for row in MATRIX["row"]] == providers_of_the_matrix()
    assert all(row["answer"] and row["said"] for row in MATRIX["row"])
    assert [row["name"] for row in MATRIX["row"] if not row["origins"]] == ["LiteRT"]


@needs_seed
def test_every_known_gap_has_an_answer() -> None:
    def letters(name: str) -> str:
        return "".join(re.findall(r"\w", name.lower()))

    assert [letters(gap["name"]) for gap in MATRIX["gap"]] == [letters(name) for name in known_gaps()]
    assert len(MATRIX["gap"]) == 7


@needs_seed
def test_no_sentence_is_the_matrixs_own() -> None:
    seed = " ".join(seed_text().split())
    ours = [
        entry[key]
        for kind in ("row", "gap")
        for entry in MATRIX[kind]
        for key in ("said", "answer")
        if key in entry
    ]
    sentences = [part for text in ours for part in re.split(r"(?<=[.;])\s", text) if len(part.split()) > 4]
    assert [sentence for sentence in sentences if sentence in seed] == []


@pytest.mark.parametrize(
    ("gap", "expected", "flags"),
    [
        (0, {"reasoning_details": json.loads(MATRIX["gap"][0]["message"])["reasoning_details"]}, {}),
        (1, {"content": "<think>\nLook it up.\n</think>\n\n"}, {}),
        (
            2,
            {"reasoning_details": json.loads(MATRIX["gap"][2]["message"])["reasoning_details"]},
            {"reasoning_split": True},
        ),
        (
            3,
            {"reasoning_content": "Look it up."},
            {"thinking": {"type": "enabled", "clear_thinking": False}},
        ),
        (4, {"reasoning_content": "Look it up."}, {"reasoning_history": "preserved"}),
        (5, {"reasoning": "Look it up."}, {"clear_thinking": False}),
        (6, {"reasoning_content": "Look it up."}, {"thinking": {"type": "enabled", "keep": "all"}}),
    ],
)
def test_a_gap_is_closed(gap: int, expected: dict[str, Any], flags: dict[str, Any]) -> None:
    body = request(MATRIX["gap"][gap])
    message = body["messages"][1]
    assert message["tool_calls"] == [CALL]
    assert {name: message.get(name) for name in expected} == expected
    assert body.get("extra_body", {}) == flags
