"""Try every known way round the visibility: each of them once leaked or lost something."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    MessagesSnapshotEvent,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
)

from agui_reasoning import ConfigurationError, Emitter, Run
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.deltas import (
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.providers.echo import rules
from tests.support.verifier import plain

CLAUDE = Origin("anthropic", "anthropic-messages", "claude")
GPT = Origin("openai", "openai-responses", "gpt-5")
ACME = Origin("acme", "openai-chat", "model")
SECRET = "The user will never hear of this."
KEYS = KeyRing({"k1": bytes(range(32))})
INPUT = {"threadId": "thread", "runId": "run", "messages": []}
LESS = pytest.mark.parametrize("visibility", ["summary", "hidden"])


def emit(*items: Any, **options: Any) -> str:
    """Everything that goes out."""
    numbers = count()
    if options.get("keys") is not None:
        options.setdefault("thread_id", "thread")
    options = {"new_id": lambda: f"id{next(numbers)}", "on_warning": lambda text: None} | options
    emitter = Emitter(**options)
    events = [event for item in items for event in emitter.receive(item)] + emitter.close()
    return json.dumps(plain(events))


# -- events of the application's own


class Annotated(ReasoningMessageContentEvent):
    """What a framework makes of an event: a class of its own."""

    note: str = ""


class Unknown(BaseEvent):
    """An event of no protocol."""

    type: Any = "SOMETHING"


@LESS
def test_a_class_derived_from_an_event_is_that_event(visibility: Any) -> None:
    derived = Annotated(message_id="m", delta=SECRET, note=SECRET)
    assert SECRET not in emit(derived, visibility=visibility, keys=KEYS)
    assert SECRET in emit(derived)


def test_an_event_that_is_none_of_the_protocol_passes_as_ever() -> None:
    emitter = Emitter(visibility="hidden", keys=KEYS, thread_id="t")
    unknown = Unknown()
    assert emitter.receive(unknown) == [unknown]


@LESS
@pytest.mark.parametrize(
    "event",
    [
        {"type": "REASONING_START", "messageId": "m"},
        {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "m"},
        {"type": "REASONING_MESSAGE_END", "messageId": "m"},
        {"type": "REASONING_END", "messageId": "m"},
    ],
)
def test_nothing_rides_beside_reasoning_of_the_applications_own(visibility: Any, event: Any) -> None:
    riding = event | {"metadata": {"durationMs": 5, "text": SECRET}, "thinking": SECRET}
    emitter = Emitter(visibility=visibility, keys=KEYS, thread_id="t")
    assert plain(emitter.receive(riding)) == [event]


@LESS
def test_fields_that_the_protocol_does_not_know_are_not_in_a_snapshot(visibility: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    token = KEYS.encrypt(b"{}", Binding("thread"))
    messages = [
        {
            "id": "r",
            "role": "reasoning",
            "content": SECRET,
            "thinking": SECRET,
            "metadata": {"durationMs": 5},
            "encryptedValue": token,
            "subagentRunId": "s",
        },
        {
            "id": "a",
            "role": "assistant",
            "content": "Yes.",
            "reasoning_content": SECRET,
            "toolCalls": [call | {"thought": SECRET}],
            "metadata": {"mine": 1},
        },
    ]
    emitter = Emitter(visibility=visibility, keys=KEYS, thread_id="t")
    (event,) = plain(emitter.receive({"type": "MESSAGES_SNAPSHOT", "messages": messages}))
    assert event["messages"] == [
        {"id": "r", "role": "reasoning", "content": "", "encryptedValue": token, "subagentRunId": "s"},
        {"id": "a", "role": "assistant", "content": "Yes.", "toolCalls": [call], "metadata": {"mine": 1}},
    ]


@LESS
def test_events_about_the_providers_own_calls_show_no_more_than_the_calls(visibility: Any) -> None:
    messages = [
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "s", "type": "function", "function": {"name": "web", "arguments": SECRET}}],
        },
        {"id": "t", "role": "tool", "toolCallId": "s", "content": SECRET, "metadata": {"found": SECRET}},
        {"id": "o", "role": "tool", "toolCallId": "own", "content": "4"},
    ]
    later = (
        ToolCallArgsEvent(tool_call_id="s", delta=SECRET),
        ToolCallChunkEvent(tool_call_id="s", delta=SECRET),
        ToolCallResultEvent(message_id="t", tool_call_id="s", content=SECRET, role="tool"),
        MessagesSnapshotEvent(messages=messages),  # type: ignore[arg-type]
        ToolCallArgsEvent(tool_call_id="own", delta="mine"),
        ToolCallResultEvent(message_id="u", tool_call_id="own", content="mine", role="tool"),
    )
    call = ToolCallDelta("s", "web", "{}", server=True)
    out = emit(ResponseStart(ACME), call, *later, visibility=visibility, keys=KEYS)
    assert SECRET not in out
    assert out.count("mine") == 2
    assert SECRET in emit(ResponseStart(ACME), call, *later)


# -- what the model says


@LESS
def test_a_call_that_turns_out_to_be_the_providers_own_shows_nothing_from_then_on(visibility: Any) -> None:
    late = (ToolCallDelta("s", "web", '{"q":'), ToolCallDelta("s", "", SECRET, server=True))
    out = emit(ResponseStart(ACME), *late, visibility=visibility, keys=KEYS)
    assert SECRET not in out


@LESS
def test_what_tools_of_the_provider_found_is_not_in_the_plain_value_of_the_answer(visibility: Any) -> None:
    """Without keys: citations quote it, and only ids may go."""
    cited = TextDelta("Yes.", key="t", ext={"citations": [{"cited_text": SECRET}], "id": "msg_1"})
    search = (ToolCallDelta("s", "web", "{}", server=True), ToolResultDelta("s", SECRET, native={"x": 1}))
    out = emit(ResponseStart(ACME), *search, cited, visibility=visibility)
    assert SECRET not in out
    assert "msg_1" in out


@LESS
@pytest.mark.parametrize("stage", [Chunks, Coalesce, Steps])
def test_stages_bring_nothing_back(visibility: Any, stage: Any) -> None:
    items = (
        ReasoningDelta(SECRET, key="a"),
        ReasoningDelta(SECRET, key="b", channel="raw"),
        OpaqueDelta(Opaque("acme.value", SECRET), key="a"),
        TextDelta("Yes."),
        ReasoningDelta(SECRET, key="a"),
        OpaqueDelta(Opaque("acme.value", SECRET, attach="self"), key="a"),
    )
    assert SECRET not in emit(ResponseStart(ACME), *items, visibility=visibility, stages=[stage()])
    assert SECRET not in emit(ResponseStart(ACME), *items, visibility=visibility, stages=[stage()], keys=KEYS)


# -- subagents


def subagent_events(visibility: Any, **options: Any) -> list[dict[str, Any]]:
    """What a subagent says, fed through its parent, and an event of the application's own beside it."""
    run = Run(INPUT, visibility=visibility, on_warning=lambda text: None, **options)
    child = run.subagent("helper")
    grandchild = child.subagent("its helper")
    out = run.start() + [passed for event in child.start() for passed in run.receive(event)]
    out += [passed for event in grandchild.start() for passed in run.receive(event)]
    for agent in (child, grandchild):
        for item in (ResponseStart(GPT), ReasoningDelta("A plan.", channel="summary"), TextDelta("Yes.")):
            out += [passed for event in agent.receive(item) for passed in run.receive(event)]
    out += run.receive(ReasoningMessageChunkEvent(message_id="own", delta=SECRET))
    for agent in (grandchild, child):
        out += [passed for event in agent.finish() for passed in run.receive(event)]
    return plain(out + run.finish())


@pytest.mark.parametrize(("visibility", "shown"), [("full", 2), ("summary", 2), ("hidden", 0)])
def test_a_subagent_shows_what_its_run_may_show(visibility: Any, shown: int) -> None:
    events = subagent_events(visibility, keys=KEYS)
    plans = [event for event in events if event.get("delta") == "A plan."]
    assert len(plans) == shown
    assert (SECRET in json.dumps(events)) == (visibility == "full")


def test_the_value_of_a_summary_passes_its_parent_without_keys_too() -> None:
    values = [event for event in subagent_events("summary") if "encryptedValue" in event]
    assert len(values) == 2


# -- what would be lost is refused, whatever the provider is called


@LESS
@pytest.mark.parametrize(
    "origin",
    [
        Origin(None, "anthropic-messages", None),
        Origin("Anthropic", "anthropic-messages", "claude"),
        Origin("bedrock", "anthropic-messages", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        Origin("deepseek", "openai-chat", "deepseek-v4"),
        Origin("google", "openai-chat", "google/gemini-3-pro"),
    ],
)
def test_a_provider_that_requires_its_reasoning_is_known_by_all_its_names(
    visibility: Any, origin: Origin
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Emitter(visibility=visibility).receive(ResponseStart(origin))
    assert caught.value.code == "visibility_without_keys"


def test_openai_need_not_be_named_either() -> None:
    with pytest.raises(ConfigurationError):
        Emitter(visibility="hidden").receive(ResponseStart(Origin(None, "openai-responses", "gpt-5")))
    Emitter(visibility="summary").receive(ResponseStart(Origin(None, "openai-responses", "gpt-5")))


@LESS
def test_a_run_that_names_its_api_alone_is_refused_at_the_first_delta(visibility: Any) -> None:
    for first in (ReasoningDelta(SECRET), ResponseStart(None)):
        emitter = Emitter(api="anthropic-messages", visibility=visibility)
        with pytest.raises(ConfigurationError):
            emitter.receive(first)
        assert emitter.close() == []


def test_a_response_of_another_origin_is_checked_when_it_comes() -> None:
    emitter = Emitter(api="openai-chat", provider="acme", visibility="hidden")
    emitter.receive(ReasoningDelta("Hm."))
    with pytest.raises(ConfigurationError):
        emitter.receive(ResponseStart(CLAUDE))


NAMED = [
    (rule, provider)
    for rule in rules()
    if rule.status == "required" and rule.model == ("*",)
    for provider in rule.provider
    if "*" not in provider
]


@pytest.mark.parametrize(("rule", "provider"), NAMED, ids=[f"{r.api}-{p}" for r, p in NAMED])
def test_every_row_that_requires_is_refused_when_it_would_be_hidden(rule: Any, provider: str) -> None:
    with pytest.raises(ConfigurationError):
        Emitter(visibility="hidden").receive(ResponseStart(Origin(provider, rule.api, "some-model")))


def test_an_anchor_is_opened_for_a_vendor_that_is_not_named() -> None:
    signed = (TextDelta("Yes."), OpaqueDelta(Opaque("anthropic.signature", "SIG", attach="text")))
    named = emit(ResponseStart(CLAUDE), *signed)
    unnamed = emit(ResponseStart(Origin(None, "anthropic-messages", "claude")), *signed)
    assert "REASONING_MESSAGE_START" in named
    assert "REASONING_MESSAGE_START" in unnamed


@LESS
def test_the_type_of_an_encrypted_value_stays_in_a_snapshot(visibility: Any) -> None:
    token = KEYS.encrypt(b"{}", Binding("thread"))
    held = {"encryptedValue": token, "encryptedValueType": "reasoning"}
    message = {"id": "a", "role": "assistant", "content": "So.", **held, "thinking": SECRET}
    emitter = Emitter(visibility=visibility, keys=KEYS, thread_id="thread")
    [event] = plain(emitter.receive({"type": "MESSAGES_SNAPSHOT", "messages": [message]}))
    assert event["messages"] == [{"id": "a", "role": "assistant", "content": "So.", **held}]
