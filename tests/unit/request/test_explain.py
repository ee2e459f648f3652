"""`ProviderRequest.explain` tells people what became of the reasoning."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import History, Run, aio, build_request
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, Turn

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
GPT = Origin("openai", "openai-responses", "gpt-5.6")

SIGNED = ReasoningPart((Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", "SIG"),))
SUMMED = ReasoningPart(
    (Segment("summary", 0, "Hm."),), (Opaque("openai.encrypted_content", "gAAAA"),), "rs_1"
)


def asked(number: int) -> UserMessage:
    return UserMessage(id=f"u{number}", content="And now?")


def answer(origin: Origin, *parts: Part) -> Turn:
    return Turn((*parts, TextPart("Noon.")), origin)


MIXED = History(
    (
        asked(1),
        answer(GPT, SUMMED),
        asked(2),
        answer(CLAUDE, SIGNED, SIGNED),
        asked(3),
        answer(CLAUDE, SIGNED),
        asked(4),
    )
)


def test_each_answer_outcome_and_reason_is_a_line() -> None:
    made = build_request("anthropic-messages", MIXED, provider="anthropic", model="claude-sonnet-4-6")
    assert made.explain().splitlines() == [
        "answer 1 (gpt-5.6): 1 unit left out: anthropic cannot read the values of openai.",
        "answer 2 (claude-sonnet-4-6): 2 units sent unchanged.",
        "answer 3 (claude-sonnet-4-6): 1 unit sent unchanged.",
    ]


@pytest.mark.parametrize(
    ("provider", "model", "why"),
    [
        ("nobody", "m", "it is not known what nobody does about reasoning that is sent back"),
        (None, "m", "it is not known what the provider does about reasoning that is sent back"),
        ("xai", "grok-4", "xai ignores reasoning that is sent back"),
        ("cerebras", "llama-3.3-70b", "cerebras refuses requests that contain reasoning"),
    ],
)
def test_a_policy_against_sending_is_told_apart(provider: str | None, model: str, why: str) -> None:
    made = build_request("openai-chat", MIXED, provider=provider, model=model, on_warning=lambda text: None)
    assert {entry.reason for entry in made.report} == {"policy"}
    assert all(line.endswith(f"left out: {why}.") for line in made.explain().splitlines())


def test_a_part_that_the_provider_does_not_read_is_told_apart_too() -> None:
    """Gemini reads signatures, which the policy sends, but not the text of its thoughts."""
    origin = Origin("google", "gemini", "gemini-3-pro")
    thought = ReasoningPart((Segment("text", 0, "Hm."),))
    made = build_request("gemini", History((answer(origin, thought), asked(1))), model="gemini-3-pro")
    assert made.policy == "required"
    why = "google does not read reasoning of this kind"
    assert made.explain() == f"answer 1 (gemini-3-pro): 1 unit left out: {why}."


INPUT = {"threadId": "t", "runId": "r", "messages": [{"id": "u9", "role": "user", "content": "Hello."}]}


@pytest.mark.anyio
async def test_a_run_sends_another_history_and_the_newest_turns_only() -> None:
    run = Run(INPUT, api="anthropic-messages", provider="anthropic", model="claude-sonnet-4-6")
    assert run.request(history=MIXED).body == (await aio.request(run, history=MIXED)).body
    shorter = run.request(history=MIXED, keep_turns=1)
    expected = build_request(
        "anthropic-messages", MIXED.trim(keep_turns=1), provider="anthropic", model="claude-sonnet-4-6"
    )
    assert shorter.body == expected.body
    assert shorter.body == (await aio.request(run, history=MIXED, keep_turns=1)).body
    assert len(shorter.body["messages"]) == 3
    other: dict[str, Any] = {"api": "openai-chat", "provider": "deepseek", "model": "deepseek-v4-pro"}
    fallback = run.request(history=MIXED, **other)
    assert fallback.target == Origin("deepseek", "openai-chat", "deepseek-v4-pro")
    assert fallback.body == (await aio.request(run, history=MIXED, **other)).body
    assert len(run.request(keep_turns=0).body["messages"]) == 1
    with pytest.raises(ConfigurationError) as caught:
        run.request(keep_turns=-1)
    assert caught.value.code == "bad_limit"
