"""Compactions and fallbacks of Claude: what goes back after them, and that a strict Claude takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import Message, SystemMessage, ToolMessage, UserMessage
from msgspec.structs import replace

from agui_reasoning import Conversation, ModelStream, ProviderError, Run, build_request, run_agent
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import CloseDelta, NativeDelta, fold
from agui_reasoning.parts import (
    EffortChange,
    NativePart,
    Opaque,
    Origin,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.request import History, ProviderRequest
from tests.support.strict_providers.anthropic_features import named_betas, refuse

Json = dict[str, Any]

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-5")
ARGUMENTS: Json = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5"}
FALLBACK: Json = {
    "type": "fallback",
    "from": {"model": "claude-opus-5"},
    "to": {"model": "claude-opus-4-8"},
    "trigger": {"type": "refusal", "category": "cyber"},
}
SUMMARY: Json = {"type": "compaction", "content": "Oslo, 4C.", "encrypted_content": None}
SIGNED: Json = {**SUMMARY, "signature": "U0lH", "tool_changes": []}


def thinking(text: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def calling(name: str) -> Json:
    return {"type": "tool_use", "id": name, "name": "get_weather", "input": {"city": "Oslo"}}


def said(text: str) -> Json:
    return {"type": "text", "text": text}


def message(*blocks: Json, reason: str = "end_turn", name: str = "msg_1") -> Json:
    """A whole response of Claude."""
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": list(blocks),
        "stop_reason": reason,
        "usage": {"input_tokens": 9, "output_tokens": 9},
    }


def streamed(whole: Json) -> Iterator[Json]:
    """The same response as its stream; calls and thinking come in deltas, other blocks in their start."""
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        start, deltas = block, []
        if block["type"] == "thinking":
            start = thinking("", "")
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif block["type"] == "compaction" and block.get("content"):
            start = {**block, "content": None}
            deltas = [{"type": "compaction_delta", "content": block["content"], "encrypted_content": None}]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"]},
        "usage": {"output_tokens": 9},
    }
    yield {"type": "message_stop"}


class Claude:
    """A strict Claude: refuses as the API does, and remembers what it took."""

    def __init__(self, *answers: Json) -> None:
        self.answers = list(answers)
        self.taken: list[Json] = []
        self.refused: list[str] = []
        self.warned: list[str] = []

    def __call__(self, request: ProviderRequest) -> Iterator[Json]:
        words = refuse(request.body)
        if words is not None:
            self.refused.append(words)
            raise ProviderError(provider_message=words, status_code=400)
        self.taken.append(request.body)
        return streamed(self.answers[len(self.taken) - 1])


def answered(thread: Conversation, claude: Claude, question: str | None, **options: Any) -> list[Any]:
    """The events of a run."""
    options.setdefault("apply_flags", True)
    run = Run(thread.run_input(question), **ARGUMENTS, on_warning=claude.warned.append)
    events = list(run_agent(run, lambda run: iter([ModelStream(claude, **options)])))
    for event in events:
        thread.receive(event)
    return events


def blocks(body: Json) -> list[list[str]]:
    return [[block["type"] for block in each["content"]] for each in body["messages"]]


# -- fallbacks

MIXED = message(
    thinking("May I?", "DECLINED"),
    said("Let me look. "),
    calling("toolu_declined"),
    FALLBACK,
    thinking("I may.", "SERVED"),
    calling("toolu_served"),
    reason="tool_use",
)


def test_a_tool_loop_goes_on_after_a_fallback() -> None:
    claude, thread = Claude(MIXED, message(said("Rain."), name="msg_2")), Conversation("t")
    answered(thread, claude, "Weather in Oslo?")
    assert [call.id for call in thread.pending_calls] == ["toolu_served"]
    thread.add_tool_result("toolu_served", "4C, rain")
    answered(thread, claude, None)
    assert (claude.refused, claude.warned) == ([], [])
    assert blocks(claude.taken[1]) == [
        ["text"],
        ["text", "fallback", "thinking", "tool_use"],
        ["tool_result"],
    ]
    sent = claude.taken[1]["messages"][1]["content"]
    assert sent[1] == FALLBACK
    assert "DECLINED" not in str(claude.taken[1])
    assert "toolu_declined" not in str(claude.taken[1])
    assert named_betas(claude.taken[1]) >= {"server-side-fallback-2026-07-01"}


def test_without_the_header_the_marker_is_left_out() -> None:
    claude, thread = Claude(MIXED, message(said("Rain."), name="msg_2")), Conversation("t")
    answered(thread, claude, "Weather in Oslo?")
    thread.add_tool_result("toolu_served", "4C, rain")
    answered(thread, claude, None, apply_flags=False)
    assert claude.refused == []
    assert blocks(claude.taken[1]) == [["text"], ["text", "thinking", "tool_use"], ["tool_result"]]


def test_what_the_model_wrote_that_declined_is_reported() -> None:
    warned: list[str] = []
    made = request(user(), mixed(), told(), on_warning=warned.append)
    assert warned == []
    assert made.lost == ()
    assert [(entry.unit, entry.outcome, entry.reason) for entry in made.report] == [
        ("msg_1:0", "dropped", "declined"),
        ("toolu_declined", "dropped", "declined"),
        ("msg_1:3", "dropped", "needs_beta"),
        ("msg_1:4", "echoed", ""),
    ]
    assert "a model wrote it that declined" in made.explain()


@pytest.mark.parametrize("named", ["claude-opus-5", "claude-opus-4-8"], ids=["asked", "serving"])
def test_a_response_is_of_the_model_that_went_on(named: str) -> None:
    """A stream begins with the model that was asked for; a whole response names the one that answered."""
    whole = decode_response("anthropic-messages", {**MIXED, "model": named}, provider="anthropic")
    machine = decoder("anthropic-messages", provider="anthropic")
    deltas = [delta for payload in streamed(MIXED) for delta in machine.receive(payload)] + machine.close()
    assert fold(deltas) == whole
    assert {part.origin for part in whole} == {replace(CLAUDE, model="claude-opus-4-8")}


@pytest.mark.parametrize("keys", [None, KeyRing({"k": bytes(32)})], ids=["plain", "encrypted"])
def test_the_report_is_about_the_model_that_went_on(keys: KeyRing | None) -> None:
    """Sonnet 5.5 reads what Opus 4.8 thought, but not what Opus 5 did, also after a round trip."""
    thread = Conversation("t", on_warning=lambda text: None)
    asked = Run(thread.run_input("Weather in Oslo?"), **ARGUMENTS, keys=keys)
    machine = decoder("anthropic-messages", provider="anthropic")
    events = asked.start()
    deltas = [delta for payload in streamed(MIXED) for delta in machine.receive(payload)] + machine.close()
    events += [event for delta in deltas for event in asked.receive(delta)]
    here = asked.history.turns[-1]
    for event in [*events, *asked.finish()]:
        thread.receive(event)
    thread.add_tool_result("toolu_served", "4C, rain")
    run = Run(thread.run_input(), **{**ARGUMENTS, "model": "claude-sonnet-5-5"}, keys=keys)
    made = run.request(apply_flags=True)
    assert here.origin == run.history.turns[-1].origin == replace(CLAUDE, model="claude-opus-4-8")
    assert [(entry.outcome, entry.reason) for entry in made.report] == [
        ("dropped", "declined"),
        ("dropped", "declined"),
        ("echoed", ""),  # the marker
        ("echoed", ""),
    ]
    assert made.lost == ()


def test_a_call_that_nobody_marked_is_left_out_with_its_result() -> None:
    made = request(
        user(),
        mixed("complete"),
        told("toolu_declined"),
        told(),
        apply_flags=True,
    )
    assert blocks(made.body)[1:] == [["text", "fallback", "thinking", "tool_use"], ["tool_result"]]


def test_stream_and_whole_cut_the_calls_of_the_model_that_declined() -> None:
    machine = decoder("anthropic-messages", provider="anthropic")
    deltas = [delta for payload in streamed(MIXED) for delta in machine.receive(payload)] + machine.close()
    parts = decode_response("anthropic-messages", MIXED, provider="anthropic")
    assert fold(deltas) == parts
    assert [part.status for part in parts if isinstance(part, ToolCallPart)] == ["incomplete", "complete"]
    assert deltas.index(CloseDelta(key="toolu_declined", status="incomplete")) < deltas.index(
        NativeDelta("anthropic.fallback", FALLBACK, model="claude-opus-4-8")
    )


def test_a_server_tool_of_the_model_that_declined_goes_back_with_its_result_only() -> None:
    def search(name: str) -> ToolCallPart:
        return ToolCallPart(name, "web_search", "{}", server=True, origin=CLAUDE)

    result = decode_response(
        "anthropic-messages",
        message({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}, WEB),
        provider="anthropic",
    )
    marker = NativePart("anthropic.fallback", FALLBACK, CLAUDE)
    turn = Turn((*result, search("srv_2"), marker, TextPart("Rain.", origin=CLAUDE)), CLAUDE, "msg_1")
    made = request(user(), turn, apply_flags=True)
    assert blocks(made.body)[1] == ["server_tool_use", "web_search_tool_result", "fallback", "text"]


WEB: Json = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


def test_an_answer_of_nothing_but_the_marker_is_no_message() -> None:
    turn = Turn((thought("DECLINED"), NativePart("anthropic.fallback", FALLBACK, CLAUDE)), CLAUDE, "msg_1")
    made = request(user(), turn, user(), apply_flags=True)
    assert blocks(made.body) == [["text", "text"]]
    assert [entry.reason for entry in made.report] == ["declined", "orphan"]


def test_other_hosts_of_claude_do_not_get_the_marker() -> None:
    made = request(user(), mixed(), told(), provider="bedrock", apply_flags=True)
    assert blocks(made.body)[1] == ["text", "thinking", "tool_use"]


def thought(signature: str) -> ReasoningPart:
    return ReasoningPart(
        (Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", signature),), origin=CLAUDE
    )


def mixed(status: Any = "incomplete") -> Turn:
    """The response as a turn; in a history of another producer, the first call may be complete."""
    parts = [
        thought("DECLINED"),
        TextPart("Let me look.", origin=CLAUDE),
        ToolCallPart("toolu_declined", "get_weather", "{}", status=status, origin=CLAUDE),
        NativePart("anthropic.fallback", FALLBACK, CLAUDE),
        thought("SERVED"),
        ToolCallPart("toolu_served", "get_weather", "{}", origin=CLAUDE),
    ]
    return Turn(tuple(parts), CLAUDE, "msg_1")


def user(text: str = "Weather in Oslo?") -> UserMessage:
    return UserMessage(id="u", content=text)


def told(name: str = "toolu_served") -> ToolMessage:
    return ToolMessage(id="r", tool_call_id=name, content="4C")


def request(*items: Turn | Message | EffortChange, **options: Any) -> ProviderRequest:
    """The request, which a strict Claude takes."""
    made = build_request(
        "anthropic-messages",
        History(items),
        **{"provider": "anthropic", "model": "claude-opus-5", **options},
    )
    if options.get("apply_flags"):
        assert refuse(made.body) is None
    return made


# -- compactions


@pytest.mark.parametrize(
    ("block", "header"), [(SUMMARY, "compact-2026-01-12"), (SIGNED, "compact-2026-09-04")]
)
def test_a_compaction_replaces_what_is_before_it(block: Json, header: str) -> None:
    claude, thread = (
        Claude(
            message(thinking("Look.", "OLD"), calling("toolu_1"), reason="tool_use"),
            message(block, thinking("Rain.", "NEW"), calling("toolu_2"), reason="tool_use", name="msg_2"),
            message(said("Umbrella."), name="msg_3"),
            message(said("Yes."), name="msg_4"),
        ),
        Conversation("t"),
    )
    answered(thread, claude, "Weather in Oslo?")
    thread.add_tool_result("toolu_1", "4C, rain")
    answered(thread, claude, None)
    thread.add_tool_result("toolu_2", "Windy")
    answered(thread, claude, None)
    answered(thread, claude, "Sure?")
    assert claude.refused == []
    assert blocks(claude.taken[3]) == [
        ["compaction", "thinking", "tool_use"],
        ["tool_result"],
        ["text"],
        ["text"],
    ]
    assert claude.taken[3]["messages"][0]["content"][0] == block
    assert header in named_betas(claude.taken[3])
    assert "OLD" not in str(claude.taken[3])
    assert len(thread.messages) > 6  # the history keeps everything


def native(block: Json) -> NativePart:
    return NativePart(f"anthropic.{block['type']}", block, CLAUDE)


def test_beta_features_share_one_header() -> None:
    turn = Turn((native(SIGNED), TextPart("Rain.", origin=CLAUDE)), CLAUDE, "msg_1")
    made = request(user(), turn, user(), model="claude-opus-5-5", apply_flags=True)
    assert named_betas(made.body) == {"thinking-binding-controls-2026-08-01", "compact-2026-09-04"}


def test_a_compaction_that_ends_the_history_is_followed_by_the_user() -> None:
    made = request(user(), Turn((native(SIGNED),), CLAUDE, "msg_1"), apply_flags=True)
    assert made.body["messages"] == [
        {"role": "assistant", "content": [SIGNED]},
        {"role": "user", "content": [said("(The conversation was summarized here. Please continue.)")]},
    ]


def test_only_the_last_compaction_is_sent_and_instructions_stay() -> None:
    made = request(
        SystemMessage(id="s", content="Be brief."),
        user(),
        Turn((native(SUMMARY), TextPart("Rain.", origin=CLAUDE)), CLAUDE, "msg_1"),
        user(),
        Turn(
            (TextPart("Well.", origin=CLAUDE), native(SIGNED), TextPart("Snow.", origin=CLAUDE)),
            CLAUDE,
            "msg_2",
        ),
        user("And now?"),
        apply_flags=True,
    )
    assert made.body["system"] == "Be brief."
    assert made.body["messages"] == [
        {"role": "assistant", "content": [SIGNED, said("Snow.")]},
        {"role": "user", "content": [said("And now?")]},
    ]
    assert [(entry.unit, entry.outcome, entry.reason) for entry in made.report] == [
        ("msg_1:0", "dropped", "compacted"),
        ("msg_2:1", "echoed", ""),
    ]


@pytest.mark.parametrize("goes_on", [False, True])
def test_what_changed_inside_the_conversation_is_given_again(goes_on: bool) -> None:
    after = [Turn((TextPart("Wind.", origin=CLAUDE),), CLAUDE, "msg_3"), user("And then?")] if goes_on else []
    made = request(
        SystemMessage(id="s", content="Be brief."),
        user(),
        Turn((TextPart("Rain.", origin=CLAUDE),), CLAUDE, "msg_1"),
        user(),
        SystemMessage(id="s2", content="Be kind."),
        EffortChange("low"),
        Turn((native(SIGNED), TextPart("Snow.", origin=CLAUDE)), CLAUDE, "msg_2"),
        user("And now?"),
        *after,
    )
    assert made.body["system"] == "Be brief."
    changed = {
        "role": "system",
        "content": [said("Be kind.")],
        "output_config": {"effort": "low"},
    }
    assert made.body["messages"][:3] == [
        {"role": "assistant", "content": [SIGNED, said("Snow.")]},
        {"role": "user", "content": [said("And now?")]},
        changed,
    ]


def test_the_thinking_before_a_compaction_is_not_lost() -> None:
    warned: list[str] = []
    call = ToolCallPart("toolu_served", "get_weather", "{}", origin=CLAUDE)
    made = request(
        user(),
        Turn((thought("OLD"), call), CLAUDE, "msg_1"),
        told(),
        Turn((native(SIGNED), TextPart("Snow.", origin=CLAUDE)), CLAUDE, "msg_2"),
        user(),
        on_warning=warned.append,
    )
    assert (warned, made.lost) == ([], ())
    assert ("msg_1:0", "dropped", "compacted") in [(e.unit, e.outcome, e.reason) for e in made.report]


def test_a_failed_compaction_stands_for_nothing() -> None:
    failed = {**SUMMARY, "content": None}
    turn = Turn((native(failed), TextPart("Rain.", origin=CLAUDE)), CLAUDE, "msg_1")
    made = request(user(), turn, user(), apply_flags=True)
    assert blocks(made.body) == [["text"], ["text"], ["text"]]
    assert [(entry.outcome, entry.reason) for entry in made.report] == [("dropped", "empty")]


def test_other_providers_get_the_whole_conversation() -> None:
    turn = Turn((native(SIGNED), TextPart("Rain.", origin=CLAUDE)), CLAUDE, "msg_1")
    made = build_request(
        "openai-chat",
        History((user("One"), turn, user("Two"))),
        provider="openai",
        model="gpt-5.6",
        on_warning=lambda text: None,
    )
    assert [each["content"] for each in made.body["messages"]] == ["One", "Rain.", "Two"]


def test_a_summary_that_is_refused_is_replaced_by_the_conversation() -> None:
    thread = Conversation("t")
    answered(thread, Claude(message(said("Rain."))), "Weather in Oslo?")
    answered(thread, Claude(message(SIGNED, said("Snow."), name="msg_2")), "And now?")
    claude = Claude(message(said("Yes."), name="msg_3"))
    answered(thread, claude, "Sure?", apply_flags=False)
    assert claude.refused == [
        "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected "
        "tags: 'text', 'tool_use'"
    ]
    assert blocks(claude.taken[0]) == [["text"]] * 5


def test_tool_changes_of_clients_need_keys() -> None:
    changed = {**SIGNED, "tool_changes": [{"type": "tool_addition", "tool": {"type": "x"}}]}
    thread = Conversation("t")
    answered(thread, Claude(message(changed, said("Rain."))), "Weather in Oslo?")
    made = build_request(
        "anthropic-messages",
        thread.run_input("Sure?"),
        provider="anthropic",
        model="claude-opus-5",
        on_warning=lambda text: None,
    )
    assert ("dropped", "needs_keys") in [(entry.outcome, entry.reason) for entry in made.report]
    assert blocks(made.body) == [["text"]] * 3


def test_a_run_says_which_calls_were_cut() -> None:
    run = Run({"threadId": "t", "runId": "r", "messages": []}, **ARGUMENTS)
    run.start()
    machine = decoder("anthropic-messages", provider="anthropic")
    for payload in streamed(MIXED):
        for delta in machine.receive(payload):
            run.receive(delta)
    run.finish()
    assert [call.id for call in run.pending_calls] == ["toolu_served"]
