"""Restore histories stored with version 1 of the envelope, plain and encrypted."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import Part, Turn
from agui_reasoning.request import ReportEntry, restore

STORED = Path(__file__).parents[2] / "fixtures" / "envelopes" / "version-1.json"
READING: dict[str, dict[str, Any]] = {
    "plain": {},
    "encrypted": {"keys": KeyRing({"k1": bytes(range(32))}), "thread_id": "thread", "tenant": "acme"},
}


def fields_of(part: Part) -> dict[str, Any]:
    """Return the fields that parts had then. Where a client sees them, the report tells."""
    fields = {name: value for name, value in asdict(part).items() if name not in ("seen", "error")}
    return fields | {"origin": origin_of(part)}


def origin_of(holder: Part | Turn) -> dict[str, Any] | None:
    """Return the fields that origins had then."""
    if holder.origin is None:
        return None
    return {
        name: value for name, value in asdict(holder.origin).items() if name not in ("upstream", "account")
    }


def told_then(entry: ReportEntry) -> dict[str, str]:
    """Return the fields that a report had when the histories were stored."""
    return {"unit": entry.unit, "outcome": entry.outcome, "reason": entry.reason}


@pytest.mark.parametrize("how", sorted(READING))
def test_what_version_1_stored_restores_as_it_did(how: str) -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))[how]
    history = restore(stored["messages"], **READING[how])
    turns = [
        {
            "id": turn.id,
            "origin": origin_of(turn),
            "parts": [{"type": type(part).__name__, **fields_of(part)} for part in turn.parts],
        }
        for turn in history.turns
    ]
    assert json.loads(json.dumps(turns)) == stored["turns"]
    assert [told_then(entry) for entry in history.report] == stored["report"]


def test_a_text_that_was_altered_loses_its_signature_in_version_1_too() -> None:
    messages = json.loads(STORED.read_text(encoding="utf-8"))["plain"]["messages"]
    messages[1]["content"] += " Or not."
    report = restore(messages).report
    assert [(entry.unit, entry.reason) for entry in report if entry.outcome == "dropped"] == [
        (messages[1]["id"], "text_modified")
    ]
