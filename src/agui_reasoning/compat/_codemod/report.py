"""The result types of a migration, and the advice for each finding code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["ADVICE", "Migration", "MigrationFinding", "Severity"]

Severity: TypeAlias = Literal["error", "decide", "note"]
"""``error``: the file could not be read. ``decide``: needs a manual decision. ``note``: for information."""


@dataclass(frozen=True, slots=True, order=True)
class MigrationFinding:
    """A place in a file that needs attention.

    Attributes:
        path: The path of the file, as given.
        line: The line in the original file, from 1.
        column: The column, from 1.
        code: A stable identifier, for example ``"ids_cross_functions"``.
        severity: ``error``, ``decide`` or ``note``.
        message: A description of the place.
        advice: The recommended action.
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
    """The migration of one file.

    Attributes:
        path: The path of the file, as given.
        before: The original bytes.
        after: The rewritten bytes; the same object if nothing changes.
        changes: The number of rewritten places.
        findings: The findings, sorted by line.
    """

    path: str
    before: bytes
    after: bytes
    changes: int
    findings: tuple[MigrationFinding, ...]

    @property
    def changed(self) -> bool:
        """Whether the content changes."""
        return self.after != self.before


_BY_HAND = (
    "The file was not changed. Pass the IDs on by hand; or keep the server on ag-ui-protocol 0.x and run "
    "`agui-reasoning proxy` in front of it. If events are dicts, use ThinkingUpgradeMiddleware."
)
ADVICE: dict[str, tuple[Severity, str]] = {
    "does_not_parse": ("error", "Fix or exclude the file. Other files were migrated."),
    "not_lossless": (
        "decide",
        "Rewrite this file by hand; see the tables in the documentation.",
    ),
    "not_rewritten": (
        "decide",
        "Rewrite this file by hand, and please report a bug. Other files were migrated.",
    ),
    "too_deep": ("decide", "Rewrite this file by hand, or split its deepest expression first."),
    "ids_cross_functions": ("decide", _BY_HAND),
    "mixed_ids": (
        "decide",
        "The file was not changed. Give the START and its other events the same ID, or no ID at all.",
    ),
    "compared_event": (
        "decide",
        "The file was not changed. IDs are random: compare types and texts instead of whole events.",
    ),
    "positional_argument": (
        "decide",
        "The file was not changed. The classes accept keyword arguments only: fix the call first.",
    ),
    "name_taken": ("decide", "The file was not changed. Rename the conflicting definition first."),
    "shared_id": (
        "decide",
        "Give the reasoning message its own ID, or clients will merge the two messages.",
    ),
    "title_dropped": ("note", "Pass --keep-title to keep it, or emit a step to show it to users."),
    "title_read": ("decide", "Remove it: REASONING_START has no title."),
    "string_left": (
        "decide",
        "If it is the type of an event, use the new name and add the members the event needs.",
    ),
    "string_mentioned": ("note", "Update the text if it refers to the events."),
    "made_elsewhere": (
        "decide",
        "If this creates an event, add messageId (and role='reasoning' on REASONING_MESSAGE_START).",
    ),
    "class_as_value": ("decide", "Callers must now pass message_id."),
    "parsed_events": ("decide", "Upgrade recorded THINKING_* events before parsing them."),
    "own_model": ("decide", "Use the class in ag_ui.core, or add messageId to this one."),
    "star_import": ("note", "The event names were assumed to come from ag_ui.core."),
    "foreign_name": (
        "note",
        "If that module re-exports ag_ui.core, migrate it together with this file.",
    ),
    "duplicate_handler": ("decide", "Keep one of the two: only one of them is used."),
    "spread": ("note", "The unpacked mapping must not contain an ID, or the call fails."),
}
"""The severity and advice for each code."""
