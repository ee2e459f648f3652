"""Change one place of an input into every other type: the result is valid, or the error is ours."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agui_reasoning import (
    AGUIReasoningError,
    Conversation,
    DecodeError,
    ProviderError,
    RemoteProtocolError,
    Run,
    build_request,
    check_events,
    compact,
    erase_reasoning,
    reduce_events,
    restore,
)
from agui_reasoning import _scripted as scripted
from agui_reasoning._envelope import Envelope, Fragment, ResponsePlace, write_envelope
from agui_reasoning._strict_json import dump, load
from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.wire import SSEEncoder, read_events
from tests.support.effort import examples
from tests.support.mutations import mutations

pytestmark = pytest.mark.filterwarnings("ignore::agui_reasoning.AGUIReasoningWarning")

SCRIPTS = ("anthropic-weather", "chat-weather", "openai-weather")
KEYS = KeyRing({"k": bytes(32)})
REST: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
TARGETS = (
    ("anthropic-messages", "anthropic"),
    ("openai-chat", "openrouter"),
    ("openai-chat", "zai"),
    ("openai-responses", "openai"),
)


def some(name: str, changed: Iterator[tuple[str, Any]], count: int) -> list[tuple[str, Any]]:
    """The same sample each time."""
    found = list(changed)
    return random.Random(name).sample(found, min(len(found), examples(count)))


def only_our_errors(what: str, work: Callable[[], object]) -> None:
    try:
        work()
    except AGUIReasoningError:
        pass
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} after {what!a}") from error


def ignore(_: str) -> None:
    pass


# -- what a provider sends


def streamed(script: dict[str, Any], payloads: list[Any]) -> list[Delta]:
    reads = decoder(script["api"], provider=script["provider"])
    deltas: list[Delta] = []
    try:
        for payload in payloads:
            deltas += reads.receive(payload)
        deltas += reads.close()
    except (DecodeError, ProviderError) as error:
        deltas += error.deltas
    return deltas


def emitted(script: dict[str, Any], deltas: list[Delta], keys: KeyRing | None = None) -> list[dict[str, Any]]:
    run_input = {"threadId": "t", "runId": "r", "messages": [], **REST}
    run = Run(run_input, api=script["api"], provider=script["provider"], keys=keys, on_warning=ignore)
    events = run.start()
    for delta in deltas:
        events += run.receive(delta)
    for call in run.pending_calls:
        events += run.receive(ToolResultPart(call.id, "12 degrees"))
    events += run.finish()
    return read_events(b"".join(map(SSEEncoder().encode, events)))


def use(messages: Any, **options: Any) -> None:
    """Restore, and build every request; a body must be JSON in UTF-8."""
    history = restore(messages, **options)
    for api, provider in TARGETS:
        body = build_request(api, history, provider=provider, model="some-model", on_warning=ignore).body
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    history.trim(keep_turns=1).strip_opaque()


def whole_loop(script: dict[str, Any], deltas: list[Delta]) -> None:
    for keys in (None, KEYS):
        use(reduce_events(emitted(script, deltas, keys)), keys=keys, thread_id="t")


def distinct(payloads: list[Any]) -> list[int]:
    """One position of each kind of payload: the last, which has most before it."""
    kinds = {
        (payload.get("type"), tuple(payload)): n
        for n, payload in enumerate(payloads)
        if isinstance(payload, dict)
    }
    return sorted(kinds.values())


@pytest.mark.parametrize("name", SCRIPTS)
def test_payloads(name: str) -> None:
    script = scripted.load_script(name)
    payloads = [event["data"] for event in script["events"]]
    changed = (
        (f"{n}{what}", [*payloads[:n], other, *payloads[n + 1 :]])
        for n in distinct(payloads)
        for what, other in mutations(payloads[n])
    )
    for what, stream in some(name, changed, 480):
        only_our_errors(what, lambda stream=stream: whole_loop(script, streamed(script, stream)))


WHOLE: dict[str, dict[str, Any]] = {
    "anthropic-messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "EqRk"},
            {"type": "redacted_thinking", "data": "RqRk"},
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": ["it"]}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 5},
    },
    "openai-chat": {
        "id": "chatcmpl-1",
        "model": "some-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "So.",
                    "reasoning": "Hm.",
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "Hm.", "signature": "EqRk", "format": "unknown"}
                    ],
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": 1}'},
                            "extra_content": {"google": {"thought_signature": "EqRk"}},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}},
    },
    "openai-responses": {
        "id": "resp_1",
        "object": "response",
        "model": "gpt",
        "status": "completed",
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "gAAA",
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "So.", "annotations": []}],
            },
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "it"}},
        ],
        "usage": {"input_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}},
    },
}


@pytest.mark.parametrize("api", sorted(WHOLE))
def test_whole_responses(api: str) -> None:
    provider = {"openai-chat": "openrouter"}.get(api)
    script = {"api": api, "provider": provider}
    for what, response in some(api, mutations(WHOLE[api]), 800):

        def work(response: Any = response) -> None:
            run = Run({"threadId": "t", "runId": "r", "messages": [], **REST}, **script, on_warning=ignore)
            events = run.start()
            for part in decode_response(api, response, provider=provider):
                events += run.receive(part)
            use(reduce_events(read_events(b"".join(map(SSEEncoder().encode, [*events, *run.finish()])))))

        only_our_errors(what, work)


# -- what an agent sends


OWN: list[dict[str, Any]] = [
    {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}},
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/0", "value": 3}]},
    {"type": "STATE_DELTA", "delta": [{"op": "move", "from": "/a/0", "path": "/b"}]},
    {"type": "CUSTOM", "name": "mine", "value": 1},
    {"type": "STEP_STARTED", "stepName": "look"},
    {"type": "STEP_FINISHED", "stepName": "look"},
    {"type": "RAW", "event": {"a": 1}, "source": "provider"},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "plan", "content": {"a": 1}},
    {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "plan", "patch": []},
    {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "u", "role": "user", "content": [{"type": "text", "text": "Hello."}]}],
    },
]


def events_of(name: str) -> list[dict[str, Any]]:
    script = scripted.load_script(name)
    events = emitted(script, streamed(script, [event["data"] for event in script["events"]]))
    return [*events[:-1], *OWN, events[-1]]


def consumed(events: list[Any]) -> None:
    """Receive everything, whatever is refused on the way, and go on with what is held."""
    conversation = Conversation(on_warning=ignore)
    for event in events:
        only_our_errors("an event", lambda event=event: conversation.receive(event))
    only_our_errors("the end", conversation.end_of_stream)
    _ = conversation.messages, conversation.state, conversation.pending_calls
    conversation.run_input("Next.").model_dump_json(by_alias=True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_events(name: str) -> None:
    events = events_of(name)
    kinds = {event["type"]: n for n, event in enumerate(events)}
    changed = ((n, what, other) for n in kinds.values() for what, other in mutations(events[n]))
    for what, (n, other) in some(name, ((f"{n}{w}", (n, o)) for n, w, o in changed), 1200):
        stream = [*events[:n], other, *events[n + 1 :]]
        for work in (
            lambda stream=stream: consumed(stream),
            lambda stream=stream: check_events(stream),
            lambda stream=stream: compact(stream),
            lambda other=other: ThinkingUpgrader(ignore).receive(other),
            lambda other=other: ThinkingDowngrader(on_warning=ignore).receive(other),
        ):
            only_our_errors(what, work)


# -- what a client sends


def history_of(name: str) -> list[Any]:
    picture = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
    asked = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Where?"}, picture]}
    held = reduce_events(events_of(name))
    messages = [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in held]
    return [asked, *messages, {"id": "u2", "role": "user", "content": "And then?"}]


@pytest.mark.parametrize("name", SCRIPTS)
def test_messages(name: str) -> None:
    for what, messages in some(name, mutations(history_of(name)), 1200):
        run_input = {"threadId": "t", "runId": "r", "messages": messages, **REST}
        for work in (
            lambda messages=messages: use(messages),
            lambda messages=messages: use(
                messages, keys=KEYS, thread_id="t", accept_plain=True, assume_provider="openai"
            ),
            lambda messages=messages: erase_reasoning(messages if isinstance(messages, list) else []),
            lambda run_input=run_input: Run(run_input, api="anthropic-messages", on_warning=ignore).request(),
        ):
            only_our_errors(what, work)


@pytest.mark.parametrize("name", SCRIPTS)
def test_envelopes(name: str) -> None:
    messages = history_of(name)
    changed = (
        (f"{n}{what}", [*messages[:n], {**message, "encryptedValue": dump(value)}, *messages[n + 1 :]])
        for n, message in enumerate(messages)
        if "encryptedValue" in message
        for what, value in mutations(load(message["encryptedValue"]))
    )
    for what, given in some(name, changed, 800):
        only_our_errors(what, lambda given=given: use(given))


# -- half characters


def test_half_an_emoji_in_the_arguments_of_a_call_does_not_break_the_next_turn() -> None:
    function = {"name": "look", "arguments": '{"at": "\ud83d"}'}
    call = {"id": "c", "type": "function", "function": function}
    messages = [{"id": "a", "role": "assistant", "toolCalls": [call]}]
    body = build_request(
        "anthropic-messages", messages, provider="anthropic", model="m", on_warning=ignore
    ).body
    [used] = [block for block in body["messages"][1]["content"] if block["type"] == "tool_use"]
    assert used["input"] == {"at": "\ufffd"}
    use(messages)


def test_a_value_that_is_half_an_emoji_is_no_value() -> None:
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": "\ud800"}
    assert [entry.reason for entry in restore([thought]).report] == ["unknown_value"]
    assert [e.reason for e in restore([thought], keys=KEYS, thread_id="t").report] == ["unauthenticated"]


@pytest.mark.parametrize("data", ["é", "\ud800", "%", "AAAA", "/w=="])
def test_a_slice_that_cannot_be_read_is_missing(data: str) -> None:
    fragment = Fragment(seq=0, index=0, count=1, data=data)
    value = write_envelope(Envelope(response=ResponsePlace(id="one"), fragments=(fragment,)))
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    assert [entry.reason for entry in restore([thought]).report] == ["part_missing"]


@pytest.mark.parametrize("field", ["id", "role", "toolCallId", "subagentRunId"])
@pytest.mark.parametrize("value", [[], {}, 1, True])
def test_an_id_that_is_no_string_is_bad_input(field: str, value: object) -> None:
    with pytest.raises(RemoteProtocolError, match=field) as caught:
        restore([{"id": "a", "role": "assistant", "content": "So.", field: value}])
    assert caught.value.code == "bad_input"


@pytest.mark.parametrize("name", [5, [], {}, True])
def test_a_function_whose_name_is_no_string_is_bad_input(name: object) -> None:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    with pytest.raises(RemoteProtocolError, match="toolCalls/function/name") as caught:
        restore([{"id": "a", "role": "assistant", "toolCalls": [call]}])
    assert caught.value.code == "bad_input"


@pytest.mark.parametrize("name", [5, ["anthropic"], {"anthropic": 1}, None])
def test_a_value_of_another_framework_without_a_provider_is_no_value(name: object) -> None:
    value = dump({"provider_name": name, "signature": "c2ln"})
    thought = {"id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": value}
    for provider in (None, "anthropic"):
        history = restore([thought], assume_provider=provider)
        assert [entry.reason for entry in history.report] == ["unknown_value"]
