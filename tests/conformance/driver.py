"""Run a stream of the corpus through a `Conversation` and compare the result with the expectation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import RemoteProtocolError
from tests.conformance.corpus import Json, Stream
from tests.support.verifier import plain

_ABSENT = object()


@dataclass
class Seen:
    """What a client saw."""

    events: list[Json] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: RemoteProtocolError | None = None
    messages: list[Json] = field(default_factory=list)
    state: Any = None
    request: Json = field(default_factory=dict)
    run_errors: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """As the corpus calls it."""
        return "completed" if self.error is None else "failed"


def play(stream: Stream) -> Seen:
    """Send the request, then receive the stream."""
    seen = Seen()
    conversation = Conversation("thread", messages=stream.messages, on_warning=seen.warnings.append)
    seen.request = plain([conversation.run_input()])[0]
    conversation = Conversation(
        messages=stream.messages,
        on_warning=seen.warnings.append,
        strict_identity=stream.version == "draft",
    )
    try:
        for event in stream.events:
            seen.events += plain(conversation.receive(event))
        conversation.end_of_stream()
    except RemoteProtocolError as error:
        seen.error = error
    seen.messages, seen.state = plain(conversation.messages), conversation.state
    seen.run_errors = [event["message"] for event in seen.events if event["type"] == "RUN_ERROR"]
    return seen


def differences(stream: Stream, seen: Seen) -> list[str]:
    """What is not as expected."""
    found = [text for key, want in stream.expect.items() for text in CHECKS[key](want, seen)]
    if seen.error is not None and seen.error.code != stream.code:
        found.append(f"the error is {seen.error.code}, not {stream.code}")
    return found


def _outcome(want: str, seen: Seen) -> list[str]:
    return [] if seen.outcome == want else [f"outcome {seen.outcome}: {seen.error}"]


def _error(want: str, seen: Seen) -> list[str]:
    # The words are another client's; the code stands for them, see `differences`.
    return [] if seen.error is not None else [f"no error, but {want!r}"]


def _run_error(want: str, seen: Seen) -> list[str]:
    return [] if want in seen.run_errors else [f"no RUN_ERROR {want!r}"]


def _event_types(want: list[str], seen: Seen) -> list[str]:
    types = [event["type"] for event in seen.events]
    return [] if types == want else [f"events {types}"]


def _event_types_absent(want: list[str], seen: Seen) -> list[str]:
    return [f"{event['type']} delivered" for event in seen.events if event["type"] in want]


def _event_paths(want: Json, seen: Seen) -> list[str]:
    return [f"{path} is {at(seen.events, path)!r}" for path in want if at(seen.events, path) != want[path]]


def _event_absent_paths(want: list[str], seen: Seen) -> list[str]:
    return [f"{path} is there" for path in want if at(seen.events, path) is not _ABSENT]


def _warnings(want: list[str], seen: Seen) -> list[str]:
    return [f"no warning with {part!r}" for part in want if not any(part in text for text in seen.warnings)]


def _no_warnings(want: bool, seen: Seen) -> list[str]:
    return [f"warned: {text}" for text in seen.warnings] if want else []


def _message_count(want: int, seen: Seen) -> list[str]:
    return [] if len(seen.messages) == want else [f"{len(seen.messages)} messages"]


def _messages(want: list[Json], seen: Seen) -> list[str]:
    return [] if within(want, seen.messages) else [f"messages {seen.messages}"]


def _state(want: Any, seen: Seen) -> list[str]:
    return [] if within(want, seen.state) else [f"state {seen.state!r}"]


def _request(want: Json, seen: Seen) -> list[str]:
    return [] if within(want, seen.request) else [f"request {seen.request}"]


def _request_absent_paths(want: list[str], seen: Seen) -> list[str]:
    return [f"request has {path}" for path in want if at(seen.request, path) is not _ABSENT]


CHECKS = {
    "outcome": _outcome,
    "errorContains": _error,
    "runError": _run_error,
    "eventTypes": _event_types,
    "eventTypesAbsent": _event_types_absent,
    "eventPaths": _event_paths,
    "eventAbsentPaths": _event_absent_paths,
    "warnings": _warnings,
    "noWarnings": _no_warnings,
    "messageCount": _message_count,
    "messages": _messages,
    "state": _state,
    "request": _request,
    "requestAbsentPaths": _request_absent_paths,
}


def at(value: Any, path: str) -> Any:
    """Follow a dotted path."""
    for step in path.split("."):
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return _ABSENT
    return value


def within(want: Any, value: Any) -> bool:
    """Whether everything wanted is there; lists must be as long."""
    if isinstance(want, dict):
        return isinstance(value, dict) and all(key in value and within(want[key], value[key]) for key in want)
    if isinstance(want, list):
        return isinstance(value, list) and len(want) == len(value) and all(map(within, want, value))
    return type(want) is type(value) and bool(want == value)
