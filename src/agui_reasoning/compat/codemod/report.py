"""What the rewriter says: findings, and one migration per file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agui_reasoning.compat.codemod.names import Family

__all__ = ["ADVICE", "FIXED", "Finding", "Migration", "Severity"]

Severity: TypeAlias = Literal["error", "decide", "note"]
"""``error``: the file could not be read. ``decide``: a person has to. ``note``: done, and worth knowing."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something a person should see.

    Attributes:
        path: The file, as it was named.
        line: From 1, in the file as it was before.
        column: From 1.
        code: Stable identifier, for example ``"fixed_id"``.
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
    findings: tuple[Finding, ...]

    @property
    def changed(self) -> bool:
        """Whether the file becomes another."""
        return self.after != self.before


_OWN_IDS = "Pass the ids in from where one run begins, and give every run its own."
ADVICE: dict[str, tuple[Severity, str]] = {
    "does_not_parse": ("error", "Correct the file, or leave it out; the others are done."),
    "not_lossless": (
        "decide",
        "Rewrite this file by hand; the documentation has a table of what became of what.",
    ),
    "too_deep": ("decide", "Rewrite this file by hand, or break up its longest chain first."),
    "fixed_id": (
        "decide",
        "The stream is valid, but a client puts all thoughts with that id into one message, "
        "those of one run and those of later turns. " + _OWN_IDS,
    ),
    "fixed_span": ("note", "Spans may use an id again and no message is made of them: nothing is lost."),
    "shared_object": (
        "decide",
        "Right when one object serves one stream. If runs share it, keep the ids in the run instead.",
    ),
    "never_started": ("decide", "Emit the START with the same id first, or the stream is refused."),
    "never_ended": ("decide", "Emit the END with the same id, or the stream is refused at RUN_FINISHED."),
    "mixed_ids": ("decide", "Use one expression for the id in the START and in all that belongs to it."),
    "shared_id": (
        "decide",
        "Give the reasoning message an id of its own, or a client puts both into one message.",
    ),
    "compared_event": ("decide", "Ids are random: compare the types and the texts, not whole events."),
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
    "name_taken": ("note", "The old name stays in use here; rename it when it suits you."),
    "signature_changed": ("note", "Callers outside the files that were given must pass the id as well."),
    "spread": ("note", "An id inside what is unpacked wins over the one that was added."),
}
"""What each code weighs, and what to do about it."""

FIXED: dict[Family, str] = {"span": "fixed_span", "message": "fixed_id"}
"""The code of a fixed id: it matters where a client makes a message of it."""
