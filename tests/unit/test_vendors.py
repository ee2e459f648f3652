"""Test the vendor rows: the traits of an origin, and the row that decides."""

from __future__ import annotations

import pytest

from agui_reasoning.parts import Origin
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers import provider_apis
from agui_reasoning.providers.echo import explain_no_rule, kinship, rule_for, rules
from agui_reasoning.providers.vendors import (
    aliases,
    known_providers,
    rows,
    vendor_traits,
    vendors,
)
from tests.support.recordings import FOLDER, load

APIS = [api.id for api in provider_apis()]
CHAT = VendorTraits(
    cut_reasons=("length", "max_tokens", "model_length", "insufficient_system_resource"),
)
RESPONSES = VendorTraits(
    cut_reasons=("max_output_tokens", "content_filter", "cancelled", "incomplete"),
    thought_signature_kind="perplexity.thought_signature",
)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (Origin(), VendorTraits()),
        (Origin("deepseek", "no-such-api"), VendorTraits()),
        (Origin(None, "openai-chat"), CHAT),
        (Origin("acme", "openai-chat", "acme-1"), CHAT),
        (Origin(None, "openai-responses"), RESPONSES),
        # A vendor's row, a model's row, and both.
        (Origin("minimax", "openai-chat", "abab"), CHAT.model_copy(update={"cumulative": True})),
        (Origin("acme", "openai-chat", "acme/QwQ-32B"), CHAT.model_copy(update={"tags_prefilled": True})),
        (
            Origin("MiniMax", "openai-chat", "MiniMax-M2"),
            CHAT.model_copy(update={"cumulative": True, "tags_anywhere": ("<think>",)}),
        ),
        (
            Origin("google-vertex", "openai-chat", "google/gemini-3-pro"),
            CHAT.model_copy(update={"signature_home": "extra_content.vertex"}),
        ),
        (Origin("google", "openai-chat", "gemini-3-pro"), CHAT),
        # A row wins over the defaults of the format.
        (
            Origin("xai", "openai-responses", "grok-4"),
            RESPONSES.model_copy(
                update={"encrypted_kind": "xai.encrypted_content", "custom_calls_on_server": True}
            ),
        ),
    ],
    ids=str,
)
def test_the_first_row_that_sets_a_trait_decides(origin: Origin, expected: VendorTraits) -> None:
    assert vendor_traits(origin) == expected


@pytest.mark.parametrize("api", APIS)
def test_a_provider_has_one_row(api: str) -> None:
    named = [name for row in vendors(api) for name in row.provider]
    assert sorted(set(named)) == sorted(named)


@pytest.mark.parametrize("api", APIS)
def test_the_row_of_a_vendor_says_how_its_reasoning_arrives(api: str) -> None:
    assert vendors(api)


@pytest.mark.parametrize("api", [api for api in APIS if api != "litellm"])
def test_a_rule_stands_beneath_the_row_of_its_vendor(api: str) -> None:
    """LiteLLM's rules are about upstreams and the models that they share."""
    assert list(rows(api, "rule")) == []
    assert vendors(api)
    assert {rule.provider for rule in rules() if rule.api == api} <= {row.provider for row in vendors(api)}


@pytest.mark.parametrize("api", APIS)
def test_a_row_is_called_recorded_if_there_are_recordings(api: str) -> None:
    recorded = {load(file)["provider"] for file in (FOLDER / api).glob("*.json")}
    if not recorded:
        pytest.skip(f"no recordings of {api} at {FOLDER}; set AGUI_REASONING_SHARED")
    named = {name: row.source for row in vendors(api) for name in row.provider}
    assert {
        name: source for name, source in named.items() if (source == "recorded") != (name in recorded)
    } == {}


# -- the names of LiteLLM and models.dev


@pytest.mark.parametrize(
    ("alias", "provider", "api", "model"),
    [
        ("fireworks-ai", "fireworks", "openai-chat", "accounts/fireworks/models/glm-5"),
        ("together_ai", "together", "openai-chat", "zai-org/GLM-5"),
        ("ZhipuAI", "zai", "openai-chat", "glm-5.2"),
        ("z.ai", "zai", "openai-chat", "glm-5.2"),
        ("minimax-cn", "minimax", "openai-chat", "MiniMax-M2"),
        ("kimi", "moonshot", "openai-chat", "kimi-k2.6"),
        ("moonshotai", "moonshot", "openai-chat", "kimi-k2.6"),
        ("x-ai", "xai", "openai-responses", "grok-4"),
        ("opencode", "opencode-zen", "openai-chat", "deepseek-v4"),
        ("vertex_ai", "google-vertex", "litellm", "gemini-3-pro"),
        ("gemini", "google", "gemini", "gemini-3-pro"),
        ("amazon-bedrock", "bedrock", "bedrock-converse", "anthropic.claude-opus-5"),
        ("hosted_vllm", "vllm", "openai-chat", "qwen3.6"),
    ],
)
def test_an_alias_has_the_rows_and_values_of_its_provider(
    alias: str, provider: str, api: str, model: str
) -> None:
    named, usual = Origin(alias, api, model), Origin(provider, api, model)
    assert rule_for(named) is rule_for(usual)
    assert rule_for(named).status != "unknown"
    assert vendor_traits(named) == vendor_traits(usual)
    assert kinship(usual, named) == kinship(named, usual) == "same"
    assert alias.lower() in known_providers(api)


def test_an_alias_stands_for_one_provider_that_is_no_alias() -> None:
    assert set(aliases()).isdisjoint(aliases().values())
    assert all(name == name.lower() for name in aliases())
    listed = [name for names in map(known_providers, APIS) for name in names]
    assert set(aliases().values()) <= set(listed)


def test_a_name_that_is_nearly_an_alias_is_told() -> None:
    assert "fireworks-ai" in explain_no_rule(Origin("firework-ai", "openai-chat"))


def test_the_providers_that_apis_name_are_known() -> None:
    for api in provider_apis():
        known = {None, *known_providers(api.id)}
        assert {api.vendor, api.example[0], *api.http_of} - known == set(), api.id
        assert api.vendor in {None, api.example[0]}


def test_apis_can_write_the_fields_of_their_rules() -> None:
    for api in provider_apis():
        wanted = {name for rule in rules() if rule.api == api.id for name in (*rule.field, *rule.forbidden)}
        assert not api.echo_fields or wanted <= {*api.echo_fields}, api.id


def test_requests_to_bedrock_are_signed_for_one_of_its_services() -> None:
    endpoints = [endpoint for api in provider_apis() for endpoint in (api.http, *api.http_of.values())]
    signed = {one.aws_service for one in endpoints if one is not None and one.signing == "aws-sigv4"}
    assert signed == {"bedrock", "bedrock-mantle"}
