"""Reads a client's messages as plain data, and checks their size and the fields that are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Never, TypeAlias

from ag_ui.core import RunAgentInput
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from agui_reasoning._limits import Limits
from agui_reasoning.errors import RemoteProtocolError

__all__ = ["HistoryInput", "messages_of", "thread_of"]

HistoryInput: TypeAlias = RunAgentInput | Mapping[str, Any] | Iterable[BaseModel | Mapping[str, Any]]
"""A run input or its messages, as models or JSON."""

_NAMES = ("id", "role", "toolCallId", "subagentRunId")
"""The fields of a message that are used: optional strings."""


def messages_of(given: HistoryInput, limits: Limits) -> list[dict[str, Any]]:
    """Read the messages.

    Raises:
        RemoteProtocolError: The input is not a list of messages, or an ID is not a string (``bad_input``), or
            it exceeds the limits (``too_large``).
    """
    plain = _plain(given)
    messages = plain.get("messages") if isinstance(plain, dict) else plain
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        _refuse(f"{type(messages).__name__} where a list of messages was expected")
    read: list[dict[str, Any]] = []
    calls = size = 0
    for message in map(_plain, messages):
        if not isinstance(message, dict):
            _refuse(f"{type(message).__name__} where a message was expected")
        read.append(message)
        limits.check("messages", len(read))
        size = limits.check_json(message, counted=size)
        calls += _check(message)
        limits.check("calls", calls)
    return read


def thread_of(given: HistoryInput) -> str | None:
    """Return the thread of a run input; ``None`` for a list of messages."""
    if isinstance(given, RunAgentInput):
        return given.thread_id
    thread = given.get("threadId", given.get("thread_id")) if isinstance(given, Mapping) else None
    return thread if isinstance(thread, str) else None


def _plain(value: Any) -> Any:
    if type(value) is dict:  # the test for models is slow
        return value.copy()
    if not isinstance(value, BaseModel):
        return dict(value) if isinstance(value, Mapping) else value
    try:
        return value.model_dump(mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, ValueError, RecursionError):
        pass  # not raised here: their text may quote the message
    return _refuse(f"a {type(value).__name__} that JSON cannot represent")


def _check(message: dict[str, Any]) -> int:
    """Check the fields that are used, and count the calls."""
    for name in _NAMES:
        _check_string(message, name, name)
    calls = message.get("toolCalls")
    if calls is None:
        return 0
    for call in _objects(calls, "toolCalls"):
        _check_string(call, "id", "toolCalls/id")
        for function in _objects([call["function"]] if call.get("function") else [], "toolCalls/function"):
            _check_string(function, "name", "toolCalls/function/name")
            _check_string(function, "arguments", "toolCalls/function/arguments")
    return len(calls)


def _objects(value: Any, place: str) -> Iterator[dict[str, Any]]:
    if not isinstance(value, list):
        _refuse(f"{type(value).__name__} at {place}, where a list was expected")
    for item in value:
        if not isinstance(item, dict):
            _refuse(f"{type(item).__name__} at {place}, where an object was expected")
        yield item


def _check_string(source: Mapping[str, Any], name: str, place: str) -> None:
    value = source.get(name)
    if value is not None and not isinstance(value, str):
        _refuse(f"{type(value).__name__} at {place}, where a string was expected")


def _refuse(what: str) -> Never:
    raise RemoteProtocolError(
        f"The history contains {what}.",
        code="bad_input",
        hint="Pass a RunAgentInput, its JSON, or its messages.",
    )
