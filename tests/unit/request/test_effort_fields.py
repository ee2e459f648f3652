"""Every API says the effort of a request in a field of its own, and turns thinking off in its own way."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning.parts import EFFORTS, EffortChange, Origin
from agui_reasoning.providers.echo import inside_rows
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.sdk_types import check_types

Json = dict[str, Any]

ASKED = UserMessage(id="u1", content="Weather in Oslo?")
ADDITIONAL = "additionalModelRequestFields"
OFF = {"type": "disabled"}


def build(target: Origin, effort: Any) -> ProviderRequest:
    return build_request(
        str(target.api),
        History((ASKED, EffortChange(effort))),
        provider=target.provider,
        model=target.model,
        on_warning=lambda warning: None,
    )


def budget(tokens: int) -> Json:
    return {"type": "enabled", "budget_tokens": tokens}


@pytest.mark.parametrize(
    ("api", "provider", "model", "effort", "sent"),
    [
        (
            "anthropic-messages",
            "anthropic",
            "claude-opus-4-7",
            "xhigh",
            {"output_config": {"effort": "xhigh"}},
        ),
        ("anthropic-messages", "anthropic", "claude-opus-4-7", "none", {"thinking": OFF}),
        ("anthropic-messages", "bedrock", "claude-opus-5", "max", {"output_config": {"effort": "max"}}),
        ("anthropic-messages", "bedrock", "claude-opus-5", "none", {"output_config": {"effort": "low"}}),
        ("anthropic-messages", "anthropic", "claude-sonnet-4-6", "max", {"output_config": {"effort": "max"}}),
        ("anthropic-messages", "anthropic", "claude-sonnet-4-5", "low", {"thinking": budget(1024)}),
        ("anthropic-messages", "anthropic", "claude-3-7-sonnet-20250219", "max", {"thinking": budget(12288)}),
        ("anthropic-messages", "anthropic", "claude-3-7-sonnet-20250219", "none", {"thinking": OFF}),
        (
            "bedrock-converse",
            "bedrock",
            "us.anthropic.claude-sonnet-4-6",
            "high",
            {ADDITIONAL: {"output_config": {"effort": "high"}}},
        ),
        (
            "bedrock-converse",
            "bedrock",
            "us.anthropic.claude-sonnet-4-6",
            "none",
            {ADDITIONAL: {"thinking": OFF}},
        ),
        (
            "bedrock-converse",
            "bedrock",
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "medium",
            {ADDITIONAL: {"thinking": budget(4096)}},
        ),
        (
            "bedrock-converse",
            "bedrock",
            "us.amazon.nova-2-lite-v1:0",
            "low",
            {ADDITIONAL: {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}},
        ),
        ("cohere-chat", "cohere", "command-a-reasoning-08-2025", "none", {"thinking": OFF}),
        ("cohere-chat", "cohere", "command-a-reasoning-08-2025", "high", {"thinking": {"type": "enabled"}}),
        (
            "gemini",
            "google",
            "gemini-2.5-flash",
            "none",
            {"config": {"thinkingConfig": {"thinkingBudget": 0}}},
        ),
        (
            "gemini",
            "google",
            "gemini-2.5-pro",
            "none",
            {"config": {"thinkingConfig": {"thinkingBudget": 1024}}},
        ),
        (
            "gemini",
            "google",
            "gemini-3-pro-preview",
            "medium",
            {"config": {"thinkingConfig": {"thinkingLevel": "low"}}},
        ),
        (
            "gemini",
            "google-vertex",
            "gemini-3-flash-preview",
            "minimal",
            {"config": {"thinkingConfig": {"thinkingLevel": "minimal"}}},
        ),
        (
            "gemini",
            "google",
            "gemini-4-carbon",
            "max",
            {"config": {"thinkingConfig": {"thinkingLevel": "xhigh"}}},
        ),
        (
            "gemini-interactions",
            "google",
            "gemini-2.5-flash",
            "low",
            {"generation_config": {"thinking_level": "low"}},
        ),
        ("litellm", "anthropic", "claude-sonnet-4-5", "low", {"thinking": budget(1024)}),
        ("litellm", "anthropic", "claude-opus-4-7", "none", {"thinking": OFF}),
        ("litellm", "openai", "gpt-5.6", "high", {"reasoning_effort": "high"}),
        ("litellm", "gemini", "gemini-3-pro-preview", "low", {"reasoning_effort": "low"}),
        ("mistral-chat", "mistral", "mistral-small-latest", "low", {"reasoning_effort": "high"}),
        ("mistral-chat", "mistral", "mistral-small-latest", "none", {"reasoning_effort": "none"}),
        ("ollama", "ollama", "gpt-oss:20b", "medium", {"think": "medium"}),
        ("ollama", "ollama", "qwen3:4b", "low", {"think": True}),
        ("ollama", "ollama", "qwen3:4b", "none", {"think": False}),
        ("openai-chat", "openai", "gpt-5.6", "low", {"reasoning_effort": "low"}),
        ("openai-chat", "groq", "openai/gpt-oss-120b", "max", {"reasoning_effort": "high"}),
        ("openai-chat", "groq", "qwen/qwen3-32b", "high", {"reasoning_effort": "default"}),
        ("openai-chat", "xai", "grok-3-mini", "none", {"reasoning_effort": "low"}),
        ("openai-chat", "google", "gemini-3-pro-preview", "high", {"reasoning_effort": "high"}),
        ("openai-chat", "deepseek", "deepseek-v4-flash", "none", {"extra_body": {"thinking": OFF}}),
        ("openai-chat", "moonshot", "kimi-k3", "xhigh", {"reasoning_effort": "high"}),
        ("openai-chat", "zai", "glm-4.7", "none", {"extra_body": {"thinking": OFF}}),
        (
            "openai-chat",
            "openrouter",
            "anthropic/claude-sonnet-4.5",
            "none",
            {"extra_body": {"reasoning": {"enabled": False}}},
        ),
        (
            "openai-chat",
            "openrouter",
            "google/gemini-3-pro-preview",
            "none",
            {"extra_body": {"reasoning": {"effort": "minimal"}}},
        ),
        ("openai-responses", "openai", "gpt-5.6", "none", {"reasoning": {"effort": "none"}}),
        ("openai-responses", "xai", "grok-4.3", "medium", {"reasoning": {"effort": "medium"}}),
        ("openai-responses", "github-copilot", "gpt-5.3-codex", "max", {"reasoning": {"effort": "high"}}),
        (
            "openai-responses",
            "openrouter",
            "openai/gpt-5-nano",
            "minimal",
            {"reasoning": {"effort": "minimal"}},
        ),
        ("xai-grpc", "xai", "grok-4.3", "high", {"reasoning_effort": "high"}),
    ],
)
def test_the_effort_is_in_the_field_of_the_api(
    api: str, provider: str, model: str, effort: Any, sent: Json
) -> None:
    target = Origin(provider, api, model)
    made = build(target, effort)
    plain = build_request(api, History((ASKED,)), provider=provider, model=model)
    added = {name: value for name, value in made.body.items() if plain.body.get(name) != value}
    assert added == sent
    if types_know(api, made.body):
        assert check_types(api, made.body) == ""


def types_know(api: str, body: Json) -> bool:
    """Whether the types have the level: not Groq's own, and xai-sdk translates its names."""
    return api != "xai-grpc" and body.get("reasoning_effort") != "default"


def test_the_levels_of_every_row_are_in_order() -> None:
    for row in inside_rows():
        assert row.levels == tuple(level for level in EFFORTS if level in row.levels)
        assert not (row.off and "none" in row.levels)


# -- beside fields of the caller's own

SONNET = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-5")


@pytest.mark.parametrize(
    ("own", "thinking"),
    [
        ({"max_tokens": 16_384}, budget(12_288)),
        ({"max_tokens": 12_288}, budget(2048)),  # the recommended one
        ({"max_tokens": 1024}, None),
        ({"max_tokens": 16_384, "temperature": 0}, None),
        ({"max_tokens": 16_384, "thinking": {"type": "enabled", "budget_tokens": 2000}}, budget(12_288)),
    ],
)
def test_a_budget_is_left_out_where_the_callers_own_fields_exclude_it(own: Json, thinking: Any) -> None:
    assert build(SONNET, "high").merged(own).get("thinking") == thinking


def test_a_field_is_found_under_the_other_spelling_of_googles_sdk() -> None:
    request = build(Origin("google", "gemini", "gemini-3-flash-preview"), "high")
    own = {"config": {"thinking_config": {"include_thoughts": True, "thinking_level": "LOW"}}}
    assert request.merged(own)["config"] == {
        "thinking_config": {"include_thoughts": True, "thinking_level": "high"}
    }


def test_thinking_that_is_turned_off_keeps_the_flags_of_others() -> None:
    request = build_request(
        "openai-chat",
        History((ASKED, EffortChange("none"))),
        provider="zai",
        model="glm-4.7",
        apply_flags=True,
    )
    assert request.body["extra_body"] == {"thinking": {"clear_thinking": False, "type": "disabled"}}
