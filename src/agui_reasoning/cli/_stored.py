"""Stored histories: the records of a file, the encrypted values in them, and their replacement.

A record is a line of JSON lines, or the whole file if it is one JSON value. Values are replaced in place, and
every other byte of a record is preserved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning._strict_json import Malformed, dump, load
from agui_reasoning.cli._source import JSON_STRING
from agui_reasoning.crypto._binding import Subtype
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError

__all__ = [
    "StoredHistory",
    "StoredRecord",
    "StoredValue",
    "histories",
    "records",
    "replace_strings",
    "stored_values",
]

_BOM: Final = b"\xef\xbb\xbf"
# The wire name, and the Python name that models dumped without aliases have.
_VALUE: Final = ("encryptedValue", "encrypted_value")
_CALLS: Final = ("toolCalls", "tool_calls")
_THREAD: Final = ("threadId", "thread_id")


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One JSON value in a file.

    Attributes:
        line: The line it starts on, from 1.
        data: Its bytes, including the line break.
    """

    line: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """A history in a record.

    Attributes:
        thread_id: The thread it names, if any.
        messages: Its messages, as JSON.
    """

    thread_id: str | None
    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """An encrypted value in a history.

    Attributes:
        value: The stored value.
        entity_id: The ID of the message or tool call that carries it.
        subtype: The kind of that entity.
        message_id: The ID of the message that carries it, directly or on a tool call.
    """

    value: str
    entity_id: str
    subtype: Subtype
    message_id: str


def records(lines: Iterable[bytes]) -> Iterator[StoredRecord]:
    """Split a file into records lazily."""
    numbered = enumerate(lines, start=1)
    head: list[bytes] = []
    for number, line in numbered:
        head.append(line)
        if not line.strip():
            continue
        # If the first line is a complete value, the file is JSON lines.
        if isinstance(_parsed(line), Malformed):
            yield StoredRecord(number, b"".join([*head, *(line for _, line in numbered)]))
        else:
            yield StoredRecord(number, b"".join(head))
            yield from (StoredRecord(number, line) for number, line in numbered)
        return
    if head:
        yield StoredRecord(1, b"".join(head))


def histories(record: StoredRecord) -> list[StoredHistory]:
    """Read the histories in a record: messages, an object with messages, or an array of these.

    Raises:
        RemoteProtocolError: The record is not JSON (``bad_json``).
        ConfigurationError: The JSON is not a history (``not_a_history``).
    """
    if not record.data.strip():
        return []
    value = _parsed(record.data)
    if isinstance(value, Malformed):
        raise RemoteProtocolError(
            f"The record at line {record.line} is not JSON.",
            code="bad_json",
            hint="Pass one JSON value, or one per line.",
        )
    items = value if isinstance(value, list) else [value]
    if all(_is_message(item) for item in items):
        return [StoredHistory(None, items)]
    return [_history(item, record.line) for item in items]


def stored_values(history: StoredHistory) -> Iterator[StoredValue]:
    """Yield the encrypted values of messages and of their tool calls."""
    for message in history.messages:
        message_id = _text(message, ("id",)) or ""
        if (value := _text(message, _VALUE)) is not None:
            yield StoredValue(value, message_id, "message", message_id)
        calls = next((message[name] for name in _CALLS if isinstance(message.get(name), list)), ())
        for call in calls:
            if isinstance(call, dict) and (value := _text(call, _VALUE)) is not None:
                yield StoredValue(value, _text(call, ("id",)) or "", "tool-call", message_id)


def replace_strings(data: bytes, changes: Mapping[str, str]) -> bytes:
    """Replace strings anywhere in the record; nothing else changes."""
    return JSON_STRING.sub(
        _replacement({_json_string(old): _json_string(new) for old, new in changes.items()}), data
    )


def _replacement(table: Mapping[bytes, bytes]) -> Callable[[re.Match[bytes]], bytes]:
    def replace(match: re.Match[bytes]) -> bytes:
        found: bytes = match[0]
        # Tokens need no escapes, but a writer may use them anyway.
        plain = _json_string(load(found.decode())) if b"\\" in found else found
        return table.get(plain, found)

    return replace


def _json_string(text: str) -> bytes:
    return dump(text).encode()


def _parsed(data: bytes) -> Any:
    try:
        return load(data.removeprefix(_BOM).decode())
    except UnicodeDecodeError:
        return Malformed(None)


def _history(item: Any, line: int) -> StoredHistory:
    messages = item.get("messages") if isinstance(item, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ConfigurationError(
            f"The record at line {line} is not a history.",
            code="not_a_history",
            hint="Pass an array of messages, an object with threadId and messages, or an array of these.",
        )
    return StoredHistory(_text(item, _THREAD), messages)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str)


def _text(item: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((item[name] for name in names if isinstance(item.get(name), str)), None)
