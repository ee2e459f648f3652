"""Converts a client's messages to models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ag_ui.core import Message
from pydantic import TypeAdapter, ValidationError

from agui_reasoning._pointers import places_of
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["as_message"]

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def as_message(given: Message | Mapping[str, Any]) -> Message:
    """Return the model of a message.

    Raises:
        RemoteProtocolError: The message is malformed (``bad_input``).
    """
    try:
        return _MESSAGE.validate_python(given)
    except ValidationError as error:
        # Pydantic's own text quotes the conversation, so only the positions are reported.
        places = places_of(error, given)
    raise RemoteProtocolError(
        f"A message of the history is malformed at {places}.",
        code="bad_input",
        hint="Send messages as AG-UI 1.0 describes them.",
    )
