"""Test the openai-responses decoder, one trap per test, with payloads written for it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

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
from agui_reasoning.errors import ConfigurationError, DecodeError, ProviderError
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
from agui_reasoning.providers.payload import compact_json

API = "openai-responses"
MODEL = "gpt-5.6"
ORIGIN = Origin("openai", API, MODEL)
START = ResponseStart(ORIGIN, id="resp_1")
DONE = FinishDelta("completed")

JSON = dict[str, Any]


def envelope(output: list[JSON] | None = None, *, status: str = "completed", **more: Any) -> JSON:
    return {
        "id": "resp_1",
        "object": "response",
        "model": MODEL,
        "status": status,
        "output": output or [],
        **more,
    }


CREATED = {"type": "response.created", "sequence_number": 0, "response": envelope(status="in_progress")}
COMPLETED = {"type": "response.completed", "response": envelope()}


def added(index: int, item: JSON) -> JSON:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: JSON) -> JSON:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def event(name: str, index: int, /, **more: Any) -> JSON:
    return {"type": f"response.{name}", "output_index": index, **more}


def reasoning(identity: str = "rs_1", *summary: str, **more: Any) -> JSON:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": identity, "type": "reasoning", "summary": parts, **more}


def raw(identity: str, *texts: str, **more: Any) -> JSON:
    parts = [{"type": "reasoning_text", "text": text} for text in texts]
    return {"id": identity, "type": "reasoning", "summary": [], "content": parts, **more}


def spoken(text: str, *annotations: JSON) -> JSON:
    return {"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": []}


def message(*content: JSON, identity: str = "msg_1", **more: Any) -> JSON:
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": list(content),
        **more,
    }


def call(arguments: str = "{}", **more: Any) -> JSON:
    return {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": "lookup",
        "arguments": arguments,
        "status": "completed",
        **more,
    }


def receive(*payloads: Any, provider: str | None = None) -> list[Delta]:
    """The deltas of a stream without its start."""
    machine = decoder(API, provider=provider)
    deltas = [delta for payload in (CREATED, *payloads) for delta in machine.receive(payload)]
    assert isinstance(deltas[0], ResponseStart)
    return deltas[1:]


def stream(*payloads: JSON, provider: str | None = None) -> list[Part]:
    """The parts of a stream, which must be those of its final items too."""
    machine = decoder(API, provider=provider)
    parts = fold(delta for payload in (CREATED, *payloads, COMPLETED) for delta in machine.receive(payload))
    items = [payload["item"] for payload in payloads if payload["type"] == "response.output_item.done"]
    assert parts == whole(*items, provider=provider)
    return parts


def whole(*items: JSON, provider: str | None = None) -> list[Part]:
    return decode_response(API, envelope(list(items)), provider=provider)


# -- reasoning


def test_a_reasoning_item_is_announced_grows_and_gets_its_final_ciphertext() -> None:
    payloads = (
        added(0, reasoning(encrypted_content="short")),
        event("reasoning_summary_part.added", 0, summary_index=0, part={"type": "summary_text", "text": ""}),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="Pl", obfuscation="xx"),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="an"),
        event("reasoning_summary_text.done", 0, summary_index=0, text="Plan"),
        event(
            "reasoning_summary_part.done", 0, summary_index=0, part={"type": "summary_text", "text": "Plan"}
        ),
        event("reasoning_summary_text.delta", 0, summary_index=1, delta="Check"),
        done(0, reasoning("rs_1", "Plan", "Check", encrypted_content="final")),
        {"type": "response.completed", "response": envelope([reasoning(encrypted_content="third")])},
    )

    assert receive(*payloads) == [
        ReasoningDelta(key="item:0", item_id="rs_1"),
        ReasoningDelta("Pl", key="item:0", channel="summary"),
        ReasoningDelta("an", key="item:0", channel="summary"),
        ReasoningDelta("Check", key="item:0", channel="summary", index=1),
        ReasoningDelta(key="item:0", item_id="rs_1"),
        OpaqueDelta(Opaque("openai.encrypted_content", "final"), key="item:0"),
        CloseDelta(key="item:0"),
        DONE,
    ]


def test_reasoning_that_is_nothing_but_an_id_is_a_part() -> None:
    assert stream(added(0, reasoning()), done(0, reasoning())) == [
        ReasoningPart(item_id="rs_1", origin=ORIGIN)
    ]


def test_two_items_with_one_id_stay_two_parts() -> None:
    first, second = reasoning("rs_1", "a"), reasoning("rs_1", encrypted_content="z")

    assert whole(first, second) == [
        ReasoningPart((Segment("summary", 0, "a"),), item_id="rs_1", origin=ORIGIN),
        ReasoningPart((), (Opaque("openai.encrypted_content", "z"),), "rs_1", origin=ORIGIN),
    ]


def test_raw_reasoning_that_changes_its_number_at_the_end_is_not_repeated() -> None:
    item = {**raw("msg_7", "Hm."), "status": "completed"}

    assert stream(
        added(0, raw("msg_7")),
        event("reasoning_part.added", 0, content_index=1, part={"type": "reasoning_text", "text": ""}),
        event("reasoning_text.delta", 0, content_index=0, delta="Hm."),
        event("reasoning_text.done", 0, content_index=1, text="Hm."),
        event("reasoning_part.done", 0, content_index=1, part={"type": "reasoning_text", "text": "Hm."}),
        done(0, item),
    ) == [ReasoningPart((Segment("raw", 0, "Hm."),), item_id="msg_7", origin=ORIGIN)]

    moved = receive(
        added(0, raw("msg_7")),
        event("reasoning_text.delta", 0, content_index=1, delta="Hm."),
        done(0, item),
    )
    assert moved == [
        ReasoningDelta(key="item:0", item_id="msg_7"),
        ReasoningDelta("Hm.", key="item:0", channel="raw", index=1),
        ReasoningDelta(key="item:0", item_id="msg_7"),
        CloseDelta(key="item:0"),
    ]


def test_text_that_came_in_no_fragment_is_read_from_the_end() -> None:
    from_event = (
        added(0, reasoning()),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta=None),
        event("reasoning_summary_text.done", 0, summary_index=0, text="Plan"),
        event("reasoning_summary_text.done", 0, summary_index=1, text="Check"),
        done(0, reasoning("rs_1", "Plan", "Check")),
    )
    from_item = (added(0, reasoning()), done(0, reasoning("rs_1", "Plan", "Check")))
    expected = [
        ReasoningPart(
            (Segment("summary", 0, "Plan"), Segment("summary", 1, "Check")), item_id="rs_1", origin=ORIGIN
        )
    ]

    assert stream(*from_event) == expected
    assert stream(*from_item) == expected


def test_empty_summary_parts_keep_the_numbers_of_the_others() -> None:
    assert stream(
        added(0, reasoning()),
        event("reasoning_summary_text.delta", 0, summary_index=1, delta="Check"),
        done(0, reasoning("rs_1", "", "Check", "")),
    ) == [
        ReasoningPart(
            (Segment("summary", 1, "Check"),), item_id="rs_1", origin=ORIGIN, ext={"summary_parts": 3}
        )
    ]


def test_a_proxy_that_rotates_ids_is_followed_by_index_and_its_last_id_wins() -> None:
    assert stream(
        added(0, reasoning("id-a")),
        event("reasoning_summary_text.delta", 0, item_id="id-b", summary_index=0, delta="Plan"),
        event("reasoning_summary_text.done", 0, item_id="id-c", summary_index=0, text="Plan"),
        done(0, reasoning("id-d", "Plan")),
        added(1, message(identity="id-e")),
        event("output_text.delta", 1, item_id="id-f", content_index=0, delta="Yes."),
        done(1, message(spoken("Yes."), identity="id-g")),
        provider="github-copilot",
    ) == [
        ReasoningPart(
            (Segment("summary", 0, "Plan"),), item_id="id-d", origin=Origin("github-copilot", API, MODEL)
        ),
        TextPart("Yes.", origin=Origin("github-copilot", API, MODEL), ext={"id": "id-g"}),
    ]


def test_an_item_is_found_by_its_id_where_the_index_is_left_out() -> None:
    payloads = [
        added(0, reasoning()),
        event("reasoning_summary_text.delta", 0, item_id="rs_1", summary_index=0, delta="Plan"),
        done(0, reasoning("rs_1", "Plan")),
        added(1, message()),
        event("output_text.delta", 1, item_id="msg_1", content_index=0, delta="Yes."),
        done(1, message(spoken("Yes."))),
    ]
    bare = [{name: value for name, value in p.items() if name != "output_index"} for p in payloads]

    assert receive(*bare) == receive(*payloads)


def test_items_that_all_have_the_same_index_stay_apart() -> None:
    assert stream(
        added(0, message()),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="Plan"),
        done(0, reasoning("rs_1", "Plan")),
        event("output_text.delta", 0, content_index=0, delta="Yes."),
        done(0, message(spoken("Yes."))),
        added(0, message(identity="msg_2")),
        event("output_text.delta", 0, content_index=0, delta="No."),
        done(0, message(spoken("No."), identity="msg_2")),
    ) == [
        ReasoningPart((Segment("summary", 0, "Plan"),), item_id="rs_1", origin=ORIGIN),
        TextPart("Yes.", origin=ORIGIN, ext={"id": "msg_1"}),
        TextPart("No.", origin=ORIGIN, ext={"id": "msg_2"}),
    ]


def test_an_item_beside_an_open_one_is_not_announced_so_that_order_holds() -> None:
    assert stream(
        added(0, message()),
        added(1, reasoning()),
        event("output_text.delta", 0, content_index=0, delta="Yes."),
        done(0, message(spoken("Yes."))),
        done(1, reasoning(encrypted_content="z", format="google-gemini-v1", signature="sig")),
        provider="openrouter",
    ) == [
        TextPart("Yes.", origin=Origin("openrouter", API, MODEL), ext={"id": "msg_1"}),
        ReasoningPart(
            (),
            (Opaque("openai.encrypted_content", "z"), Opaque("openrouter.signature", "sig")),
            "rs_1",
            origin=Origin("openrouter", API, MODEL),
            ext={"format": "google-gemini-v1"},
        ),
    ]


def test_the_ciphertext_of_xai_is_of_its_own_kind() -> None:
    assert whole(reasoning(encrypted_content="z"), provider="xai") == [
        ReasoningPart((), (Opaque("xai.encrypted_content", "z"),), "rs_1", origin=Origin("xai", API, MODEL))
    ]
    assert whole(reasoning(encrypted_content="z"), provider="azure") == [
        ReasoningPart(
            (), (Opaque("openai.encrypted_content", "z"),), "rs_1", origin=Origin("azure", API, MODEL)
        )
    ]


def test_an_interrupted_item_is_incomplete() -> None:
    assert whole(reasoning("rs_1", "Pl", status="incomplete")) == [
        ReasoningPart((Segment("summary", 0, "Pl"),), item_id="rs_1", status="incomplete", origin=ORIGIN)
    ]


# -- messages


def test_every_content_part_of_a_message_is_a_text_of_its_own() -> None:
    citation = {"type": "url_citation", "url": "https://example.org", "start_index": 0, "end_index": 1}

    assert receive(
        added(0, message(phase="commentary")),
        event("content_part.added", 0, content_index=0, part=spoken("")),
        event("output_text.delta", 0, content_index=0, delta="A", logprobs=[]),
        event("output_text.annotation.added", 0, content_index=0, annotation=citation),
        event("output_text.done", 0, content_index=0, text="A"),
        event("content_part.done", 0, content_index=0, part=spoken("A")),
        event("output_text.delta", 0, content_index=1, delta="B"),
        done(0, message(spoken("A", citation), spoken("B"), phase="commentary")),
    ) == [
        TextDelta("A", key="item:0:0"),
        TextDelta("B", key="item:0:1"),
        TextDelta("", key="item:0:0", ext={"id": "msg_1", "phase": "commentary", "annotations": [citation]}),
        CloseDelta(key="item:0:0"),
        TextDelta("", key="item:0:1", ext={"id": "msg_1", "phase": "commentary"}),
        CloseDelta(key="item:0:1"),
    ]


def test_a_refusal_is_text_that_says_so() -> None:
    refusal = {"type": "refusal", "refusal": "No."}

    assert stream(
        added(0, message()),
        event("refusal.delta", 0, content_index=0, delta="N"),
        event("refusal.delta", 0, content_index=0, delta="o."),
        event("refusal.done", 0, content_index=0, refusal="No."),
        done(0, message(refusal)),
    ) == [TextPart("No.", origin=ORIGIN, ext={"id": "msg_1", "type": "refusal"})]


def test_a_message_without_text_is_kept_because_reasoning_needs_its_follower() -> None:
    expected = [TextPart("", origin=ORIGIN, ext={"id": "msg_1", "explicit_empty": True})]

    assert stream(added(0, message()), done(0, message(spoken("")))) == expected
    assert whole(message()) == expected


def test_an_interrupted_message_is_cut_in_its_last_part() -> None:
    assert whole(message(spoken("A"), spoken("B"), status="incomplete")) == [
        TextPart("A", origin=ORIGIN, ext={"id": "msg_1"}),
        TextPart("B", status="incomplete", origin=ORIGIN, ext={"id": "msg_1"}),
    ]


def test_what_is_no_answer_of_the_assistant_is_native() -> None:
    asked = {
        "type": "message",
        "id": "msg_u",
        "role": "user",
        "content": [{"type": "input_text", "text": "Hi"}],
    }
    packed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
    compacted = {"id": "resp_c", "object": "response.compaction", "output": [asked, packed]}

    assert decoder(API).whole(compacted) == [
        ResponseStart(Origin("openai", API, None), id="resp_c"),
        NativeDelta("openai.message", asked),
        NativeDelta("openai.compaction", packed),
        FinishDelta(None),
    ]

    sound = message({"type": "output_audio", "data": "UklG"})
    assert whole(sound) == [NativePart("openai.message", sound, origin=ORIGIN)]


def test_a_message_whose_end_repeats_no_text_still_gets_its_id() -> None:
    deltas = receive(
        added(0, message()),
        event("output_text.delta", 0, content_index=1, delta="Yes."),
        done(0, message()),
        done(0, message()),
    )

    assert fold([START, *deltas]) == [TextPart("Yes.", origin=ORIGIN, ext={"id": "msg_1"})]


# -- calls


def test_a_function_call_streams_its_arguments_and_keeps_its_own_id() -> None:
    caller = {"type": "program", "caller_id": "call_0"}

    assert receive(
        added(0, call("", status="in_progress")),
        event("function_call_arguments.delta", 0, delta='{"q":'),
        event("function_call_arguments.delta", 0, delta=None),
        event("function_call_arguments.delta", 0, delta='"x"}'),
        event("function_call_arguments.done", 0, arguments='{"q":"x"}'),
        done(0, call('{"q":"x"}', status="in_progress", caller=caller, namespace="crm")),
    ) == [
        ToolCallDelta("call_1", "lookup"),
        ToolCallDelta("call_1", "", '{"q":'),
        ToolCallDelta("call_1", "", '"x"}'),
        ToolCallDelta("call_1", ext={"id": "fc_1", "caller": caller, "namespace": "crm"}),
        CloseDelta(key="call_1"),
    ]


@pytest.mark.parametrize(
    "middle",
    [
        (),
        (event("function_call_arguments.done", 0, arguments='{"q":"x"}'),),
        (event("function_call_arguments.delta", 0, delta='{"q":"x"}'),),
    ],
)
def test_arguments_are_read_once_wherever_they_come(middle: tuple[JSON, ...]) -> None:
    expected = [ToolCallPart("call_1", "lookup", '{"q":"x"}', origin=ORIGIN, ext={"id": "fc_1"})]

    assert stream(added(0, call("")), *middle, done(0, call('{"q":"x"}'))) == expected
    assert stream(*middle, done(0, call('{"q":"x"}'))) == expected


def test_a_call_whose_name_comes_at_the_end_is_read_from_there() -> None:
    assert stream(
        added(0, call("", name="")),
        event("function_call_arguments.delta", 0, delta='{"q":"x"}'),
        done(0, call('{"q":"x"}')),
    ) == [ToolCallPart("call_1", "lookup", '{"q":"x"}', origin=ORIGIN, ext={"id": "fc_1"})]


def test_parallel_calls_may_be_interleaved() -> None:
    second = {**call('{"q":"y"}'), "id": "fc_2", "call_id": "call_2"}

    assert stream(
        added(0, call("")),
        added(1, {**second, "arguments": ""}),
        event("function_call_arguments.delta", 1, delta='{"q":"y"}'),
        event("function_call_arguments.delta", 0, delta='{"q":"x"}'),
        done(0, call('{"q":"x"}')),
        done(1, second),
    ) == [
        ToolCallPart("call_1", "lookup", '{"q":"x"}', origin=ORIGIN, ext={"id": "fc_1"}),
        ToolCallPart("call_2", "lookup", '{"q":"y"}', origin=ORIGIN, ext={"id": "fc_2"}),
    ]


def test_a_call_may_carry_perplexitys_signature() -> None:
    assert whole(call(thought_signature="sig")) == [
        ToolCallPart(
            "call_1",
            "lookup",
            "{}",
            opaque=(Opaque("perplexity.thought_signature", "sig", attach="tool_call:call_1"),),
            origin=ORIGIN,
            ext={"id": "fc_1"},
        )
    ]


FREE = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_9", "name": "patch"}


def free(text: str) -> JSON:
    return {**FREE, "input": text, "status": "completed"}


@pytest.mark.parametrize(
    "fragments",
    [
        ['say "', "hi\\", '"\n', "é"],
        ["\ud83d", "\ude00"],
        ["a\ud83d", "\ude00b", "é"],
        ["plain"],
    ],
)
def test_free_text_becomes_one_json_string_however_it_is_cut(fragments: list[str]) -> None:
    text = "".join(fragments).encode("utf-16", "surrogatepass").decode("utf-16")
    deltas = receive(
        added(0, free("")),
        *(event("custom_tool_call_input.delta", 0, delta=fragment) for fragment in fragments),
        event("custom_tool_call_input.done", 0, input=text),
        done(0, free(text)),
    )

    [part] = fold(deltas)
    [settled] = whole(free(text))
    assert isinstance(part, ToolCallPart)
    assert isinstance(settled, ToolCallPart)
    assert part.args == settled.args == {"input": text}
    assert json.loads(part.arguments) == {"input": text}
    assert part.ext == settled.ext == {"type": "custom_tool_call", "id": "ctc_1"}
    assert deltas[0] == ToolCallDelta("call_9", "patch")
    assert deltas[-1] == CloseDelta(key="call_9")


def test_free_text_that_came_in_no_fragment_is_read_from_the_end() -> None:
    expected = [
        ToolCallPart(
            "call_9", "patch", '{"input":"x"}', origin=ORIGIN, ext={"type": "custom_tool_call", "id": "ctc_1"}
        )
    ]
    finished = event("custom_tool_call_input.done", 0, input="x")

    assert stream(added(0, free("")), finished, done(0, free("x"))) == expected
    assert stream(added(0, free("")), done(0, free("x"))) == expected


def test_the_free_text_calls_of_xai_are_steps_of_its_own_search() -> None:
    item = {**free('{"query":"ag-ui"}'), "name": "x_keyword_search"}

    assert receive(
        added(0, {**item, "input": ""}),
        event("custom_tool_call_input.delta", 0, delta='{"query":"ag-ui"}'),
        done(0, item),
        provider="xai",
    ) == [
        ToolCallDelta("call_9", "x_keyword_search", server=True),
        ToolCallDelta("call_9", "", '{"input":"{\\"query\\":\\"ag-ui\\"}'),
        ToolCallDelta("call_9", "", '"}', server=True),
        CloseDelta(key="call_9"),
        ToolResultDelta("call_9", "", native=item),
    ]


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (
            {
                "type": "computer_call",
                "id": "cu_1",
                "action": {"type": "click", "x": 1},
                "pending_safety_checks": [],
                "status": "completed",
            },
            "computer",
        ),
        (
            {"type": "local_shell_call", "id": "ls_1", "action": {"type": "exec", "command": ["ls"]}},
            "local_shell",
        ),
        (
            {
                "type": "shell_call",
                "id": "sh_1",
                "action": {"commands": ["ls"]},
                "environment": {"type": "local"},
            },
            "shell",
        ),
        (
            {
                "type": "apply_patch_call",
                "id": "ap_1",
                "operation": {"type": "delete_file"},
                "status": "completed",
            },
            "apply_patch",
        ),
        (
            {"type": "tool_search_call", "id": "ts_1", "arguments": {"q": 1}, "execution": "client"},
            "tool_search",
        ),
    ],
)
def test_an_action_for_the_client_can_be_rebuilt_from_its_call(item: JSON, name: str) -> None:
    item = {**item, "call_id": "call_5"}
    [part] = stream(added(0, item), done(0, item))

    assert isinstance(part, ToolCallPart)
    assert (part.id, part.name, part.server) == ("call_5", name, False)
    assert {**(part.ext or {}), **part.args, "call_id": part.id} == item


# -- tools of the provider


@pytest.mark.parametrize(
    ("item", "name", "arguments", "content"),
    [
        (
            {
                "type": "web_search_call",
                "action": {"type": "search", "query": "ag-ui", "sources": [{"url": "https://example.org"}]},
            },
            "web_search",
            '{"query":"ag-ui","type":"search"}',
            '[{"url":"https://example.org"}]',
        ),
        (
            {"type": "file_search_call", "queries": ["a"], "results": None},
            "file_search",
            '{"queries":["a"]}',
            "",
        ),
        (
            {
                "type": "code_interpreter_call",
                "code": "1+1",
                "container_id": "c",
                "outputs": [{"type": "logs", "logs": "2"}],
            },
            "code_interpreter",
            '{"code":"1+1"}',
            '[{"logs":"2","type":"logs"}]',
        ),
        (
            {
                "type": "image_generation_call",
                "result": "iVBO",
                "revised_prompt": "a cat",
                "action": "generate",
            },
            "image_generation",
            '{"revised_prompt":"a cat"}',
            "iVBO",
        ),
        (
            {
                "type": "mcp_call",
                "name": "find",
                "arguments": '{"q":1}',
                "output": "found",
                "server_label": "s",
            },
            "find",
            '{"q":1}',
            "found",
        ),
        (
            {"type": "tool_search_call", "execution": "server", "arguments": {"q": 1}},
            "tool_search",
            '{"q":1}',
            "",
        ),
        ({"type": "x_search_call", "arguments": '{"q":1}'}, "x_search", '{"q":1}', ""),
    ],
)
def test_a_tool_of_the_provider_is_a_call_and_its_result(
    item: JSON, name: str, arguments: str, content: str
) -> None:
    item = {**item, "id": "srv_1", "status": "completed"}

    assert stream(added(0, {**item, "status": "in_progress"}), done(0, item)) == [
        ToolCallPart("srv_1", name, arguments, server=True, origin=ORIGIN),
        ToolResultPart("srv_1", content, native=item, origin=ORIGIN),
    ]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        ("refused", "refused"),
        ({"type": "http_error", "code": 502, "message": "Bad gateway"}, "Bad gateway"),
        ({"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "No."}]}, ""),
        (None, None),
    ],
)
def test_an_mcp_call_that_failed_says_so(failure: Any, error: str | None) -> None:
    item = {"type": "mcp_call", "id": "mcp_1", "name": "find", "arguments": "{}", "error": failure}
    begun = {**item, "arguments": "", "error": None}
    content = failure if isinstance(failure, str) else failure and compact_json(failure, sort_keys=True)
    found = stream(added(0, begun), done(0, item))[-1]
    assert isinstance(found, ToolResultPart)
    assert (found.content, found.error, found.native) == (content or "", error, item)
    assert whole(item)[-1] == found


def test_the_arguments_of_an_mcp_call_stream() -> None:
    item = {"type": "mcp_call", "id": "mcp_1", "name": "find", "arguments": '{"q":1}', "output": "found"}

    assert receive(
        added(0, {**item, "arguments": "", "output": None}),
        event("mcp_call.in_progress", 0),
        event("mcp_call_arguments.delta", 0, delta='{"q":1}'),
        event("mcp_call_arguments.done", 0, arguments='{"q":1}'),
        done(0, item),
    ) == [
        ToolCallDelta("mcp_1", "find", server=True),
        ToolCallDelta("mcp_1", "", '{"q":1}'),
        ToolCallDelta("mcp_1", server=True),
        CloseDelta(key="mcp_1"),
        ToolResultDelta("mcp_1", "found", native=item),
    ]


def test_parallel_tools_of_the_provider_are_each_followed_by_their_result() -> None:
    first = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "a"}}
    second = {"type": "web_search_call", "id": "ws_2", "action": {"type": "search", "query": "b"}}

    parts = stream(added(0, first), added(1, second), done(0, first), done(1, second))

    assert [getattr(part, "native", None) for part in parts] == [None, first, None, second]


def test_a_hosted_shell_is_answered_by_an_item_of_its_own() -> None:
    where = {"type": "container_reference", "container_id": "c"}
    ran = {"type": "shell_call", "id": "sh_1", "call_id": "call_5", "action": {"commands": ["ls"]}}
    ran = {**ran, "environment": where}
    gave = {"type": "shell_call_output", "id": "sho_1", "call_id": "call_5", "output": [{"stdout": "x"}]}

    assert stream(added(0, ran), done(0, ran), added(1, gave), done(1, gave)) == [
        ToolCallPart(
            "call_5",
            "shell",
            '{"action":{"commands":["ls"]}}',
            server=True,
            origin=ORIGIN,
            ext={"type": "shell_call", "id": "sh_1", "environment": where},
        ),
        ToolResultPart("call_5", '[{"stdout":"x"}]', native=gave, origin=ORIGIN),
    ]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": [{"name": "find"}]},
        {
            "type": "mcp_approval_request",
            "id": "mcpr_1",
            "name": "find",
            "arguments": "{}",
            "server_label": "s",
        },
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"},
        {"type": "program", "id": "cm_1", "call_id": "call_0", "code": "1", "fingerprint": "f"},
        {"type": "something_new", "id": "new_1", "anything": None},
    ],
)
def test_other_items_are_kept_as_they_were_at_their_end(item: JSON) -> None:
    assert stream(added(0, {"type": item["type"], "id": "x"}), done(0, item)) == [
        NativePart(f"openai.{item['type']}", item, origin=ORIGIN)
    ]


# -- the response


def test_usage_and_the_reason_come_at_the_end() -> None:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 40},
        "total_tokens": 60,
    }
    machine = decoder(API, provider="azure")

    assert machine.receive(CREATED) == [ResponseStart(Origin("azure", API, MODEL), id="resp_1")]
    assert machine.receive({"type": "response.completed", "response": envelope(usage=usage)}) == [
        UsageDelta(
            provider="azure",
            model=MODEL,
            input_tokens=10,
            output_tokens=50,
            total_tokens=60,
            reasoning_tokens=40,
            cached_input_tokens=4,
            cache_write_input_tokens=2,
        ),
        DONE,
    ]
    assert machine.receive({"type": "response.done", "response": envelope()}) == []
    assert machine.close() == []


def test_only_items_of_a_type_that_never_ended_are_taken_from_the_response() -> None:
    listed = [reasoning("rs_other", "Plan"), message(spoken("Yes.")), call('{"q":"x"}')]
    deltas = receive(
        added(0, reasoning()),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="Plan"),
        done(0, reasoning("rs_1", "Plan")),
        event("output_text.delta", 1, content_index=0, delta="Yes."),
        {"type": "response.completed", "response": envelope(listed)},
    )

    assert fold([START, *deltas]) == [
        ReasoningPart((Segment("summary", 0, "Plan"),), item_id="rs_1", origin=ORIGIN),
        TextPart("Yes.", origin=ORIGIN, ext={"id": "msg_1"}),
        ToolCallPart("call_1", "lookup", '{"q":"x"}', origin=ORIGIN, ext={"id": "fc_1"}),
    ]


def test_a_length_limit_cuts_the_last_item_even_if_it_was_closed() -> None:
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    items = [reasoning("rs_1"), reasoning("rs_2", encrypted_content="z")]
    cut = envelope(items, status="incomplete", **details)
    deltas = receive(
        added(0, items[0]),
        done(0, items[0]),
        added(1, items[1]),
        done(1, items[1]),
        {"type": "response.incomplete", "response": cut},
    )

    assert deltas[-2:] == [CloseDelta(key="item:1", status="incomplete"), FinishDelta("max_output_tokens")]
    parts = fold([START, *deltas])
    assert [getattr(part, "status", None) for part in parts] == ["complete", "incomplete"]
    assert parts == decode_response(API, cut)


def test_a_length_limit_cuts_an_item_that_never_ended() -> None:
    deltas = receive(
        done(0, reasoning("rs_1")),
        added(1, message()),
        event("output_text.delta", 1, content_index=0, delta="Ye"),
        {"type": "response.incomplete", "response": {"status": "incomplete"}},
    )

    assert fold([START, *deltas]) == [
        ReasoningPart(item_id="rs_1", origin=ORIGIN),
        TextPart("Ye", status="incomplete", origin=ORIGIN),
    ]
    assert deltas[-1] == FinishDelta("incomplete")


def test_a_call_that_was_answered_is_not_cut() -> None:
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    cut = envelope([item], status="incomplete", incomplete_details={"reason": "max_output_tokens"})

    assert [getattr(part, "status", "complete") for part in decode_response(API, cut)] == ["complete"] * 2


def test_a_cancelled_response_ends_with_its_word() -> None:
    assert receive(
        added(0, reasoning()),
        {"type": "response.cancelled", "response": {"id": "resp_1"}},
    ) == [
        ReasoningDelta(key="item:0", item_id="rs_1"),
        CloseDelta(status="incomplete"),
        FinishDelta("cancelled"),
    ]


def test_one_stream_may_hold_several_responses() -> None:
    again = {"type": "response.created", "response": {**envelope(), "id": "resp_2"}}
    exchange = (added(0, reasoning()), done(0, reasoning()))
    listed = {"type": "response.completed", "response": envelope([reasoning()])}

    assert receive(*exchange, COMPLETED, again, listed) == [
        ReasoningDelta(key="item:0", item_id="rs_1"),
        ReasoningDelta(key="item:0", item_id="rs_1"),
        CloseDelta(key="item:0"),
        DONE,
        ResponseStart(ORIGIN, id="resp_2"),
        ReasoningDelta(key="item:0", item_id="rs_1"),
        CloseDelta(key="item:0"),
        DONE,
    ]


def test_a_stream_that_was_joined_late_still_begins() -> None:
    joined = {**CREATED, "type": "response.in_progress"}
    machine = decoder(API, model=MODEL)

    assert machine.receive(joined) == [START]
    assert machine.receive(joined) == []
    assert decoder(API, model=MODEL).receive(event("output_text.delta", 0, content_index=0, delta="Y")) == [
        ResponseStart(ORIGIN),
        TextDelta("Y", key="item:0:0"),
    ]


def test_unknown_and_empty_events_mean_nothing() -> None:
    assert (
        receive(
            {"type": "response.in_progress", "response": envelope(status="in_progress")},
            {"type": "keepalive", "sequence_number": 3},
            event("web_search_call.searching", 0, item_id="ws_1"),
            event("output_text.delta", 0, content_index=0, delta=None),
            event("function_call_arguments.delta", 4, delta="{"),
            "[DONE]",
        )
        == []
    )


# -- failures


def test_a_failed_response_is_the_providers_error() -> None:
    error = {"code": "server_error", "message": "They said: secret"}
    failed = envelope(status="failed", error=error, usage={"input_tokens": 3})
    machine = decoder(API)
    machine.receive(CREATED)
    machine.receive(added(0, reasoning()))

    with pytest.raises(ProviderError) as caught:
        machine.receive({"type": "response.failed", "response": failed})

    assert caught.value.provider_code == "server_error"
    assert caught.value.provider_message == "They said: secret"
    assert "secret" not in str(caught.value)
    assert caught.value.deltas == (
        UsageDelta(provider="openai", model=MODEL, input_tokens=3),
        CloseDelta(status="incomplete"),
    )
    assert machine.close() == []


@pytest.mark.parametrize(
    ("payload", "code", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}, "rate_limit_exceeded", None),
        ({"type": "error", "error": {"type": "tokens", "code": None, "message": "slow"}}, None, "tokens"),
        ({"error": {"code": 429, "message": "slow"}}, "429", None),
    ],
)
def test_an_error_is_raised_in_a_stream_and_in_place_of_a_response(
    payload: JSON, code: str | None, kind: str | None
) -> None:
    machine = decoder(API)
    machine.receive(CREATED)

    for read in (machine.receive, decoder(API).whole):
        with pytest.raises(ProviderError) as caught:
            read(payload)
        assert (caught.value.provider_code, caught.value.provider_type) == (code, kind)
        assert caught.value.provider_message == "slow"
        assert caught.value.deltas[-1] == CloseDelta(status="incomplete")
    assert machine.close() == []


def test_a_whole_response_that_failed_gives_its_items_with_the_error() -> None:
    failed = envelope([reasoning()], status="failed", error={"code": "server_error", "message": "no"})

    with pytest.raises(ProviderError) as caught:
        decode_response(API, failed)

    assert fold(caught.value.deltas) == [ReasoningPart(item_id="rs_1", origin=ORIGIN)]


def test_a_stream_that_stops_inside_a_response_is_truncated_once() -> None:
    machine = decoder(API)
    machine.receive(CREATED)

    with pytest.raises(DecodeError) as caught:
        machine.close()

    assert (caught.value.code, caught.value.deltas) == (
        "truncated_stream",
        (CloseDelta(status="incomplete"),),
    )
    assert machine.close() == []


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"type": 7}, "/type"),
        ({"type": "response.created", "response": "resp"}, "/response"),
        (added(1, {"type": "function_call", "call_id": 7, "name": "f"}), "/item/call_id"),
        (done(0, reasoning(encrypted_content=7)), "/item/encrypted_content"),
        (done(0, {"type": "reasoning", "id": "rs_1", "summary": ["Plan"]}), "/item/summary/0"),
        (done(0, {"type": "reasoning", "id": "rs_1", "summary": [{"text": 7}]}), "/item/summary/0/text"),
        (done(0, message({"type": [], "text": "x"})), "/item/content/0/type"),
        (event("reasoning_summary_text.delta", 0, summary_index=0, delta={"text": "x"}), "/delta"),
        (event("reasoning_summary_text.delta", 0, summary_index="a", delta="x"), "/summary_index"),
        (
            {"type": "response.completed", "response": envelope([call(), reasoning(encrypted_content=7)])},
            "/response/output/1/encrypted_content",
        ),
        ({"type": "response.completed", "response": envelope(usage={"input_tokens": "x"})}, None),
    ],
)
def test_a_payload_that_cannot_be_read_changes_nothing(payload: JSON, path: str | None) -> None:
    before = (added(0, reasoning()), event("reasoning_summary_text.delta", 0, summary_index=0, delta="Pl"))
    after = (done(0, reasoning("rs_1", "Pl", encrypted_content="z")), done(1, call()), COMPLETED)
    machine = decoder(API)
    deltas = [delta for each in (CREATED, *before) for delta in machine.receive(each)]

    with pytest.raises(DecodeError) as caught:
        machine.receive(payload)

    assert (caught.value.code, caught.value.provider) == ("bad_payload", "openai")
    assert path in (caught.value.path, None)
    deltas += [delta for each in after for delta in machine.receive(each)]
    assert deltas[1:] == receive(*before, *after)


def test_a_whole_response_must_be_an_object() -> None:
    with pytest.raises(DecodeError):
        decode_response(API, ["output"])


# -- the vendor's SDK

EXCHANGE: tuple[JSON, ...] = (
    CREATED,
    added(0, reasoning(encrypted_content="short")),
    event("reasoning_summary_text.delta", 0, item_id="rs_1", summary_index=0, delta="Plan", obfuscation="x"),
    event("reasoning_summary_text.done", 0, item_id="rs_1", summary_index=0, text="Plan"),
    done(0, reasoning("rs_1", "Plan", encrypted_content="final", format="openai-responses-v1")),
    added(
        1, {"type": "web_search_call", "id": "ws_1", "status": "in_progress", "action": {"type": "search"}}
    ),
    event("web_search_call.searching", 1, item_id="ws_1"),
    done(
        1,
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "a"},
        },
    ),
    added(2, message(phase="final_answer")),
    event("output_text.delta", 2, item_id="msg_1", content_index=0, delta="Yes.", logprobs=[]),
    event("output_text.done", 2, item_id="msg_1", content_index=0, text="Yes.", logprobs=[]),
    done(2, message(spoken("Yes."), phase="final_answer")),
    added(3, call("")),
    event("function_call_arguments.delta", 3, item_id="fc_1", delta='{"q":"x"}'),
    event("function_call_arguments.done", 3, item_id="fc_1", name="lookup", arguments='{"q":"x"}'),
    done(3, call('{"q":"x"}')),
    added(4, free("")),
    event("custom_tool_call_input.delta", 4, item_id="ctc_1", delta="x"),
    done(4, free("x")),
    added(
        5,
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "in_progress",
            "code": "",
            "container_id": "c",
        },
    ),
    done(
        5,
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "code": "1+1",
            "container_id": "c",
            "outputs": [{"type": "logs", "logs": "2"}],
        },
    ),
    {"type": "response.completed", "response": envelope(usage={"input_tokens": 3, "output_tokens": 5})},
)


def sdk_events(payloads: tuple[JSON, ...]) -> list[Any]:
    """The SDK's own objects, built the way its stream builds them: without validation."""
    from openai._models import construct_type

    built = [construct_type(type_=ResponseStreamEvent, value=copy.deepcopy(payload)) for payload in payloads]
    assert all(hasattr(each, "model_dump") for each in built)
    return built


# The SDK guesses a type for what it does not know, and pydantic warns when that is written as JSON again.
def test_an_item_the_sdk_does_not_know_is_kept_as_it_was() -> None:
    payloads = (done(0, {"type": "something_new", "id": "new_1", "deep": {"er": [1, None]}}),)
    [sdk] = sdk_events(payloads)

    assert decoder(API).receive(sdk) == decoder(API).receive(payloads[0])


def test_validated_sdk_objects_give_the_same_too() -> None:
    payload = event(
        "output_text.delta", 0, item_id="m", content_index=0, delta="Y", logprobs=[], sequence_number=1
    )
    sdk = TypeAdapter[Any](ResponseStreamEvent).validate_python(payload)

    assert decoder(API).receive(sdk) == decoder(API).receive(payload)


def test_the_fields_that_the_sdks_stream_helper_adds_repeat_nothing() -> None:
    helped = []
    for payload in EXCHANGE:
        extra: JSON = {}
        if payload["type"].endswith(("_text.delta", "arguments.delta")):
            extra = {"snapshot": "everything so far"}
        if payload["type"].endswith("output_text.done"):
            extra = {"parsed": {"any": "thing"}}
        helped.append({**payload, **extra})
    plain, machine = decoder(API), decoder(API)

    for payload, more in zip(EXCHANGE, helped, strict=True):
        assert machine.receive(more) == plain.receive(payload)


def late(identity: str, done: str = "", completed: str = "late") -> list[Any]:
    """Decode a stream whose response holds the value of an item, as LiteLLM's before Claude."""
    item: dict[str, Any] = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [],
        "encrypted_content": done or None,
    }
    final = {**item, "id": identity, "encrypted_content": completed}
    made = decoder("openai-responses", provider="litellm")
    payloads = [
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {
            "type": "response.reasoning_summary_text.delta",
            "output_index": 0,
            "item_id": "rs_1",
            "delta": "Hm.",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [final]}},
    ]
    return fold([delta for payload in payloads for delta in made.receive(payload)] + made.close())


def test_a_value_that_only_the_response_holds_is_taken() -> None:
    value = Opaque("openai.encrypted_content", "late")
    (part,) = late("rs_1")
    assert (part.opaque, part.item_id, part.status) == ((value,), "rs_1", "complete")


def test_the_value_of_the_items_final_form_stays_and_that_of_another_id_is_not_taken() -> None:
    (part,) = late("rs_1", done="early")
    assert part.opaque == (Opaque("openai.encrypted_content", "early"),)
    (part,) = late("rs_2")
    assert part.opaque == ()


# -- connections that carry several streams


def lane(name: str, payload: JSON) -> JSON:
    return {**payload, "stream_id": name}


def created(identity: str) -> JSON:
    return {"type": "response.created", "response": envelope(status="in_progress", id=identity)}


def text(piece: str) -> JSON:
    return event("output_text.delta", 0, item_id="msg_1", content_index=0, delta=piece)


MIXED = [
    lane("a", created("resp_a")),
    lane("b", created("resp_b")),
    lane("a", text("One ")),
    lane("b", text("Two ")),
    lane("a", text("umbrella.")),
    lane("b", text("boots.")),
    lane("a", {"type": "response.completed", "response": envelope(id="resp_a")}),
    lane("b", {"type": "response.completed", "response": envelope(id="resp_b")}),
]


@pytest.mark.parametrize(("name", "said"), [("a", "One umbrella."), ("b", "Two boots.")])
def test_a_decoder_that_is_told_its_stream_skips_the_others(name: str, said: str) -> None:
    machine = decoder(API, model=MODEL, stream_id=name)
    deltas = [delta for payload in MIXED for delta in machine.receive(payload)] + machine.close()
    assert deltas[0] == ResponseStart(ORIGIN, id=f"resp_{name}")
    assert deltas[-1] == DONE
    assert fold(deltas) == [TextPart(said, origin=ORIGIN)]


def test_streams_that_mix_are_an_error_in_a_decoder_that_is_not_told() -> None:
    machine = decoder(API, model=MODEL)
    machine.receive(MIXED[0])
    with pytest.raises(DecodeError) as caught:
        machine.receive(MIXED[1])
    assert caught.value.code == "mixed_streams"
    assert caught.value.deltas == (CloseDelta(status="incomplete"),)
    # The payload was not read, so the stream that began goes on.
    machine.receive(MIXED[2])
    assert machine.receive(MIXED[6])[-1] == DONE


def test_a_second_response_inside_the_first_is_an_error_without_names_of_streams() -> None:
    machine = decoder(API, model=MODEL)
    machine.receive(created("resp_a"))
    machine.receive(created("resp_a"))  # told again
    with pytest.raises(DecodeError) as caught:
        machine.receive(created("resp_b"))
    assert caught.value.code == "mixed_streams"


def test_streams_in_turn_need_no_name() -> None:
    """An answer that the user steers ends, and another one follows by itself."""
    machine = decoder(API, model=MODEL)
    steered = envelope(id="resp_a", status="incomplete", incomplete_details={"reason": "steered"})
    payloads = [
        lane("a", created("resp_a")),
        lane("a", text("One")),
        {"type": "response.steer.accepted", "steer": {"id": "st_1", "previous_response_id": "resp_a"}},
        lane("a", {"type": "response.incomplete", "response": steered}),
        lane("b", created("resp_b")),
        lane("b", text("Two")),
        lane("b", {"type": "response.completed", "response": envelope(id="resp_b")}),
    ]
    deltas = [delta for payload in payloads for delta in machine.receive(payload)] + machine.close()
    assert [delta.id for delta in deltas if isinstance(delta, ResponseStart)] == ["resp_a", "resp_b"]
    assert [delta.reason for delta in deltas if isinstance(delta, FinishDelta)] == ["steered", "completed"]
    # It ends at a boundary of its output, so nothing is cut.
    assert [part.status for part in fold(deltas) if isinstance(part, TextPart)] == ["complete", "complete"]


def test_only_apis_with_such_connections_take_the_name_of_a_stream() -> None:
    with pytest.raises(ConfigurationError) as caught:
        decoder("openai-chat", stream_id="a")
    assert caught.value.code == "wrong_option"


# -- parts and agents


def test_parts_of_raw_reasoning_end_with_their_events() -> None:
    """Fragments may be numbered, so only the end of a part makes the next number another part."""
    where = {"item_id": "rs_1"}
    fragments = [
        event("reasoning_text.delta", 0, **where, content_index=0, delta="One "),
        event("reasoning_text.delta", 0, **where, content_index=1, delta="thing."),
        event("reasoning_text.done", 0, **where, content_index=1, text="One thing."),
        event("reasoning_text.delta", 0, **where, content_index=2, delta="Another."),
    ]
    found = receive(added(0, raw("rs_1")), *fragments)
    assert [(delta.index, delta.text) for delta in found if isinstance(delta, ReasoningDelta)][1:] == [
        (0, "One "),
        (0, "thing."),
        (2, "Another."),
    ]


def test_the_agent_of_an_item_stays_with_it() -> None:
    agent = {"agent_name": "researcher"}
    items = [reasoning("rs_1", "Hm.", agent=agent), message(spoken("Hi."), agent=agent), call(agent=agent)]
    parts = decode_response(API, envelope(items))
    assert [(part.ext or {}).get("agent") for part in parts] == [agent, agent, agent]


def test_the_place_of_what_is_malformed_begins_at_the_response() -> None:
    response = {"object": "response", "id": "resp_1", "status": "completed"}
    with pytest.raises(DecodeError) as caught:
        decode_response(API, {**response, "output": [{"type": 5}]}, provider="openai", model=MODEL)
    assert "/output/0/type" in str(caught.value)
    assert "None" not in str(caught.value)
