"""Streams of events as lines, to compare whole ones."""

from __future__ import annotations

from typing import Any

__all__ = ["calls", "lines", "says", "thinks"]

_IDS = ("message_id", "tool_call_id", "entity_id")
_WORDS = ("delta", "content", "tool_call_name", "name")


def lines(events: list[Any]) -> list[str]:
    """A stream without its frame as lines: type, number of the message, call or subagent, and text.

    What grows a message is one line. Numbers count what has an ID, as it appears; values are not quoted.
    """
    numbers: dict[str, int] = {}
    made: list[str] = []
    for event in events[1:-1]:
        ids = [getattr(event, name, None) for name in ("subagent_run_id", *_IDS)]
        told = [str(numbers.setdefault(one, len(numbers) + 1)) for one in ids if one]
        head = " ".join([event.type.value.lower(), *told])
        words = next(filter(None, (getattr(event, name, None) for name in _WORDS)), "")
        if words and made and made[-1].startswith(f"{head} | "):
            made[-1] += words
        else:
            made.append(f"{head} | {words}" if words else head)
    return made


def thinks(number: int, text: str, *, inside: str = "", values: int = 1) -> list[str]:
    """The lines of a span with one message.

    Args:
        number: The number of the span; its message has the next one.
        text: What the message says.
        inside: The number of the subagent, with a space after it.
        values: How many values the message has.
    """
    span, message = f"{inside}{number}", f"{inside}{number + 1}"
    return [
        f"reasoning_start {span}",
        f"reasoning_message_start {message}",
        f"reasoning_message_content {message} | {text}",
        f"reasoning_message_end {message}",
        *[f"reasoning_encrypted_value {message}"] * values,
        f"reasoning_end {span}",
    ]


def says(number: int, text: str, *, inside: str = "") -> list[str]:
    """The lines of a message of text, like those of `thinks`."""
    message = f"{inside}{number}"
    return [
        f"text_message_start {message}",
        f"text_message_content {message} | {text}",
        f"text_message_end {message}",
    ]


def calls(number: int, name: str, arguments: str) -> list[str]:
    """The lines of a call."""
    return [
        f"tool_call_start {number} | {name}",
        f"tool_call_args {number} | {arguments}",
        f"tool_call_end {number}",
    ]
