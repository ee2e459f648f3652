"""The consumer the specification describes, one module per stage.

Compatibility (`boundary`), enforcement (`enforce`), chunk expansion (`expand`), verification (`verify`) and
reduction (`reduce`), in that order on every path; `Conversation` runs them. Inside, events are plain JSON:
the installed models coerce, so they are handed out and never asked.
"""

from agui_reasoning.consumer._check import Finding, check_events
from agui_reasoning.consumer._compact import compact
from agui_reasoning.consumer._conversation import Conversation, reduce_events

__all__ = ["Conversation", "Finding", "check_events", "compact", "reduce_events"]
