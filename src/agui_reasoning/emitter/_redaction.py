"""Removes what the client must not see from the application's own events."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ag_ui.core import (
    Event,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessage,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
)
from pydantic import BaseModel

from agui_reasoning._envelope.strings import looks_like_token

__all__ = ["Audience", "veiled"]

_VALUE_TYPE: Final = "encryptedValueType"

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Audience:
    """The messages that a client already has, and the calls whose details it must not see.

    Attributes:
        has: Returns whether the client already has exactly this message.
        concealed: The IDs of the calls whose arguments and results it must not see.
    """

    has: Callable[[Any], bool]
    concealed: Container[str | None]


def veiled(event: Event, audience: Audience) -> list[Event]:
    """Return an event without reasoning, and without details of the provider's own tools."""
    if event.raw_event is not None:
        event = event.model_copy(update={"raw_event": None})
    veil = _EVENTS.get(type(event))
    return [event] if veil is None else veil(event, audience)


def _snapshot(event: MessagesSnapshotEvent, audience: Audience) -> list[Event]:
    messages = [
        message if audience.has(message) else _MESSAGES.get(message.role, _as_it_is)(message, audience)
        for message in event.messages
    ]
    return [event.model_copy(update={"messages": messages})]


def _veiled_reasoning(message: Any, audience: Audience) -> Any:
    """Return a message reduced to its ID, its subagent and an encrypted value."""
    kept = {name: getattr(message, name) for name in ("subagent_run_id", "encrypted_value")}
    veiled = ReasoningMessage(
        id=message.id, role="reasoning", content="", **{k: v for k, v in kept.items() if v is not None}
    )
    return _without_value(veiled)


def _veiled_answer(message: Any, audience: Audience) -> Any:
    if not message.tool_calls:
        return _without_value(message)
    calls = [_veiled_call(call, audience) for call in message.tool_calls]
    return _without_value(message.model_copy(update={"tool_calls": calls}))


def _veiled_call(call: Any, audience: Audience) -> Any:
    if call.id in audience.concealed:
        call = call.model_copy(update={"function": call.function.model_copy(update={"arguments": ""})})
    return _without_value(call)


def _veiled_result(message: Any, audience: Audience) -> Any:
    if message.tool_call_id not in audience.concealed:
        return message
    return _bare(message, content="", error=None, encrypted_value=None, metadata=None)


def _as_it_is(message: Any, audience: Audience) -> Any:
    return message


_MESSAGES: dict[str, Callable[[Any, Audience], Any]] = {
    "reasoning": _veiled_reasoning,
    "assistant": _veiled_answer,
    "tool": _veiled_result,
}


def _without_value(entity: Any) -> Any:
    """Return a message or call without readable values and without fields unknown to the protocol."""
    value = entity.encrypted_value
    if value is None or looks_like_token(value):
        return _bare(entity)
    return _bare(entity, encrypted_value=None)


def _bare(model: _Model, **update: Any) -> _Model:
    """Return a copy without fields unknown to the protocol, where frameworks may put reasoning."""
    bare = model.model_copy(update=update)
    extra = model.model_extra or {}
    object.__setattr__(bare, "__pydantic_extra__", {k: v for k, v in extra.items() if k == _VALUE_TYPE})
    return bare


def _value(event: ReasoningEncryptedValueEvent, audience: Audience) -> list[Event]:
    return [_bare(event, metadata=None)] if looks_like_token(event.encrypted_value) else []


def _frame(event: Any, audience: Audience) -> list[Event]:
    return [_bare(event, metadata=None)]


def _chunk(event: ReasoningMessageChunkEvent, audience: Audience) -> list[Event]:
    return [_bare(event, metadata=None, delta=None)]


def _arguments(event: ToolCallArgsEvent, audience: Audience) -> list[Event]:
    return [] if event.tool_call_id in audience.concealed else [event]


def _call_chunk(event: ToolCallChunkEvent, audience: Audience) -> list[Event]:
    return [_bare(event, delta=None) if event.tool_call_id in audience.concealed else event]


def _result(event: ToolCallResultEvent, audience: Audience) -> list[Event]:
    return [_bare(event, content="", metadata=None) if event.tool_call_id in audience.concealed else event]


def _drop(event: Any, audience: Audience) -> list[Event]:
    return []


_EVENTS: dict[type, Callable[[Any, Audience], list[Event]]] = {
    MessagesSnapshotEvent: _snapshot,
    RawEvent: _drop,
    ReasoningEncryptedValueEvent: _value,
    ReasoningEndEvent: _frame,
    ReasoningMessageChunkEvent: _chunk,
    ReasoningMessageContentEvent: _drop,
    ReasoningMessageEndEvent: _frame,
    ReasoningMessageStartEvent: _frame,
    ReasoningStartEvent: _frame,
    ToolCallArgsEvent: _arguments,
    ToolCallChunkEvent: _call_chunk,
    ToolCallResultEvent: _result,
}
