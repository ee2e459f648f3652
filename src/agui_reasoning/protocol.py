"""The AG-UI models of reasoning, under their own names, and the version this package speaks.

The models are ``ag_ui.core``'s own, never declared again. Protocol 1.1 adds the field
``encryptedValueType``; the 1.0 models keep it as an extra, so reading and writing it is a function here.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    Event,
    EventType,
    Message,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessage,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    ToolCall,
    ToolMessage,
)
from pydantic import BaseModel

__all__ = [
    "PROTOCOL_VERSION",
    "AssistantMessage",
    "BaseEvent",
    "Event",
    "EventType",
    "Message",
    "ReasoningEncryptedValueEvent",
    "ReasoningEndEvent",
    "ReasoningMessage",
    "ReasoningMessageChunkEvent",
    "ReasoningMessageContentEvent",
    "ReasoningMessageEndEvent",
    "ReasoningMessageStartEvent",
    "ReasoningStartEvent",
    "RunAgentInput",
    "ToolCall",
    "ToolMessage",
    "encrypted_value_type",
    "with_encrypted_value_type",
]

PROTOCOL_VERSION: Final = "1.0"
"""What this package declares on every RUN_STARTED: its own literal, not the installed models' version."""

_FIELD = "encryptedValueType"
_M = TypeVar("_M", bound=BaseModel)


def encrypted_value_type(model: BaseModel) -> str | None:
    """Read ``encryptedValueType`` of an event, a message or a tool call; ``None`` when it has none."""
    extra: dict[str, Any] = model.model_extra or {}
    value = extra.get(_FIELD)
    return value if isinstance(value, str) else None


def with_encrypted_value_type(model: _M, value: str | None) -> _M:
    """Copy an event, a message or a tool call with ``encryptedValueType`` set, or (``None``) without it.

    Source:
        AG-UI 1.1, reasoning events: the type goes only together with ``encryptedValue``.
    """
    copy = model.model_copy()
    extra = {key: item for key, item in (model.model_extra or {}).items() if key != _FIELD}
    if value is not None:
        extra[_FIELD] = value
    object.__setattr__(copy, "__pydantic_extra__", extra)
    return copy
