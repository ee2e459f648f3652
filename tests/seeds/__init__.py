"""Test what the founding documents say: every test names its rows of ``manifest.toml``.

The names are those of the documents: ``004-13`` is statement 13 of document 004.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

import pytest
from ag_ui.core import Event

from agui_reasoning import ProviderRequest, Run, reduce_events, stream_run
from agui_reasoning.parts import Part, ReasoningPart, Segment, ToolCallPart

__all__ = ["CALL", "INPUT", "MARK", "answered", "asked", "each", "numbers", "row", "said", "thought", "told"]

F = TypeVar("F", bound=Callable[..., object])

MARK = "__rows__"

INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "messages": [],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}


def row(*names: str) -> Callable[[F], F]:
    """Say which rows a test is about."""

    def marked(test: F) -> F:
        setattr(test, MARK, (*getattr(test, MARK, ()), *names))
        return test

    return marked


def each(arguments: str, cases: Mapping[str, Any]) -> Callable[[F], F]:
    """Run a test for each row; what follows a space tells cases of one row apart."""

    def marked(test: F) -> F:
        parametrized: F = pytest.mark.parametrize(arguments, cases.values(), ids=list(cases))(test)
        return row(*dict.fromkeys(name.partition(" ")[0] for name in cases))(parametrized)

    return marked


def numbers() -> Callable[[], str]:
    """IDs in order: id-1, id-2, …"""
    made = count(1)
    return lambda: f"id-{next(made)}"


def answered(source: Any, run_input: Mapping[str, Any] = INPUT, **options: Any) -> list[Event]:
    """The events of a run with one response: a list of payloads, or a whole response."""
    return list(stream_run(run_input, source, new_id=numbers(), **options))


def said(items: Sequence[Any], run_input: Mapping[str, Any] = INPUT, **options: Any) -> list[Event]:
    """The events of a run that is given deltas, parts or events."""
    run = Run(run_input, new_id=numbers(), **options)
    return [*run.start(), *(event for item in items for event in run.receive(item)), *run.finish()]


def told(events: Sequence[Any]) -> list[tuple[str, ...]]:
    """What a client shows: roles with texts, calls with names and arguments, results with call IDs."""
    shown: list[tuple[str, ...]] = []
    for message in reduce_events(events):
        if message.role == "tool":
            shown.append((message.role, message.tool_call_id, str(message.content)))
            continue
        if message.role == "reasoning" or message.content:
            shown.append((message.role, str(message.content)))
        calls = getattr(message, "tool_calls", None) or ()
        shown += [("call", call.id, call.function.name, call.function.arguments) for call in calls]
    return shown


def thought(text: str = "Hm.", **fields: Any) -> ReasoningPart:
    """A unit of reasoning with text."""
    return ReasoningPart((Segment("text", 0, text),), **fields)


CALL = ToolCallPart("call_1", "look", '{"at":"a"}')


def asked(
    parts: Sequence[Part],
    *,
    follows: str | None = None,
    to: Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    **options: Any,
) -> ProviderRequest:
    """The request after a response, over the client's history: with its calls answered, or after a message.

    Options are those of `Run`, those in ``to`` of the second one, those in ``request`` of `Run.request`.
    """
    question = {"id": "u1", "role": "user", "content": "Look."}
    run = Run({**INPUT, "messages": [question]}, new_id=numbers(), **options)
    events = [*run.start(), *(event for part in parts for event in run.receive(part))]
    calls = [call.id for call in run.pending_calls]
    held = [question, *_plain(reduce_events([*events, *run.finish()]))]
    held += [{"id": f"r-{call}", "role": "tool", "toolCallId": call, "content": "4"} for call in calls]
    if follows is not None:
        held.append({"id": "u2", "role": "user", "content": follows})
    second = Run({**INPUT, "messages": held}, new_id=numbers(), **{**options, **(to or {})})
    return second.request(**(request or {}))


def _plain(messages: Sequence[Any]) -> list[dict[str, Any]]:
    return [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in messages]
