"""A client's history back into turns of parts.

A response stands where the first surviving assistant message or call that its envelopes name stands, else
where its reasoning stands; inside it, sequence decides. Front ends move reasoning to the front, fold
responses together, rename ids and drop metadata, so the order of the messages decides only where nothing
else does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ag_ui.core import Message
from pydantic import TypeAdapter, ValidationError

from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.parts import ToolCallPart, Turn
from agui_reasoning.replay.fallback import fallback_turns
from agui_reasoning.replay.history import History, ReportEntry
from agui_reasoning.replay.rebuild import rebuild
from agui_reasoning.replay.seen import Given, Place, Response, Seen, see

__all__ = ["restore"]

_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def restore(given: Given, *, assume_provider: str | None = None, subagent: str | None = None) -> History:
    """Give a client's history back as turns and messages.

    Args:
        given: What the client sent: a run input, or its messages.
        assume_provider: Whose values those are that no envelope tells, if you know.
        subagent: The id of a subagent's run, to restore its conversation and nothing else; otherwise the
            messages of subagents are left out.

    Returns:
        Everything in order, and a report of what became of each reasoning unit.

    Raises:
        RemoteProtocolError: The input is malformed (``bad_input``).
    """
    seen = see(given, subagent)
    report: list[ReportEntry] = []
    placed: list[tuple[Place, Turn]] = []
    for response in seen.responses.values():
        turn, entries = rebuild(seen, response)
        report += entries
        if turn.parts:
            placed.append((_place(seen, response), turn))
    claimed_messages = {m for r in seen.responses.values() for m in r.messages}
    claimed_calls = {c for r in seen.responses.values() for c in r.calls}
    placed += fallback_turns(seen, claimed_messages, claimed_calls, assume_provider, report)
    return History(tuple(_in_order(seen, placed)), tuple(report))


def _place(seen: Seen, response: Response) -> Place:
    """Where a response stands."""
    places = [seen.calls[call] for call in response.calls if call in seen.calls]
    for message_id in response.messages:
        index = seen.by_id.get(message_id)
        if index is not None and seen.messages[index].get("role") == "assistant":
            places.append((index, -1))
    return min(places) if places else (min(response.found_at), -1)


def _in_order(seen: Seen, placed: list[tuple[Place, Turn]]) -> Iterator[Turn | Message]:
    """Turns and messages by place; results directly behind the turn that called."""
    results = _results(seen)
    rest: list[tuple[Place, Turn | None]] = [*placed]
    rest += [((index, -2), None) for index, m in enumerate(seen.messages) if _stays(m)]
    for (index, _), turn in sorted(rest, key=lambda entry: entry[0]):
        if turn is None:
            message = seen.messages[index]
            if message.get("role") != "tool" or str(message.get("toolCallId")) in results:
                yield from _own(seen, message, results)
            continue
        yield turn
        for part in turn.parts:
            if isinstance(part, ToolCallPart):
                yield from (_model(message) for message in results.pop(part.id, ()))


def _own(seen: Seen, message: dict[str, Any], results: dict[str, list[dict[str, Any]]]) -> Iterator[Message]:
    """A message in its own place; a result whose call is unknown stays where it is."""
    if message.get("role") != "tool":
        yield _model(message)
    elif str(message.get("toolCallId")) not in seen.calls:
        yield from map(_model, results.pop(str(message.get("toolCallId")), ()))


def _results(seen: Seen) -> dict[str, list[dict[str, Any]]]:
    """The results of the client's and the agent's tools, by call; the provider's own are in its turn."""
    found: dict[str, list[dict[str, Any]]] = {}
    for message in seen.messages:
        call_id = str(message.get("toolCallId"))
        if message.get("role") == "tool" and call_id not in seen.server_calls:
            found.setdefault(call_id, []).append(message)
    return {call_id: messages[:1] for call_id, messages in found.items()}


def _stays(message: dict[str, Any]) -> bool:
    return message.get("role") not in ("assistant", "reasoning", "activity")


def _model(message: dict[str, Any]) -> Message:
    try:
        return _MESSAGE.validate_python(message)
    except ValidationError as error:
        places = sorted({"/" + "/".join(map(str, fault["loc"])) for fault in error.errors()})
    raise RemoteProtocolError(
        f"A {message.get('role')} message of the history is malformed at {', '.join(places[:5])}.",
        code="bad_input",
        hint="Send messages as AG-UI 1.0 describes them.",
    )
