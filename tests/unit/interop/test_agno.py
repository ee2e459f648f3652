"""Read the events of Agno runs."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from agui_reasoning import Conversation, Run, run_agent
from agui_reasoning.interop import agno
from agui_reasoning.parts import ToolResultPart
from tests.support.lines import says, thinks
from tests.unit.interop.reading import shown

HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
DATA = "c2VjcmV0" * 12


def content(text: str | None = None, thought: str = "", **data: Any) -> Any:
    return SimpleNamespace(
        event="RunContent", content=text, reasoning_content=thought, model_provider_data=data or None
    )


def tool_event(kind: str, call_id: str, result: str | None = None) -> Any:
    names = {"tool_name": "look", "tool_args": {}, "result": result, "tool_call_error": False}
    return SimpleNamespace(event=kind, tool=SimpleNamespace(tool_call_id=call_id, **names))


def thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}}


NEXT = SimpleNamespace(event="ModelRequestStarted")
BETWEEN = [
    thinking("One.", "AA=="),
    {"type": "text", "text": "I look."},
    call("c1"),
    thinking("Two.", "BB=="),
]


def test_reasoning_ends_before_the_text_begins() -> None:
    stream = [NEXT, content(thought="Hm"), content(thought="."), content(signature="AA=="), content("Yes.")]
    found = shown(agno.stream, stream)
    assert found.lines == [
        *thinks(1, "Hm."),
        *says(3, "Yes."),
    ]
    assert found.answers == [[thinking("Hm.", "AA=="), {"type": "text", "text": "Yes."}]]


@pytest.mark.parametrize("blocks", [[*BETWEEN, call("c2")], None], ids=["with blocks", "without blocks"])
def test_a_thought_between_calls_stays_between_them(blocks: list[dict[str, Any]] | None) -> None:
    """Without the blocks nobody knows the order; nothing is lost."""
    stream = [
        NEXT,
        content(thought="One."),
        content(signature="AA=="),
        content("I look."),
        content(thought="Two."),
        content(signature="BB=="),
        *([content("", content_blocks=blocks)] if blocks else []),
        *(tool_event("ToolCallStarted", call_id) for call_id in ("c1", "c2")),
        *(tool_event("ToolCallCompleted", call_id, "Here.") for call_id in ("c1", "c2")),
    ]
    found = shown(agno.stream, stream)
    assert found.answers == [blocks or [*BETWEEN[:2], BETWEEN[3], call("c1"), call("c2")]]


SHAPED: dict[str, tuple[list[Any], list[dict[str, Any]]]] = {
    "redacted": ([content(thought=DATA)], [{"type": "redacted_thinking", "data": DATA}]),
    "a hash": ([content(thought=HASH), content(signature="AA==")], [thinking(HASH, "AA==")]),
    "a hash first": (
        [content(thought=HASH), content(thought=" it is."), content(signature="AA==")],
        [thinking(f"{HASH} it is.", "AA==")],
    ),
    "a hash later": (
        [content(thought="It is "), content(thought=HASH), content(signature="AA==")],
        [thinking(f"It is {HASH}", "AA==")],
    ),
    "redacted, then a thought": (
        [content(thought=DATA), content(thought="It is."), content(signature="AA==")],
        [{"type": "redacted_thinking", "data": DATA}, thinking("It is.", "AA==")],
    ),
}


@pytest.mark.parametrize("name", SHAPED)
def test_a_hash_is_a_thought_and_redacted_data_is_not(name: str) -> None:
    events, blocks = SHAPED[name]
    answer = [*blocks, {"type": "text", "text": "Yes."}]
    found = shown(agno.stream, [NEXT, *events, content("Yes."), content("", content_blocks=answer)])
    assert found.answers == [answer]
    thoughts = "".join(line for line in found.lines if "reasoning_message_content" in line)
    assert (DATA in thoughts, HASH in thoughts) == (False, "hash" in name)


IN_TEAMS = SHAPED | {
    "a thought, then redacted": (
        [content(thought="It is."), content(signature="AA=="), content(thought=DATA)],
        [thinking("It is.", "AA=="), {"type": "redacted_thinking", "data": DATA}],
    ),
}


def in_team(events: list[Any]) -> list[Any]:
    """The events as those of a leader, whose signatures Agno does not stream."""
    unsigned = [one for one in events if "signature" not in (getattr(one, "model_provider_data", None) or {})]
    return [SimpleNamespace(**{**vars(one), "event": f"Team{one.event}"}) for one in unsigned]


@pytest.mark.parametrize("name", IN_TEAMS)
def test_the_leader_of_a_team_thinks_like_an_agent(name: str) -> None:
    events, blocks = IN_TEAMS[name]
    answer = [*blocks, {"type": "text", "text": "Yes."}]
    found = shown(agno.stream, in_team([NEXT, *events, content("Yes."), content("", content_blocks=answer)]))
    assert found.answers == [answer]
    assert not any(DATA in line for line in found.lines if "reasoning_message_content" in line)


def test_two_thoughts_of_a_leader_in_a_row_are_not_sent_back_as_one() -> None:
    answer = [thinking("One.", "AA=="), thinking("Two.", "BB=="), {"type": "text", "text": "Yes."}]
    stream = [NEXT, content(thought="One."), content(thought="Two."), content("Yes.")]
    found = shown(agno.stream, in_team([*stream, content("", content_blocks=answer)]))
    assert found.answers == [answer[2:]]


def test_redacted_data_is_not_shown_without_blocks() -> None:
    found = shown(agno.stream, [NEXT, content(thought=DATA), content("Yes.")])
    assert found.answers == [[{"type": "redacted_thinking", "data": DATA}, {"type": "text", "text": "Yes."}]]


def test_what_was_kept_is_shown_when_the_provider_fails() -> None:
    failed = SimpleNamespace(event="RunError", content="Overloaded", error_type="overloaded_error")
    stream = [NEXT, content(thought="One."), content(signature="AA=="), content(thought="Two."), failed]
    found = shown(agno.stream, stream)
    assert found.events[-1].type == "RUN_ERROR"
    assert "reasoning_message_content 3 | Two." in found.lines


@dataclass
class Output:
    """What Agno returns without a stream."""

    messages: list[Any]
    status: Any = None
    metrics: Any = None
    tools: Any = None


def said(**fields: Any) -> Any:
    given = {"reasoning_content": None, "provider_data": None, "tool_calls": None}
    return SimpleNamespace(**{"id": "1", "role": "assistant", **given, **fields})


def test_the_output_of_a_run_with_gemini_has_its_signatures() -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": '{"at": "a"}'}, "thought_signature": "QUE="}
    signed = {"provider_data": {"thought_signature": "QkI="}, "tool_calls": [call]}
    output = Output([said(content="I look.", reasoning_content="So?", **signed)])
    conversation = Conversation("t")
    asked = Run(conversation.run_input("Is it so?"), **GOOGLE)
    for event in run_agent(asked, lambda _: iter([agno.stream(output), ToolResultPart("c1", "Here.")])):
        conversation.receive(event)
    contents = Run(conversation.run_input("And now?"), **GOOGLE).request(tools=()).body["contents"]
    assert contents[1]["parts"] == [
        {"text": "I look.", "thoughtSignature": "QkI="},
        {"functionCall": {"id": "c1", "name": "look", "args": {"at": "a"}}, "thoughtSignature": "QUE="},
    ]


GOOGLE: dict[str, Any] = {"api": "gemini", "provider": "google", "model": "gemini-3-flash-preview"}
