"""Test what a client sees in each visibility, with keys and without."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import msgspec
import pytest
from ag_ui.core import (
    AssistantMessage,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
)

from agui_reasoning import ConfigurationError, Emitter
from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from agui_reasoning.deltas import (
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.emitter import PLACEHOLDER
from agui_reasoning.parts import Opaque, Origin, ReasoningPart
from tests.internals.envelopes import Envelope, ReasoningRecord
from tests.laws import law
from tests.support.verifier import plain, replay, types

CLAUDE = Origin("anthropic", "anthropic-messages", "claude")
GPT = Origin("openai", "openai-responses", "gpt-5")
ACME = Origin("acme", "openai-chat", "model")
SECRET = "The user will never hear of this."
KEYS = KeyRing({"k1": bytes(range(32))})


def emit(*items: Any, **options: Any) -> list[dict[str, Any]]:
    numbers = count()
    if options.get("keys") is not None:
        options.setdefault("thread_id", "thread")
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", **options)
    events = [event for item in items for event in emitter.receive(item)] + emitter.close()
    replay(events)
    return plain(events)


def content(events: list[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in events if event["type"] == "REASONING_MESSAGE_CONTENT"]


def opened(events: list[dict[str, Any]]) -> list[Envelope]:
    tokens = [event["encryptedValue"] for event in events if event["type"] == "REASONING_ENCRYPTED_VALUE"]
    return [msgspec.json.decode(KEYS.decrypt(token, Binding("thread")), type=Envelope) for token in tokens]


THOUGHT = (
    ResponseStart(CLAUDE),
    ReasoningDelta(SECRET),
    OpaqueDelta(Opaque("anthropic.signature", "SIG")),
    TextDelta("Yes."),
    FinishDelta("end_turn"),
)


def test_with_keys_everything_is_encrypted_and_shown_as_ever() -> None:
    shown, bare = emit(*THOUGHT, keys=KEYS), emit(*THOUGHT)
    assert types(shown) == types(bare)
    assert content(shown) == [SECRET]
    assert all(looks_like_token(e["encryptedValue"]) for e in shown if "encryptedValue" in e)
    [unit] = opened(shown)[0].units
    assert isinstance(unit.part, ReasoningRecord)
    assert [segment.text for segment in unit.part.segments] == [SECRET]
    assert unit.sha256 is None


def test_hidden_with_keys_shows_a_span_and_an_empty_message_that_carries_the_value() -> None:
    events = emit(*THOUGHT, keys=KEYS, visibility="hidden", now_ms=iter(range(0, 10_000, 100)).__next__)
    assert types(events) == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]
    hints = [event["metadata"]["agui-reasoning"] for event in events if "metadata" in event]
    assert [set(hint) for hint in hints] == [{"response"}, {"response"}]
    assert SECRET not in json.dumps(events)


def test_hidden_without_keys_shows_a_span_and_keeps_nothing() -> None:
    events = emit(
        ResponseStart(ACME),
        ReasoningDelta(SECRET),
        OpaqueDelta(Opaque("acme.value", "blob")),
        TextDelta("Yes."),
        visibility="hidden",
    )
    assert types(events) == [
        "REASONING_START",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]


def test_hidden_without_keys_keeps_no_value_of_a_unit_without_text() -> None:
    events = emit(ResponseStart(ACME), OpaqueDelta(Opaque("acme.value", "blob")), visibility="hidden")
    assert types(events) == ["REASONING_START", "REASONING_END"]


def test_a_labelled_summary_is_shown_in_summary_and_raw_text_beside_it_is_not() -> None:
    events = emit(
        ResponseStart(GPT),
        ReasoningDelta("Plan.", key="rs", channel="summary"),
        ReasoningDelta(SECRET, key="rs", channel="raw"),
        ReasoningDelta("Check.", key="rs", channel="summary", index=1),
        TextDelta("Yes."),
        visibility="summary",
        keys=KEYS,
    )
    assert "".join(content(events)) == "Plan.\n\nCheck."
    [unit] = opened(events)[0].units
    assert isinstance(unit.part, ReasoningRecord)
    assert [segment.text for segment in unit.part.segments] == ["Plan.", SECRET, "Check."]


def test_a_summary_that_shows_all_there_is_needs_no_keys() -> None:
    events = emit(
        ResponseStart(GPT),
        ReasoningDelta("Plan.", channel="summary"),
        OpaqueDelta(Opaque("openai.encrypted_content", "gAAA")),
        visibility="summary",
    )
    assert content(events) == ["Plan."]
    assert [event["type"] for event in events if "encryptedValue" in event]


def test_without_keys_nothing_is_written_about_what_is_not_shown() -> None:
    events = emit(ResponseStart(ACME), ReasoningDelta(SECRET), TextDelta("Yes."), visibility="summary")
    assert content(events) == [PLACEHOLDER]
    assert "REASONING_ENCRYPTED_VALUE" not in types(events)


def test_text_without_a_label_is_replaced_by_a_placeholder_when_the_unit_ends() -> None:
    events = emit(*THOUGHT, keys=KEYS, visibility="summary")
    assert content(events) == [PLACEHOLDER]
    assert types(events)[:4] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
    ]
    assert SECRET not in json.dumps(events)


def test_a_unit_that_has_no_text_gets_no_placeholder() -> None:
    redacted = OpaqueDelta(Opaque("anthropic.redacted_thinking", "data"))
    assert content(emit(ResponseStart(CLAUDE), redacted, keys=KEYS, visibility="summary")) == []


def test_a_summarizer_gets_the_unit_and_its_words_are_shown() -> None:
    asked: list[ReasoningPart] = []

    def summarize(part: ReasoningPart) -> str:
        asked.append(part)
        return "Considered it."

    events = emit(*THOUGHT, keys=KEYS, visibility="summary", summarize=summarize)
    assert content(events) == ["Considered it."]
    assert [(part.text, part.origin) for part in asked] == [(SECRET, CLAUDE)]


def test_a_summarizer_is_not_asked_where_everything_or_nothing_is_shown() -> None:
    def refuse(part: ReasoningPart) -> str:
        raise AssertionError

    emit(*THOUGHT, keys=KEYS, visibility="full", summarize=refuse)
    emit(*THOUGHT, keys=KEYS, visibility="hidden", summarize=refuse)


def test_a_summarizer_that_fails_leaves_a_placeholder_and_says_nothing_of_why() -> None:
    def fail(part: ReasoningPart) -> str:
        raise ValueError(part.text)

    heard: list[str] = []
    events = emit(*THOUGHT, keys=KEYS, visibility="summary", summarize=fail, on_warning=heard.append)
    assert content(events) == [PLACEHOLDER]
    assert len(heard) == 1
    assert "ValueError" in heard[0]
    assert SECRET not in heard[0]


@pytest.mark.parametrize(("made", "shown"), [("", []), (None, [PLACEHOLDER]), ("\ud800!", ["?!"])])
def test_what_is_no_text_does_not_go_out(made: Any, shown: list[str]) -> None:
    assert content(emit(*THOUGHT, keys=KEYS, visibility="summary", summarize=lambda part: made)) == shown


def test_an_asynchronous_summarizer_is_refused_where_nobody_can_wait() -> None:
    async def summarize(part: ReasoningPart) -> str:
        raise AssertionError

    with pytest.raises(ConfigurationError) as caught:
        emit(*THOUGHT, keys=KEYS, visibility="summary", summarize=summarize)
    assert caught.value.code == "async_summarize"


def test_a_unit_that_was_cut_is_not_summarised() -> None:
    emitter = Emitter(visibility="summary", keys=KEYS, thread_id="t", summarize=lambda part: part.text)
    events = emitter.receive(ReasoningDelta(SECRET)) + emitter.abort()
    assert content(plain(events)) == [PLACEHOLDER]


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_what_a_provider_requires_back_is_not_thrown_away(visibility: Any) -> None:
    emitter = Emitter(visibility=visibility)
    with pytest.raises(ConfigurationError) as caught:
        emitter.receive(ResponseStart(CLAUDE))
    assert caught.value.code == "visibility_without_keys"
    assert emitter.close() == []


def test_the_same_is_refused_when_no_start_announces_the_response() -> None:
    emitter = Emitter(api="anthropic-messages", provider="anthropic", visibility="hidden")
    with pytest.raises(ConfigurationError):
        emitter.receive(ReasoningDelta(SECRET))
    assert emitter.close() == []


def test_openai_may_show_its_summaries_without_keys_but_not_hide_them() -> None:
    Emitter(visibility="summary").receive(ResponseStart(GPT))
    with pytest.raises(ConfigurationError):
        Emitter(visibility="hidden").receive(ResponseStart(GPT))


def test_a_visibility_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Emitter(visibility="hiden")  # type: ignore[arg-type]
    assert caught.value.code == "unknown_visibility"


def test_keys_without_a_thread_are_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Emitter(keys=KEYS)
    assert caught.value.code == "keys_without_thread"


SEARCH = (
    ToolCallDelta("srv_1", "web_search", '{"query": "what nobody may know"}', server=True),
    ToolResultDelta("srv_1", "what nobody may read", native={"type": "web_search_tool_result"}),
    TextDelta("Yes."),
)


@law("E10")
@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_arguments_and_results_of_server_tools_are_shown_only_in_full(visibility: Any) -> None:
    assert "nobody" in json.dumps(emit(ResponseStart(CLAUDE), *SEARCH))
    events = emit(ResponseStart(CLAUDE), *SEARCH, keys=KEYS, visibility=visibility)
    assert "TOOL_CALL_ARGS" not in types(events)
    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == [""]
    assert "nobody" not in json.dumps(events)


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_without_keys_a_server_call_is_still_known_as_the_providers_own(visibility: Any) -> None:
    events = emit(ResponseStart(ACME), *SEARCH, visibility=visibility)
    assert "nobody" not in json.dumps(events)
    value = next(event["encryptedValue"] for event in events if "encryptedValue" in event)
    call, result, _ = json.loads(value)["units"]
    part = {"kind": "call", "server": True, "status": "incomplete"}
    assert call == {"seq": 0, "id": "srv_1", "part": part}
    assert set(result) == {"seq", "id", "message", "part"}
    assert result["part"] == {"kind": "result"}


def test_the_arguments_of_the_clients_tools_are_always_shown() -> None:
    events = emit(ResponseStart(CLAUDE), ToolCallDelta("c", "f", '{"a": 1}'), keys=KEYS, visibility="hidden")
    assert [event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS"] == ['{"a": 1}']


def test_native_blocks_are_not_written_where_nothing_is_kept() -> None:
    events = emit(ResponseStart(ACME), NativeDelta("openrouter.x", {"text": SECRET}), visibility="summary")
    assert SECRET not in json.dumps(events)


# -- events of the application's own


def passed(*events: Any, **options: Any) -> list[dict[str, Any]]:
    emitter = Emitter(thread_id="thread", **options)
    return plain([passed for event in events for passed in emitter.receive(event)])


def messages(*shown: Any) -> MessagesSnapshotEvent:
    return MessagesSnapshotEvent(messages=list(shown))


PLAIN = '{"k": "agui-reasoning"}'
OWN = ReasoningMessage(id="r", role="reasoning", content=SECRET, encrypted_value=PLAIN)


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_raw_events_do_not_pass_and_that_is_said_once(visibility: Any) -> None:
    heard: list[str] = []
    raw = RawEvent(event={"delta": SECRET})
    options = {"visibility": visibility, "keys": KEYS, "on_warning": heard.append}
    assert passed(raw, raw, **options) == []
    assert len(heard) == 1
    assert types(passed(raw)) == ["RAW"]


def test_a_raw_event_on_another_event_does_not_pass() -> None:
    event = {"type": "CUSTOM", "name": "n", "value": 1, "rawEvent": {"delta": SECRET}}
    assert SECRET not in json.dumps(passed(event, keys=KEYS, visibility="hidden"))
    assert SECRET in json.dumps(passed(event))


def test_reasoning_of_the_applications_own_is_not_shown_either() -> None:
    events = passed(
        ReasoningMessageStartEvent(message_id="m", role="reasoning"),
        ReasoningMessageContentEvent(message_id="m", delta=SECRET),
        ReasoningMessageEndEvent(message_id="m"),
        ReasoningEncryptedValueEvent(subtype="message", entity_id="m", encrypted_value=PLAIN),
        keys=KEYS,
        visibility="hidden",
        on_warning=lambda text: None,
    )
    assert types(events) == ["REASONING_MESSAGE_START", "REASONING_MESSAGE_END"]


def test_a_chunk_of_reasoning_loses_its_text() -> None:
    emitter = Emitter(visibility="hidden", keys=KEYS, thread_id="t")
    chunk = ReasoningMessageChunkEvent(message_id="m", delta=SECRET)
    assert plain(emitter.receive(chunk)) == [{"type": "REASONING_MESSAGE_CHUNK", "messageId": "m"}]


def test_a_snapshot_shows_no_reasoning_and_no_value_that_can_be_read() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = AssistantMessage(
        id="a",
        role="assistant",
        content="Yes.",
        encrypted_value=PLAIN,
        tool_calls=[call | {"encryptedValue": PLAIN}],  # type: ignore[list-item]
    )
    (event,) = passed(messages(OWN, answer), keys=KEYS, visibility="hidden")
    assert event["messages"] == [
        {"id": "r", "role": "reasoning", "content": ""},
        {"id": "a", "role": "assistant", "content": "Yes.", "toolCalls": [call]},
    ]


def test_a_snapshot_may_repeat_what_the_client_sent_itself() -> None:
    token = KEYS.encrypt(b"{}", Binding("thread"))
    kept = ReasoningMessage(id="k", role="reasoning", content="", encrypted_value=token)
    (event,) = passed(messages(OWN, kept), keys=KEYS, visibility="hidden", known_messages=[OWN])
    assert [message.get("content") for message in event["messages"]] == [SECRET, ""]
    assert event["messages"][1]["encryptedValue"] == token
