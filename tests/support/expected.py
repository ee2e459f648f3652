"""Define what the readers of recordings share."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FAILED", "Expected", "arguments", "payloads"]

FAILED = "The agent could not finish its answer. Please try again."
"""What users read if a run fails and its application says nothing."""


def payloads(recording: dict[str, Any]) -> list[Any]:
    """The payloads of a streamed recording."""
    return [event["data"] for event in recording["events"]]


@dataclass
class Expected:
    """What must reach the client. Texts are compared without white space, everything else exactly."""

    reasoning: str = ""
    answer: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)


def arguments(text: str) -> Any:
    """Arguments as a value; text that is not JSON stays text."""
    if not text:
        return {}
    try:
        return json.loads(text)
    except ValueError:
        return text
