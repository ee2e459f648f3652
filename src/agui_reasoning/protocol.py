"""The AG-UI models used for reasoning, and the protocol version of this package.

The models are re-exported from ``ag_ui.core``. Protocol 1.1 adds the field ``encryptedValueType``, which 1.0
models keep as an extra member; this module has functions to read and set it.
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
"""The version declared on every RUN_STARTED, independent of the installed ``ag_ui`` version."""

_FIELD = "encryptedValueType"
ModelT = TypeVar("ModelT", bound=BaseModel)


def encrypted_value_type(model: BaseModel) -> str | None:
    """Return ``encryptedValueType`` of an event, message or tool call, or ``None``."""
    extra: dict[str, Any] = model.model_extra or {}
    value = extra.get(_FIELD)
    return value if isinstance(value, str) else None


def with_encrypted_value_type(model: ModelT, value: str | None) -> ModelT:
    """Copy an event, message or tool call with ``encryptedValueType`` set, or removed if ``None``.

    Source:
        AG-UI 1.1, reasoning events: the type is only valid together with ``encryptedValue``.
    """
    copy = model.model_copy()
    extra = {key: item for key, item in (model.model_extra or {}).items() if key != _FIELD}
    if value is not None:
        extra[_FIELD] = value
    object.__setattr__(copy, "__pydantic_extra__", extra)
    return copy
