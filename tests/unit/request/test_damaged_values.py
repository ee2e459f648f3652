"""Test that values which no provider can have made are not sent, and are reported."""

from __future__ import annotations

import pytest

from agui_reasoning import build_request
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart, Turn
from agui_reasoning.request import History, ProviderRequest
from tests.support.strict_providers import STRICT

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-5")
GPT_OSS = Origin("bedrock", "bedrock-converse", "openai.gpt-oss-120b-1:0")
GEMINI = Origin("google", "gemini", "gemini-3-pro")
HALF = "SIG\ud83d"


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
