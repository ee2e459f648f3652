"""The client's input of a run: its limits, and its validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from agui_reasoning._limits import Limits
from agui_reasoning._pointers import places_of
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["call_ids", "parse_input"]


def parse_input(run_input: RunAgentInput | Mapping[str, Any], limits: Limits) -> RunAgentInput:
    """Check the limits of the input, then validate it.

    Raises:
        RemoteProtocolError: It is malformed (``bad_input``) or exceeds the limits (``too_large``).
    """
    messages = run_input.get("messages") if isinstance(run_input, Mapping) else None
    size = 0
    for message in messages if isinstance(messages, list) else ():
        size = limits.check_json(message, counted=size)
    parsed = _validated(run_input)
    limits.check("messages", len(parsed.messages))
    limits.check("calls", len(call_ids(parsed)))
    return parsed


def _validated(run_input: RunAgentInput | Mapping[str, Any]) -> RunAgentInput:
    try:
        return RunAgentInput.model_validate(run_input)
    except ValidationError as error:
        # Pydantic's own text quotes the conversation, so only positions are named.
        places = places_of(error, run_input)
    raise RemoteProtocolError(
        f"The run input is malformed at {places}.",
        code="bad_input",
        hint="Send a RunAgentInput as AG-UI 1.0 describes it.",
    )


def call_ids(run_input: RunAgentInput) -> list[str]:
    """Return the ID of every tool call in the input, in order."""
    return [call.id for message in run_input.messages for call in getattr(message, "tool_calls", None) or ()]
