"""Prove that the validators of requests refuse what providers refuse."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.support.recordings import FOLDER
from tests.support.validators import (
    check_anthropic,
    check_chat,
    check_deepseek,
    check_end,
    check_gemini_chat,
    check_kimi,
    check_openrouter,
    check_responses,
)

Body = dict[str, Any]

USER = {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]}
THINKING = {"type": "thinking", "thinking": "Need the tool.", "signature": "EqQB"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4C"}
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


def anthropic(*contents: list[dict[str, Any]]) -> Body:
    """Assistant and user messages in turn, behind the user's question."""
    roles = ("assistant", "user")
    later = [{"role": roles[n % 2], "content": content} for n, content in enumerate(contents)]
    return {"messages": [USER, *later]}


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_a_correct_anthropic_loop_is_accepted() -> None:
    loop = anthropic([THINKING, SEARCH, FOUND, TOOL_USE], [RESULT, say("Go on.")])
    assert check_anthropic(loop, produced=[THINKING]) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (anthropic([THINKING]), "cannot be `thinking`"),
        (anthropic([say("Hm."), THINKING], [say("Go on.")]), "cannot be `thinking`"),
        (anthropic([{**THINKING, "signature": ""}, say("Hi.")]), "signature: Field required"),
        (anthropic([{**THINKING, "thinking": "Edited."}, say("Hi.")]), "Invalid `signature`"),
        (anthropic([{**THINKING, "cache_control": {}}, say("Hi.")]), "Extra inputs"),
        (anthropic([say("  ")], [say("Go on.")]), "non-whitespace"),
        (anthropic([say("Hi. ")]), "trailing whitespace"),
        (anthropic([TOOL_USE], [say("Go on.")]), "without `tool_result`"),
        (anthropic([TOOL_USE]), "without `tool_result`"),
        (anthropic([TOOL_USE], [say("Go on."), RESULT]), "must come first"),
        (anthropic([TOOL_USE], [RESULT, RESULT]), "single result"),
        (anthropic([say("Hi.")], [RESULT]), "unexpected `tool_use_id`"),
        (anthropic([TOOL_USE, TOOL_USE], [RESULT]), "must be unique"),
        (anthropic([{**TOOL_USE, "id": "get:0"}], [{**RESULT, "tool_use_id": "get:0"}]), "match pattern"),
        (anthropic([{**TOOL_USE, "input": "{}"}], [RESULT]), "valid dictionary"),
        (anthropic([SEARCH, say("Hi.")], [say("Go on.")]), "corresponding result"),
        (anthropic([FOUND, say("Hi.")], [say("Go on.")]), "without its server_tool_use"),
        (anthropic([]), "content is empty"),
        ({"messages": [USER, USER]}, "must alternate"),
        ({"messages": [{"role": "assistant", "content": [say("Hi.")]}]}, "first message"),
        ({"messages": [USER, {"role": "system", "content": [say("Hi.")]}]}, "not supported on this model"),
        ({"messages": [{"role": "user", "content": [THINKING]}]}, "thinking in a user message"),
    ],
)
def test_anthropic_refuses(body: Body, words: str) -> None:
    assert any(words in fault for fault in check_anthropic(body, produced=[THINKING])), words


# -- OpenAI Responses

QUESTION = {"role": "user", "content": "Weather in Oslo?"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "4C"}
BARE = {"role": "assistant", "content": "4C"}


def responses(*items: dict[str, Any], **fields: Any) -> Body:
    return {"input": [QUESTION, *items], **fields}


@pytest.mark.parametrize("fields", [{}, {"store": False}])
def test_a_correct_stateless_loop_is_accepted(fields: Body) -> None:
    assert check_responses(responses(REASONING, CALL, OUTPUT, **fields), bound={"fc_1": "rs_1"}) == []


def without(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (responses(REASONING), "required following item"),
        (responses(REASONING, QUESTION), "required following item"),
        (responses(REASONING, BARE), "required following item"),
        (responses(REASONING, OUTPUT), "required following item"),
        (responses(CALL, OUTPUT), "without its required 'reasoning' item"),
        (responses(without(REASONING, "encrypted_content"), CALL, OUTPUT, store=False), "not persisted"),
        (responses(without(REASONING, "summary"), CALL, OUTPUT), "input[].summary"),
        (responses(without(REASONING, "id", "encrypted_content"), CALL, OUTPUT), "input[].id"),
        (responses({**REASONING, "status": "completed"}, CALL, OUTPUT), "input[].status"),
        (responses({"type": "item_reference", "id": "rs_1"}, store=False), "not found"),
        (responses(REASONING, CALL), "No tool output"),
        (responses(OUTPUT), "No tool call found"),
        (responses(REASONING, CALL, CALL, OUTPUT), "Duplicate call_id"),
        (responses(REASONING, {**CALL, "arguments": {}}, OUTPUT), "Invalid type"),
        (responses(REASONING, {**CALL, "call_id": "c" * 65}), "too long"),
    ],
)
def test_openai_refuses(body: Body, words: str) -> None:
    faults = check_responses(body, bound={"fc_1": "rs_1"})
    assert any(words in fault for fault in faults), faults


def test_openai_refuses_what_it_was_recorded_to_refuse() -> None:
    file = FOLDER / "rejections.json"
    if not file.exists():
        pytest.skip(f"no recordings at {FOLDER}; set AGUI_REASONING_SHARED")
    refused = json.loads(file.read_text(encoding="utf-8"))[0]
    assert check_responses(refused["request"]) == [refused["response"]["error"]["message"]]


# -- chat

CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "4C"}


def chat(*messages: dict[str, Any]) -> Body:
    return {"messages": [QUESTION, *messages]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (chat({**CALLING, "reasoning_content": "Hm."}, TOLD), "property 'reasoning_content' is unsupported"),
        (chat(CALLING), "must be followed by tool messages"),
        (chat(CALLING, QUESTION), "must be followed by tool messages"),
        (chat(TOLD), "must be a response to"),
        (chat(CALLING, {**TOLD, "tool_call_id": "c2"}), "out of order"),
        (chat(CALLING, {**TOLD, "content": []}), "string as content"),
        (chat({"role": "assistant", "content": None}), "must be set"),
        (chat({"role": "assistant", "content": "", "tool_calls": []}), "too short"),
        (chat({**CALLING, "tool_calls": [{**CHAT_CALL, "id": ""}]}), "without an id"),
        (chat({"role": "reasoning", "content": "Hm."}), "unknown role"),
        (chat({"role": "user", "content": None}), "no content"),
    ],
)
def test_a_strict_server_refuses(body: Body, words: str) -> None:
    assert any(words in fault for fault in check_chat(body)), check_chat(body)


def test_empty_arguments_are_not_json() -> None:
    call = copy.deepcopy(CHAT_CALL)
    call["function"]["arguments"] = ""  # type: ignore[index]
    assert check_chat(chat({**CALLING, "tool_calls": [call]}, TOLD)) != []


def test_deepseek_refuses_an_answer_without_its_reasoning() -> None:
    assert check_deepseek(chat(CALLING, TOLD)) != []
    assert check_deepseek(chat({**CALLING, "reasoning_content": ""}, TOLD)) == []


def test_kimi_refuses_calls_without_reasoning_or_with_empty_content() -> None:
    assert check_kimi(chat(CALLING, TOLD)) != []
    assert check_kimi(chat({**CALLING, "reasoning_content": ""}, TOLD)) != []
    assert check_kimi(chat({**CALLING, "reasoning_content": " "}, TOLD)) == []
    assert check_kimi(chat({**CALLING, "reasoning_content": " ", "content": ""}, TOLD)) != []


def test_gemini_refuses_a_first_call_without_its_signature() -> None:
    signed = {**CHAT_CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    assert check_gemini_chat(chat(CALLING, TOLD)) != []
    assert check_gemini_chat(chat({**CALLING, "tool_calls": [signed]}, TOLD)) == []


def test_openrouter_refuses_unsigned_text_and_an_entry_in_two_messages() -> None:
    text = {"type": "reasoning.text", "text": "Hm.", "format": "anthropic-claude-v1"}
    data = {"type": "reasoning.encrypted", "data": "gAAAA", "id": "rs_1"}
    answer = {"role": "assistant", "content": "4C"}
    assert check_openrouter(chat({**answer, "reasoning_details": [text]})) != []
    assert check_openrouter(chat({**answer, "reasoning_details": [{**text, "signature": "E"}]})) == []
    assert check_openrouter(chat(*[{**answer, "reasoning_details": [data]}] * 2)) != []


@pytest.mark.parametrize(
    ("api", "field", "whole", "gaps"),
    [
        ("anthropic-messages", "messages", [USER], [USER, {"role": "assistant", "content": []}]),
        ("openai-responses", "input", [{"role": "user"}], [{"role": "user"}, {"type": "message"}]),
        ("openai-responses", "input", [{"type": "function_call_output"}], [{"type": "reasoning"}]),
        ("openai-chat", "messages", [{"role": "tool"}], [{"role": "user"}, {"role": "assistant"}]),
        ("openai-chat", "messages", [{"role": "user"}, {"role": "system"}], [{"role": "assistant"}]),
    ],
)
def test_a_request_that_ends_with_the_models_turn_is_seen(
    api: str, field: str, whole: list[Any], gaps: list[Any]
) -> None:
    assert check_end(api, {field: whole}) == []
    assert len(check_end(api, {field: gaps})) == 1
