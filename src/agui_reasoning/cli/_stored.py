"""Stored histories: the records of a file, the values in them, and other values in their place.

A record is a line of JSON lines, or the whole file where it is one JSON value. Nothing is written anew that
has not changed: a value is replaced where it stands, and every other byte of its record stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning._strict_json import Malformed, dump, load
from agui_reasoning.crypto._binding import Subtype
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError

__all__ = [
    "StoredHistory",
    "StoredRecord",
    "StoredValue",
    "histories",
    "records",
    "replaced",
    "stored_values",
]

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BOM: Final = b"\xef\xbb\xbf"
# As a client sends them, and as Python writes the models down when nobody asks for the aliases.
_VALUE: Final = ("encryptedValue", "encrypted_value")
_CALLS: Final = ("toolCalls", "tool_calls")
_THREAD: Final = ("threadId", "thread_id")


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A piece of a file that is one JSON value.

    Attributes:
        line: Where it begins, from 1.
        data: Its bytes, with the line break.
    """

    line: int
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """A history in a record.

    Attributes:
        thread_id: The thread it says it belongs to, if it does.
        messages: Its messages, as JSON.
    """

    thread_id: str | None
    messages: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value in a history.

    Attributes:
        value: What is stored.
        entity_id: The message or tool call it stands on.
        subtype: Which of the two.
        message_id: The message it stands on, or whose call it stands on.
    """

    value: str
    entity_id: str
    subtype: Subtype
    message_id: str


def records(lines: Iterable[bytes]) -> Iterator[StoredRecord]:
    """Cut a file into records, reading no further than the one that is asked for."""
    numbered = enumerate(lines, start=1)
    head: list[bytes] = []
    for number, line in numbered:
        head.append(line)
        if not line.strip():
            continue
        # A value that is whole at the end of its first line: the other lines have one each.
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
        RemoteProtocolError: It is not JSON (``bad_json``).
        ConfigurationError: It is JSON and holds no history (``not_a_history``).
    """
    if not record.data.strip():
        return []
    value = _parsed(record.data)
    if isinstance(value, Malformed):
        raise RemoteProtocolError(
            f"What begins at line {record.line} is not JSON.",
            code="bad_json",
            hint="Give one JSON value, or one on each line.",
        )
    items = value if isinstance(value, list) else [value]
    if all(_is_message(item) for item in items):
        return [StoredHistory(None, items)]
    return [_history(item, record.line) for item in items]


def stored_values(history: StoredHistory) -> Iterator[StoredValue]:
    """The values on messages and on their tool calls."""
    for message in history.messages:
        message_id = _text(message, ("id",)) or ""
        if (value := _text(message, _VALUE)) is not None:
            yield StoredValue(value, message_id, "message", message_id)
        calls = next((message[name] for name in _CALLS if isinstance(message.get(name), list)), ())
        for call in calls:
            if isinstance(call, dict) and (value := _text(call, _VALUE)) is not None:
                yield StoredValue(value, _text(call, ("id",)) or "", "tool-call", message_id)


def replaced(data: bytes, changes: Mapping[str, str]) -> bytes:
    """Put other values in the place of strings, wherever in the record they stand; nothing else changes."""
    return _STRING.sub(_swap({_quoted(old): _quoted(new) for old, new in changes.items()}), data)


def _swap(table: Mapping[bytes, bytes]) -> Callable[[re.Match[bytes]], bytes]:
    def swap(match: re.Match[bytes]) -> bytes:
        found: bytes = match[0]
        # Nothing in a token needs an escape, but a writer may use them all the same.
        plain = _quoted(load(found.decode())) if b"\\" in found else found
        return table.get(plain, found)

    return swap


def _quoted(text: str) -> bytes:
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
            f"What begins at line {line} is not a history.",
            code="not_a_history",
            hint="Give an array of messages, an object with threadId and messages, or an array of these.",
        )
    return StoredHistory(_text(item, _THREAD), messages)


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str)


def _text(item: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((item[name] for name in names if isinstance(item.get(name), str)), None)
