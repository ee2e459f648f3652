"""Requests for Gemini Interactions."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    ImageInputContent,
    InputContentDataSource,
    InputContentUrlSource,
    SystemMessage,
    TextInputContent,
    Tool,
    ToolMessage,
    UserMessage,
)
from msgspec.structs import replace

from agui_reasoning import ConfigurationError
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.sdk_types import check_types
from tests.support.validators_interactions import check_interactions

API = "gemini-interactions"
ORIGIN = Origin("google", API, "gemini-3-flash-preview")
USER = UserMessage(id="u", content="Weather in Oslo?")
ASKED = {"type": "user_input", "content": [{"type": "text", "text": "Weather in Oslo?"}]}
KIND = "gemini.interaction_signature"


def build(*items: Any, **options: Any) -> ProviderRequest:
    made = build_request(API, History(items), model="gemini-3-flash-preview", **options)
    if "previous_response_id" not in options:
        assert check_interactions(made.body) == []
    assert check_types(API, made.body) == ""
    return made


def turn(*parts: Part, origin: Origin = ORIGIN, identity: str | None = "v1_1") -> Turn:
    return Turn(parts, origin, identity)


def thought(*summary: str, value: str = "EqQ=") -> ReasoningPart:
    segments = tuple(Segment("summary", index, text) for index, text in enumerate(summary))
    return ReasoningPart(segments, (Opaque(KIND, value, "base64"),) if value else ())


CALL = ToolCallPart("fc1", "get_weather", '{"city":"Oslo"}')
CALLED = {"type": "function_call", "id": "fc1", "name": "get_weather", "arguments": {"city": "Oslo"}}
RESULT = ToolMessage(id="t", tool_call_id="fc1", content="4C")
ANSWERED = {
    "type": "user_input",
    "content": [{"type": "function_result", "call_id": "fc1", "name": "get_weather", "result": "4C"}],
}
THOUGHT = {"type": "thought", "signature": "EqQ=", "summary": [{"type": "text", "text": "Need the tool."}]}


def test_every_step_goes_back_in_its_order() -> None:
    tool = Tool(name="get_weather", description="", parameters={"type": "object", "properties": {}})
    made = build(
        SystemMessage(id="s", content="Be kind."),
        USER,
        turn(thought("Need the tool."), CALL),
        RESULT,
        turn(thought(value="EqR="), TextPart("4 degrees."), identity="v1_2"),
        UserMessage(id="u2", content="Thanks."),
        system="Be brief.",
        tools=[tool, {"type": "google_search"}],
        store=False,
    )
    assert made.body == {
        "input": [
            ASKED,
            THOUGHT,
            CALLED,
            ANSWERED,
            {"type": "thought", "signature": "EqR="},
            {"type": "model_output", "content": [{"type": "text", "text": "4 degrees."}]},
            {"type": "user_input", "content": [{"type": "text", "text": "Thanks."}]},
        ],
        "system_instruction": "Be brief.\n\nBe kind.",
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "",
                "parameters": {"type": "object", "properties": {}},
            },
            {"type": "google_search"},
        ],
        "store": False,
    }
    assert [entry.outcome for entry in made.report] == ["echoed", "echoed"]


def test_what_the_server_has_is_named_by_its_id() -> None:
    made = build(USER, turn(thought("Need the tool."), CALL), RESULT, previous_response_id="v1_1")
    assert made.body == {"input": [ANSWERED], "previous_interaction_id": "v1_1"}
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "on_server")]
    assert made.lost == ()


def test_an_interaction_that_was_not_stored_cannot_be_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build(USER, turn(TextPart("Hi."), identity=None), previous_response_id="v1_1")
    assert caught.value.code == "unknown_response"


def test_an_api_that_stores_nothing_names_those_that_do() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_request("gemini", [], model="gemini-3-pro", store=False)
    assert caught.value.hint == (
        "Remove them: only anthropic-messages, openai-responses, gemini-interactions support them."
    )


def test_a_thought_without_its_signature_is_lost_where_a_call_needs_it() -> None:
    with pytest.warns(UserWarning, match="missing_signature"):
        made = build(USER, turn(thought("Hm.", value=""), CALL), RESULT)
    assert made.body["input"] == [ASKED, CALLED, ANSWERED]
    assert [entry.reason for entry in made.lost] == ["missing_signature"]


def test_thoughts_of_another_api_stay_away_and_its_calls_do_not() -> None:
    signed = replace(CALL, opaque=(Opaque("gemini.thought_signature", "x", "base64", "tool_call:fc1"),))
    foreign = Origin("google", "gemini", "gemini-3-flash-preview")
    with pytest.warns(UserWarning, match="foreign_origin"):
        made = build(USER, turn(thought("Hm."), signed, origin=foreign), RESULT)
    assert made.body["input"] == [ASKED, CALLED, ANSWERED]


def test_a_thought_that_leads_to_nothing_stays_away() -> None:
    made = build(USER, turn(thought("Hm.")), UserMessage(id="u2", content="Well?"))
    assert [step["type"] for step in made.body["input"]] == ["user_input"]
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "orphan")]
    assert made.lost == ()


def test_a_signature_on_a_call_goes_back_on_that_call() -> None:
    second = ToolCallPart("fc2", "get_weather", "{}")
    signed = replace(CALL, opaque=(Opaque(KIND, "U0lH", "base64", "tool_call:fc1"),))
    made = build(USER, turn(signed, second), RESULT, replace_id(RESULT, "fc2"))
    assert [step.get("signature") for step in made.body["input"]] == [None, "U0lH", None, None]


def replace_id(message: ToolMessage, call_id: str) -> ToolMessage:
    return message.model_copy(update={"tool_call_id": call_id})


SEARCH = ToolCallPart(
    "s1",
    "google_search",
    '{"queries":["Oslo"]}',
    server=True,
    opaque=(Opaque(KIND, "U0lH", "base64", "tool_call:s1"),),
    ext={"type": "google_search_call", "search_type": "web_search"},
)
SEARCHED = {
    "search_type": "web_search",
    "type": "google_search_call",
    "id": "s1",
    "arguments": {"queries": ["Oslo"]},
    "signature": "U0lH",
}
FOUND = {
    "type": "google_search_result",
    "call_id": "s1",
    "result": [],
    "is_error": False,
    "signature": "UkVT",
}


@pytest.mark.parametrize("call_id", ["s1", "other"])
def test_calls_of_the_providers_own_go_back_with_their_results(call_id: str) -> None:
    """By their ids, or where a recording has others, in their order."""
    found = {**FOUND, "call_id": call_id}
    parts = (SEARCH, ToolResultPart(call_id, "[]", native=found), thought(), TextPart("4C."))
    made = build(USER, turn(*parts), UserMessage(id="u2", content="And Rome?"))
    assert made.body["input"][1:3] == [SEARCHED, found]


@pytest.mark.parametrize(
    "parts",
    [
        (SEARCH, TextPart("4C.")),
        (ToolResultPart("s1", "[]", native=FOUND), TextPart("4C.")),
        (SEARCH, ToolResultPart("s1", "[]", native={**FOUND, "type": "function_result"}), TextPart("4C.")),
        (SEARCH, ToolResultPart("s1", "[]", native={**FOUND, "type": "url_context_result"}), TextPart("4C.")),
        (SEARCH, ToolResultPart("s1", "[]", native="forged"), TextPart("4C.")),
    ],
    ids=["no result", "no call", "a client's result", "the result of another tool", "no step"],
)
def test_without_its_other_half_such_a_step_stays_away(parts: tuple[Part, ...]) -> None:
    made = build(USER, turn(*parts), UserMessage(id="u2", content="And Rome?"))
    assert [step["type"] for step in made.body["input"]] == ["user_input", "model_output", "user_input"]


IMAGE = {"type": "image", "mime_type": "image/png", "data": "eA=="}


def test_what_the_model_put_out_in_a_row_is_one_step() -> None:
    parts = (
        TextPart("See:", ext={"annotations": [CITED]}),
        NativePart("gemini.image", IMAGE),
        TextPart("So."),
    )
    made = build(USER, turn(*parts), UserMessage(id="u2", content="Thanks."))
    text = {"type": "text", "text": "See:", "annotations": [CITED]}
    assert made.body["input"][1] == {
        "type": "model_output",
        "content": [text, IMAGE, {"type": "text", "text": "So."}],
    }


CITED = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("gemini.user_input", {"type": "user_input", "content": []}),
        ("gemini.function_result", {"type": "function_result", "call_id": "fc1", "result": "x"}),
        ("gemini.thought", {"type": "thought", "signature": "forged"}),
        ("gemini.image", {"type": "audio"}),
        ("gemini.image", "eA=="),
    ],
)
def test_a_block_that_is_another_steps_stays_away(kind: str, payload: Any) -> None:
    with pytest.warns(UserWarning, match="cannot be sent to this target|left out"):
        made = build(USER, turn(TextPart("Yes."), NativePart(kind, payload)), USER)
    assert [step["type"] for step in made.body["input"]] == ["user_input", "model_output", "user_input"]


def test_media_of_the_user_stand_in_the_content() -> None:
    data = ImageInputContent(source=InputContentDataSource(value="eA==", mime_type="image/webp"))
    url = ImageInputContent(source=InputContentUrlSource(value="https://example.com/a.png"))
    asked = UserMessage(id="u", content=[TextInputContent(text="Look:"), data, url])
    made = build(asked)
    assert made.body["input"][0]["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image", "mime_type": "image/webp", "data": "eA=="},
        {"type": "image", "mime_type": "image/png", "uri": "https://example.com/a.png"},
    ]


def test_a_tool_that_failed_says_so() -> None:
    failed = ToolMessage(id="t", tool_call_id="fc1", content="", error="no such city")
    (block,) = build(USER, turn(thought("Hm."), CALL), failed).body["input"][-1]["content"]
    assert (block["result"], block["is_error"]) == ("no such city", True)


def test_a_conversation_that_the_assistant_begins_has_a_user_before_it() -> None:
    made = build(AssistantMessage(id="a", content="Hello!"), turn(TextPart("Hello!")), USER)
    assert made.body["input"][0] == {
        "type": "user_input",
        "content": [{"type": "text", "text": "(The conversation begins with the assistant.)"}],
    }
