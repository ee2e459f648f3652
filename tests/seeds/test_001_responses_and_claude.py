"""Document 001: where OpenAI's Responses API and Claude put reasoning, and which call it led to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ToolCallStartEvent

from agui_reasoning import KeyRing, Run, check_events, reduce_events, restore
from agui_reasoning.attribution import Attributor, Shared, TraceRecord, TraceUnit, trace
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment, TextPart
from agui_reasoning.providers import decode_response
from agui_reasoning.wire import SSEEncoder
from tests.seeds import INPUT, answered, asked, each, numbers, row, told
from tests.support.lines import lines
from tests.support.wholes import stream_anthropic, stream_responses

JSON = dict[str, Any]

# -- OpenAI's Responses API

OPENAI = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.2"}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}


def reasoning(number: int, *texts: str) -> JSON:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "content": None}
    return {**item, "encrypted_content": f"gAAAA{number}/+=="}


def function(number: int) -> JSON:
    call = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": f"tool_{number}", "arguments": "{}"}
    return {"type": "function_call", "status": "completed", **call}


def message(text: str) -> JSON:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def response(*output: JSON) -> JSON:
    usage = {"input_tokens": 10, "output_tokens": 2000, "total_tokens": 2010}
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-5.2",
        "reasoning": {"effort": "high", "summary": "detailed"},
        "output": list(output),
        "usage": {**usage, "output_tokens_details": {"reasoning_tokens": 1726}},
    }


def streamed(*output: JSON) -> list[JSON]:
    """The events of a response whose last event has no reasoning item, as was observed."""
    *events, completed = stream_responses(response(*output), list)
    kept = [item for item in output if item["type"] != "reasoning"]
    events = [{**event, "obfuscation": "XTdhgYI7d"} if "delta" in event else event for event in events]
    return [*events, {**completed, "response": {**completed["response"], "output": kept}}]


@row("001-01", "001-02", "001-03", "001-05")
def test_an_item_is_read_with_its_summary_its_id_and_its_value() -> None:
    parts = decode_response("openai-responses", response(reasoning(1, "a", "b"), message("A")))
    origin = Origin("openai", "openai-responses", "gpt-5.2")
    assert parts[0] == ReasoningPart(
        (Segment("summary", 0, "a"), Segment("summary", 1, "b")),
        (Opaque("openai.encrypted_content", "gAAAA1/+=="),),
        "rs_1",
        origin=origin,
    )
    assert told(answered(response(reasoning(1, "a", "b"), message("A")), **OPENAI)) == [
        ("reasoning", "a\n\nb"),
        ("assistant", "A"),
    ]


@row("001-05")
def test_the_setting_of_reasoning_is_no_reasoning() -> None:
    assert lines(answered(response(message("A")), **OPENAI)) == [
        "text_message_start 1",
        "text_message_content 1 | A",
        "text_message_end 1",
    ]


@row("001-02", "001-04", "001-27")
@pytest.mark.parametrize("texts", [(), ("a", "b")], ids=["no summary", "summary"])
def test_an_item_goes_back_before_its_call_with_or_without_a_summary(texts: tuple[str, ...]) -> None:
    parts = decode_response("openai-responses", response(reasoning(1, *texts), function(1)))
    sent = asked(parts, **OPENAI, request={"store": False}).body["input"]
    item = {name: value for name, value in reasoning(1, *texts).items() if name != "content"}
    assert [{key: one[key] for key in item if key in one} for one in sent[1:2]] == [item]
    assert [one.get("type") for one in sent[1:]] == ["reasoning", "function_call", "function_call_output"]


@row("001-06")
@pytest.mark.parametrize("source", [response(message("A")), streamed(message("A"))], ids=["whole", "stream"])
def test_the_count_of_reasoning_is_on_the_end_of_the_run(source: Any) -> None:
    last = answered(source, **OPENAI)[-1].model_dump(by_alias=True, exclude_none=True)
    assert last["usage"] == [
        {
            "provider": "openai",
            "model": "gpt-5.2",
            "inputTokens": 10,
            "outputTokens": 2000,
            "totalTokens": 2010,
            "reasoningTokens": 1726,
        }
    ]


SUMMARIZED = [
    "reasoning_start 1",
    "reasoning_message_start 2",
    "reasoning_message_content 2 | **Two** parts.\n\nHere.",
    "reasoning_message_end 2",
    "reasoning_encrypted_value 2",
    "reasoning_end 1",
    "text_message_start 3",
    "text_message_content 3 | A",
    "text_message_end 3",
    "reasoning_encrypted_value 2",
]


@row("001-07", "001-08", "001-09", "001-35")
def test_a_stream_shows_what_the_whole_response_does() -> None:
    output = (reasoning(1, "**Two** parts.", "Here."), message("A"))
    assert lines(answered(response(*output), **OPENAI)) == SUMMARIZED
    events = answered(streamed(*output), **OPENAI)
    assert lines(events) == SUMMARIZED
    assert "XTdhgYI7d" not in "".join(event.model_dump_json() for event in events)


def deltas(*texts: str) -> list[JSON]:
    at = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    name = "response.reasoning_summary_text.delta"
    return [{"type": name, **at, "delta": text} for text in texts]


@row("001-10", "001-11")
def test_deltas_alone_are_joined_in_order() -> None:
    texts = [f"{number} " for number in range(107)]
    events = answered([*deltas(*texts), {"type": "response.completed", "response": response()}], **OPENAI)
    shown = [event.delta for event in events if event.type == "REASONING_MESSAGE_CONTENT"]  # type: ignore[union-attr]
    assert shown == texts


# -- Claude

CLAUDE = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-5"}
SEARCHES = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
PAGE = {"type": "web_search_result", "title": "T", "url": "https://e.example", "encrypted_content": "Eo8"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
REDACTED = {"type": "redacted_thinking", "data": "EmwK"}


def thinking(text: str) -> JSON:
    return {"type": "thinking", "thinking": text, "signature": f"Eq{text}=="}


def text(words: str) -> JSON:
    return {"type": "text", "text": words}


def tool(number: int) -> JSON:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": f"tool_{number}", "input": {"n": number}}


def claude(*blocks: JSON) -> JSON:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": list(blocks),
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }


FIRST_TURN = (thinking("1"), text("a"), SEARCHES, FOUND, thinking("2"), text("b"), tool(1))


def traced(events: Any) -> list[tuple[Any, ...]]:
    """What a trace of the client's history says."""
    return [
        (record.call_id or record.final_text, record.reasoning, record.reasoning_ref)
        for record in trace(restore(reduce_events(events)))
    ]


@row("001-14", "001-26")
def test_every_block_of_an_interleaved_stream_is_shown_where_it_came() -> None:
    assert lines(answered(stream_anthropic(claude(*FIRST_TURN), list), **CLAUDE)) == [
        "reasoning_start 1",
        "reasoning_message_start 2",
        "reasoning_message_content 2 | 1",
        "reasoning_message_end 2",
        "reasoning_encrypted_value 2",
        "reasoning_end 1",
        "text_message_start 3",
        "text_message_content 3 | a",
        "text_message_end 3",
        "tool_call_start 4 | web_search",
        'tool_call_args 4 | {"query": "q"}',
        "tool_call_end 4",
        f"tool_call_result 5 4 | {json.dumps([PAGE], sort_keys=True, separators=(',', ':'))}",
        "reasoning_start 6",
        "reasoning_message_start 7",
        "reasoning_message_content 7 | 2",
        "reasoning_message_end 7",
        "reasoning_encrypted_value 7",
        "reasoning_end 6",
        "text_message_start 8",
        "text_message_content 8 | b",
        "text_message_end 8",
        "tool_call_start 9 | tool_1",
        'tool_call_args 9 | {"n": 1}',
        "tool_call_end 9",
        "reasoning_start 7",
        "reasoning_end 7",
        "reasoning_encrypted_value 7",
    ]


@row("001-22", "001-27")
def test_blocks_go_back_as_they_came_with_the_result_of_the_server() -> None:
    parts = decode_response("anthropic-messages", claude(*FIRST_TURN), provider="anthropic")
    sent = asked(parts, **CLAUDE).body["messages"]
    assert sent[1] == {"role": "assistant", "content": list(FIRST_TURN)}
    assert [record.call_id for record in trace(parts)] == ["srvtoolu_1", "toolu_1"]


# -- which reasoning led to which call


@each(
    "blocks, records",
    {
        "001-15": (FIRST_TURN, [("srvtoolu_1", "1", None), ("toolu_1", "2", None)]),
        "001-16": ((thinking("1"), text("a"), tool(1)), [("toolu_1", "1", None)]),
        "001-17": ((thinking("1"), text("A")), [("A", "1", None)]),
        "001-18 none": ((tool(1), tool(2)), [("toolu_1", "", None), ("toolu_2", "", None)]),
        "001-18 earlier": (
            (thinking("1"), SEARCHES, FOUND, tool(1)),
            [("srvtoolu_1", "1", None), ("toolu_1", "", "srvtoolu_1")],
        ),
        "001-19": ((thinking("1"), thinking("2"), tool(1)), [("toolu_1", "1\n2", None)]),
        "001-20": ((thinking("1"), REDACTED, tool(1)), [("toolu_1", "1\n[REDACTED]", None)]),
        "001-21": (
            (thinking("1"), tool(1), text("a"), tool(2)),
            [("toolu_1", "1", None), ("toolu_2", "", "toolu_1")],
        ),
        "001-22": ((thinking("1"), SEARCHES, FOUND, text("A")), [("srvtoolu_1", "1", None)]),
        "001-23": (
            (thinking("1"), tool(1), tool(2), tool(3)),
            [("toolu_1", "1", None), ("toolu_2", "", "toolu_1"), ("toolu_3", "", "toolu_1")],
        ),
        "001-34 text": (
            (thinking("1"), text("a"), tool(1), thinking("2"), tool(2)),
            [("toolu_1", "1", None), ("toolu_2", "2", None)],
        ),
        "001-34 trailing": (
            (thinking("1"), tool(1), thinking("2"), text("A")),
            [("toolu_1", "1", None), ("A", "2", None)],
        ),
    },
)
def test_a_call_owns_the_thinking_before_it(blocks: tuple[JSON, ...], records: list[Any]) -> None:
    assert traced(answered(claude(*blocks), **CLAUDE)) == records
    assert traced(answered(stream_anthropic(claude(*blocks), list), **CLAUDE)) == records


@row("001-12", "001-36")
@pytest.mark.parametrize("form", [response, streamed], ids=["whole", "stream"])
def test_items_lead_to_the_call_after_them(form: Any) -> None:
    source = form(reasoning(1, "a"), SEARCH, reasoning(2, "b"), function(1), function(2))
    assert traced(answered(source, **OPENAI)) == [
        ("ws_1", "a", None),
        ("call_1", "b", None),
        ("call_2", "", "call_1"),
    ]


@row("001-13", "001-37")
def test_a_call_that_starts_names_its_reasoning_message() -> None:
    events = answered(streamed(reasoning(1, "a"), SEARCH, reasoning(2, "b"), function(1)), **OPENAI)
    messages = [event.message_id for event in events if event.type == "REASONING_MESSAGE_START"]  # type: ignore[union-attr]
    starts = [event.metadata for event in events if isinstance(event, ToolCallStartEvent)]
    assert [(start or {})["agui-reasoning"]["reasoning"] for start in starts] == [[one] for one in messages]


@row("001-24", "001-25", "001-32")
def test_a_record_has_the_call_as_it_was_and_its_units_apart() -> None:
    (record,) = trace(decode_response("anthropic-messages", claude(thinking("1"), REDACTED, tool(1))))
    assert record == TraceRecord(
        call_id="toolu_1",
        name="tool_1",
        arguments='{"n":1}',
        reasoning="1\n[REDACTED]",
        how="owned",
        units=(TraceUnit("reasoning", "1"), TraceUnit("redacted", "[REDACTED]")),
    )


@row("001-35")
def test_a_response_without_calls_has_a_record_of_its_answer() -> None:
    parts = decode_response("openai-responses", response(reasoning(1, "a"), message("A")))
    units = (TraceUnit("reasoning", "a"),)
    assert trace(parts) == [TraceRecord(reasoning="a", how="owned", final_text="A", units=units)]


@row("001-33")
@pytest.mark.parametrize(("visibility", "summary", "plain"), [("summary", "a", ""), ("hidden", "", "")])
def test_a_trace_shows_what_may_be_shown(visibility: Any, summary: str, plain: str) -> None:
    (labeled,) = trace(
        decode_response("openai-responses", response(reasoning(1, "a"), function(1))), visibility=visibility
    )
    (unlabeled,) = trace(
        decode_response("anthropic-messages", claude(thinking("1"), tool(1))), visibility=visibility
    )
    assert (labeled.reasoning, unlabeled.reasoning) == (summary, plain)
    assert (labeled.how, unlabeled.how) == ("owned", "owned")


@row("001-29")
def test_a_trace_needs_nothing_but_the_events_as_json() -> None:
    events = [
        event.model_dump(mode="json", by_alias=True) for event in answered(claude(*FIRST_TURN), **CLAUDE)
    ]
    assert traced(events) == [("srvtoolu_1", "1", None), ("toolu_1", "2", None)]


@row("001-33")
@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_who_has_the_keys_traces_what_the_client_did_not_see(visibility: Any) -> None:
    keys = KeyRing.generate()
    messages = reduce_events(answered(claude(*FIRST_TURN), visibility=visibility, keys=keys, **CLAUDE))
    assert [message.content in ("1", "2") for message in messages if message.role == "reasoning"].count(
        True
    ) == 0
    records = trace(restore(messages, keys=keys, thread_id="t"))
    assert [(record.call_id, record.reasoning) for record in records] == [
        ("srvtoolu_1", "1"),
        ("toolu_1", "2"),
    ]


@row("001-37")
def test_calls_are_attributed_while_the_run_goes_on() -> None:
    walk = Attributor()
    walk.reasoning("rs_1")
    assert walk.call("ws_1") == ("rs_1",)
    assert walk.call("ws_2") == Shared("ws_1", "parallel")
    walk.reasoning("rs_2")
    assert walk.call("call_1") == ("rs_2",)


# -- the command, the request


@row("001-28")
def test_the_command_prints_reasoning_per_call(cli: Any) -> None:
    stream = b"".join(map(SSEEncoder().encode, answered(claude(*FIRST_TURN), **CLAUDE)))
    result = cli("trace", "-", stdin=stream)
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout == (
        "web_search  srvtoolu_1\n"
        '  arguments  {"query":"q"}\n'
        "  reasoning  1\n"
        "tool_1  toolu_1\n"
        '  arguments  {"n":1}\n'
        "  reasoning  2\n"
    )


@row("001-38")
@pytest.mark.parametrize(
    ("target", "payloads", "shown"),
    [
        (
            OPENAI,
            streamed(reasoning(1, "a"), function(1)),
            [("reasoning", "a"), ("call", "call_1", "tool_1", "{}")],
        ),
        (
            CLAUDE,
            stream_anthropic(claude(thinking("1"), tool(1)), list),
            [("reasoning", "1"), ("call", "toolu_1", "tool_1", '{"n": 1}')],
        ),
    ],
    ids=["openai", "anthropic"],
)
def test_a_recording_can_be_played_again(
    target: JSON, payloads: list[JSON], shown: list[Any], tmp_path: Path, cli: Any
) -> None:
    recording = tmp_path / "recording.json"
    recording.write_text(json.dumps({**target, "events": [{"data": payload} for payload in payloads]}))
    result = cli("encode", recording)
    assert (result.status, result.stderr) == (0, "")
    assert told(result.events) == shown
    assert [found.code for found in check_events(result.events) if found.severity == "error"] == []


@row("001-30")
def test_a_request_asks_for_encrypted_content_and_leaves_the_choice_of_tools_alone() -> None:
    run = Run(INPUT, **OPENAI, new_id=numbers())
    request = run.request(store=False)
    assert {flag.name: flag.value for flag in request.flags} == {"include": ["reasoning.encrypted_content"]}
    assert request.merged({"tool_choice": "required"}) == {
        **request.body,
        "include": ["reasoning.encrypted_content"],
        "tool_choice": "required",
    }


@row("001-31")
def test_a_request_names_the_beta_feature_of_interleaved_thinking() -> None:
    parts = [TextPart("A")]
    flags = {flag.name: flag.value for flag in asked(parts, follows="?", **CLAUDE).flags}
    assert flags["extra_headers"] == {"anthropic-beta": "interleaved-thinking-2025-05-14"}
    newer = asked(parts, follows="?", **{**CLAUDE, "model": "claude-opus-5"}).flags
    assert [flag.value for flag in newer if flag.name == "extra_headers"] == []
