"""The renamed events, and the patterns the rewriter searches for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "BY_CLASS",
    "BY_TYPE",
    "CLASS_NAME",
    "KINDS",
    "TYPE_NAME",
    "EventNames",
    "EventStep",
    "Family",
    "mentions_anything",
]

Family: TypeAlias = Literal["span", "message"]
"""The kind of ID; spans and messages have separate ones."""
EventStep: TypeAlias = Literal["start", "content", "end"]


@dataclass(frozen=True, slots=True)
class EventNames:
    """The old and new names of one event."""

    old_class: str
    new_class: str
    old_type: str
    new_type: str
    family: Family
    step: EventStep


KINDS = (
    EventNames(
        "ThinkingStartEvent", "ReasoningStartEvent", "THINKING_START", "REASONING_START", "span", "start"
    ),
    EventNames(
        "ThinkingTextMessageStartEvent",
        "ReasoningMessageStartEvent",
        "THINKING_TEXT_MESSAGE_START",
        "REASONING_MESSAGE_START",
        "message",
        "start",
    ),
    EventNames(
        "ThinkingTextMessageContentEvent",
        "ReasoningMessageContentEvent",
        "THINKING_TEXT_MESSAGE_CONTENT",
        "REASONING_MESSAGE_CONTENT",
        "message",
        "content",
    ),
    EventNames(
        "ThinkingTextMessageEndEvent",
        "ReasoningMessageEndEvent",
        "THINKING_TEXT_MESSAGE_END",
        "REASONING_MESSAGE_END",
        "message",
        "end",
    ),
    EventNames("ThinkingEndEvent", "ReasoningEndEvent", "THINKING_END", "REASONING_END", "span", "end"),
)
BY_CLASS = {kind.old_class: kind for kind in KINDS}
BY_TYPE = {kind.old_type: kind for kind in KINDS}

CLASS_NAME = re.compile(rf"(?<!\w)({'|'.join(BY_CLASS)})(?!\w)")
TYPE_NAME = re.compile(r"(?<![A-Z_])THINKING_(?:START|END|TEXT_MESSAGE(?:_(?:START|CONTENT|END))?)?(?![A-Z])")

_ANYTHING = re.compile(rb"THINKING_|Thinking(?:Start|End|TextMessage(?:Start|Content|End))Event")
# Python source is always in an ASCII-compatible encoding (never UTF-16), so matching bytes is enough.


def mentions_anything(source: bytes) -> bool:
    """Return whether a file may use the events; other files are not parsed."""
    return _ANYTHING.search(source) is not None
