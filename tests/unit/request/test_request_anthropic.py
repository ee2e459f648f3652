"""Build the next request for Anthropic Messages, from histories that used to break it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ag_ui.core import Message, SystemMessage, ToolMessage, UserMessage
from msgspec import structs

from agui_reasoning import ReasoningLostError
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
from agui_reasoning.request import History, ProviderRequest, ReportEntry, build_request
from tests.support.validators import check_anthropic

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-5")


def thinking(text: str = "Need the tool.", signature: str = "EqQB", **fields: Any) -> ReasoningPart:
    opaque = (Opaque("anthropic.signature", signature),) if signature else ()
    segments = (Segment("text", 0, text),) if text else ()
    return ReasoningPart(segments, opaque, **fields)


def call(name: str = "toolu_1", **fields: Any) -> ToolCallPart:
    return ToolCallPart(name, "get_weather", '{"city":"Oslo"}', **fields)


def turn(*parts: Part, origin: Origin | None = CLAUDE, name: str | None = "msg_1") -> Turn:
    return Turn(parts, origin, name)


def user(content: Any = "Weather in Oslo?") -> UserMessage:
    return UserMessage(id="u", content=content)


def told(name: str = "toolu_1", content: str = "4C", **fields: Any) -> ToolMessage:
    return ToolMessage(id=f"r-{name}", tool_call_id=name, content=content, **fields)


def build(*items: Turn | Message, provider: str = "anthropic", **options: Any) -> ProviderRequest:
    options.setdefault("on_warning", lambda text: None)
    options.setdefault("model", "claude-sonnet-5")
    made = build_request("anthropic-messages", History(items), provider=provider, **options)
    if provider == "anthropic":
        assert check_anthropic(made.body) == []
    return made


def contents(made: ProviderRequest) -> list[list[dict[str, Any]]]:
    return [message["content"] for message in made.body["messages"]]


def outcomes(made: ProviderRequest) -> list[tuple[str, str, str]]:
    return [(entry.unit, entry.outcome, entry.reason) for entry in made.report]


def test_a_step_of_a_tool_loop_goes_back_whole_and_in_order() -> None:
    redacted = ReasoningPart((), (Opaque("anthropic.redacted_thinking", "EmwK"),))
    made = build(user(), turn(thinking("", "EqQB"), redacted, TextPart("Let me check."), call()), told())
    assert made.body == {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "", "signature": "EqQB"},
                    {"type": "redacted_thinking", "data": "EmwK"},
                    {"type": "text", "text": "Let me check."},
                    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "4C"}]},
        ]
    }
    assert outcomes(made) == [("msg_1:0", "echoed", ""), ("msg_1:1", "echoed", "")]


def test_results_of_parallel_calls_stand_in_one_message_before_the_users_words() -> None:
    step = turn(thinking(), call("a"), call("b"))
    blocks = contents(build(user(), step, told("b"), told("a"), user("And Rome?")))[2]
    assert [block.get("tool_use_id", block.get("text")) for block in blocks] == ["a", "b", "And Rome?"]


def test_a_result_that_came_late_stands_behind_its_call() -> None:
    made = build(user(), turn(thinking(), call()), user("Well?"), told())
    assert [block["type"] for block in contents(made)[2]] == ["tool_result", "text"]


def test_an_unanswered_call_is_answered_with_words_that_say_so() -> None:
    result = contents(build(user(), turn(thinking(), call()), user("Never mind.")))[2][0]
    assert result["is_error"] is True
    assert "not answered" in result["content"]


def test_a_call_that_waits_at_the_end_is_warned_about() -> None:
    heard: list[str] = []
    build(user(), turn(thinking(), call()), on_warning=heard.append)
    assert len(heard) == 1
    assert "no result" in heard[0]


def test_a_failed_tool_is_an_error() -> None:
    result = contents(build(user(), turn(thinking(), call()), told(content="", error="No such city.")))[2][0]
    assert (result["content"], result["is_error"]) == ("No such city.", True)


def test_a_call_that_was_cut_goes_with_its_result_and_leaves_no_trailing_thinking() -> None:
    """Pain 7: an interrupted turn must not brick the session."""
    made = build(user(), turn(thinking(), call(status="incomplete")), told(), user("Go on."))
    assert [message["role"] for message in made.body["messages"]] == ["user"]
    assert outcomes(made) == [("msg_1:0", "dropped", "orphan"), ("toolu_1", "dropped", "incomplete")]
    assert made.lost == ()


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (thinking(signature=""), "missing_signature"),
        (thinking(status="incomplete"), "incomplete"),
        (thinking(origin=Origin("openai", "openai-responses", "gpt-5")), "foreign_origin"),
        (thinking(origin=Origin("deepseek", "anthropic-messages", "deepseek-v4")), "foreign_origin"),
        (thinking(origin=Origin()), "unknown_origin"),
    ],
)
def test_thinking_that_the_api_would_refuse_is_lost_with_a_word(part: ReasoningPart, reason: str) -> None:
    """Pains 1, 6, 7 and 8: unsigned, cut and foreign thinking."""
    heard: list[str] = []
    made = build(user(), turn(part, TextPart("Let me check."), call()), told(), on_warning=heard.append)
    assert [block["type"] for block in contents(made)[1]] == ["text", "tool_use"]
    assert outcomes(made) == [("msg_1:0", "dropped", reason)]
    assert made.lost == made.report
    assert reason in heard[0]
    with pytest.raises(ReasoningLostError, match=reason) as caught:
        made.raise_for_loss()
    assert caught.value.lost == (("msg_1:0", reason),)


def test_nothing_lost_raises_nothing() -> None:
    build(user(), turn(thinking(), call()), told()).raise_for_loss()


@pytest.mark.parametrize("provider", ["bedrock", "google-vertex", "azure"])
def test_values_cross_within_their_group(provider: str) -> None:
    made = build(user(), turn(thinking(), TextPart("Hi.")), user("And?"), provider=provider)
    assert contents(made)[1][0] == {"type": "thinking", "thinking": "Need the tool.", "signature": "EqQB"}


def test_a_stranger_gets_nothing() -> None:
    made = build(user(), turn(thinking(), TextPart("Hi.")), provider="acme")
    assert outcomes(made) == [("msg_1:0", "dropped", "policy")]
    assert "signature" not in str(made.body)


def test_deepseek_gets_an_empty_block_where_there_is_none() -> None:
    made = build(user(), turn(thinking(), TextPart("Hi.")), provider="deepseek")
    assert contents(made)[1][0] == {"type": "thinking", "thinking": "", "signature": ""}
    assert outcomes(made) == [("msg_1:0", "placeholder", "foreign_origin")]


SEARCH = ToolCallPart("srv_1", "web_search", '{"query":"Oslo"}', server=True)
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"encrypted_content": "Eo8"}]}


def test_server_tools_stand_where_they_stood_and_verbatim() -> None:
    answer = ToolResultPart("srv_1", "", native=FOUND)
    blocks = contents(build(user(), turn(thinking(), SEARCH, answer, TextPart("4C.")), user("And?")))[1]
    assert [block["type"] for block in blocks] == [
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
    assert blocks[2] == FOUND


def test_a_paused_turn_and_the_one_that_went_on_are_one_message() -> None:
    later = turn(ToolResultPart("srv_1", "", native=FOUND), TextPart("4C."), name="msg_2")
    paused = turn(thinking(), SEARCH)
    assert [len(content) for content in contents(build(user(), paused, later))] == [1, 4]
    assert contents(build(user(), paused))[1][-1]["type"] == "server_tool_use"


def test_a_search_that_was_interrupted_is_left_out() -> None:
    made = build(user(), turn(thinking(), SEARCH, TextPart("Hm.")), user("Stop."))
    assert [block["type"] for block in contents(made)[1]] == ["thinking", "text"]


def test_a_result_that_is_not_what_it_says_is_left_out() -> None:
    forged = ToolResultPart("srv_1", "", native={"type": "text", "text": "I agree.", "tool_use_id": "srv_1"})
    made = build(user(), turn(SEARCH, forged, TextPart("Hi.")), user("And?"))
    assert contents(made)[1] == [{"type": "text", "text": "Hi."}]


def test_a_remote_tool_keeps_its_type_and_blocks_nobody_knows_go_back() -> None:
    remote = structs.replace(SEARCH, ext={"type": "mcp_tool_use", "server_name": "docs"})
    found = {"type": "mcp_tool_result", "tool_use_id": "srv_1", "content": []}
    upload = NativePart("anthropic.container_upload", {"type": "container_upload", "file_id": "f"})
    made = build(user(), turn(remote, ToolResultPart("srv_1", "", native=found), upload), user("And?"))
    assert contents(made)[1] == [
        {
            "type": "mcp_tool_use",
            "id": "srv_1",
            "name": "web_search",
            "input": {"query": "Oslo"},
            "server_name": "docs",
        },
        found,
        {"type": "container_upload", "file_id": "f"},
    ]


def test_ids_the_api_refuses_are_respelled_together_with_their_results() -> None:
    kimi = Origin("moonshot", "openai-chat", "kimi-k2.6")
    steps = [turn(call("get:0"), origin=kimi, name=name) for name in ("a", "b")]
    made = build(user(), steps[0], told("get:0"), user(), steps[1], told("get:0"))
    used = [block["id"] for content in contents(made) for block in content if block["type"] == "tool_use"]
    assert used == ["get_0", "get_0_2"]


def test_arguments_that_are_no_object_become_one() -> None:
    odd = ToolCallPart("toolu_1", "get_weather", "Oslo")
    assert contents(build(user(), turn(odd), told()))[1][0]["input"] == {"arguments": "Oslo"}


def test_system_messages_join_the_callers() -> None:
    made = build(SystemMessage(id="s", content="Be brief."), user(), system="You are a bot.")
    assert made.body["system"] == [
        {"type": "text", "text": "You are a bot."},
        {"type": "text", "text": "Be brief."},
    ]
    assert build(user(), system="You are a bot.").body["system"] == "You are a bot."


def test_a_greeting_gets_a_user_before_it() -> None:
    made = build(turn(TextPart("Hello, I am a bot."), origin=None), user())
    assert [message["role"] for message in made.body["messages"]] == ["user", "assistant", "user"]


def test_what_the_user_shows_is_spelled_and_what_cannot_be_is_said() -> None:
    heard: list[str] = []
    parts = [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/gif"}},
        {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "data", "value": "aGk=", "mimeType": "application/pdf"},
            "metadata": {"filename": "a.pdf"},
        },
        {"type": "audio", "source": {"type": "data", "value": "aGk=", "mimeType": "audio/wav"}},
    ]
    made = build(UserMessage.model_validate({"id": "u", "content": parts}), on_warning=heard.append)
    assert contents(made)[0] == [
        {"type": "text", "text": "Look."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "aGk="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
            "title": "a.pdf",
        },
    ]
    assert heard == ["The audio in a user message cannot be sent to this API; it was left out."]


BOUND = "anthropic.claude-opus-5-5"


@pytest.mark.parametrize(
    ("api", "provider", "remedy"),
    [
        ("anthropic-messages", "anthropic", "`apply_flags=True` lets it drop them, `History.strip_opaque`"),
        ("bedrock-converse", "bedrock", "`History.strip_opaque` removes them."),
    ],
)
def test_a_changed_beginning_is_told_where_reasoning_is_bound_to_it(
    api: str, provider: str, remedy: str
) -> None:
    def heard(history: History, model: str = BOUND, **options: Any) -> list[str]:
        told_so: list[str] = []
        build_request(api, history, provider=provider, model=model, on_warning=told_so.append, **options)
        return [text for text in told_so if "has changed" in text]

    origin = Origin(provider, api, BOUND)
    spoken = [turn(thinking(), call(f"toolu_{n}"), origin=origin, name=f"msg_{n}") for n in range(2)]
    items = [item for n in range(2) for item in (user(), spoken[n], told(f"toolu_{n}"))]
    whole = History(tuple(items))
    trimmed = whole.trim(keep_turns=1)
    damaged = replace(whole, report=(ReportEntry("msg_0:0", "dropped", "text_modified"),))
    late = replace(whole, report=(ReportEntry("msg_1:0", "dropped", "text_modified"),))
    first = structs.replace(spoken[0], parts=(thinking(signature=""), call("toolu_0")))
    lost = replace(damaged, items=(items[0], first, *items[2:]))
    assert heard(whole) == heard(whole.trim(keep_turns=2)) == heard(late) == []
    for changed in (trimmed, lost):
        (text,) = heard(changed)
        assert text.startswith("The conversation before 1 reasoning unit(s) has changed")
        assert remedy in text
        assert heard(changed, apply_flags=True) == ([] if "flags" in remedy else [text])
        assert heard(changed, model="anthropic.claude-opus-4-8") == []
        assert heard(changed.strip_opaque()) == []


def test_flags_for_models_that_bind_thinking_to_what_came_before() -> None:
    """Pain 10: signatures are bound to the whole prefix."""
    made = build(user(), model="claude-opus-5-5", apply_flags=True)
    assert [flag.name for flag in made.flags] == ["thinking", "extra_headers"]
    assert made.body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert [flag.name for flag in build(user(), model="claude-opus-5").flags] == ["thinking"]
