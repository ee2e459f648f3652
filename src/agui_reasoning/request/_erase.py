"""Erasure: a history without reasoning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import Message

from agui_reasoning._hint import HINT_KEY, without_hint
from agui_reasoning.request._messages import as_message

__all__ = ["erase_reasoning"]


def erase_reasoning(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Give the messages without any reasoning: a copy to keep, show or send where none may be.

    Reasoning messages go as a whole; encrypted values go from answers and calls, and so do our hints in
    metadata and fields that AG-UI does not know. Everything people said and read as an answer stays. What is
    erased cannot be restored from the result; copies elsewhere are not touched.

    Args:
        messages: Messages as models or as JSON; they are not changed.

    Raises:
        RemoteProtocolError: A message is malformed (``bad_input``).

    Examples:
        >>> thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": "…"}
        >>> answer = {"id": "a", "role": "assistant", "content": "Yes.", "encryptedValue": "…"}
        >>> [(message.id, message.encrypted_value) for message in erase_reasoning([thought, answer])]
        [('a', None)]
    """
    return [_without_traces(message) for message in map(as_message, messages) if message.role != "reasoning"]


def _without_traces(entity: Any) -> Any:
    """A message or call without value and hint, and so its calls."""
    update: dict[str, Any] = {}
    if getattr(entity, "encrypted_value", None) is not None:
        update["encrypted_value"] = None
    metadata = getattr(entity, "metadata", None)
    if metadata and HINT_KEY in metadata:
        update["metadata"] = without_hint(metadata)
    if getattr(entity, "tool_calls", None):
        update["tool_calls"] = [_without_traces(call) for call in entity.tool_calls]
    copy = entity.model_copy(update=update)
    if copy.model_extra:
        copy.model_extra.clear()  # some producers put reasoning into fields of their own
    return copy
