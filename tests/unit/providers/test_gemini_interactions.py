"""Test the gemini-interactions decoder, one trap per test, with payloads written for it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning.deltas import CloseDelta, Delta, FinishDelta, UsageDelta, fold, unfold
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers import decode_response, decoder

API = "gemini-interactions"
KIND = "gemini.interaction_signature"


def sig(value: str, attach: str = "self") -> tuple[Opaque, ...]:
    return (Opaque(KIND, value, "base64", attach),)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event_type": kind, **fields}


def opened(step: dict[str, Any], *deltas: dict[str, Any], index: int = 0) -> list[dict[str, Any]]:
    return [
        event("step.start", index=index, step=step),
        *(event("step.delta", index=index, delta=delta) for delta in deltas),
        event("step.stop", index=index),
    ]


def ended(status: str = "completed", **more: Any) -> dict[str, Any]:
    return event("interaction.completed", interaction={"id": "i1", "status": status, **more})


def stream(*events: Any) -> list[Delta]:
    made = decoder(API)
    begun = event("interaction.created", interaction={"id": "i1", "model": "gemini-3"})
    deltas = [delta for one in (begun, *events, "[DONE]") for delta in made.receive(one)]
    return deltas + made.close()


def parts(*events: Any) -> list[Part]:
    found = fold(stream(*events))
    assert fold(unfold(found)) == found
    return [replace(part, origin=None) for part in found]


def whole(*steps: dict[str, Any], status: str = "completed") -> list[Part]:
    response = {"id": "i1", "model": "gemini-3", "object": "interaction", "status": status, "steps": [*steps]}
    return [replace(part, origin=None) for part in decode_response(API, response)]


def test_each_summary_delta_is_an_entry_and_the_last_signature_that_is_not_empty_counts() -> None:
    def entry(text: str) -> dict[str, Any]:
        return {"type": "thought_summary", "content": {"type": "text", "text": text}}

    def signature(value: str) -> dict[str, Any]:
        return {"type": "thought_signature", "signature": value}

    deltas = (entry("a"), signature(""), entry("b"), signature("eA=="), signature("eQ=="), signature(""))
    expected = [ReasoningPart((Segment("summary", 0, "a"), Segment("summary", 1, "b")), sig("eQ=="))]
    assert parts(*opened({"type": "thought"}, *deltas), ended()) == expected
    summary = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert whole({"type": "thought", "signature": "eQ==", "summary": summary}) == expected


def test_a_thought_of_nothing_is_empty_on_purpose() -> None:
    expected = [ReasoningPart(ext={"explicit_empty": True})]
    assert parts(*opened({"type": "thought", "signature": ""}), ended()) == expected
    assert whole({"type": "thought"}) == expected


def test_a_call_streams_its_arguments_and_an_empty_signature_is_none() -> None:
    step = {"type": "function_call", "id": "c1", "name": "f", "arguments": {}, "signature": ""}
    pieces = ({"type": "arguments_delta", "arguments": text} for text in ('{"a"', ":1}"))
    assert parts(*opened(step, *pieces), ended("requires_action")) == [ToolCallPart("c1", "f", '{"a":1}')]
    assert parts(*opened(step), ended("requires_action")) == [ToolCallPart("c1", "f", "{}")]
    assert whole({**step, "arguments": {"a": 1}, "signature": "eA=="}) == [
        ToolCallPart("c1", "f", '{"a":1}', opaque=sig("eA==", "tool_call:c1"))
    ]


def test_a_call_without_a_stop_is_complete_when_the_interaction_is() -> None:
    events = opened({"type": "function_call", "id": "c1", "name": "f", "arguments": {}})[:-1]
    assert parts(*events, ended("requires_action")) == [ToolCallPart("c1", "f", "{}")]


def test_a_search_and_its_result_are_put_together() -> None:
    call = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["q"]}, "signature": "eA=="}
    result = {"type": "google_search_result", "call_id": "s1", "result": [{"a": 1}], "signature": "eQ=="}
    begun_call = {**call, "arguments": {}, "signature": "", "search_type": "web"}
    begun = {"type": "google_search_result", "call_id": "s1", "signature": ""}
    found = parts(*opened(begun_call, call), *opened(begun, {**result, "signature": ""}, result), ended())
    assert found == [
        ToolCallPart(
            "s1",
            "google_search",
            '{"queries":["q"]}',
            True,
            sig("eA==", "tool_call:s1"),
            ext={"type": "google_search_call", "search_type": "web"},
        ),
        ToolResultPart("s1", '[{"a":1}]', native=result),
    ]
    assert whole({**call, "search_type": "web"}, result) == found


def test_a_tool_of_the_server_that_failed_says_so() -> None:
    call = {"type": "code_execution_call", "id": "c1", "arguments": {"code": "1/0"}}
    result = {"type": "code_execution_result", "call_id": "c1", "result": "ZeroDivisionError"}
    failed = {**result, "is_error": True}
    assert parts(*opened(call), *opened(result, failed), ended())[-1] == ToolResultPart(
        "c1", "ZeroDivisionError", error="", native=failed
    )
    assert whole(call, failed)[-1] == ToolResultPart("c1", "ZeroDivisionError", error="", native=failed)
    worked = {**result, "is_error": False}
    assert whole(call, worked)[-1] == ToolResultPart("c1", "ZeroDivisionError", native=worked)


def test_text_is_in_stretches_and_what_is_between_them_is_kept_whole() -> None:
    image = {"type": "image", "data": "eA==", "mime_type": "image/png"}
    note = {"type": "url_citation", "url": "u"}
    text = {"type": "text", "text": "b", "annotations": [note]}
    expected = [
        TextPart("a"),
        NativePart("gemini.image", image),
        TextPart("b", ext={"annotations": [note]}),
    ]
    assert (
        whole({"type": "model_output", "content": [{"type": "text", "text": "a"}, image, text]}) == expected
    )
    streamed = (
        {"type": "text", "text": "a"},
        image,
        {"type": "text", "text": "b"},
        {"type": "text_annotation_delta", "annotations": [note]},
    )
    assert parts(*opened({"type": "model_output"}, *streamed), ended()) == expected


def test_the_users_own_step_is_passed_over_and_an_unknown_one_kept() -> None:
    assert whole({"type": "user_input", "content": []}, {"type": "plan", "text": "x"}) == [
        NativePart("gemini.plan", {"type": "plan", "text": "x"})
    ]


@pytest.mark.parametrize("status", ["incomplete", "cancelled", "budget_exceeded"])
def test_a_limit_leaves_the_last_unit_incomplete(status: str) -> None:
    step = {"type": "model_output", "content": [{"type": "text", "text": "a"}]}
    assert whole(step, status=status) == [TextPart("a", status="incomplete")]
    assert stream(*opened(step), ended(status))[-1] == FinishDelta(status)


def test_a_stream_without_its_completion_was_cut() -> None:
    made = decoder(API)
    made.receive(event("interaction.created", interaction={"id": ""}))
    with pytest.raises(DecodeError) as caught:
        made.close()
    assert caught.value.code == "truncated_stream"
    assert made.close() == []


@pytest.mark.parametrize(
    "payload",
    [
        event("error", error={"code": "not_found", "message": "Words."}),
        ended("failed", errors=[{"code": "not_found", "message": "Words."}]),
    ],
)
def test_an_error_is_the_providers(payload: dict[str, Any]) -> None:
    with pytest.raises(ProviderError) as caught:
        decoder(API).receive(payload)
    assert (caught.value.provider_code, caught.value.provider_message) == ("not_found", "Words.")
    assert caught.value.deltas == (CloseDelta(status="incomplete"),)


def test_counts_include_tools_and_thoughts() -> None:
    usage = {
        "total_input_tokens": 9,
        "total_tool_use_tokens": 1,
        "total_output_tokens": 4,
        "total_thought_tokens": 20,
        "total_tokens": 34,
        "total_cached_tokens": 3,
    }
    (count,) = [delta for delta in stream(ended(usage=usage)) if isinstance(delta, UsageDelta)]
    assert (count.input_tokens, count.output_tokens, count.reasoning_tokens) == (10, 24, 20)
    assert (count.total_tokens, count.cached_input_tokens) == (34, 3)
