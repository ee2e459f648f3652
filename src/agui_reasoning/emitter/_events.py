"""Creates the events that the emitter sends.

Optional fields without a value are omitted, because the protocol requires them to be absent, never null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ag_ui.core import (
    Event,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_reasoning._unvalidated import blank, made

if TYPE_CHECKING:
    from agui_reasoning.crypto._binding import Subtype

__all__ = [
    "call_args",
    "call_end",
    "call_result",
    "call_start",
    "encrypted_value",
    "reasoning_content",
    "reasoning_message_end",
    "reasoning_message_start",
    "span_end",
    "span_start",
    "text_content",
    "text_end",
    "text_start",
    "user_text",
]

Metadata: TypeAlias = dict[str, Any]


def span_start(span_id: str, now: int | None) -> Event:
    """REASONING_START."""
    return ReasoningStartEvent(message_id=span_id, timestamp=now)


def span_end(span_id: str, now: int | None) -> Event:
    """REASONING_END."""
    return ReasoningEndEvent(message_id=span_id, timestamp=now)


def reasoning_message_start(message_id: str, metadata: Metadata, now: int | None) -> Event:
    """REASONING_MESSAGE_START; the role is always written."""
    return ReasoningMessageStartEvent(
        message_id=message_id, role="reasoning", metadata=metadata, timestamp=now
    )


def reasoning_content(message_id: str, delta: str) -> Event:
    """REASONING_MESSAGE_CONTENT."""
    return _content(ReasoningMessageContentEvent, "message_id", message_id, delta)


def reasoning_message_end(message_id: str, metadata: Metadata | None, now: int | None) -> Event:
    """REASONING_MESSAGE_END; its metadata overrides that of the start event, key by key."""
    return ReasoningMessageEndEvent(message_id=message_id, metadata=metadata, timestamp=now)


def encrypted_value(subtype: Subtype, entity_id: str, value: str) -> Event:
    """REASONING_ENCRYPTED_VALUE."""
    return ReasoningEncryptedValueEvent(subtype=subtype, entity_id=entity_id, encrypted_value=value)


def user_text(message_id: str, text: str, now: int | None) -> list[Event]:
    """TEXT_MESSAGE_* of a message of the user."""
    start = TextMessageStartEvent(message_id=message_id, role="user", timestamp=now)
    content = [text_content(message_id, text)] if text else []
    return [start, *content, TextMessageEndEvent(message_id=message_id, timestamp=now)]


def text_start(message_id: str, metadata: Metadata, now: int | None) -> Event:
    """TEXT_MESSAGE_START."""
    return TextMessageStartEvent(message_id=message_id, role="assistant", metadata=metadata, timestamp=now)


def text_content(message_id: str, delta: str) -> Event:
    """TEXT_MESSAGE_CONTENT."""
    return _content(TextMessageContentEvent, "message_id", message_id, delta)


def text_end(message_id: str, now: int | None) -> Event:
    """TEXT_MESSAGE_END."""
    return TextMessageEndEvent(message_id=message_id, timestamp=now)


def call_start(call_id: str, name: str, parent_id: str, metadata: Metadata, now: int | None) -> Event:
    """TOOL_CALL_START."""
    return ToolCallStartEvent(
        tool_call_id=call_id,
        tool_call_name=name,
        parent_message_id=parent_id,
        metadata=metadata,
        timestamp=now,
    )


def call_args(call_id: str, delta: str) -> Event:
    """TOOL_CALL_ARGS."""
    return _content(ToolCallArgsEvent, "tool_call_id", call_id, delta)


def call_end(call_id: str, now: int | None) -> Event:
    """TOOL_CALL_END."""
    return ToolCallEndEvent(tool_call_id=call_id, timestamp=now)


def call_result(
    message_id: str, call_id: str, content: str | list[Any], metadata: Metadata | None, now: int | None
) -> Event:
    """TOOL_CALL_RESULT."""
    return ToolCallResultEvent(
        message_id=message_id,
        tool_call_id=call_id,
        content=content,
        role="tool",
        metadata=metadata,
        timestamp=now,
    )


_BLANKS: Final = {
    model: blank(model)
    for model in (ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent)
}


def _content(model: Any, id_field: str, entity_id: str, delta: str) -> Event:
    """Create a content event. Its ID has been validated with the start event."""
    if type(delta) is not str:  # a subclass, which validation converts
        return cast("Event", model(**{id_field: entity_id, "delta": delta}))
    members = _BLANKS[model] | {id_field: entity_id, "delta": delta}
    return cast("Event", made(model, members, {id_field, "delta"}))
