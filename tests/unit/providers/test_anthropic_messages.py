"""Test the Anthropic Messages decoder, one trap per test."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import DecodeError, ProviderError
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
    fold,
)
from agui_reasoning.parts import Opaque, Origin, ReasoningPart
from agui_reasoning.providers import decode_response, decoder

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 2,
            "output_tokens": 1,
        },
    },
}
ORIGIN = Origin("anthropic", "anthropic-messages", "claude-x")


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def ending(reason: str = "end_turn", **usage: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9, **usage}},
        {"type": "message_stop"},
    ]


def decode(*payloads: Any) -> list[Delta]:
    machine = decoder("anthropic-messages")
    return [delta for payload in payloads for delta in machine.receive(payload)] + machine.close()


def body(*payloads: Any) -> list[Delta]:
    """The deltas between the frame of a message."""
    return decode(START, *payloads, *ending())[2:-2]


def thinking(text: str = "") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": ""}


def test_a_message_is_framed_and_counted() -> None:
    assert decode(START, *ending(output_tokens_details={"thinking_tokens": 4})) == [
        ResponseStart(ORIGIN, id="msg_1"),
        UsageDelta(
            provider="anthropic",
            model="claude-x",
            input_tokens=17,
            output_tokens=1,
            total_tokens=18,
            cached_input_tokens=5,
            cache_write_input_tokens=2,
        ),
        UsageDelta(
            provider="anthropic",
            model="claude-x",
            input_tokens=17,
            output_tokens=9,
            total_tokens=26,
            reasoning_tokens=4,
            cached_input_tokens=5,
            cache_write_input_tokens=2,
        ),
        FinishDelta("end_turn"),
    ]


def test_thinking_ends_with_its_signature() -> None:
    deltas = body(
        *block(
            0,
            thinking(),
            {"type": "thinking_delta", "thinking": "Hm"},
            {"type": "thinking_delta", "thinking": ""},
            {"type": "signature_delta", "signature": "SIG"},
        )
    )
    assert deltas == [
        ReasoningDelta("", key="0"),
        ReasoningDelta("Hm", key="0"),
        ReasoningDelta("", key="0"),
        OpaqueDelta(Opaque("anthropic.signature", "SIG"), key="0"),
        CloseDelta(key="0"),
    ]


def test_a_second_signature_replaces_the_first() -> None:
    signatures = [{"type": "signature_delta", "signature": text} for text in ("SIG1", "SIG2")]
    [part] = fold(body(*block(0, thinking("a"), *signatures)))
    assert isinstance(part, ReasoningPart)
    assert part.opaque == (Opaque("anthropic.signature", "SIG2"),)


def test_adjacent_blocks_keep_their_own_signatures() -> None:
    blocks = [
        payload
        for index in (0, 1)
        for payload in block(index, thinking("a"), {"type": "signature_delta", "signature": f"SIG{index}"})
    ]
    assert [part.opaque[0].value for part in fold(body(*blocks)) if isinstance(part, ReasoningPart)] == [
        "SIG0",
        "SIG1",
    ]


def test_omitted_thinking_is_a_signature_without_text() -> None:
    [part] = fold(body(*block(0, thinking(), {"type": "signature_delta", "signature": "SIG"})))
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.omitted, part.opaque[0].value) == ("", True, "SIG")


def test_a_block_with_neither_text_nor_signature_is_explicitly_empty() -> None:
    [part] = fold(body(*block(0, thinking())))
    assert part == ReasoningPart(ext={"explicit_empty": True})


def test_a_redacted_block_is_complete_when_it_starts() -> None:
    assert body(*block(0, {"type": "redacted_thinking", "data": "DATA"})) == [
        OpaqueDelta(Opaque("anthropic.redacted_thinking", "DATA"), key="0"),
        CloseDelta(key="0"),
    ]


def test_citations_belong_to_their_text() -> None:
    citations = [{"type": "citations_delta", "citation": {"n": number}} for number in (1, 2)]
    deltas = body(*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}, *citations))
    assert deltas == [
        TextDelta("", key="0"),
        TextDelta("a", key="0"),
        TextDelta("", key="0", ext={"citations": [{"n": 1}]}),
        TextDelta("", key="0", ext={"citations": [{"n": 1}, {"n": 2}]}),
        CloseDelta(key="0"),
    ]


def test_a_call_is_streamed_and_one_without_arguments_is_an_empty_object() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {}, "caller": {"type": "direct"}}
    pieces = [{"type": "input_json_delta", "partial_json": text} for text in ("", '{"a"', ": 1}")]
    assert body(*block(0, call, *pieces), *block(1, {**call, "id": "toolu_2"})) == [
        ToolCallDelta("toolu_1", "get", ext={"caller": {"type": "direct"}}),
        ToolCallDelta("toolu_1", "", ""),
        ToolCallDelta("toolu_1", "", '{"a"'),
        ToolCallDelta("toolu_1", "", ": 1}"),
        CloseDelta(key="toolu_1"),
        ToolCallDelta("toolu_2", "get", ext={"caller": {"type": "direct"}}),
        ToolCallDelta("toolu_2", "", "{}"),
        CloseDelta(key="toolu_2"),
    ]


def test_a_server_tool_and_its_result_are_kept_verbatim() -> None:
    use = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "srv_1",
        "content": [{"url": "u", "encrypted_content": "E"}],
    }
    assert body(*block(0, use, {"type": "input_json_delta", "partial_json": "{}"}), *block(1, result)) == [
        ToolCallDelta("srv_1", "web_search", server=True),
        ToolCallDelta("srv_1", "", "{}"),
        CloseDelta(key="srv_1"),
        ToolResultDelta("srv_1", '[{"encrypted_content":"E","url":"u"}]', native=result),
        CloseDelta(key="1"),
    ]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (
            {
                "type": "web_search_tool_result",
                "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            },
            "max_uses_exceeded",
        ),
        (
            {
                "type": "text_editor_code_execution_tool_result",
                "content": {
                    "type": "text_editor_code_execution_tool_result_error",
                    "error_code": "file_not_found",
                    "error_message": "There is no such file.",
                },
            },
            "There is no such file.",
        ),
        ({"type": "code_execution_tool_result", "content": {"type": "code_execution_tool_result_error"}}, ""),
        ({"type": "mcp_tool_result", "content": [{"type": "text", "text": "No."}], "is_error": True}, ""),
        ({"type": "mcp_tool_result", "content": [{"type": "text", "text": "Yes."}], "is_error": False}, None),
        ({"type": "code_execution_tool_result", "content": {"type": "code_execution_result"}}, None),
    ],
)
def test_a_server_tool_that_failed_says_so(result: dict[str, Any], error: str | None) -> None:
    use = {"type": "server_tool_use", "id": "srv_1", "name": "tool", "input": {}}
    native = {**result, "tool_use_id": "srv_1"}
    found = [delta for delta in body(*block(0, use), *block(1, native)) if isinstance(delta, ToolResultDelta)]
    assert [(delta.error, delta.native) for delta in found] == [(error, native)]
    message: Any = START["message"]
    whole = decode_response("anthropic-messages", {**message, "content": [use, native]})
    assert whole == fold(decode(START, *block(0, use), *block(1, native), *ending()))


def test_an_mcp_call_keeps_its_type_and_server() -> None:
    use = {"type": "mcp_tool_use", "id": "mcp_1", "name": "echo", "server_name": "s", "input": {"a": 1}}
    assert body(*block(0, use))[0] == ToolCallDelta(
        "mcp_1", "echo", '{"a":1}', server=True, ext={"server_name": "s", "type": "mcp_tool_use"}
    )


def test_unknown_blocks_are_kept_and_grow_by_deltas_we_do_not_know() -> None:
    fallback = {"type": "fallback", "from": {"model": "a"}}
    compaction = block(
        1,
        {"type": "compaction", "content": None},
        {"type": "compaction_delta", "content": "sum"},
        {"type": "compaction_delta", "content": "mary"},
    )
    assert body(*block(0, fallback), *compaction) == [
        NativeDelta("anthropic.fallback", fallback),
        NativeDelta("anthropic.compaction", {"type": "compaction", "content": "summary"}),
    ]


def test_a_length_limit_marks_the_last_block_even_if_it_was_closed() -> None:
    deltas = decode(
        START, *block(0, thinking("a"), {"type": "signature_delta", "signature": "S"}), *ending("max_tokens")
    )
    [part] = fold(deltas)
    assert isinstance(part, ReasoningPart)
    assert (part.status, part.opaque[0].value) == ("incomplete", "S")


def test_pings_unknown_events_and_helper_events_mean_nothing() -> None:
    helpers = [
        {"type": "ping"},
        {"type": "thinking", "thinking": "Hm", "snapshot": "Hm"},
        {"type": "text", "text": "a", "snapshot": "a"},
        {"type": "future_event", "index": "x"},
        {
            "type": "content_block_delta",
            "index": 7,
            "delta": {"type": "input_json_delta", "partial_json": "{"},
        },
        {
            "type": "content_block_delta",
            "index": 7,
            "delta": {"type": "future_delta", "text": "for no block"},
        },
        {},
    ]
    assert body(*helpers) == []


ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "secret words"}}


def test_an_error_in_the_stream_is_raised_and_quotes_nothing() -> None:
    machine = decoder("anthropic-messages")
    for payload in (START, *block(0, thinking("a"))[:1]):
        machine.receive(payload)
    with pytest.raises(ProviderError) as caught:
        machine.receive(ERROR)
    assert (caught.value.provider_type, caught.value.provider_message) == ("overloaded_error", "secret words")
    assert "secret" not in f"{caught.value} {caught.value!r}"
    assert caught.value.deltas == (CloseDelta(status="incomplete"),)
    assert machine.close() == []


def test_an_error_in_place_of_a_message_is_raised() -> None:
    with pytest.raises(ProviderError):
        decode_response("anthropic-messages", ERROR)


def test_a_stream_that_stops_inside_a_message_is_told_once() -> None:
    machine = decoder("anthropic-messages", provider="bedrock")
    machine.receive(START)
    with pytest.raises(DecodeError) as caught:
        machine.close()
    assert (caught.value.code, caught.value.provider) == ("truncated_stream", "bedrock")
    assert caught.value.deltas == (CloseDelta(status="incomplete"),)
    assert machine.close() == []


def test_a_stream_without_its_last_event_is_not_truncated() -> None:
    machine = decoder("anthropic-messages")
    for payload in (START, *ending()[:1]):
        machine.receive(payload)
    assert machine.close() == [FinishDelta("end_turn")]


def test_nothing_is_nothing() -> None:
    assert decoder("anthropic-messages").close() == []


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ("text", ""),
        ([1], ""),
        ({"type": 7}, "/type"),
        ({"type": "message_start", "message": []}, "/message"),
        ({"type": "content_block_start", "content_block": {"type": "text"}}, "/index"),
        ({"type": "content_block_start", "index": True, "content_block": {}}, "/index"),
        (
            {"type": "content_block_start", "index": 9, "content_block": {"type": "thinking", "thinking": 1}},
            "/content_block/thinking",
        ),
        (
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": ["secret"]},
            },
            "/delta/thinking",
        ),
        ({"type": "message_delta", "usage": {"output_tokens": "9"}}, "/usage/output_tokens"),
    ],
)
def test_a_malformed_payload_is_named_by_place_and_changes_nothing(payload: Any, path: str) -> None:
    machine = decoder("anthropic-messages", provider="vertex")
    before = [machine.receive(p) for p in (START, *block(0, thinking("a"))[:1])]
    with pytest.raises(DecodeError) as caught:
        machine.receive(payload)
    assert (caught.value.code, caught.value.path, caught.value.provider) == ("bad_payload", path, "vertex")
    assert "secret" not in str(caught.value)
    after = [machine.receive(p) for p in (*block(0, thinking("a"))[1:], *ending())]
    fresh = decoder("anthropic-messages", provider="vertex")
    assert before + after == [fresh.receive(p) for p in (START, *block(0, thinking("a")), *ending())]
