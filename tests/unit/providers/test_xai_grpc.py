"""Test the xai-grpc decoder, one trap per test, with payloads written for it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agui_reasoning import DecodeError, ProviderError
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
    fold,
)
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
)
from agui_reasoning.providers import decode_response, decoder

API = "xai-grpc"
KIND = "xai.encrypted_content"
SEARCH = "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"
MODEL, TOOL = "ROLE_ASSISTANT", "ROLE_TOOL"


def chunk(index: int = 0, reason: str = "", role: str = MODEL, **delta: Any) -> dict[str, Any]:
    output: dict[str, Any] = {"delta": {"role": role, **delta}}
    if index:
        output["index"] = index
    if reason:
        output["finish_reason"] = reason
    return {"id": "r1", "model": "grok-4", "outputs": [output]}


def call(call_id: str, kind: str = SEARCH, name: str = "web_search", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": kind, "function": {"name": name, "arguments": '{"q":1}'}, **more}


def stream(*payloads: Any) -> list[Delta]:
    made = decoder(API)
    return [delta for one in payloads for delta in made.receive(one)] + made.close()


def parts(*payloads: Any) -> list[Part]:
    return [replace(part, origin=None) for part in fold(stream(*payloads))]


def whole(*messages: dict[str, Any], reason: str = "REASON_STOP") -> list[Part]:
    outputs = [{"index": n, "message": message} for n, message in enumerate(messages)]
    outputs[-1]["finish_reason"] = reason
    found = decode_response(API, {"id": "r1", "model": "grok-4", "outputs": outputs})
    return [replace(part, origin=None) for part in found]


def thought(text: str, *values: str) -> ReasoningPart:
    segments = (Segment("text", 0, text),) if text else ()
    return ReasoningPart(segments, tuple(Opaque(KIND, value) for value in values))


SEARCHED = ToolCallPart("c1", "web_search", '{"q":1}', server=True, ext={"type": SEARCH})
ANSWERED = {"role": TOOL, "tool_calls": [call("c1")], "encrypted_content": "RESULT"}


def test_a_stream_with_a_search_becomes_deltas() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "reasoning_tokens": 5, "total_tokens": 14}
    deltas = stream(
        chunk(reasoning_content="Hm."),
        chunk(encrypted_content="ENC", tool_calls=[call("c1")]),
        chunk(reason="REASON_TOOL_CALLS"),
        {**chunk(1, role=TOOL, tool_calls=[call("c1")], encrypted_content="RESULT"), "usage": {}},
        {**chunk(2, content="Yes", encrypted_content="MORE"), "usage": {"prompt_tokens": 1}},
        chunk(2, content="."),
        {**chunk(2, reason="REASON_STOP"), "usage": usage},
    )
    assert deltas == [
        ResponseStart(Origin("xai", API, "grok-4"), id="r1"),
        ReasoningDelta("Hm.", key="reasoning:0"),
        OpaqueDelta(Opaque(KIND, "ENC"), key="reasoning:0", append=True),
        CloseDelta(key="reasoning:0"),
        ToolCallDelta("c1", "web_search", '{"q":1}', server=True, ext={"type": SEARCH}),
        CloseDelta(key="c1"),
        ToolResultDelta("c1", "", native=ANSWERED),
        OpaqueDelta(Opaque(KIND, "MORE"), key="reasoning:2", append=True),
        CloseDelta(key="reasoning:2"),
        TextDelta("Yes", key="text:2"),
        TextDelta(".", key="text:2"),
        CloseDelta(key="text:2"),
        UsageDelta(
            provider="xai",
            model="grok-4",
            input_tokens=7,
            output_tokens=7,
            total_tokens=14,
            reasoning_tokens=5,
            cached_input_tokens=0,
        ),
        FinishDelta("REASON_STOP"),
    ]


def test_a_whole_response_gives_the_parts_of_its_stream() -> None:
    found = whole(
        {"role": MODEL, "reasoning_content": "Hm.", "encrypted_content": "ENC", "tool_calls": [call("c1")]},
        ANSWERED,
        {"role": MODEL, "content": "Yes.", "encrypted_content": "MORE"},
    )
    result = ToolResultPart("c1", "", native=ANSWERED)
    assert found == [thought("Hm.", "ENC"), SEARCHED, result, thought("", "MORE"), TextPart("Yes.")]


def test_outputs_are_taken_in_the_order_of_their_index() -> None:
    outputs = [
        {"index": 1, "message": {"role": MODEL, "content": "b"}, "finish_reason": "REASON_STOP"},
        {"message": {"role": MODEL, "content": "a"}},
    ]
    found = decode_response(API, {"outputs": outputs})
    assert [getattr(part, "text", None) for part in found] == ["a", "b"]


def test_encrypted_reasoning_is_joined_per_output() -> None:
    found = parts(
        chunk(encrypted_content="AB"),
        chunk(encrypted_content="CD"),
        chunk(content="Yes."),
        chunk(encrypted_content="EF", reason="REASON_STOP"),
    )
    assert found == [thought("", "ABCDEF"), TextPart("Yes.")]


def test_the_clients_calls_are_told_from_the_providers() -> None:
    kinds = ["TOOL_CALL_TYPE_CLIENT_SIDE_TOOL", "", "TOOL_CALL_TYPE_MCP_TOOL"]
    calls = [call(f"c{n}", kind, "get") for n, kind in enumerate(kinds)]
    found = parts(chunk(tool_calls=calls, reason="REASON_TOOL_CALLS"))
    assert found == [
        ToolCallPart("c0", "get", '{"q":1}'),
        ToolCallPart("c1", "get", '{"q":1}'),
        ToolCallPart("c2", "get", '{"q":1}', server=True, ext={"type": "TOOL_CALL_TYPE_MCP_TOOL"}),
    ]


def test_parallel_searches_are_answered_in_the_order_of_their_outputs() -> None:
    first, second = (
        {"role": TOOL, "content": text, "tool_calls": [call(call_id)]}
        for call_id, text in (("c1", "one"), ("c2", "two"))
    )
    found = parts(
        chunk(tool_calls=[call("c1"), call("c2")], reason="REASON_TOOL_CALLS"),
        chunk(2, **second),
        chunk(1, **first),
        chunk(3, content="Yes.", reason="REASON_STOP"),
    )
    assert found[2:] == [
        ToolResultPart("c1", "one", native=first),
        ToolResultPart("c2", "two", native=second),
        TextPart("Yes."),
    ]


def test_the_result_of_a_tool_may_come_in_pieces() -> None:
    found = parts(
        chunk(tool_calls=[call("c1")]),
        chunk(1, role=TOOL, tool_calls=[call("c1")], content="on"),
        chunk(1, role=TOOL, content="e", encrypted_content="X"),
        chunk(2, content="Yes.", reason="REASON_STOP"),
    )
    message = {"role": TOOL, "tool_calls": [call("c1")], "content": "one", "encrypted_content": "X"}
    assert found[1] == ToolResultPart("c1", "one", native=message)


def test_one_result_of_two_calls_is_kept_once() -> None:
    message = {"role": TOOL, "content": "both", "tool_calls": [call("c1"), call("c2")]}
    found = parts(
        chunk(tool_calls=[call("c1"), call("c2")]), chunk(1, **message), chunk(2, reason="REASON_STOP")
    )
    assert found[2:] == [ToolResultPart("c1", "both", native=message), ToolResultPart("c2", "both")]


def test_a_call_that_only_its_result_tells_of_is_shown() -> None:
    found = parts(chunk(**ANSWERED), chunk(1, reason="REASON_STOP"))
    assert found == [SEARCHED, ToolResultPart("c1", "", native=ANSWERED)]


def test_a_result_without_a_call_is_kept_as_it_is() -> None:
    message = {"role": TOOL, "content": "loose"}
    found = parts(chunk(**message), chunk(1, content="Yes.", reason="REASON_STOP"))
    assert found == [NativePart("xai.tool_output", message), TextPart("Yes.")]


def test_a_tool_that_failed_says_why() -> None:
    failed = call("c1", status="TOOL_CALL_STATUS_FAILED", error_message="Timed out.")
    message = {"role": TOOL, "tool_calls": [failed]}
    found = parts(chunk(tool_calls=[call("c1")]), chunk(1, **message), chunk(2, reason="REASON_STOP"))
    assert found[1] == ToolResultPart("c1", "Timed out.", native=message)


def test_citations_belong_to_their_text() -> None:
    cited = [{"id": str(n), "web_citation": {"url": f"https://example.com/{n}"}} for n in (1, 2)]
    found = parts(
        chunk(content="a", citations=cited[:1]),
        chunk(content="b", citations=cited[1:]),
        chunk(reason="REASON_STOP"),
    )
    assert found == [TextPart("ab", ext={"citations": cited})]
    assert whole({"role": MODEL, "content": "ab", "citations": cited}) == found


@pytest.mark.parametrize("reason", ["REASON_MAX_LEN", "REASON_MAX_CONTEXT", "REASON_TIME_LIMIT"])
def test_a_limit_cuts_the_last_unit(reason: str) -> None:
    cut = replace(thought("Hm"), status="incomplete")
    assert parts(chunk(reasoning_content="Hm", encrypted_content="E"), chunk(reason=reason)) == [cut]
    assert whole({"role": MODEL, "reasoning_content": "Hm", "encrypted_content": "E"}, reason=reason) == [cut]
    found = parts(chunk(reasoning_content="Hm"), chunk(content="Ye", reason=reason))
    assert found == [thought("Hm"), TextPart("Ye", status="incomplete")]


@pytest.mark.parametrize(
    "payloads",
    [
        [chunk(reasoning_content="Hm")],
        [chunk(content="Ye")],
        [
            chunk(tool_calls=[call("c1")], reason="REASON_TOOL_CALLS"),
            chunk(1, **ANSWERED),
            chunk(2, content="Y"),
        ],
    ],
)
def test_a_stream_that_stops_inside_an_output_is_cut(payloads: list[Any]) -> None:
    made = decoder(API)
    for payload in payloads:
        made.receive(payload)
    with pytest.raises(DecodeError) as caught:
        made.close()
    assert caught.value.code == "truncated_stream"
    assert caught.value.deltas[-1] == CloseDelta(status="incomplete")
    assert made.close() == []


def test_a_result_that_nothing_followed_is_not_lost() -> None:
    deltas = stream(chunk(tool_calls=[call("c1")], reason="REASON_TOOL_CALLS"), chunk(1, **ANSWERED))
    assert [type(delta).__name__ for delta in deltas[-2:]] == ["ToolResultDelta", "FinishDelta"]


def test_another_id_is_another_response() -> None:
    again = {**chunk(content="b", reason="REASON_STOP"), "id": "r2"}
    deltas = stream(chunk(content="a", reason="REASON_STOP"), again)
    starts = [delta.id for delta in deltas if isinstance(delta, ResponseStart)]
    assert starts == ["r1", "r2"]
    assert [type(delta).__name__ for delta in deltas].count("FinishDelta") == 2


def test_a_payload_that_cannot_be_read_changes_nothing() -> None:
    made = decoder(API)
    made.receive(chunk(content="a"))
    with pytest.raises(DecodeError) as caught:
        made.receive({"outputs": [{"delta": {"content": "b"}}, {"delta": {"content": 1}}]})
    assert (caught.value.code, caught.value.path) == ("bad_payload", "/outputs/1/delta/content")
    made.receive(chunk(content="c", reason="REASON_STOP"))
    assert made.close() == [FinishDelta("REASON_STOP")]


def test_a_status_in_the_stream_is_the_providers_error() -> None:
    made = decoder(API)
    made.receive(chunk(content="a"))
    with pytest.raises(ProviderError) as caught:
        made.receive({"error": {"code": 8, "message": "Too many requests."}})
    assert caught.value.provider_code == "8"
    assert caught.value.deltas == (CloseDelta(status="incomplete"),)
    assert made.close() == []


def test_a_fragment_of_a_result_may_follow_one_of_another_type() -> None:
    def output(**delta: Any) -> dict[str, Any]:
        return {"id": "x", "outputs": [{"index": 1, "delta": {"role": "ROLE_TOOL", **delta}}]}

    machine = decoder("xai-grpc")
    for content in (None, "Sun", "ny."):
        machine.receive(output(tool_calls=[{"id": "c"}], content=content))
    last = {"index": 2, "delta": {"role": "ROLE_ASSISTANT", "content": "So."}}
    deltas = machine.receive({"id": "x", "outputs": [last]})
    assert [one.content for one in deltas if isinstance(one, ToolResultDelta)] == ["Sunny."]


def test_citations_beside_text_that_goes_on_are_kept() -> None:
    cited = [{"id": "1", "url": "https://a.example"}]
    for before in ("ab", "aabb"):
        texts = [*(chunk(content=text) for text in before), chunk(content="c", citations=cited)]
        found = parts(*texts, chunk(reason="REASON_STOP"))
        assert found == [TextPart(f"{before}c", ext={"citations": cited})]
