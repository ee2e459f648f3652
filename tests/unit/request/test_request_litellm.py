"""Build requests for LiteLLM's SDK: what it reads for each upstream."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning.parts import ToolCallPart, Turn
from agui_reasoning.providers import decode_response
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.validators_outputs import check_litellm

API = "litellm"
USER = UserMessage(id="u", content="Hi.")
CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
BLOCK = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}
REDACTED = {"type": "redacted_thinking", "data": "DATA"}
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "ENC",
}
DETAIL = {"type": "reasoning.encrypted", "data": "ENC", "format": "openai-responses-v1", "id": "rs_1"}


def asked(provider: str, model: str, sent_to: str | None = None, **message: Any) -> ProviderRequest:
    """What follows a response of an upstream, and the result of its call."""
    told = {"role": "assistant", "content": None, "tool_calls": [CALL], **message}
    choice = {"index": 0, "message": told, "finish_reason": "tool_calls"}
    parts = decode_response(API, {"model": model, "choices": [choice]}, provider=provider)
    items = (
        USER,
        Turn(tuple(parts), parts[0].origin, "r1"),
        ToolMessage(id="t", tool_call_id="c1", content="4"),
    )
    return build_request(
        API, History(items), provider=sent_to or provider, model=model, on_warning=lambda _: None
    )


def reply(request: ProviderRequest) -> dict[str, Any]:
    message: dict[str, Any] = request.body["messages"][1]
    return message


@pytest.mark.parametrize("model", ["anthropic/claude-opus-5", "claude-opus-5"])
def test_anthropic_gets_its_blocks(model: str) -> None:
    made = asked("anthropic", model, thinking_blocks=[BLOCK, REDACTED], reasoning_content="Hm.")
    assert reply(made) == {
        "role": "assistant",
        "content": None,
        "thinking_blocks": [BLOCK, REDACTED],
        "tool_calls": [CALL],
    }
    assert check_litellm(made.body) == []
    assert [entry.outcome for entry in made.report] == ["echoed", "echoed"]


def test_bedrock_gets_no_redacted_blocks() -> None:
    made = asked("bedrock", "bedrock/anthropic.claude-opus-5", thinking_blocks=[BLOCK, REDACTED])
    assert reply(made)["thinking_blocks"] == [BLOCK]
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("echoed", ""), ("dropped", "policy")]


def test_the_bridge_to_responses_gets_its_items() -> None:
    made = asked("openai", "openai/responses/gpt-5.6", reasoning_items=[ITEM])
    assert reply(made)["reasoning_items"] == [ITEM]


@pytest.mark.parametrize(
    ("provider", "model"), [("google", "gemini/gemini-3-pro"), ("vertex_ai", "gemini-3-pro")]
)
def test_gemini_gets_its_signature_where_litellm_reads_it(provider: str, model: str) -> None:
    signed = {**CALL, "id": "c1__thought__SIG", "provider_specific_fields": {"thought_signature": "SIG"}}
    made = asked(provider, model, tool_calls=[signed])
    assert reply(made)["tool_calls"] == [{**CALL, "provider_specific_fields": {"thought_signature": "SIG"}}]
    assert "extra_content" not in reply(made)


def test_the_signature_of_an_answer_stands_in_a_list() -> None:
    fields = {"thought_signatures": ["SIG"]}
    made = asked("gemini", "gemini-3-pro", content="Yes.", tool_calls=[CALL], provider_specific_fields=fields)
    assert reply(made)["provider_specific_fields"] == fields


def test_openrouter_gets_its_details() -> None:
    fields = {"reasoning_details": [DETAIL]}
    made = asked("openrouter", "openrouter/openai/gpt-5.6", provider_specific_fields=fields)
    assert reply(made)["reasoning_details"] == [DETAIL]
    assert "provider_specific_fields" not in reply(made)


@pytest.mark.parametrize(
    ("provider", "model", "field"),
    [
        ("deepseek", "deepseek/deepseek-v4-pro", "reasoning_content"),
        ("moonshot", "moonshot/kimi-k2.6", "reasoning_content"),
        ("zai", "zai/glm-5", "reasoning_content"),
        ("fireworks_ai", "fireworks_ai/glm-5", "reasoning_content"),
        ("ollama", "ollama_chat/qwen3", "reasoning_content"),
        ("groq", "groq/gpt-oss", "reasoning"),
    ],
)
def test_a_string_goes_where_the_upstream_has_it(provider: str, model: str, field: str) -> None:
    made = asked(provider, model, reasoning_content="Hm.")
    strings = {name for name in reply(made) if name.startswith(("reasoning", "thinking"))}
    assert (strings, reply(made)[field]) == ({field}, "Hm.")


@pytest.mark.parametrize("provider", ["openai", "azure", "mistral", "cohere", "nobody"])
def test_upstreams_that_read_nothing_get_nothing(provider: str) -> None:
    blocks = [{**BLOCK, "signature": "mistral"}]
    made = asked(provider, f"{provider}/model", reasoning_content="Hm.", thinking_blocks=blocks)
    assert set(reply(made)) == {"role", "content", "tool_calls"}
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "policy")]


def test_another_upstream_gets_nothing_of_it() -> None:
    made = asked("deepseek", "claude-opus-5", "anthropic", reasoning_content="Hm.")
    assert "Hm." not in str(made.body)
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "foreign_origin")]


def test_a_placeholder_stands_in_for_what_deepseek_wants() -> None:
    made = asked("anthropic", "deepseek/deepseek-v4-pro", "deepseek", thinking_blocks=[BLOCK])
    assert reply(made)["reasoning_content"] == ""
    assert [entry.outcome for entry in made.report] == ["placeholder"]


@pytest.mark.parametrize(
    ("api", "provider", "model"),
    [
        ("litellm", "mistral", "mistral/magistral-medium-latest"),
        ("litellm", "mistral", "magistral-medium-latest"),
        ("openai-chat", "litellm", "mistral/magistral-medium-latest"),
        ("openai-chat", "mistral", "magistral-medium-latest"),
        ("mistral-chat", "mistral", "magistral-medium-latest"),
    ],
)
def test_mistral_gets_ids_of_nine_characters_however_it_is_asked(api: str, provider: str, model: str) -> None:
    """Mistral: Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9."""
    calls = [ToolCallPart("toolu_01A09q90qw90lq917835lq9", "get"), ToolCallPart("abcABC123", "get")]
    results = [ToolMessage(id=call.id, tool_call_id=call.id, content="4") for call in calls]
    made = build_request(
        api, History((USER, Turn(tuple(calls)), *results)), provider=provider, model=model
    ).body["messages"]
    sent = [call["id"] for message in made for call in message.get("tool_calls") or ()]
    assert [re.fullmatch("[a-zA-Z0-9]{9}", name) is not None for name in sent] == [True, True]
    assert sent[1] == "abcABC123"
    assert [message["tool_call_id"] for message in made if message["role"] == "tool"] == sent


def test_other_upstreams_get_ids_as_they_are() -> None:
    made = asked("anthropic", "anthropic/claude-opus-5", thinking_blocks=[BLOCK])
    assert reply(made)["tool_calls"] == [CALL]
