"""The policy table: its rows are read, and the right one wins."""

from __future__ import annotations

from datetime import date

import pytest

from agui_reasoning.parts import Origin
from agui_reasoning.policy import rule_for, rules


def test_every_row_names_evidence_and_when_it_was_checked() -> None:
    assert rules()
    for rule in rules():
        assert rule.evidence
        assert date.fromisoformat(rule.checked)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (Origin("anthropic", "anthropic-messages", "claude-opus-5"), "required"),
        (Origin("bedrock", "anthropic-messages", None), "required"),
        (Origin("azure", "openai-responses", "gpt-5.1"), "required"),
        (Origin("google", "openai-chat", "gemini-3-pro"), "required"),
        (Origin("openrouter", "openai-chat", "anthropic/claude-sonnet-5"), "required"),
        (Origin("openrouter", "openai-chat", "qwen/qwen3"), "unknown"),
        (Origin("deepseek", "openai-chat", "deepseek-r1"), "rejected"),
        (Origin("DeepSeek", "openai-chat", "DeepSeek-V4-Pro"), "required"),
        (Origin("acme", "openai-chat", "x"), "unknown"),
        (Origin(None, "openai-chat", None), "unknown"),
        (Origin(), "unknown"),
    ],
)
def test_the_first_row_that_matches_wins_and_no_row_is_unknown(origin: Origin, status: str) -> None:
    assert rule_for(origin).status == status
