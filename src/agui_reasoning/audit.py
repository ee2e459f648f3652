"""Audit records of emitted, encrypted, restored, dropped and refused reasoning, without its content.

Pass ``on_audit`` to a run, an emitter or ``restore``. It is called once per reasoning unit, and per text or
call that has a value, with sizes and IDs only, and once per request that the provider refuses because of
reasoning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["AuditRecord", "OnAudit"]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """The record of one reasoning unit that was emitted, restored or reported, or of one refused request.

    Attributes:
        action: ``"emitted"`` on its way to the client, ``"restored"`` on its way back, ``"refused"`` if the
            provider refused a request for its reasoning, ``"reported"`` if it says what it did with a unit.
        outcome: If emitted: ``"encrypted"``, ``"plain"``, or ``"not_kept"`` if hidden reasoning is sent
            without a value. If restored: ``"restored"`` or ``"dropped"``. If refused: ``"asked_again"`` or
            ``"failed"``. If reported: ``"withheld"`` from the model, or ``"shown"`` after a failed check.
        reason: Why it was dropped, as the history reports it, the refusal's name, or the provider's reason.
        unit: The ID of the message or call that carries it; several units may share one. Empty for refused
            requests, and for reports of an unknown unit.
        thread_id: The thread ID, if known.
        tenant: The tenant, if keys are used.
        run_id: The run ID, if any.
        span_id: The ID of the reasoning span that showed it.
        provider: The provider that produced it.
        api: The API that produced it.
        model: The model that produced it.
        visibility: The visibility setting.
        key_id: The ID of the key that encrypted it; for restored values, the key ID they name.
        text_chars: The code points of reasoning text, without separators between segments.
        shown_chars: The code points streamed to the client instead.
        opaque_chars: The characters of the provider's opaque values.
        value_chars: The characters of the encrypted value.
        path: The place of a reported unit in the request.
    """

    action: Literal["emitted", "restored", "refused", "reported"]
    outcome: Literal[
        "encrypted", "plain", "not_kept", "restored", "dropped", "asked_again", "failed", "withheld", "shown"
    ]
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
    path: str = ""


OnAudit: TypeAlias = Callable[[AuditRecord], None]
"""Receives audit records in order, in the calling thread; an exception ends the run."""
