"""Conversations as messages for LiteLLM, and its streams in a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from agui_reasoning import Run, reduce_events, run_agent
from agui_reasoning.interop import litellm
from agui_reasoning.parts import Opaque, ReasoningPart, Segment, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.replay import load_script

EMPTY = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
PICTURE = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}}
ASKED = {"id": "u", "role": "user", "content": "Weather in Oslo?"}
SEEN = {"id": "u", "role": "user", "content": [{"type": "text", "text": "What is this?"}, PICTURE]}
THINKING = {"type": "thinking", "thinking": "Look it up.", "signature": "EqQB"}
FUNCTION = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
CALL = {"id": "toolu_1", "type": "function", "function": FUNCTION}
CACHED = {"type": "ephemeral"}


def text(content: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}]


def run_of(*messages: dict[str, Any], told: list[str] | None = None, **options: Any) -> Run:
    given: Any = {"threadId": "t", "runId": "r", "messages": list(messages), **EMPTY}
    options = {"provider": "anthropic", "model": "anthropic/claude-sonnet-4-6", **options}
    warn = told.append if told is not None else None
    run = Run(RunAgentInput.model_validate(given), on_warning=warn, **options)
    run.start()
    return run


def called(**options: Any) -> Run:
    run = run_of(ASKED, api="litellm", **options)
    for part in (
        ReasoningPart((Segment("text", 0, "Look it up."),), (Opaque("anthropic.signature", "EqQB"),)),
        ToolCallPart("toolu_1", "get_weather", '{"city":"Oslo"}'),
        ToolResultPart("toolu_1", "4 degrees"),
    ):
        run.receive(part)
    return run


STRINGS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather in Oslo?"},
    {"role": "assistant", "content": None, "thinking_blocks": [THINKING], "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "toolu_1", "content": "4 degrees", "name": "get_weather"},
]


def test_content_is_a_string_where_no_capability_asks_for_a_list() -> None:
    assert litellm.messages(called(), system="Be brief.") == STRINGS
    assert litellm.messages(called(), system="Be brief.", function_calling=False, vision=False) == STRINGS


LISTS = [
    {"role": "system", "content": text("Be brief.")},
    {"role": "user", "content": text("Weather in Oslo?")},
    STRINGS[2],
    {**STRINGS[3], "content": text("4 degrees")},
]


def test_the_ends_of_a_prefix_are_marked_for_the_cache() -> None:
    assert litellm.messages(called(), system="Be brief.", cache=True) == [
        {"role": "system", "content": [{**text("Be brief.")[0], "cache_control": CACHED}]},
        *LISTS[1:3],
        {**LISTS[3], "cache_control": CACHED},
    ]
    (asked,) = litellm.messages(run_of(ASKED), cache=True)
    assert asked == {
        "role": "user",
        "content": [{"type": "text", "text": "Weather in Oslo?", "cache_control": CACHED}],
    }


def test_thinking_is_never_marked_for_the_cache() -> None:
    made = litellm.messages(called(), cache=True)
    assert [m for m in made if m["role"] == "assistant"] == [STRINGS[2]]


@pytest.mark.parametrize("vision", [None, True])
def test_a_picture_is_sent(vision: bool | None) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    content = [*text("What is this?"), image]
    assert litellm.messages(run_of(SEEN), vision=vision) == [{"role": "user", "content": content}]


@pytest.mark.parametrize(("as_list", "content"), [(False, "What is this?"), (True, text("What is this?"))])
def test_a_picture_that_the_model_cannot_see_is_left_out_with_a_warning(as_list: bool, content: Any) -> None:
    told: list[str] = []
    run = run_of(SEEN, told=told)
    made = litellm.messages(run, vision=False, function_calling=as_list)
    assert made == [{"role": "user", "content": content}]
    assert told == ["An image was left out of the messages for LiteLLM: vision is off."]


def test_a_result_says_that_its_picture_was_left_out() -> None:
    told: list[str] = []
    run = run_of(ASKED, api="litellm", told=told)
    run.receive(ToolCallPart("toolu_1", "get_weather", "{}"))
    run.receive(ToolResultPart("toolu_1", [PICTURE]))
    [*_, shown] = litellm.messages(run)
    assert [part["type"] for part in shown["content"]] == ["image_url"]
    [*_, result] = litellm.messages(run, vision=False)
    assert result["content"] == "(Not sent in a tool result: image.)"
    assert "An image was left out of the messages for LiteLLM: vision is off." in told


def test_empty_content_stays_as_the_upstream_wants_it() -> None:
    run = called(provider="deepseek", model="deepseek/deepseek-v4-pro")
    assistant = litellm.messages(run, function_calling=True)[1]
    assert (assistant["content"], assistant["reasoning_content"]) == ("", "Look it up.")


def test_messages_are_plain_json() -> None:
    made = litellm.messages(called(), cache=True, vision=True)
    assert json.loads(json.dumps(made)) == made


def test_a_stream_is_read_in_a_run_of_any_api() -> None:
    payloads = [event["data"] for event in load_script("litellm-weather")["events"]]
    runs: dict[str, list[Any]] = {}

    def agent(run: Run) -> Any:
        yield litellm.stream(payloads)
        runs["parts"] = [type(part) for turn in run.history.turns for part in turn.parts]
        runs["origin"] = [turn.origin for turn in run.history.turns]

    given: Any = {"threadId": "t", "runId": "r", "messages": [ASKED], **EMPTY}
    events = list(run_agent(given, agent, provider="anthropic"))
    assert any(message.role == "reasoning" for message in reduce_events(events))
    assert runs["origin"][0].provider == "anthropic"
    assert runs["origin"][0].api == "litellm"
    assert {ReasoningPart, ToolCallPart} <= set(runs["parts"]) | {TextPart}
