"""Read LangChain's messages, alone and as LangGraph's stream modes wrap them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agui_reasoning import Run, run_agent
from agui_reasoning.interop import langchain
from tests.support.lines import calls, says, thinks
from tests.unit.interop.reading import shown

RUNS = {"a": "lc_run--a", "b": "lc_run--b"}


def chunk(content: Any, *, run: str = "a", last: bool = False, calls: Any = (), **more: Any) -> Any:
    given: dict[str, Any] = {
        "type": "AIMessageChunk",
        "id": RUNS.get(run, run),
        "content": content,
        "additional_kwargs": {},
        "tool_call_chunks": list(calls),
        "usage_metadata": None,
        "response_metadata": {"stop_reason": "end_turn"} if last else {},
        "chunk_position": "last" if last else None,
    }
    return SimpleNamespace(**{**given, **more})


def result(call_id: str, text: str) -> Any:
    return SimpleNamespace(type="tool", content=text, tool_call_id=call_id, status="success", id="t")


def of(message: Any, *tasks: str, step: int = 1) -> tuple[Any, dict[str, Any]]:
    """A message with LangGraph's metadata: the tasks around it, and its own."""
    return message, {"langgraph_checkpoint_ns": "|".join(tasks), "langgraph_step": step}


def thought(text: str, index: int = 0) -> list[dict[str, Any]]:
    return [{"type": "thinking", "thinking": text, "index": index}]


def signed(value: str, index: int = 0) -> list[dict[str, Any]]:
    return [{"type": "thinking", "signature": value, "index": index}]


def said(text: str, index: int = 1) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "index": index}]


def called(call_id: str, name: str = "look") -> list[dict[str, Any]]:
    return [{"index": 2, "id": call_id, "name": name, "args": "{}"}]


BLOCKS_A = [{"type": "thinking", "thinking": "Hm. So", "signature": "AA=="}, {"type": "text", "text": "Yes."}]
BLOCKS_B = [{"type": "thinking", "thinking": "Well.", "signature": "BB=="}, {"type": "text", "text": "No."}]


def test_reasoning_ends_before_the_text_begins() -> None:
    stream = [chunk(thought("Hm.")), chunk(signed("AA==")), chunk(said("Yes.")), chunk([], last=True)]
    assert shown(langchain.stream, stream).lines == [
        *thinks(1, "Hm."),
        *says(3, "Yes."),
    ]


def test_a_refusal_of_claude_is_explained() -> None:
    details = {"type": "refusal", "explanation": "Declined."}
    refused = {"stop_reason": "refusal", "stop_details": details}
    stream = [chunk(said("First,")), chunk([], last=True, response_metadata=refused)]
    texts = [
        line for line in shown(langchain.stream, stream).lines if line.startswith("text_message_content")
    ]
    assert [text.partition(" | ")[2] for text in texts] == ["First,", "Declined."]


def test_a_signature_that_comes_late_follows_as_a_value() -> None:
    stream = [chunk(thought("Hm.")), chunk(said("Yes.")), chunk(signed("AA==")), chunk([], last=True)]
    found = shown(langchain.stream, stream)
    assert found.lines == [
        *thinks(1, "Hm."),
        *says(3, "Yes."),
        "reasoning_encrypted_value 2",
    ]
    assert found.answers == [
        [{"type": "thinking", "thinking": "Hm.", "signature": "AA=="}, {"type": "text", "text": "Yes."}]
    ]


MIXED = [
    of(chunk(thought("Hm.")), "one:1"),
    of(chunk(thought("Well."), run="b"), "two:2"),
    of(chunk(thought(" So")), "one:1"),
    of(chunk(signed("BB=="), run="b"), "two:2"),
    of(chunk(signed("AA==")), "one:1"),
    of(chunk(said("No."), run="b"), "two:2"),
    of(chunk([], run="b", last=True), "two:2"),
    of(chunk(said("Yes.")), "one:1"),
    of(chunk([], last=True), "one:1"),
]
WRAPPED = {
    "pairs": lambda pair: pair,
    "a list of modes": lambda pair: ("messages", pair),
    "subgraphs": lambda pair: ((), pair),
    "a list of modes with subgraphs": lambda pair: ((), "messages", pair),
    "version 2": lambda pair: {"type": "messages", "ns": (), "data": pair},
}
OTHERS: dict[str, list[Any]] = {
    "pairs": [],
    "a list of modes": [("values", {"messages": []}), ("debug", {"type": "messages"})],
    "subgraphs": [],
    "a list of modes with subgraphs": [((), "updates", {"one": {}}), (("x:1",), "debug", "free")],
    "version 2": [{"type": "values", "ns": (), "data": {"messages": []}}],
}


@pytest.mark.parametrize("mode", WRAPPED)
def test_nodes_that_speak_at_the_same_time_are_not_mixed(mode: str) -> None:
    stream = [*OTHERS[mode], *map(WRAPPED[mode], MIXED), *OTHERS[mode]]
    found = shown(langchain.stream, stream)
    assert found.answers == [[*BLOCKS_A, *BLOCKS_B]]
    assert [line.split(" ", 1)[0] for line in found.lines].count("reasoning_message_content") == 2


def test_models_in_one_node_are_not_mixed() -> None:
    stream = [(message, {**metadata, "langgraph_checkpoint_ns": "one:1"}) for message, metadata in MIXED]
    assert shown(langchain.stream, stream).answers == [[*BLOCKS_A, *BLOCKS_B]]


def test_items_of_one_response_have_ids_of_their_own() -> None:
    stream = [
        of(chunk([], run="resp_1"), "one:1"),
        of(chunk(thought("Hm.")), "one:1"),
        of(chunk([{"type": "text", "text": "Yes", "index": 1}], run="msg_1"), "one:1"),
        of(chunk(said(".")), "one:1"),
        of(chunk([], last=True), "one:1"),
    ]
    options = {"api": "openai-chat", "provider": "openai", "model": "gpt-5.6"}
    found = shown(langchain.stream, stream, **options)
    assert [line for line in found.lines if "content" in line] == [
        "reasoning_message_content 2 | Hm.",
        "text_message_content 3 | Yes.",
    ]


def test_a_response_that_broke_off_does_not_hold_up_the_next_step() -> None:
    stream = [
        of(chunk(thought("Broken")), "one:1"),
        of(chunk([], calls=[{"index": 2, "id": "call_1", "name": "look", "args": '{"at'}]), "one:1"),
        of(chunk(said("No."), run="b"), "one:1"),
        of(chunk([], run="b", last=True), "one:1"),
        of(chunk(said("Next."), run="c"), "two:2", step=2),
    ]
    found = shown(langchain.stream, stream)
    contents = [line for line in found.lines if "_content" in line]
    assert [line.partition(" | ")[2] for line in contents] == ["Broken", "No.", "Next."]
    assert found.answers == [[{"type": "text", "text": "No."}, {"type": "text", "text": "Next."}]]


ASKED = [
    of(chunk(thought("Hm.")), "model:1"),
    of(chunk(signed("AA==")), "model:1"),
    of(chunk([], calls=called("call_1")), "model:1"),
    of(chunk([], last=True), "model:1"),
]
ANSWERED = [of(chunk(said("Yes."), run="c"), "model:3", step=3), of(chunk([], last=True), "model:3", step=3)]
INSIDE = [chunk(thought("Well."), run="b"), chunk(said("No."), run="b"), chunk([], run="b", last=True)]


@pytest.mark.parametrize("node", ["tools", "tool_node"])
def test_a_model_inside_a_tool_is_a_subagent(node: str) -> None:
    task = f"{node}:2"
    inside = [of(message, task, step=2) for message in INSIDE]
    found = shown(langchain.stream, [*ASKED, *inside, of(result("call_1", "No."), task, step=2), *ANSWERED])
    assert found.lines == [
        *thinks(1, "Hm."),
        *calls(3, "look", "{}"),
        "reasoning_encrypted_value 2",
        f"subagent_started 4 | {node}",
        *thinks(5, "Well.", inside="4 "),
        *says(7, "No.", inside="4 "),
        "subagent_finished 4",
        "tool_call_result 8 3 | No.",
        *says(9, "Yes."),
    ]
    call = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
    assert found.answers == [[{**BLOCKS_A[0], "thinking": "Hm."}, call], [BLOCKS_A[1]]]


def test_the_graph_of_a_tool_is_its_subagent_and_a_tool_of_that_one_is_in_it() -> None:
    inner = [of(message, "tools:2", "tools:9", step=5) for message in INSIDE]
    stream = [*ASKED, of(INSIDE[0], "tools:2", "model:8"), *inner, of(result("call_1", "No."), "tools:2")]
    started = [event for event in shown(langchain.stream, stream).events if event.type == "SUBAGENT_STARTED"]
    outer, nested = started
    assert (outer.parent_subagent_run_id, nested.parent_subagent_run_id) == (None, outer.subagent_run_id)


def test_a_node_that_ran_a_tool_is_known_from_then_on() -> None:
    stream = [
        *ASKED,
        of(result("call_1", "No."), "act:2", step=2),
        *(of(message, "act:4", step=4) for message in INSIDE),
        of(result("call_1", "No."), "act:4", step=4),
    ]
    found = shown(langchain.stream, stream)
    assert [line for line in found.lines if line.startswith("subagent_started")] == [
        "subagent_started 5 | act"
    ]


def test_a_node_that_speaks_and_runs_its_tools_itself_is_the_agent() -> None:
    node = [(message, {"langgraph_checkpoint_ns": "agent:1"}) for message, _ in [*ASKED, *ANSWERED]]
    stream = [*node[:4], of(result("call_1", "No."), "agent:1"), *node[4:]]
    found = shown(langchain.stream, stream)
    assert [line for line in found.lines if line.startswith("subagent")] == []


def test_blocks_of_a_whole_message_stay_apart() -> None:
    blocks = [
        {"type": "thinking", "thinking": "One.", "signature": "AA=="},
        {"type": "thinking", "thinking": "Two.", "signature": "BB=="},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "call_1", "name": "look", "input": {}},
        {"type": "thinking", "thinking": "Three.", "signature": "CC=="},
        {"type": "tool_use", "id": "call_2", "name": "look", "input": {}},
    ]
    calls = [{"id": f"call_{number}", "name": "look", "args": {}} for number in (1, 2)]
    whole = chunk(blocks, type="ai", tool_calls=calls)
    found = shown(langchain.stream, [whole, result("call_1", "No."), result("call_2", "No.")])
    assert found.answers == [blocks]


def test_token_counts_of_chunks_add_up() -> None:
    first = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    last = {
        "input_tokens": 0,
        "output_tokens": 4,
        "total_tokens": 4,
        "output_token_details": {"reasoning": 3},
    }
    stream = [chunk(said("Yes."), usage_metadata=first), chunk([], last=True, usage_metadata=last)]
    (usage,) = shown(langchain.stream, stream).events[-1].usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15)
    assert usage.reasoning_tokens == 3


def test_a_result_whose_call_is_named_by_no_string_ends_the_run_with_an_error() -> None:
    run = Run({"threadId": "t", "runId": "r", "messages": []}, api="anthropic-messages", provider="anthropic")
    wrong: Any = 5
    events = list(run_agent(run, lambda _: iter([langchain.stream([result(wrong, "12")])])))
    assert [event.type for event in events] == ["RUN_STARTED", "RUN_ERROR"]
