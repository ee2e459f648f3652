"""Test that a failed tool is told to the model, in every API, and that a client's history keeps it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from ag_ui.core import (
    Event,
    ReasoningEncryptedValueEvent,
    ToolCallResultEvent,
    ToolMessage,
    UserMessage,
)

from agui_reasoning import Conversation, Run, build_request, restore
from agui_reasoning.deltas import (
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque, Origin, ToolCallPart, ToolResultPart, Turn
from agui_reasoning.providers.registry import provider_apis
from agui_reasoning.request import History
from agui_reasoning.testing import assistant_ui, copilotkit, tanstack
from tests.support.sdk_types import check_types
from tests.support.verifier import replay

Json = dict[str, Any]

INPUT: Json = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "u", "role": "user", "content": "Will it rain?"}],
    "tools": [],
    "context": [],
    "state": None,
    "forwardedProps": None,
}
CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
TARGET = {"api": CLAUDE.api, "provider": CLAUDE.provider, "model": CLAUDE.model}
FRONT_ENDS = {"copilotkit": copilotkit, "assistant-ui": assistant_ui, "tanstack": tanstack}
ERROR = "The weather service did not answer."


def thinking(number: int) -> list[Any]:
    """A response that thinks and calls a tool."""
    return [
        ResponseStart(CLAUDE, id=f"msg_{number}"),
        ReasoningDelta(f"Thought {number}."),
        OpaqueDelta(Opaque("anthropic.signature", f"SIG{number}")),
        ToolCallDelta(f"c{number}", "weather", "{}"),
        FinishDelta("tool_use"),
    ]


def run_of(*items: Any) -> tuple[Run, list[Event]]:
    numbers = count(1)
    run = Run(INPUT, new_id=lambda: f"id{next(numbers)}", **TARGET)
    events = run.start()
    for item in items:
        events += run.receive(item)
    return run, events


def messages_after(events: list[Event]) -> list[Json]:
    """The messages that the client holds."""
    return [*INPUT["messages"], *replay(events).messages]


# -- what is emitted


@pytest.mark.parametrize(
    ("content", "error", "said", "told"),
    [
        ("", ERROR, ERROR, ERROR),
        ("Half of it.", ERROR, f"Half of it.\n\n{ERROR}", ERROR),
        ("", "", "The tool failed.", "The tool failed."),
        ("12 degrees", " ", "12 degrees\n\nThe tool failed.", "The tool failed."),
        (ERROR, ERROR, ERROR, ERROR),
    ],
)
def test_the_client_is_told_that_a_tool_failed(content: str, error: str, said: str, told: str) -> None:
    run, _ = run_of(*thinking(1))
    assert run.receive(ToolResultPart("c1", content, error)) == [
        ToolCallResultEvent(
            message_id="id5",
            tool_call_id="c1",
            content=said,
            role="tool",
            metadata={"agui-reasoning": {"error": told}},
        )
    ]


def test_a_result_without_an_error_has_no_metadata() -> None:
    run, _ = run_of(*thinking(1))
    assert run.receive(ToolResultPart("c1", "Rain.")) == [
        ToolCallResultEvent(message_id="id5", tool_call_id="c1", content="Rain.", role="tool")
    ]


def test_the_run_goes_on_and_its_next_request_says_so() -> None:
    run, _ = run_of(*thinking(1), ToolResultDelta("c1", "", error=ERROR))
    assert run.pending_calls == []
    assert run.request().body["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": ERROR, "is_error": True}
    ]


def test_what_a_run_keeps_is_what_its_client_sends_back() -> None:
    results = ToolResultPart("c1", "Half.", ERROR), ToolResultPart("c2", "Rain.")
    run, events = run_of(*thinking(1), results[0], *thinking(2), results[1])
    assert restore(messages_after(events)).items == run.history.items


def test_an_event_of_the_application_says_it_in_the_same_way() -> None:
    run, events = run_of(*thinking(1))
    metadata = {"agui-reasoning": {"error": ERROR}, "mine": 1}
    result = ToolCallResultEvent(
        message_id="m", tool_call_id="c1", content="Half.", role="tool", metadata=metadata
    )
    events += run.receive(result)
    expected = ToolMessage(
        id="m", role="tool", tool_call_id="c1", content="Half.", error=ERROR, metadata=metadata
    )
    assert run.history.messages[-1] == expected
    assert restore(messages_after(events)).messages[-1] == expected


# -- what comes back


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_front_end_keeps_it(front_end: str) -> None:
    """Also the one that drops the metadata of results: the value of the next response says it once more."""
    items = [*thinking(1), ToolResultPart("c1", "", ERROR), *thinking(2), ToolResultPart("c2", "Rain.")]
    _, events = run_of(*items)
    messages = restore(FRONT_ENDS[front_end](messages_after(events))).messages
    results = {m.tool_call_id: (m.content, m.error) for m in messages if isinstance(m, ToolMessage)}
    assert results == {"c1": (ERROR, ERROR), "c2": ("Rain.", None)}


def test_only_the_first_value_and_the_last_name_the_failed_calls() -> None:
    _, events = run_of(
        *thinking(1),
        ToolResultPart("c1", "", ERROR),
        ReasoningDelta("One."),
        TextDelta("So."),
        ReasoningDelta("Two."),
        TextDelta("So."),
        ReasoningDelta("Three."),
        FinishDelta("stop"),
    )
    values = [event.encrypted_value for event in events if isinstance(event, ReasoningEncryptedValueEvent)]
    assert ['"failed":["c1"]' in value for value in values] == [False, False, True, False, False, True]


def test_a_client_says_that_its_own_tool_failed() -> None:
    run, events = run_of(*thinking(1))
    conversation = Conversation("t", messages=INPUT["messages"], on_warning=lambda text: None)
    for event in [*events, *run.finish()]:
        conversation.receive(event)
    conversation.add_tool_result("c1", "", error=ERROR)
    body = build_request(history_or_messages=conversation.run_input(), **TARGET).body  # type: ignore[arg-type]
    assert body["messages"][-1]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": ERROR,
        "is_error": True,
    }


@pytest.mark.parametrize("hint", [7, "", " ", None, [ERROR]])
def test_a_hint_that_is_no_sentence_is_no_error(hint: Any) -> None:
    message = {"id": "t", "role": "tool", "toolCallId": "c", "content": "Rain."}
    history = restore([{**message, "metadata": {"agui-reasoning": {"error": hint}}}])
    assert history.messages[0].error is None  # type: ignore[union-attr]


# -- tools of the provider


SEARCH = [
    ResponseStart(CLAUDE, id="msg_1"),
    ReasoningDelta("Let me look."),
    ToolCallDelta("s", "web_search", "{}", server=True),
]


@pytest.mark.parametrize("content", ["", "Half of it.", ERROR])
@pytest.mark.parametrize("error", [ERROR, "", None])
def test_the_error_of_a_tool_of_the_provider_comes_back(content: str, error: str | None) -> None:
    found = ToolResultDelta("s", content, error=error, native={"type": "web_search_tool_result"})
    run, events = run_of(*SEARCH, found)
    events += run.finish()
    [turn] = restore(messages_after(events)).turns
    [part] = [part for part in turn.parts if isinstance(part, ToolResultPart)]
    assert (part.content, part.error, part.native) == (content, error, found.native)


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_the_error_of_a_tool_of_the_provider_is_shown_only_with_everything(visibility: Any) -> None:
    items = [*SEARCH, ToolResultDelta("s", "", error=ERROR, native={"type": "web_search_tool_result"})]
    _, events = run_of(*items)
    assert ERROR in str(events)
    unbound = Run(INPUT, visibility=visibility)
    hidden = unbound.start()
    for item in items[1:]:
        hidden += unbound.receive(item)
    assert ERROR not in str(hidden + unbound.finish())


# -- how it is spelled


def _last(body: Json) -> Any:
    return body["messages"][-1]


SPELLED: dict[str, tuple[Callable[[Json], Any], Json]] = {
    "anthropic-messages": (
        lambda body: _last(body)["content"],
        [{"type": "tool_result", "tool_use_id": "call12345", "content": "%s", "is_error": True}],  # type: ignore[dict-item]
    ),
    "bedrock-converse": (
        lambda body: _last(body)["content"],
        [{"toolResult": {"toolUseId": "call12345", "content": [{"text": "%s"}], "status": "error"}}],  # type: ignore[dict-item]
    ),
    "cohere-chat": (_last, {"role": "tool", "tool_call_id": "call12345", "content": "%s"}),
    "gemini": (
        lambda body: body["contents"][-1]["parts"],
        [{"functionResponse": {"id": "call12345", "name": "weather", "response": {"error": "%s"}}}],  # type: ignore[dict-item]
    ),
    "gemini-interactions": (
        lambda body: body["input"][-1]["content"][-1],
        {
            "type": "function_result",
            "call_id": "call12345",
            "name": "weather",
            "result": "%s",
            "is_error": True,
        },
    ),
    "litellm": (_last, {"role": "tool", "tool_call_id": "call12345", "content": "%s"}),
    "mistral-chat": (
        _last,
        {"role": "tool", "tool_call_id": "call12345", "name": "weather", "content": "%s"},
    ),
    "ollama": (
        _last,
        {"role": "tool", "tool_name": "weather", "tool_call_id": "call12345", "content": "%s"},
    ),
    "openai-chat": (_last, {"role": "tool", "tool_call_id": "call12345", "content": "%s"}),
    "openai-responses": (
        lambda body: body["input"][-1],
        {"type": "function_call_output", "call_id": "call12345", "output": "%s"},
    ),
    "xai-grpc": (
        _last,
        {"role": "ROLE_TOOL", "tool_call_id": "call12345", "content": [{"text": "%s"}]},
    ),
}


@pytest.mark.parametrize("api", [api.id for api in provider_apis()])
@pytest.mark.parametrize(
    ("content", "text"), [("", ERROR), ("Half of it.", f"Half of it.\n\n{ERROR}")], ids=["alone", "partial"]
)
def test_every_api_gets_its_spelling(api: str, content: str, text: str) -> None:
    provider, model = next(known.example for known in provider_apis() if known.id == api)
    origin = Origin(provider, api, model)
    call = ToolCallPart("call12345", "weather", "{}", origin=origin)
    failed = ToolMessage(id="t", role="tool", tool_call_id="call12345", content=content, error=ERROR)
    history = History((UserMessage(id="u", content="Will it rain?"), Turn((call,), origin, "resp_1"), failed))
    body = build_request(api, history, provider=provider, model=model).body
    find, expected = SPELLED[api]
    assert find(body) == _filled(expected, text)
    assert check_types(api, body) == ""


def _filled(value: Any, text: str) -> Any:
    if isinstance(value, list):
        return [_filled(inner, text) for inner in value]
    if isinstance(value, dict):
        return {name: _filled(inner, text) for name, inner in value.items()}
    return text if value == "%s" else value


@pytest.mark.parametrize("given", [ERROR, None])
def test_content_parts_are_followed_by_the_error(given: str | None) -> None:
    parts = [{"type": "text", "text": "Half of it."}, {"type": "text", "text": given or ERROR}]
    content = parts[: 2 if given else 1]
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages = [
        *INPUT["messages"],
        {"id": "a", "role": "assistant", "toolCalls": [call]},
        {"id": "t", "role": "tool", "toolCallId": "c1", "content": content, "error": ERROR},
    ]
    body = build_request(history_or_messages=messages, **TARGET).body  # type: ignore[arg-type]
    assert body["messages"][-1]["content"][0]["content"] == parts


OUTPUTS: dict[str, tuple[Json, Json]] = {
    "apply_patch_call": (
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": ERROR},
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": "Rain."},
    ),
    "shell_call": (
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "output": [{"stdout": "", "stderr": ERROR, "outcome": {"type": "exit", "exit_code": 1}}],
        },
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "output": [{"stdout": "Rain.", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
    ),
}


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("error", [ERROR, None])
def test_openai_tools_with_a_status_get_it(kind: str, error: str | None) -> None:
    origin = Origin("openai", "openai-responses", "gpt-5.6")
    call = ToolCallPart("c1", kind, "{}", ext={"type": kind}, origin=origin)
    result = ToolResultPart("c1", "" if error else "Rain.", error)
    history = History((UserMessage(id="u", content="Hi."), Turn((call, result), origin, "resp_1")))
    body = build_request("openai-responses", history, provider="openai", model="gpt-5.6").body
    assert body["input"][-1] == OUTPUTS[kind][error is None]
