"""The consumer of AG-UI streams, with one module per stage of the specification.

`Conversation` runs the stages in order: compatibility (`_legacy`), enforcement (`_enforce`), chunk expansion
(`_expand`), verification (`_verify`) and reduction (`_reduce`). A delta that repeats the event before it
takes a short way around them (`_lane`). Internally, events are plain JSON. The models of `ag_ui` are only
returned, never used to validate, because they coerce values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.consumer._check import Finding, check_events
    from agui_reasoning.consumer._compact import compact
    from agui_reasoning.consumer._conversation import Conversation, reduce_events
    from agui_reasoning.consumer._pending_call import PendingCall

__all__ = ["Conversation", "Finding", "PendingCall", "check_events", "compact", "reduce_events"]

_HOMES: Final = {
    "agui_reasoning.consumer._check": ("Finding", "check_events"),
    "agui_reasoning.consumer._compact": ("compact",),
    "agui_reasoning.consumer._conversation": ("Conversation", "reduce_events"),
    "agui_reasoning.consumer._pending_call": ("PendingCall",),
}

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
