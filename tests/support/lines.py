"""Streams of events as lines, to compare whole ones."""

from __future__ import annotations

from typing import Any

__all__ = ["lines"]

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
