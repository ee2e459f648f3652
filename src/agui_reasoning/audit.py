"""What an auditor gets to see: that reasoning was emitted, encrypted, restored or dropped, and never what.

Pass ``on_audit`` to a run, an emitter or ``restore``; it is called once per reasoning unit, and per text and
call that has a value, with sizes and ids and without a word of content.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["AuditRecord", "OnAudit"]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One thing that happened to the reasoning of a conversation.

    Attributes:
        action: ``"emitted"`` on its way to the client, ``"restored"`` on its way back.
        outcome: Emitted: ``"encrypted"``, ``"plain"``, or ``"not_kept"`` when nothing goes with what is not
            shown. Restored: ``"restored"`` or ``"dropped"``.
        reason: Why it was dropped, as in the report of the history.
        unit: The id of the message or call that carries it; several units may share one.
        thread_id: The thread, where it is known.
        tenant: Whose conversation it is, where there are keys.
        run_id: The run, where there is one.
        span_id: The reasoning span it was shown in.
        provider: Who produced it.
        api: Through which API.
        model: Which model.
        visibility: What the client was allowed to see.
        key_id: The key that encrypted it; of a value that came back, the key that it names.
        text_chars: Code points of reasoning text, without what separates its segments.
        shown_chars: Code points that the client was shown in its place as it streamed.
        opaque_chars: Characters of the provider's opaque values.
        value_chars: Characters of the value that travels.
    """

    action: Literal["emitted", "restored"]
    outcome: Literal["encrypted", "plain", "not_kept", "restored", "dropped"]
    unit: str
    reason: str = ""
    thread_id: str | None = None
    tenant: str | None = None
    run_id: str | None = None
    span_id: str | None = None
    provider: str | None = None
    api: str | None = None
    model: str | None = None
    visibility: str | None = None
    key_id: str | None = None
    text_chars: int = 0
    shown_chars: int = 0
    opaque_chars: int = 0
    value_chars: int = 0


OnAudit: TypeAlias = Callable[[AuditRecord], None]
"""Receives audit records, in order, in the thread that does the work; what it raises ends the run."""
