"""Decoders of Ollama, Cohere and Mistral: cut answers, plans, types of errors, continued calls."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import History, ProviderError, build_request
from agui_reasoning.deltas import CloseDelta, ReasoningDelta, TextDelta, ToolCallDelta, fold
from agui_reasoning.parts import ReasoningPart, TextPart, ToolCallPart, Turn
from agui_reasoning.providers import decode_response, decoder

# -- Ollama


def ollama(reason: str, *messages: dict[str, Any]) -> list[Any]:
    lines = [{"model": "m", "message": {"role": "assistant", "content": "", **one}} for one in messages]
    lines[-1] |= {"done": True, "done_reason": reason}
    made = decoder("ollama")
    return fold([delta for line in lines for delta in made.receive({"done": False, **line})])


@pytest.mark.parametrize(
    ("messages", "statuses"),
    [
        (({"thinking": "Hm"},), ["incomplete"]),
        (({"thinking": "Hm."}, {"content": "Noo"}), ["complete", "incomplete"]),
        (({"content": "Noo"}, {"content": ""}), ["incomplete"]),
        (({},), []),
    ],
)
def test_the_last_unit_of_ollama_is_cut_by_a_limit(messages: tuple[Any, ...], statuses: list[str]) -> None:
    assert [part.status for part in ollama("length", *messages)] == statuses
    assert {part.status for part in ollama("stop", *messages)} <= {"complete"}


# -- Cohere

PLAN = {"role": "assistant", "tool_plan": "I look.", "tool_calls": []}
FUNCTION = {"name": "look", "arguments": "{}"}


def test_the_plan_of_cohere_is_named_once_and_ends_before_its_calls() -> None:
    made = decoder("cohere-chat")
    made.receive({"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}})
    plans = [
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": text}}} for text in ("I ", "look.")
    ]
    assert [delta for plan in plans for delta in made.receive(plan)] == [
        ReasoningDelta("I ", key="tool_plan", ext={"field": "tool_plan"}),
        ReasoningDelta("look.", key="tool_plan"),
    ]
    call = {"id": "c", "type": "function", "function": FUNCTION}
    start = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}
    assert made.receive(start) == [CloseDelta(key="tool_plan"), ToolCallDelta("c", "look", "{}")]


def test_a_whole_response_of_cohere_has_its_plan() -> None:
    response = {"id": "r", "finish_reason": "COMPLETE", "message": PLAN}
    [plan] = decode_response("cohere-chat", response)
    assert isinstance(plan, ReasoningPart)
    assert (plan.text, plan.ext) == ("I look.", {"field": "tool_plan"})


@pytest.mark.parametrize(
    ("fields", "kind"),
    [({"finish_reason": "ERROR"}, "ERROR"), ({"finish_reason": "ERROR", "type": "overloaded"}, "overloaded")],
)
def test_an_error_of_cohere_has_a_type(fields: dict[str, Any], kind: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decode_response("cohere-chat", {"id": "r", "message": PLAN, **fields})
    assert caught.value.provider_type == kind
    assert caught.value.deltas[-1] == CloseDelta(status="incomplete")


# -- Mistral


def mistral(*calls: dict[str, Any]) -> list[tuple[str, str, str]]:
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    made = decoder("mistral-chat")
    deltas = [delta for chunk in chunks for delta in made.receive(chunk)]
    deltas += made.receive({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    parts = fold([*deltas, *made.close()])
    return [(part.id, part.name, part.arguments) for part in parts if isinstance(part, ToolCallPart)]


def piece(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([piece("c", "look", '{"a"'), piece("c", "look", ":1}")], [("c", "look", '{"a":1}')]),
        ([piece("c", "look", '{"a"'), piece("null", "", ":1}")], [("c", "look", '{"a":1}')]),
        ([piece("c", "look", "{}"), piece("d", "look", "[]")], [("c", "look", "{}"), ("d", "look", "[]")]),
    ],
)
def test_a_call_of_mistral_continues_without_a_name_or_with_its_id(
    calls: list[dict[str, Any]], expected: list[tuple[str, str, str]]
) -> None:
    assert mistral(*calls) == expected


def test_calls_of_mistral_without_ids_are_two_if_both_have_a_name() -> None:
    made = mistral(piece("null", "look", "{}"), piece("null", "look", "[]"))
    assert [(name, arguments) for _, name, arguments in made] == [("look", "{}"), ("look", "[]")]


def test_text_ends_a_call_of_mistral() -> None:
    made = decoder("mistral-chat")
    for delta in ({"tool_calls": [piece("c", "look", "{}")]}, {"content": "So."}):
        made.receive({"choices": [{"index": 0, "delta": delta}]})
    again = {"tool_calls": [piece("c", "look", "[]")]}
    assert ToolCallDelta("c", "look", "[]") in made.receive({"choices": [{"index": 0, "delta": again}]})


def test_a_cut_call_of_mistral_is_incomplete() -> None:
    message = {"role": "assistant", "content": "So.", "tool_calls": [piece("c", "look", "{")]}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    parts = decode_response("mistral-chat", {"id": "r", "choices": [choice]})
    assert [(type(part), part.status) for part in parts if isinstance(part, TextPart | ToolCallPart)] == [
        (TextPart, "complete"),
        (ToolCallPart, "incomplete"),
    ]


def test_a_block_of_cohere_is_a_thought_by_its_start() -> None:
    made = decoder("cohere-chat")
    sent: list[tuple[str, int, dict[str, Any]]] = [
        ("content-start", 0, {"type": "thinking"}),
        ("content-start", 1, {"type": "text"}),
        ("content-delta", 0, {"text": "Hm."}),
        ("content-delta", 1, {"text": "Yes."}),
    ]
    deltas = made.receive({"type": "message-start", "id": "c"})
    for kind, index, content in sent:
        deltas += made.receive({"type": kind, "index": index, "delta": {"message": {"content": content}}})
    assert deltas[1:] == [ReasoningDelta("Hm.", key="0"), TextDelta("Yes.", key="1")]


def test_a_server_tool_of_bedrock_goes_back_with_its_result() -> None:
    used = {
        "toolUse": {
            "toolUseId": "srv_1",
            "name": "nova_code_interpreter",
            "input": {"code": "1"},
            "type": "server_tool_use",
            "note": "x",
        }
    }
    told = {"toolResult": {"toolUseId": "srv_1", "content": [{"text": "1"}], "status": "success"}}
    content = [used, told, {"text": "One."}]
    parts = decode_response(
        "bedrock-converse",
        {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"},
        provider="bedrock",
        model="amazon.nova-2",
    )
    assert [part.server for part in parts if isinstance(part, ToolCallPart)] == [True]
    asked, again = (UserMessage(id=name, content="One?") for name in "uv")
    body = build_request(
        "bedrock-converse",
        History((asked, Turn(tuple(parts), parts[0].origin), again)),
        provider="bedrock",
        model="amazon.nova-2",
        on_warning=lambda _: None,
    ).body
    assert body["messages"][1] == {"role": "assistant", "content": content}
