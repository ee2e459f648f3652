"""Compare `Conversation` with the official client 1.0.0 on generated streams.

Accepted or refused, messages, state, and what is delivered must be the same, but for what
``divergences.toml`` lists, with the rule each rests on. The run with ``--hypothesis-profile=thorough`` takes
20,000 streams.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import LocalProtocolError, RemoteProtocolError, TruncatedRunError
from tests.conformance.requirements import requirement
from tests.differential.judge import Judge, Verdict
from tests.support.streams import mutated_streams, valid_streams
from tests.support.verifier import plain

Json = dict[str, Any]

LISTED: Json = tomllib.loads(Path(__file__).with_name("divergences.toml").read_text(encoding="utf-8"))
THOROUGH = settings().max_examples >= 5000
STREAMS = 10_000 if THOROUGH else 150
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RUN_INPUT = {"threadId": "t", "runId": "r1"}

many = settings(
    max_examples=STREAMS,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    # What fails is told as it is found: shrinking against another process takes longer than reading.
    phases=[Phase.generate] if THOROUGH else list(Phase),
)


@dataclass
class Ours:
    """What we made of a stream."""

    error: RemoteProtocolError | None = None
    truncated: bool = False
    events: list[Json] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)
    state: Any = None
    warnings: list[str] = field(default_factory=list)


def consume(stream: list[Json]) -> Ours:
    ours = Ours()
    conversation = Conversation("t", on_warning=ours.warnings.append)
    try:
        for event in stream:
            ours.events += plain(conversation.receive(event))
        conversation.end_of_stream()
    except TruncatedRunError:
        ours.truncated = True
    except RemoteProtocolError as error:
        ours.error = error
    ours.messages, ours.state = plain(conversation.messages), conversation.state
    return ours


def body(stream: list[Json]) -> bytes:
    """As they are, nulls too: our encoder would leave them out."""
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in stream)


def judged(judge: Judge, stream: list[Json], ours: Ours) -> Verdict:
    # In a burst the client loses what came before a violation (C3); event by event is slower.
    paced = ours.error is not None
    return judge.run(body(stream), run_input=RUN_INPUT, paced=paced, next_turn=False)


def numbered(value: Any) -> Any:
    """Ids that were made up are numbered in order of appearance."""
    seen: dict[str, str] = {}
    text = UUID.sub(lambda match: seen.setdefault(match[0], f"made-up-{len(seen)}"), json.dumps(value))
    return json.loads(text)


def levelled(value: Any) -> Any:
    """Without what the table calls a difference that is everywhere.

    1.0.0 strips encryptedValueType (``value-type``), and fills in empty tools and context (``empty-lists``).
    """
    if isinstance(value, list):
        return [levelled(element) for element in value]
    if not isinstance(value, dict):
        return value
    empty = {"tools", "context"} if "threadId" in value and "messages" in value else set()
    left_out = {name for name in empty if value.get(name) == []} | {"encryptedValueType"}
    return {name: levelled(member) for name, member in value.items() if name not in left_out}


Held = tuple[list[Json], Any, list[Json]]
"""Messages, state, delivered events."""


def difference(mine: Held, other: Held, *, refused: bool) -> str | None:
    """Where two clients differ, if they do."""
    for what, one, two in zip(("messages", "state", "events"), mine, other, strict=True):
        # What a refused event expanded to before it was refused, they deliver and we do not.
        if one != two and not (what == "events" and refused):
            return f"{what}: ours {json.dumps(one)}; theirs {json.dumps(two)}"
    return None


def disagreement(ours: Ours, theirs: Verdict, *, level: bool = True) -> str | None:
    """Where we differ, in outcome or in what is held; ``level`` takes out what is listed."""
    if (ours.error is None) != theirs.accepted:
        return f"ours: {ours.error or 'accepted'}; theirs: {theirs.error or 'accepted'}"
    mine: Held = numbered(levelled([ours.messages, ours.state, ours.events]))
    other: Held = numbered(levelled([theirs.messages, theirs.state, theirs.events]))
    for take_out in LEVELS.values() if level else ():
        other = take_out(mine, other, ours, theirs)
    return difference(mine, other, refused=ours.error is not None)


# -- what is listed in the table: each turns what they hold into what they would hold without the difference


def _parts_kept(mine: Held, other: Held, ours: Ours, theirs: Verdict) -> Held:
    messages = [dict(message) for message in other[0]]
    for one, two in zip(mine[0], messages, strict=False):
        content = one.get("content")
        added = {"type": "text", "text": two.get("content")}
        if isinstance(content, list) and content[-1:] == [added] and one["id"] == two["id"]:
            two["content"] = content
    return messages, other[1], other[2]


def _repeated_result(mine: Held, other: Held, ours: Ours, theirs: Verdict) -> Held:
    results: dict[tuple[str, str], Json] = {}
    messages = []
    for message in other[0]:
        known = results.get((message["id"], message.get("toolCallId", "")))
        if message["role"] == "tool" and known is not None:
            known.clear()
            known.update(message)
        else:
            messages.append(dict(message))
            results[message["id"], message.get("toolCallId", "")] = messages[-1]
    return messages, other[1], other[2]


def _lenient_patch(mine: Held, other: Held, ours: Ours, theirs: Verdict) -> Held:
    failed = "Failed to apply"
    if sum(failed in text for text in ours.warnings) <= sum(failed in text for text in theirs.warnings):
        return other
    contents = {message["id"]: message for message in mine[0] if message["role"] == "activity"}
    messages = [contents.get(message["id"], message) for message in other[0]]
    return messages, mine[1], other[2]


def _second_owner(mine: Held, other: Held, ours: Ours, theirs: Verdict) -> Held:
    seen: set[str] = set()
    messages = []
    for number, message in enumerate(other[0]):
        one = mine[0][number] if number < len(mine[0]) else {}
        if message["id"] in seen and one.get("id") == message["id"] and "subagentRunId" in one:
            message = {**message, "subagentRunId": one["subagentRunId"]}
        seen.add(message["id"])
        messages.append(message)
    return messages, other[1], other[2]


LEVELS: dict[str, Callable[[Held, Held, Ours, Verdict], Held]] = {
    "parts-kept": _parts_kept,
    "repeated-result": _repeated_result,
    "lenient-patch": _lenient_patch,
    "second-owner": _second_owner,
}


def without_novelties(stream: list[Json]) -> list[Json]:
    """The stream without unknown members of closed sets, which 1.0.0 refuses (``closed-set``)."""
    kept = []
    for event in stream:
        novel = {name for name, known in CLOSED.items() if _novel(event, name, known)}
        if event["type"] != "REASONING_ENCRYPTED_VALUE" or "subtype" not in novel:
            kept.append({name: value for name, value in event.items() if name not in novel})
    return kept


CLOSED = {
    "role": ({"developer", "system", "assistant", "user"}, {"TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK"}),
    "subtype": ({"message", "tool-call"}, {"REASONING_ENCRYPTED_VALUE"}),
}


def _novel(event: Json, name: str, known: tuple[set[str], set[str]]) -> bool:
    value = event.get(name)
    return event["type"] in known[1] and isinstance(value, str) and value not in known[0]


def _new_field_is_malformed(ours: Ours) -> bool:
    return ours.error is not None and "/encryptedValueType:" in str(ours.error)


TALLY: Counter[str] = Counter()


def disagreements(judge: Judge, stream: list[Json]) -> str | None:
    """Where we differ for no reason that is listed."""
    ours = consume(stream)
    if _new_field_is_malformed(ours):
        TALLY["value-type"] += 1
        ours = consume(levelled(stream))
    theirs = judged(judge, stream, ours)
    TALLY["streams"] += 1
    TALLY["refused" if ours.error else "truncated" if ours.truncated else "accepted"] += 1
    known = without_novelties(stream)
    if known != stream and "Invalid option" in (theirs.error or ""):
        TALLY["closed-set"] += 1
        theirs = judged(judge, known, ours)
    return disagreement(ours, theirs)


def assert_agreed(judge: Judge, stream: list[Json]) -> None:
    different = disagreements(judge, stream)
    assert different is None, f"{different}\n{json.dumps(stream)}"


@pytest.mark.timeout(7200 if THOROUGH else 120)
@many
@given(valid_streams())
def test_streams_that_keep_the_rules(judge: Judge, stream: list[Json]) -> None:
    assert_agreed(judge, stream)


@pytest.mark.timeout(7200 if THOROUGH else 120)
@many
@given(mutated_streams())
def test_streams_with_something_wrong(judge: Judge, stream: list[Json]) -> None:
    assert_agreed(judge, stream)


@requirement("C15")
@settings(many, max_examples=500 if THOROUGH else 40)
@given(valid_streams())
def test_the_next_turn_carries_the_same(judge: Judge, stream: list[Json]) -> None:
    """What is sent back after a run: messages without activities, and the state."""
    ours = Conversation("t", on_warning=lambda warning: None)
    for event in stream:
        ours.receive(event)
    theirs = judge.run(body(stream), run_input=RUN_INPUT)
    if ours.interrupts:
        assert theirs.next_error is not None
        with pytest.raises(LocalProtocolError):
            ours.run_input()
        return
    assert theirs.next_input is not None
    mine = plain([ours.run_input()])[0]
    agreed = consume(stream)
    theirs.next_input.setdefault("state", None)
    mine.setdefault("state", None)
    for name in ("messages", "state"):
        one, two = numbered(levelled(mine[name])), numbered(levelled(theirs.next_input[name]))
        assert one == two or disagreement(agreed, theirs, level=False) is not None


def test_what_is_levelled_is_listed_with_its_rule() -> None:
    assert set(LISTED) == {*LEVELS, "closed-set", "value-type", "empty-lists", "truncated", "burst"}
    assert all(re.fullmatch(r"[CPV]\d+", entry["rule"]) and entry["reason"] for entry in LISTED.values())
