"""Changes of the effort: items of the conversation where a model takes them, else a field of the request."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import SystemMessage, ToolMessage, UserMessage

from agui_reasoning import ConfigurationError
from agui_reasoning.parts import (
    EFFORTS,
    EffortChange,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.request import History, HistoryItem, ProviderRequest, build_request
from tests.support.sdk_types import check_types
from tests.support.strict_providers import STRICT

Json = dict[str, Any]

OPUS = Origin("anthropic", "anthropic-messages", "claude-opus-5-5")
GPT = Origin("openai", "openai-responses", "gpt-6-astra")
ASKED = UserMessage(id="u1", content="Weather in Oslo?")
AGAIN = UserMessage(id="u2", content="And in Rome?")
TOLD = ToolMessage(id="r1", tool_call_id="call_1", content="4C")
HIGH, LOW = EffortChange("high"), EffortChange("low")
BETA = {"anthropic-beta": "mid-conversation-output-config-2026-07-01"}
CALL, SAYS = ToolCallPart("call_1", "get", "{}"), TextPart("4 degrees.")


def claude(*parts: Part, name: str = "a") -> Turn:
    value = Opaque("anthropic.signature", f"SIG-{name}")
    return Turn((ReasoningPart((Segment("text", 0, "Hm."),), (value,)), *parts), OPUS, name)


def gpt(*parts: Part, name: str = "a") -> Turn:
    value = Opaque("openai.encrypted_content", f"SIG-{name}")
    return Turn((ReasoningPart((), (value,), f"rs_{name}"), *parts), GPT, name)


def build(target: Origin, *items: HistoryItem, **options: Any) -> tuple[ProviderRequest, list[str]]:
    warnings: list[str] = []
    made = build_request(
        str(target.api),
        History(items),
        provider=target.provider,
        model=target.model,
        on_warning=warnings.append,
        **options,
    )
    return made, warnings


def roles(body: Json) -> list[Any]:
    return [m["role"] if m["content"] else m["output_config"]["effort"] for m in body["messages"]]


def types(body: Json) -> list[Any]:
    return [item.get("reasoning", {}).get("effort") or item.get("type", "user") for item in body["input"]]


def test_claude_gets_a_system_message_without_content() -> None:
    made, warnings = build(OPUS, ASKED, claude(CALL), TOLD, HIGH, claude(SAYS, name="b"), LOW, AGAIN)
    assert roles(made.body) == ["user", "assistant", "user", "high", "assistant", "user", "low"]
    assert made.body["messages"][3] == {"role": "system", "content": [], "output_config": {"effort": "high"}}
    assert made.body["extra_headers"] == BETA
    assert STRICT["anthropic"].refusals(made.body) == []
    assert check_types("anthropic-messages", made.body) == ""
    assert warnings == []


def test_instructions_at_the_same_place_are_in_the_same_message() -> None:
    brief = SystemMessage(id="s", content="Be brief.")
    made, _ = build(OPUS, ASKED, claude(SAYS), brief, HIGH, AGAIN)
    assert made.body["messages"][-1] == {
        "role": "system",
        "content": [{"type": "text", "text": "Be brief."}],
        "output_config": {"effort": "high"},
    }
    assert STRICT["anthropic"].refusals(made.body) == []


def test_gpt_gets_an_item() -> None:
    made, warnings = build(GPT, ASKED, gpt(CALL), TOLD, HIGH, gpt(SAYS, name="b"), LOW, AGAIN, store=False)
    call = ["reasoning", "function_call", "function_call_output"]
    assert types(made.body) == ["user", *call, "high", "reasoning", "user", "user", "low"]
    assert made.body["input"][4] == {"type": "configuration_update", "reasoning": {"effort": "high"}}
    assert "reasoning" not in made.body
    assert "extra_headers" not in made.body
    assert STRICT["gpt-6"].refusals(made.body) == []
    assert check_types("openai-responses", made.body) == ""
    assert warnings == []


@pytest.mark.parametrize(
    "before",
    [(HIGH, LOW), (HIGH, AGAIN, LOW), (HIGH, Turn((), GPT, "x"), LOW)],
    ids=["two", "apart", "empty turn"],
)
def test_of_changes_before_one_response_the_last_counts(before: tuple[HistoryItem, ...]) -> None:
    for items in ((ASKED, gpt(SAYS), *before), (ASKED, gpt(SAYS), *before, gpt(SAYS, name="b"))):
        body = build(GPT, *items, store=False)[0].body
        assert [effort for effort in types(body) if effort in EFFORTS] == ["low"]
        assert STRICT["gpt-6"].refusals(body) == []


def test_a_change_before_a_response_that_is_not_sent_waits_for_the_next() -> None:
    cut = claude(ToolCallPart("call_1", "get", "{}", status="incomplete"), name="b")
    made, _ = build(OPUS, ASKED, claude(SAYS), HIGH, cut, AGAIN)
    assert roles(made.body) == ["user", "assistant", "user", "high"]


def test_a_change_before_a_greeting_follows_the_opening() -> None:
    made, _ = build(OPUS, HIGH, claude(SAYS), AGAIN)
    assert roles(made.body) == ["user", "high", "assistant", "user"]
    assert STRICT["anthropic"].refusals(made.body) == []


@pytest.mark.parametrize(("target", "turn"), [(OPUS, claude), (GPT, gpt)], ids=["claude", "gpt"])
def test_later_requests_begin_with_the_earlier_ones(target: Origin, turn: Any) -> None:
    stretches: list[list[HistoryItem]] = [
        [ASKED, HIGH],
        [turn(CALL), LOW, TOLD],
        [turn(SAYS, name="b"), AGAIN],
        [turn(SAYS, name="c"), HIGH],
        [turn(SAYS, name="d"), LOW, UserMessage(id="u3", content="Oh."), HIGH],
    ]
    items: list[HistoryItem] = []
    sent: list[Json] = []
    for stretch in stretches:
        items += stretch
        made, _ = build(target, *items)
        strict = STRICT["anthropic" if target is OPUS else "gpt-6"]
        assert strict.refusals(made.body) == []
        listed = made.body.get("messages") or made.body["input"]
        assert listed[: len(sent)] == sent
        sent = listed


def test_what_the_server_has_is_not_repeated() -> None:
    items = (ASKED, HIGH, gpt(CALL, name="resp_1"), TOLD, LOW)
    made, _ = build(GPT, *items, previous_response_id="resp_1")
    assert types(made.body) == ["function_call_output", "low"]


@pytest.mark.parametrize(
    ("target", "field", "value"),
    [
        (Origin("openai", "openai-responses", "gpt-5.6"), "reasoning", {"effort": "high"}),
        (Origin("openai", "openai-responses", "gpt-6-astra-pro"), "reasoning", {"effort": "high"}),
        (Origin("openai", "openai-chat", "gpt-5.6"), "reasoning_effort", "high"),
        (Origin("openrouter", "openai-chat", "z-ai/glm-5"), "extra_body", {"reasoning": {"effort": "high"}}),
        (Origin("anthropic", "anthropic-messages", "claude-opus-4-8"), "output_config", {"effort": "high"}),
        (Origin("bedrock", "anthropic-messages", "claude-opus-5-5"), "output_config", {"effort": "high"}),
    ],
    ids=lambda value: getattr(value, "model", None),
)
def test_elsewhere_the_last_change_is_a_field_of_the_request(target: Origin, field: str, value: Any) -> None:
    answer = Turn((SAYS,), target)
    made, warnings = build(target, ASKED, LOW, answer, HIGH, AGAIN)
    assert made.body[field] == value
    assert "configuration_update" not in str(made.body)
    assert warnings == []
    assert field not in build(target, ASKED, answer, AGAIN)[0].body


@pytest.mark.parametrize("flagged", [True, False])
def test_fields_of_the_policy_the_caller_and_the_change_are_joined(flagged: bool) -> None:
    both = [BETA["anthropic-beta"], "thinking-binding-controls-2026-08-01"]
    made, _ = build(OPUS, ASKED, claude(SAYS), HIGH, AGAIN, apply_flags=flagged)
    assert sorted(made.body["extra_headers"]["anthropic-beta"].split(",")) == both[: 1 + flagged]
    headers = made.merged({"extra_headers": {"anthropic-beta": "files"}})["extra_headers"]["anthropic-beta"]
    assert sorted(headers.split(",")) == ["files", *both]
    assert sorted(made.merged({"betas": ["files"]})["betas"]) == ["files", *both]


def test_the_change_wins_over_the_callers_own_field() -> None:
    target = Origin("openai", "openai-responses", "gpt-5.6")
    made, _ = build(target, ASKED, HIGH)
    merged = made.merged({"reasoning": {"effort": "low", "summary": "auto"}})
    assert merged["reasoning"] == {"effort": "high", "summary": "auto"}
    unchanged, _ = build(GPT, ASKED, HIGH)
    assert unchanged.merged({"reasoning": {"effort": "low"}})["reasoning"] == {"effort": "low"}


def test_a_change_before_a_refused_turn_applies_to_the_next() -> None:
    refused = Turn((SAYS,), OPUS, "b", refused=True)
    made, _ = build(OPUS, ASKED, claude(SAYS), AGAIN, HIGH, refused, AGAIN)
    assert roles(made.body) == ["user", "assistant", "user", "high"]


@pytest.mark.parametrize(
    ("target", "wanted", "sent"),
    [
        (OPUS, "none", "low"),
        (GPT, "minimal", "low"),
        (Origin("openai", "openai-chat", "gpt-5.6"), "max", "high"),
    ],
)
def test_a_level_that_is_not_accepted_becomes_the_nearest_with_a_warning(
    target: Origin, wanted: Any, sent: str
) -> None:
    made, warnings = build(target, ASKED, EffortChange(wanted))
    assert f"'{sent}'" in str(made.body)
    assert warnings == [
        f"The effort {wanted!r} of the conversation is sent as {sent!r}: "
        f"{target.model!r} is not known to accept it."
    ]


def test_a_change_that_cannot_be_sent_is_said() -> None:
    target = Origin("cohere", "cohere-chat", "command-r-08-2024")
    made, warnings = build(target, ASKED, HIGH)
    assert "high" not in str(made.body)
    assert len(warnings) == 1
    assert "The effort 'high' of the conversation is not sent" in warnings[0]


def test_a_history_knows_its_effort_and_keeps_it_when_it_is_trimmed() -> None:
    history = History((ASKED, HIGH, gpt(SAYS), AGAIN, gpt(SAYS, name="b"), ASKED))
    assert (history.effort, History((ASKED,)).effort) == ("high", None)
    short = history.trim(keep_turns=0)
    assert short.items == (HIGH, ASKED)
    assert History((ASKED, gpt(SAYS), AGAIN, HIGH)).trim(keep_turns=0).items == (AGAIN, HIGH)
    assert short.strip_reasoning().strip_opaque().items == (HIGH, ASKED)
    assert history.messages == [ASKED, AGAIN, ASKED]


@pytest.mark.parametrize("effort", ["", "High", None, 3, "ultra"])
def test_an_unknown_level_is_refused(effort: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        EffortChange(effort)
    assert caught.value.code == "wrong_option"


def test_an_effort_of_none_turns_thinking_off_for_its_own_reason() -> None:
    made, _ = build(Origin("anthropic", "anthropic-messages", "claude-opus-4-7"), ASKED, EffortChange("none"))
    [off] = made.overrides
    assert (off.value, off.reason) == ({"type": "disabled"}, "the effort of the conversation is none")
