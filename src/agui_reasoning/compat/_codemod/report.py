"""What the rewriter says: findings, and one migration per file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["ADVICE", "Migration", "MigrationFinding", "Severity"]

Severity: TypeAlias = Literal["error", "decide", "note"]
"""``error``: the file could not be read. ``decide``: a person has to. ``note``: done, and worth knowing."""


@dataclass(frozen=True, slots=True, order=True)
class MigrationFinding:
    """Something a person should see.

    Attributes:
        path: The file, as it was named.
        line: From 1, in the file as it was before.
        column: From 1.
        code: Stable identifier, for example ``"ids_cross_functions"``.
        severity: ``error``, ``decide`` or ``note``.
        message: What is there.
        advice: What to do about it.
    """

    path: str
    line: int
    column: int
    code: str
    severity: Severity
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Migration:
    """What becomes of one file.

    Attributes:
        path: The file, as it was named.
        before: Its bytes.
        after: Its bytes when it is rewritten: the same object where nothing changes.
        changes: How many places are rewritten.
        findings: What to see, in order of lines.
    """

    path: str
    before: bytes
    after: bytes
    changes: int
    findings: tuple[MigrationFinding, ...]

    @property
    def changed(self) -> bool:
        """Whether the file becomes another."""
        return self.after != self.before


_BY_HAND = (
    "The file is left as it is. Pass the ids on by hand; or let the server run with ag-ui-protocol 0.x and "
    "put `agui-reasoning proxy` in front of it. Where events are dicts, ThinkingUpgradeMiddleware does."
)
ADVICE: dict[str, tuple[Severity, str]] = {
    "does_not_parse": ("error", "Correct the file, or leave it out; the others are done."),
    "not_lossless": (
        "decide",
        "Rewrite this file by hand; the documentation has a table of what became of what.",
    ),
    "not_rewritten": ("decide", "Rewrite this file by hand, and report it, please; the others are done."),
    "too_deep": ("decide", "Rewrite this file by hand, or break up its longest chain first."),
    "ids_cross_functions": ("decide", _BY_HAND),
    "mixed_ids": (
        "decide",
        "The file is left as it is. Give the START and all that belongs to it one id, or none of them.",
    ),
    "compared_event": (
        "decide",
        "The file is left as it is. Ids are random: compare the types and the texts, not whole events.",
    ),
    "positional_argument": (
        "decide",
        "The file is left as it is. The classes take their members by name only: correct the call first.",
    ),
    "name_taken": ("decide", "The file is left as it is. Rename what has the name of an event now."),
    "shared_id": (
        "decide",
        "Give the reasoning message an id of its own, or a client puts both into one message.",
    ),
    "title_dropped": ("note", "Keep it with --keep-title, or send it as a step if people should see it."),
    "title_read": ("decide", "Remove it: REASONING_START has no title."),
    "string_left": (
        "decide",
        "If it names the type of an event, write the new name and add what the event needs.",
    ),
    "string_mentioned": ("note", "Change the words if they are about the events."),
    "made_elsewhere": (
        "decide",
        "If this makes an event, give it messageId (and role='reasoning' on REASONING_MESSAGE_START).",
    ),
    "class_as_value": ("decide", "Whoever calls it must pass message_id now."),
    "parsed_events": ("decide", "Recorded THINKING_* events must be upgraded before they can be read."),
    "own_model": ("decide", "Use the class of ag_ui.core, or give this one a messageId."),
    "star_import": ("note", "The names were taken to be those of ag_ui.core."),
    "foreign_name": (
        "note",
        "If that module passes on what ag_ui.core has, migrate it together with this file.",
    ),
    "duplicate_handler": ("decide", "Keep one of the two: only one of them is used now."),
    "spread": ("note", "What is unpacked must not hold an id, or the call fails."),
}
"""What each code weighs, and what to do about it."""
