"""Judge emitted streams with both versions of the official client over real HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest
from ag_ui.core import UserMessage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_reasoning import DecodeError, ProviderError, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.parts import CUT_CALL_RESULT, Opaque, Origin
from agui_reasoning.providers import decoder
from agui_reasoning.wire import SSEEncoder
from tests.differential.judge import VERSIONS, Judge, Verdict, Version
from tests.laws import law
from tests.support.effort import examples
from tests.support.recordings import EXPECT, load, payloads, recordings
from tests.support.strategies import delta_lists
from tests.support.verifier import Client, plain

RUN_INPUT = {
    "threadId": "thread-1",
    "runId": "run-1",
    "state": {},
    "messages": [],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}
ENDINGS = ("finish", "cancel", "fail")

versions = pytest.mark.parametrize("version", VERSIONS)


def run_events(
    items: Iterable[Any], ending: str = "finish", modern: bool = True, **options: Any
) -> list[Any]:
    """The events of a run."""
    numbers = count()
    run = Run(
        RUN_INPUT | ({"protocolVersion": "1.0"} if modern else {}),
        new_id=lambda: f"id{next(numbers)}",
        on_warning=lambda message: None,
        **options,
    )
    events = run.start()
    for item in items:
        events += run.receive(item)
    return (
        events
        + {"finish": run.finish, "cancel": run.cancel, "fail": lambda: run.fail("It failed.")}[ending]()
    )


KEYS = KeyRing({"k": bytes(32)})


def encoded(events: Iterable[Any]) -> bytes:
    return b"".join(SSEEncoder().encode(event) for event in events)


def held(client: Client) -> list[dict[str, Any]]:
    """The messages of our verifier, in the terms of the official client."""
    return [_plain_message(message) for message in client.messages]


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    kept = {name: message[name] for name in ("id", "role", "encryptedValue", "toolCallId") if name in message}
    if message.get("content") or message["role"] in ("reasoning", "tool"):
        kept["content"] = message.get("content", "")
    calls = [_plain_call(call) for call in message.get("toolCalls") or ()]
    return {**kept, "toolCalls": calls} if calls else kept


def _plain_call(call: dict[str, Any]) -> dict[str, Any]:
    function = {name: call["function"][name] for name in ("name", "arguments")}
    value = {"encryptedValue": call["encryptedValue"]} if "encryptedValue" in call else {}
    return {"id": call["id"], "function": function, **value}


def by_id(messages: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Messages by id: the client puts a result behind its call, our verifier where it came."""
    return {message["id"]: _plain_message(message) for message in messages}


def assert_agreed(verdict: Verdict, events: list[Any]) -> None:
    assert verdict.error is None
    assert verdict.accepted
    client = Client().feed(plain(events)).done()
    assert by_id(verdict.messages) == by_id(client.messages)
    assert verdict.warnings == []


THOUGHT = [
    ResponseStart(Origin("anthropic", "anthropic-messages", "claude")),
    ReasoningDelta("Where is ", key="0"),
    ReasoningDelta("Oslo?", key="0"),
    OpaqueDelta(Opaque("anthropic.signature", "SIG-1"), key="0"),
    CloseDelta(key="0"),
    OpaqueDelta(Opaque("anthropic.redacted_thinking", "DATA-1"), key="1"),
    CloseDelta(key="1"),
    TextDelta("I will look."),
    ToolCallDelta("call_1", "weather", '{"city": '),
    ToolCallDelta("call_1", "", '"Oslo"}'),
    OpaqueDelta(Opaque("gemini.thought_signature", "SIG-2", attach="tool_call:call_1")),
    ToolCallDelta("call_2", "weather", "{}"),
    FinishDelta("tool_use"),
    ToolResultDelta("call_1", "4 degrees"),
    ToolResultDelta("call_2", "5 degrees"),
    ReasoningDelta("Cold."),
    TextDelta("Take a coat."),
]


@versions
def test_a_client_gets_media_in_a_result_or_their_type_and_size(judge: Judge, version: Version) -> None:
    image = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
    content = [{"type": "text", "text": "A map."}, image]
    items = [ToolCallDelta("call_1", "look", "{}"), ToolResultDelta("call_1", content), TextDelta("There.")]
    declares = version == "1.0.0"
    verdict = judge.run(encoded(run_events(items, modern=declares)), version=version)
    assert (verdict.error, verdict.warnings) == (None, [])
    (kept,) = [message["content"] for message in verdict.messages if message["role"] == "tool"]
    assert kept == (content if declares else "A map.\n(Not sent in a tool result: image/png, 2 bytes.)")


@law("E12")
@versions
@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
@pytest.mark.parametrize("stages", [[], [Chunks], [Coalesce, Steps]])
def test_the_client_accepts_every_visibility_and_holds_every_token(
    judge: Judge, version: Version, visibility: Any, stages: list[Any]
) -> None:
    made = [stage(20) if stage is Coalesce else stage() for stage in stages]
    events = run_events(THOUGHT, visibility=visibility, keys=KEYS, stages=made)
    verdict = judge.run(encoded(events), version=version)
    assert (verdict.error, verdict.accepted, verdict.warnings) == (None, True, [])
    if Chunks not in stages:
        assert_agreed(verdict, events)
    thoughts = [message for message in verdict.messages if message["role"] == "reasoning"]
    assert len(thoughts) == 2
    assert all(message["encryptedValue"].count(".") == 4 for message in thoughts)
    assert ("Oslo" in thoughts[0]["content"]) is (visibility == "full")


@versions
def test_the_client_accepts_spans_without_messages(judge: Judge, version: Version) -> None:
    items = [ResponseStart(None), ReasoningDelta("Hm."), TextDelta("Yes."), ReasoningDelta("Hm.")]
    events = run_events(items, visibility="hidden")
    verdict = judge.run(encoded(events), version=version)
    assert_agreed(verdict, events)
    assert [message["role"] for message in verdict.messages] == ["assistant"]


@versions
def test_the_client_holds_what_was_said_and_every_value(judge: Judge, version: Version) -> None:
    events = run_events(THOUGHT)
    verdict = judge.run(encoded(events), version=version)
    assert_agreed(verdict, events)
    roles = [message["role"] for message in verdict.messages]
    assert roles == ["reasoning", "assistant", "tool", "tool", "reasoning", "assistant"]
    first, asking = verdict.messages[:2]
    assert first["content"] == "Where is Oslo?"
    for value in ("SIG-1", "DATA-1", "SIG-2"):
        assert value in first["encryptedValue"]
    assert "SIG-2" in asking["toolCalls"][0]["encryptedValue"]
    assert "encryptedValue" not in asking["toolCalls"][1]


@versions
def test_the_next_request_of_the_client_carries_every_value(judge: Judge, version: Version) -> None:
    verdict = judge.run(encoded(run_events(THOUGHT)), version=version, follow_up="And tomorrow?")
    assert verdict.next_input is not None
    assert by_id(verdict.next_input["messages"][:-1]) == by_id(verdict.messages)


# 0.0.59 declares no protocol version: whoever declares none is told of a cancellation by an error.
DECLARATIONS = [("1.0.0", True), ("1.0.0", False), ("0.0.59", False)]


@law("E12")
@pytest.mark.parametrize(("version", "modern"), DECLARATIONS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_at_every_step_is_accepted(
    judge: Judge, version: Version, ending: str, modern: bool
) -> None:
    streams = [run_events(THOUGHT[:cut], ending, modern) for cut in range(len(THOUGHT) + 1)]
    verdicts = judge.run_many([encoded(events) for events in streams], version=version, next_turn=False)
    for verdict, events in zip(verdicts, streams, strict=True):
        assert_agreed(verdict, events)


@pytest.mark.parametrize(("version", "modern"), DECLARATIONS)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("stages", [[], [Chunks]], ids=["events", "chunks"])
def test_the_client_holds_the_answer_to_a_call_that_was_cut(
    judge: Judge, version: Version, ending: str, modern: bool, stages: list[Any]
) -> None:
    limit = [
        ToolCallDelta("c1", "f", '{"a'),
        CloseDelta(key="c1", status="incomplete"),
        FinishDelta("length"),
    ]
    for items in (limit, limit[:1] if ending != "finish" else limit):
        events = run_events(items, ending, modern, stages=[stage() for stage in stages])
        verdict = judge.run(encoded(events), version=version, follow_up="Go on.")
        assert (verdict.error, verdict.accepted, verdict.warnings) == (None, True, [])
        assert verdict.next_input is not None
        for messages in (verdict.messages, verdict.next_input["messages"]):
            told = [(m["toolCallId"], m["content"]) for m in messages if m["role"] == "tool"]
            assert told == [("c1", CUT_CALL_RESULT)]


@law("E14")
@versions
@pytest.mark.parametrize("stages", [[Chunks], [Steps], [Coalesce], [Steps, Coalesce, Chunks]], ids=str)
def test_stages_leave_the_client_with_the_same_messages(
    judge: Judge, version: Version, stages: list[Any]
) -> None:
    bare = judge.run(encoded(run_events(THOUGHT)), version=version)
    staged = judge.run(encoded(run_events(THOUGHT, stages=[stage() for stage in stages])), version=version)
    assert staged.error is None
    assert by_id(staged.messages) == by_id(bare.messages)


@law("pairing", "E12")
@versions
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(delta_lists, st.sampled_from(ENDINGS))
def test_generated_runs_are_accepted(
    judge: Judge, version: Version, deltas: list[Delta], ending: str
) -> None:
    events = run_events(deltas, ending, modern=version != "0.0.59")
    assert_agreed(judge.run(encoded(events), version=version, next_turn=False), events)


@versions
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(delta_lists)
def test_generated_runs_in_chunks_are_accepted(judge: Judge, version: Version, deltas: list[Delta]) -> None:
    bare = judge.run(encoded(run_events(deltas, modern=False)), version=version, next_turn=False)
    events = run_events(deltas, modern=False, stages=[Chunks()])
    verdict = judge.run(encoded(events), version=version, next_turn=False)
    assert verdict.error is None
    assert by_id(verdict.messages) == by_id(bare.messages)


def recorded_run(file: Any) -> list[Any]:
    """A recording inside a run, ended as its decoder says."""
    recording = load(file)
    machine = decoder(recording["api"], provider=recording["provider"], model=recording["model"])
    if not recording["stream"]:
        return run_events(machine.whole(recording["response"]), modern=False)
    deltas: list[Delta] = []
    try:
        for payload in payloads(recording):
            deltas += machine.receive(payload)
        return run_events([*deltas, *machine.close()], modern=False)
    except (DecodeError, ProviderError) as error:
        return run_events([*deltas, *error.deltas], "fail", modern=False)


@law("pairing")
@versions
@pytest.mark.parametrize("api", EXPECT)
def test_every_recording_is_accepted(judge: Judge, version: Version, api: str) -> None:
    files = [param.values[0] for param in recordings(api)]
    if files == [None]:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    streams = [recorded_run(file) for file in files]
    verdicts = judge.run_many([encoded(events) for events in streams], version=version, next_turn=False)
    for verdict, events in zip(verdicts, streams, strict=True):
        assert_agreed(verdict, events)


@versions
def test_both_clients_keep_what_the_user_said_during_a_run_in_its_place(
    judge: Judge, version: Version
) -> None:
    said = UserMessage(id="", content="Only in Oslo.")
    events = run_events([TextDelta("One"), FinishDelta("steered"), said, TextDelta("Two"), FinishDelta()])
    verdict = judge.run(encoded(events), version=version)
    assert (verdict.error, verdict.warnings) == (None, [])
    held = [(message["role"], message["content"]) for message in verdict.messages]
    assert held == [("assistant", "One"), ("user", "Only in Oslo."), ("assistant", "Two")]
