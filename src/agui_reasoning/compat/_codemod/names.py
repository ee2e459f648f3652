"""The renamed events, and the patterns that find their names in source code."""

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
    "renamed",
]

Family: TypeAlias = Literal["span", "message"]
"""The kind of ID; spans and messages have separate ones."""
EventStep: TypeAlias = Literal["start", "content", "end"]


@dataclass(frozen=True, slots=True)
class EventNames:
    """The old and new names of one event."""

    old_class: str
    old_type: str
    family: Family
    step: EventStep

    @property
    def new_class(self) -> str:
        """The class in `ag_ui.core` 1.0."""
        return self.old_class.replace("Thinking", "Reasoning").replace("Text", "")

    @property
    def new_type(self) -> str:
        """The type in AG-UI 1.0."""
        return self.old_type.replace("THINKING", "REASONING").replace("TEXT_", "")


KINDS = (
    EventNames("ThinkingStartEvent", "THINKING_START", "span", "start"),
    EventNames("ThinkingTextMessageStartEvent", "THINKING_TEXT_MESSAGE_START", "message", "start"),
    EventNames("ThinkingTextMessageContentEvent", "THINKING_TEXT_MESSAGE_CONTENT", "message", "content"),
    EventNames("ThinkingTextMessageEndEvent", "THINKING_TEXT_MESSAGE_END", "message", "end"),
    EventNames("ThinkingEndEvent", "THINKING_END", "span", "end"),
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


def renamed(code: str) -> str:
    """Return source code with the new names of classes and types."""
    code = CLASS_NAME.sub(lambda found: BY_CLASS[found[0]].new_class, code)
    return TYPE_NAME.sub(lambda found: BY_TYPE[found[0]].new_type if found[0] in BY_TYPE else found[0], code)
