"""Writes and restores records, which contain the data of an event dict that the client is not shown.

The record of an event is in a RAW event before the events that show it. Strings that are shown are null in
the record, and ``texts`` maps their paths to the shown texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ag_ui.core import EventType, RawEvent

from agui_reasoning._strict_json import MAX_NESTING, dump, load
from agui_reasoning.providers.payload import JSONObject, compact_json

__all__ = ["SOURCE", "rebuilt", "record_event", "record_in"]

SOURCE: Final = "openhands"
"""The source of the RAW events, and the prefix of the names of CUSTOM events."""

ValuePath: TypeAlias = list[str | int]


def record_event(
    event: JSONObject, visible_texts: Sequence[str], arguments: int | None, place: int | None
) -> RawEvent:
    """Write the record of an event.

    Args:
        event: The event dict.
        visible_texts: The texts that the next events show, in order.
        arguments: The number of the text with ``args`` as JSON.
        place: The number of the event in its stream, if it was moved forward.
    """
    whole = compact_json(event, sort_keys=True)
    record = _short(event, visible_texts, arguments)
    if compact_json(rebuilt(record, visible_texts), sort_keys=True) != whole:
        record = {"event": event}
    record |= {"shows": len(visible_texts)} | ({} if place is None else {"place": place})
    return RawEvent(type=EventType.RAW, event=record, source=SOURCE)


def _short(event: JSONObject, visible_texts: Sequence[str], arguments: int | None) -> JSONObject:
    record: JSONObject = {}
    if arguments is not None:
        event = {
            **event,
            "args": _left_of(event["args"], load(visible_texts[arguments], max_nesting=MAX_NESTING)),
        }
        record["arguments"] = arguments
    numbers = {text: number for number, text in enumerate(visible_texts) if text}
    texts: list[list[Any]] = []
    return record | {"event": _without(event, numbers, [], texts), "texts": texts}


def _left_of(args: JSONObject, loaded: Any) -> JSONObject:
    """Return the arguments that the call does not show."""
    return {name: value for name, value in args.items() if name not in loaded or loaded[name] != value}


def _without(value: Any, numbers: Mapping[str, int], path: ValuePath, texts: list[list[Any]]) -> Any:
    """Replace the strings that are shown by ``None``, and add their paths to ``texts``."""
    if isinstance(value, str) and value in numbers:
        texts.append([path, numbers[value]])
        return None
    if isinstance(value, dict):
        return {name: _without(inner, numbers, [*path, name], texts) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, numbers, [*path, number], texts) for number, inner in enumerate(value)]
    return value


def rebuilt(record: Mapping[str, Any], visible_texts: Sequence[str]) -> JSONObject:
    """Restore an event from its record.

    Args:
        record: The record.
        visible_texts: The visible texts of the event, in order.
    """
    event: JSONObject = load(dump(record["event"]))
    for path, number in record.get("texts", ()):
        _put(event, path, visible_texts[number])
    if (number := record.get("arguments")) is not None:
        event["args"] = {**load(visible_texts[number], max_nesting=MAX_NESTING), **event["args"]}
    return event


def _put(event: Any, path: ValuePath, text: str) -> None:
    for step in path[:-1]:
        event = event[step]
    event[path[-1]] = text


def record_in(event: Any) -> Mapping[str, Any] | None:
    """Return the record in a RAW event of this module, or ``None``."""
    if not isinstance(event, RawEvent) or event.source != SOURCE or not isinstance(event.event, dict):
        return None
    return event.event if isinstance(event.event.get("event"), dict) else None
