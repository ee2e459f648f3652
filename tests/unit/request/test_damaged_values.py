"""Test that values which no provider can have made are not sent, and are reported."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning import build_request
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
from agui_reasoning.request import History, ProviderRequest
from tests.support.strict_providers import STRICT

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-5")
GPT_OSS = Origin("bedrock", "bedrock-converse", "openai.gpt-oss-120b-1:0")
GEMINI = Origin("google", "gemini", "gemini-3-pro")
HALF = "SIG\ud83d"
CODE = '{"code":"1","language":"PYTHON"}'


def request(name: str, *parts: Part) -> ProviderRequest:
    """The request to a strict provider, which takes it."""
    provider = STRICT[name]
    target = provider.target
    made = build_request(
        target.api or "",
        History((Turn((*parts, TextPart("Well.", origin=parts[0].origin)), parts[0].origin, "resp_1"),)),
        provider=target.provider,
        model=target.model,
        on_warning=lambda text: None,
    )
    assert provider.refusals(made.body) == []
    return made


def thought(origin: Origin, kind: str, value: str) -> ReasoningPart:
    return ReasoningPart((Segment("text", 0, "Hm."),), (Opaque(kind, value),), origin=origin)


@pytest.mark.parametrize("value", [HALF, ""])
def test_a_signature_with_half_a_character_is_no_signature(value: str) -> None:
    made = request("anthropic", thought(CLAUDE, "anthropic.signature", value))
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "missing_signature")]
    assert "thinking" not in str(made.body)


def test_ciphertext_with_half_a_character_is_not_sent() -> None:
    origin = Origin("xai", "xai-grpc", "grok-4")
    made = request("xai", thought(origin, "xai.encrypted_content", HALF))
    assert "encrypted_content" not in str(made.body)


@pytest.mark.parametrize("value", ["SIG", "c2l nLQ==", "c2lnLQ"])
def test_what_is_not_base64_is_no_signature_of_gemini(value: str) -> None:
    call = ToolCallPart("c1", "get", "{}", False, (Opaque("gemini.thought_signature", value),), origin=GEMINI)
    made = request("gemini", call)
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("placeholder", "no_place")]


@pytest.mark.parametrize("value", ["c2ln", "+/+/", "-_-_"])
def test_both_alphabets_are_base64_to_gemini(value: str) -> None:
    call = ToolCallPart("c1", "get", "{}", False, (Opaque("gemini.thought_signature", value),), origin=GEMINI)
    made = request("gemini", call)
    assert made.body["contents"][1]["parts"][0]["thoughtSignature"] == value


def test_claudes_redacted_thoughts_are_not_for_other_models_of_bedrock() -> None:
    redacted = ReasoningPart((), (Opaque("anthropic.redacted_thinking", "EmwK"),), origin=CLAUDE)
    made = request("gpt-oss on bedrock", redacted)
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "foreign_origin")]
    assert "EmwK" in str(request("converse", redacted).body)


def test_thoughts_of_other_models_of_bedrock_are_not_for_claude() -> None:
    made = request("anthropic", thought(GPT_OSS, "anthropic.signature", "EqQB"))
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "foreign_origin")]


BLOCKS: dict[str, NativePart] = {
    "anthropic": NativePart("anthropic.compaction", {"type": "compaction", "content": HALF}),
    "claude on bedrock": NativePart("anthropic.container_upload", {"type": "container_upload", HALF: 1}),
    "openai": NativePart(
        "openai.compaction", {"type": "compaction", "id": "cmp_1", "encrypted_content": HALF}
    ),
    "gemini": NativePart("gemini.inlineData", {"inlineData": {"mimeType": "image/png", "data": HALF}}),
    "interactions": NativePart("gemini.image", {"type": "image", "data": HALF, "mime_type": "image/png"}),
    "mistral": NativePart("mistral.reference", {"type": "reference", "reference_ids": [[HALF]]}),
    "converse": NativePart(
        "bedrock.image", {"image": {"format": "png", "source": {"s3Location": {"uri": f"s3://{HALF}"}}}}
    ),
    "xai": NativePart("xai.tool_output", {"role": "ROLE_TOOL", "encrypted_content": HALF}),
}
"""A block of each API that has blocks, with a lone surrogate."""


def mended(value: Any) -> Any:
    """The JSON value with whole characters."""
    if isinstance(value, str):
        return value.replace(HALF, "SIG")
    if isinstance(value, dict):
        return {mended(name): mended(inner) for name, inner in value.items()}
    return [mended(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_with_half_a_character_is_not_sent(name: str) -> None:
    block = replace(BLOCKS[name], origin=STRICT[name].target)
    whole = request(name, replace(block, payload=mended(block.payload)))
    assert [entry.outcome for entry in whole.report] == ["echoed"]
    made = request(name, block)
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "incomplete")]
    assert "SIG" not in str(made.body)


RESULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "anthropic": ({}, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": HALF}]}),
    "openai": (
        {},
        {
            "type": "web_search_call",
            "id": "s1",
            "status": "completed",
            "action": {"type": "search", "query": HALF},
        },
    ),
    "gemini": (
        {"type": "executableCode"},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": HALF}},
    ),
    "interactions": (
        {"type": "google_search_call"},
        {"type": "google_search_result", "call_id": "s1", "result": [HALF]},
    ),
    "xai": (
        {"type": "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"},
        {"role": "ROLE_TOOL", "content": HALF},
    ),
}
"""The result of a server tool of each API that takes one, with a lone surrogate, and what its call has."""


@pytest.mark.parametrize("name", RESULTS)
def test_a_server_result_with_half_a_character_is_not_sent(name: str) -> None:
    origin, (ext, native) = STRICT[name].target, RESULTS[name]
    call = ToolCallPart("s1", "web_search", CODE, True, ext=ext, origin=origin)
    whole = request(name, call, ToolResultPart("s1", "", native=mended(native), origin=origin))
    assert "SIG" in str(whole.body)
    assert whole.report == ()
    made = request(name, call, ToolResultPart("s1", "", native=native, origin=origin))
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "incomplete")]
    assert "SIG" not in str(made.body)


def test_surrogates_that_make_a_pair_are_a_character() -> None:
    block = NativePart("anthropic.compaction", {"type": "compaction", "content": "SIG\ud83d\ude00"}, CLAUDE)
    made = request("anthropic", block)
    assert [entry.outcome for entry in made.report] == ["echoed"]
    assert made.body["messages"][0]["content"][0]["content"] == "SIG\N{GRINNING FACE}"


def test_a_damaged_block_of_another_provider_is_reported_as_such() -> None:
    block = NativePart("anthropic.compaction", {"type": "compaction", "content": HALF}, CLAUDE)
    assert [entry.reason for entry in request("openai", block).report] == ["native_foreign"]
