"""Instructions inside a conversation stay in their place, or are moved with a warning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import DeveloperMessage, Message, SystemMessage, ToolMessage, UserMessage

from agui_reasoning.parts import (
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
from agui_reasoning.providers.alternating import INSTRUCTED
from agui_reasoning.providers.echo import inside
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.strict_providers import STRICT
from tests.support.validators import check_anthropic

Item = Turn | Message
Json = dict[str, Any]

OPUS = Origin("anthropic", "anthropic-messages", "claude-opus-5-5")
ASKED = UserMessage(id="u1", content="Weather in Oslo?")
AGAIN = UserMessage(id="u2", content="And in Rome?")
BRIEF = SystemMessage(id="s1", content="Be brief.")
METRIC = DeveloperMessage(id="d1", content="Use Celsius.")
TOLD = ToolMessage(id="r1", tool_call_id="toolu_1", content="4C")


def turn(name: str, *parts: Part, origin: Origin = OPUS) -> Turn:
    thought = ReasoningPart((Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", f"SIG-{name}"),))
    return Turn((thought, *parts), origin, name)


CALLS = turn("a1", ToolCallPart("toolu_1", "get", "{}"))
SAYS = turn("a2", TextPart("4 degrees."))


def build(*items: Item, target: Origin = OPUS, **options: Any) -> tuple[ProviderRequest, list[str]]:
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


def outline(body: Json) -> list[tuple[str, list[str]]]:
    """The messages as roles with the texts, or the types of blocks without one."""
    return [
        (message["role"], [block.get("text", block["type"]) for block in message["content"]])
        for message in body["messages"]
    ]


def test_instructions_follow_the_next_user_message_as_one_system_message() -> None:
    made, warnings = build(BRIEF, ASKED, CALLS, TOLD, SAYS, METRIC, BRIEF, AGAIN, system="You are a bot.")
    assert outline(made.body) == [
        ("user", ["Weather in Oslo?"]),
        ("assistant", ["thinking", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["thinking", "4 degrees."]),
        ("user", ["And in Rome?"]),
        ("system", ["Use Celsius.", "Be brief."]),
    ]
    assert [block["text"] for block in made.body["system"]] == ["You are a bot.", "Be brief."]
    assert warnings == []
    assert [entry.outcome for entry in made.report] == ["echoed", "echoed"]


STRETCHES: list[Sequence[Item]] = [
    (BRIEF, ASKED, METRIC),
    (CALLS, METRIC, TOLD),
    (SAYS, BRIEF, AGAIN),
    (turn("a3", TextPart("9 degrees.")), METRIC, BRIEF),
    (turn("a4", TextPart("Yes.")), UserMessage(id="u4", content="Really?"), METRIC),
    (turn("a5", TextPart("Yes.")), BRIEF, UserMessage(id="u5", content="Oh."), METRIC),
]
"""What each request adds to the one before it: a response, and what the client sends after it."""


def test_later_requests_begin_with_the_earlier_ones() -> None:
    """Signed blocks and the cache are bound to what precedes them: nothing that was sent may change."""
    items: list[Item] = []
    sent: Json = {"messages": []}
    for stretch in STRETCHES:
        items += stretch
        body = build(*items)[0].body
        assert STRICT["anthropic"].refusals(body) == []
        assert body["messages"][: len(sent["messages"])] == sent["messages"]
        assert body.get("system") == "Be brief."
        sent = body
    assert [role for role, _ in outline(sent)].count("system") == 6


def test_instructions_after_the_models_message_get_a_user_message_before_them() -> None:
    made, _ = build(ASKED, SAYS, BRIEF)
    assert outline(made.body)[2:] == [("user", [INSTRUCTED]), ("system", ["Be brief."])]


def test_instructions_stand_between_a_paused_response_and_the_rest_of_it() -> None:
    search = ToolCallPart("srvtoolu_1", "web_search", "{}", server=True)
    native = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    found = ToolResultPart("srvtoolu_1", "", None, native)
    made, _ = build(ASKED, turn("a1", search), BRIEF, turn("a2", found, TextPart("Rain.")), AGAIN)
    assert [role for role, _ in outline(made.body)] == ["user", "assistant", "system", "assistant", "user"]
    assert STRICT["anthropic"].refusals(made.body) == []


def test_blank_instructions_are_left_out() -> None:
    made, warnings = build(ASKED, SAYS, SystemMessage(id="s", content=" \n"), AGAIN)
    assert [role for role, _ in outline(made.body)] == ["user", "assistant", "user"]
    assert warnings == []


def test_instructions_wait_while_nothing_of_a_response_is_sent() -> None:
    cut = turn("a1", ToolCallPart("toolu_1", "get", "{}", status="incomplete"))
    made, _ = build(ASKED, BRIEF, cut, AGAIN)
    assert outline(made.body) == [("user", ["Weather in Oslo?", "And in Rome?"]), ("system", ["Be brief."])]


@pytest.mark.parametrize(
    ("provider", "model", "cost"),
    [
        (
            "bedrock",
            "anthropic.claude-opus-5-5",
            "1 reasoning unit(s) before them are no longer valid",
        ),
        ("google-vertex", "claude-opus-5-5", "1 reasoning unit(s) before them are no longer valid"),
        ("anthropic", "claude-sonnet-4-6", ": what was cached"),
        ("anthropic", "claude-sonnet-5", ": what was cached"),
        ("deepseek", "deepseek-v4-pro", ": what was cached"),
    ],
)
@pytest.mark.parametrize("flagged", [False, True])
def test_where_they_are_not_accepted_they_are_moved_and_the_cost_is_said(
    provider: str, model: str, cost: str, flagged: bool
) -> None:
    target = Origin(provider, "anthropic-messages", model)
    items = (ASKED, turn("a1", TextPart("4."), origin=target), METRIC, AGAIN)
    made, warnings = build(*items, target=target, apply_flags=flagged)
    assert made.body["system"] == "Use Celsius."
    assert [role for role, _ in outline(made.body)] == ["user", "assistant", "user"]
    assert len(warnings) == 1
    assert warnings[0].startswith("1 system message(s) inside the conversation were moved")
    assert cost in warnings[0]


def test_instructions_before_the_first_response_are_moved_without_a_word() -> None:
    target = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
    made, warnings = build(ASKED, BRIEF, target=target)
    assert made.body["system"] == "Be brief."
    assert warnings == []


@pytest.mark.parametrize(
    "target",
    [
        Origin("bedrock", "bedrock-converse", "us.anthropic.claude-opus-5-5"),
        Origin("google", "gemini", "gemini-3-pro"),
        Origin("google", "gemini-interactions", "gemini-3-pro"),
    ],
    ids=lambda origin: origin.api,
)
def test_other_apis_with_a_field_for_instructions_say_it_too(target: Origin) -> None:
    answer = Turn((TextPart("4 degrees."),), target)
    _, warnings = build(ASKED, answer, METRIC, AGAIN, target=target)
    assert [text for text in warnings if "were moved to its beginning" in text]


@pytest.mark.parametrize(
    "target",
    [Origin("openai", "openai-responses", "gpt-5.6"), Origin("openai", "openai-chat", "gpt-5.6")],
    ids=lambda origin: origin.api,
)
def test_openai_takes_them_where_they_are(target: Origin) -> None:
    made, warnings = build(ASKED, Turn((TextPart("4 degrees."),), target), METRIC, AGAIN, target=target)
    listed = made.body.get("input") or made.body["messages"]
    assert [item["role"] for item in listed] == ["user", "assistant", "developer", "user"]
    assert warnings == []


@pytest.mark.parametrize(
    ("model", "accepts"),
    [
        ("claude-opus-4-7", ""),
        ("claude-opus-4-8-20260528", "system"),
        ("claude-opus-5", "effort system"),
        ("claude-opus-5-5-20260915", "effort system"),
        ("claude-sonnet-5", ""),
        ("claude-sonnet-5-5", "effort system"),
        ("claude-haiku-4-5", ""),
        ("claude-haiku-5-5", "effort system"),
        ("claude-fable-5", "system"),
        ("claude-fable-5-2", "effort system"),
        ("claude-mythos-5-1", "effort system"),
        (None, ""),
    ],
)
def test_what_the_generations_of_claude_accept(model: str | None, accepts: str) -> None:
    for provider, found in (("anthropic", accepts), ("bedrock", ""), ("google-vertex", "")):
        rows = inside(Origin(provider, "anthropic-messages", model))
        assert " ".join(sorted(name for name, row in rows.items() if not row.field)) == found


# -- what the fake refuses

USER = {"role": "user", "content": [{"type": "text", "text": "Hi."}]}
MODEL = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}
SYSTEM = {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([SYSTEM, USER], "use the top-level 'system' parameter"),
        ([USER, MODEL, SYSTEM], "must follow a user message"),
        ([USER, SYSTEM, USER], "must be followed by an assistant message"),
        ([USER, SYSTEM, SYSTEM], "consecutive system messages"),
        ([USER, {"role": "system", "content": []}], "neither content nor output_config"),
    ],
)
def test_the_fake_refuses_misplaced_instructions(messages: list[Json], fault: str) -> None:
    assert fault in " ".join(check_anthropic({"messages": messages}, inside=("system",)))


def test_the_fake_takes_what_is_in_its_place() -> None:
    body = {"messages": [USER, SYSTEM, MODEL, USER, SYSTEM]}
    assert check_anthropic(body, inside=("system",)) == []
    assert "role 'system' is not supported" in " ".join(check_anthropic(body))
