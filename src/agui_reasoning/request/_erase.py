"""Erases reasoning from a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import Message

from agui_reasoning._hint import HINT_KEY, without_hint
from agui_reasoning.request._messages import as_message

__all__ = ["erase_reasoning"]


def erase_reasoning(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """Return a copy of the messages without reasoning, for places that must not contain any.

    Reasoning messages are removed. Answers and calls lose their encrypted values, this package's hints in
    metadata, and fields unknown to AG-UI. Everything that users wrote and read as an answer stays. Reasoning
    cannot be restored from the result; other copies are not affected.

    Args:
        messages: Messages as models or JSON; they are not modified.

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
    """Return a message or call, and its calls, without values and hints."""
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
