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


_SAME = "The file was not changed. "
_BY_HAND = (
    f"{_SAME}Pass the IDs on by hand; or keep the server on ag-ui-protocol 0.x and run "
    "`agui-reasoning proxy` in front of it. If events are dicts, use ThinkingUpgradeMiddleware."
)
ADVICE: dict[str, tuple[Severity, str]] = {
    "does_not_parse": ("error", "Fix or exclude the file. Other files were migrated."),
    "not_lossless": ("decide", "Rewrite this file by hand; see the tables in the documentation."),
    "not_rewritten": (
        "decide",
        "Rewrite this file by hand, and please report a bug. Other files were migrated.",
    ),
    "too_deep": ("decide", "Rewrite this file by hand, or split its deepest expression first."),
    "ids_cross_functions": ("decide", _BY_HAND),
    "given_ids": (
        "decide",
        f"{_SAME}Give each reasoning message an ID of its own on all its events, or no IDs at all.",
    ),
    "unclear_use": (
        "decide",
        f"{_SAME}Write the new name here by hand (an event that is created here also needs an ID), then run "
        "the command again.",
    ),
    "unnamed_argument": ("decide", f"{_SAME}Pass each member as a keyword argument first."),
    "title_read": ("decide", f"{_SAME}Remove it first: REASONING_START has no title."),
    "duplicate_handler": ("decide", f"{_SAME}Remove one of the two first: only one of them is used."),
    "name_taken": ("decide", f"{_SAME}Rename the conflicting definition first."),
    "star_import": ("decide", f"{_SAME}Import the events by name first."),
    "reexported_name": ("decide", f"{_SAME}Import it from ag_ui.core, then run the command again."),
    "foreign_name": ("note", "If that module re-exports ag_ui.core, import it from ag_ui.core."),
    "title_dropped": ("note", "Pass --keep-title to keep it, or emit a step to show it to users."),
    "string_mentioned": ("note", "Update the text if it refers to the events."),
}
"""The severity and advice for each code. A file with a finding to ``decide`` is left unchanged."""
