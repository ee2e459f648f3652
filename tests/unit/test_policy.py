"""Test the policy table: its rows are read, and the right one wins."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning.parts import Origin
from agui_reasoning.providers.echo import format_of, kinship, rule_for, rules


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (Origin("anthropic", "anthropic-messages", "claude-opus-5"), "required"),
        (Origin("bedrock", "anthropic-messages", None), "required"),
        (Origin("azure", "openai-responses", "gpt-5.1"), "required"),
        (Origin("google", "openai-chat", "gemini-3-pro"), "required"),
        (Origin("openrouter", "openai-chat", "anthropic/claude-sonnet-5"), "required"),
        (Origin("openrouter", "openai-chat", "qwen/qwen3"), "recommended"),
        (Origin("deepseek", "openai-chat", "deepseek-r1"), "rejected"),
        (Origin("DeepSeek", "openai-chat", "DeepSeek-V4-Pro"), "required"),
        (Origin("acme", "openai-chat", "x"), "unknown"),
        (Origin(None, "openai-chat", None), "unknown"),
        (Origin(), "unknown"),
    ],
)
def test_the_first_row_that_matches_wins_and_no_row_is_unknown(origin: Origin, status: str) -> None:
    assert rule_for(origin).status == status


@pytest.mark.parametrize(
    ("provider", "api", "model"),
    [
        ("openai", "openai-responses", "gpt-4.1"),
        ("azure", "openai-responses", "gpt-4o"),
        ("github-copilot", "openai-responses", "gpt-4.1"),
        ("litellm", "openai-responses", "openai/gpt-4o"),
        ("openai", "openai-chat", "gpt-4o"),
        ("openrouter", "openai-chat", "openai/gpt-4o"),
        ("vercel-gateway", "openai-chat", "openai/gpt-4o"),
        ("groq", "openai-chat", "llama-3.3-70b-versatile"),
        ("cerebras", "openai-chat", "llama-3.3-70b"),
        ("moonshot", "openai-chat", "kimi-k2-instruct"),
        ("mistral", "mistral-chat", "codestral-latest"),
        ("google", "gemini", "gemini-2.0-flash"),
        ("bedrock", "bedrock-converse", "amazon.titan-text-express-v1"),
        ("bedrock", "bedrock-converse", "xai.grok-4"),
        ("google", "gemini", "gemma-4-31b-it"),
        ("google", "openai-chat", "gemma-4-31b-it"),
        ("bedrock", "bedrock-converse", "anthropic.claude-3-5-sonnet-20241022-v2:0"),
    ],
)
def test_a_model_that_does_not_reason_gets_no_reasoning_of_one_that_does(
    provider: str, api: str, model: str
) -> None:
    assert not rule_for(Origin(provider, api, model)).echoes


@pytest.mark.parametrize(
    ("origin", "field", "scope"),
    [
        (Origin("deepseek", "anthropic-messages", "deepseek-v4"), ("blocks",), "all"),
        (Origin("openai", "openai-responses", "gpt-4.1"), (), "none"),
        (Origin("groq", "openai-chat", "openai/gpt-oss-20b"), ("reasoning",), "tool_loop"),
        (Origin("groq", "openai-chat", "llama-3.3"), (), "none"),
        (Origin("moonshot", "openai-chat", "kimi-k2.6"), ("reasoning_content",), "tool_turns_all"),
        (Origin("moonshot", "openai-chat", "moonshot-v1"), (), "none"),
        (Origin("google", "openai-chat", "gemini-2.5-pro"), ("tool_calls",), "all"),
        (Origin("zai", "openai-chat", "glm-5.2"), ("reasoning_content",), "tool_loop"),
    ],
)
def test_a_row_tells_where_and_for_which_responses(origin: Origin, field: Any, scope: str) -> None:
    assert (rule_for(origin).field, rule_for(origin).scope) == (field, scope)


def test_a_row_that_sends_nothing_says_nothing_about_where() -> None:
    for rule in rules():
        assert rule.echoes == bool(rule.field), rule
        assert rule.echoes == (rule.scope != "none"), rule


def test_no_row_is_hidden_by_one_before_it() -> None:
    general = [rule for rule in rules() if rule.model == ("*",)]
    for rule in general:
        later = rules()[rules().index(rule) + 1 :]
        shadowed = [r for r in later if r.api == rule.api and set(r.provider) <= set(rule.provider)]
        assert shadowed == []


@pytest.mark.parametrize(
    "model",
    ["claude-opus-5-5", "anthropic.claude-sonnet-5-5-v1:0", "claude-haiku-5-5@20260801", "claude-fable-5-1"],
)
def test_models_that_bind_thinking_are_known_on_every_platform(model: str) -> None:
    assert rule_for(Origin("bedrock", "anthropic-messages", model)).prefix_bound


@pytest.mark.parametrize(
    ("api", "provider", "model"),
    [
        ("openai-chat", "openrouter", "anthropic/claude-{}"),
        ("openai-chat", "litellm", "anthropic/claude-{}"),
        ("openai-chat", "litellm", "vertex_ai/claude-{}"),
        ("openai-chat", "litellm", "bedrock/us.anthropic.claude-{}-v1:0"),
        ("anthropic-messages", "litellm", "anthropic/claude-{}"),
        ("litellm", "anthropic", "claude-{}"),
        ("litellm", "bedrock", "bedrock/anthropic.claude-{}-v1:0"),
        ("litellm", "vertex_ai", "vertex_ai/claude-{}"),
    ],
)
def test_gateways_bind_blocks_as_their_upstream_does(api: str, provider: str, model: str) -> None:
    """The rows of a bound model and of another one differ in nothing else."""
    bound = rule_for(Origin(provider, api, model.format("opus-5-5")))
    other = rule_for(Origin(provider, api, model.format("opus-4-8")))
    differing = {"model", "evidence", "checked"}
    assert bound.model_dump(exclude=differing) == {
        **other.model_dump(exclude=differing),
        "prefix_bound": True,
    }
    assert not other.prefix_bound


@pytest.mark.parametrize(
    ("model", "flags"),
    [("gpt-5.2", ["include"]), ("gpt-5.4-mini", ["include", "reasoning.context"]), ("gpt-5.6", ["include"])],
)
def test_all_turns_are_asked_for_where_that_is_not_the_default(model: str, flags: list[str]) -> None:
    rule = rule_for(Origin("openai", "openai-responses", model))
    assert [flag.name for flag in rule.flags] == flags
    assert (rule.status, rule.pairs, rule.needs) == ("required", True, "encrypted")


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-opus-5-20260505", "claude-mythos-5-1"])
def test_models_that_do_not_check_are_not(model: str) -> None:
    assert not rule_for(Origin("anthropic", "anthropic-messages", model)).prefix_bound


SIGNATURE = ["anthropic.signature"]


@pytest.mark.parametrize(
    ("origin", "target", "kinds", "expected"),
    [
        (None, Origin("anthropic", "anthropic-messages"), SIGNATURE, "unknown"),
        (Origin(), Origin("anthropic", "anthropic-messages"), SIGNATURE, "unknown"),
        (Origin(None, "anthropic-messages"), Origin("anthropic", "anthropic-messages"), [], "same"),
        (Origin("bedrock", "anthropic-messages"), Origin("anthropic", "anthropic-messages"), [], "foreign"),
        (
            Origin("bedrock", "anthropic-messages"),
            Origin("anthropic", "anthropic-messages"),
            SIGNATURE,
            "group",
        ),
        (
            Origin("minimax", "anthropic-messages"),
            Origin("anthropic", "anthropic-messages"),
            SIGNATURE,
            "foreign",
        ),
        (
            Origin("azure", "openai-responses"),
            Origin("openai", "openai-responses"),
            ["openai.encrypted_content"],
            "foreign",
        ),
        (Origin("groq", "openai-chat", "qwen/a"), Origin("groq", "openai-chat", "openai/b"), [], "foreign"),
        (Origin("groq", "openai-chat", "qwen/a"), Origin("groq", "openai-chat", "qwen/b"), [], "same"),
        (Origin("deepseek", "openai-chat"), Origin("deepseek", "openai-responses"), [], "foreign"),
    ],
)
def test_values_are_for_their_own_kind(
    origin: Origin | None, target: Origin, kinds: list[str], expected: str
) -> None:
    assert kinship(origin, target, kinds) == expected


def test_a_format_names_its_readers() -> None:
    known = format_of("anthropic-claude-v1")
    assert known is not None
    assert (known.fits("anthropic/claude-5"), known.fits("openai/gpt-5"), known.signed) == (True, False, True)
    assert format_of("unknown") is None


@pytest.mark.parametrize("api", ["openai-chat", "litellm"])
@pytest.mark.parametrize(
    ("model", "status"), [("groq/openai/gpt-oss-120b", "accepted"), ("groq/llama-4", "rejected")]
)
def test_groq_refuses_reasoning_with_models_that_do_not_reason_behind_litellm_too(
    api: str, model: str, status: str
) -> None:
    provider = "groq" if api == "litellm" else "litellm"
    assert rule_for(Origin(provider, api, model)).status == status
