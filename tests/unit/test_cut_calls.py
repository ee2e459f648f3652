"""Cut calls: the run answers them before it ends, because some clients run any call without a result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import pytest
from ag_ui.core import ToolCallStartEvent

import agui_reasoning
from agui_reasoning import Run, aio
from agui_reasoning.deltas import (
    CloseDelta,
    FinishDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.parts import CUT_CALL_RESULT, ToolResultPart
from agui_reasoning.providers import decoder
from agui_reasoning.providers.registry import API_IDS
from agui_reasoning.testing import assert_valid
from tests.laws import law
from tests.support.verifier import plain

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
CUT = [ReasoningDelta("Hm."), ToolCallDelta("c1", "get", '{"a": "B')]
LIMIT = [*CUT, CloseDelta(key="c1", status="incomplete"), FinishDelta("max_tokens")]
ENDINGS: dict[str, Callable[[Run], list[Any]]] = {
    "finish": Run.finish,
    "cancel": Run.cancel,
    "fail": lambda run: run.fail("It failed."),
}


def run_of(*items: Any, ending: str = "fail", **options: Any) -> tuple[Run, list[dict[str, Any]]]:
    numbers = count()
    run = Run(INPUT, new_id=lambda: f"id{next(numbers)}", on_warning=lambda text: None, **options)
    events = run.start()
    for item in items:
        events += run.receive(item)
    events += ENDINGS[ending](run)
    assert_valid(events, lints=False)
    return run, plain(events)


def answers(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(e["toolCallId"], e["content"]) for e in events if e["type"] == "TOOL_CALL_RESULT"]


def pending(events: list[dict[str, Any]]) -> list[str]:
    ids: list[str] = (events[-1].get("outcome") or {}).get("pendingToolCallIds", [])
    return ids


@law("E11")
@pytest.mark.parametrize(
    ("items", "ending"),
    [(CUT, "fail"), (CUT, "cancel"), (LIMIT, "finish"), (LIMIT, "fail"), (LIMIT, "cancel")],
    ids=["error", "cancellation", "length limit", "an error after it", "a cancellation after it"],
)
@pytest.mark.parametrize("stages", [[], [Chunks], [Steps], [Coalesce]], ids=str)
@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_a_call_that_was_cut_is_answered_once_between_its_end_and_that_of_the_run(
    items: list[Any], ending: str, stages: list[Any], visibility: Any
) -> None:
    made = [stage(20) if stage is Coalesce else stage() for stage in stages]
    run, events = run_of(*items, ending=ending, stages=made, visibility=visibility)
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    kinds = [event["type"] for event in events]
    ends = [n for n, kind in enumerate(kinds) if kind in ("TOOL_CALL_END", "TOOL_CALL_CHUNK")]
    assert max(ends) < kinds.index("TOOL_CALL_RESULT") < len(kinds) - 1
    assert (run.pending_calls, pending(events)) == ([], [])


def test_what_is_sent_of_a_cut_call() -> None:
    _, events = run_of(ToolCallDelta("c1", "get", '{"a": "B'))
    assert [{k: v for k, v in event.items() if k != "metadata"} for event in events[1:]] == [
        {
            "type": "TOOL_CALL_START",
            "toolCallId": "c1",
            "toolCallName": "get",
            "parentMessageId": "id1",
        },
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"a": "B'},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "id2",
            "toolCallId": "c1",
            "content": "This tool call was cut off before it was complete. It was not made.",
            "role": "tool",
        },
        {"type": "RUN_ERROR", "message": "It failed."},
    ]


def test_the_status_decides_and_not_whether_the_arguments_can_be_read() -> None:
    """A chat stream has no mark for the end of a call: `{"a": 1}` may be the beginning of more."""
    _, events = run_of(ToolCallDelta("c1", "get", '{"a": 1}'))
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    for arguments in ("", "{oops"):
        whole = [ToolCallDelta("c1", "get", arguments), CloseDelta(key="c1")]
        for ending in ENDINGS:
            assert answers(run_of(*whole, ending=ending)[1]) == []
    run, events = run_of(*whole, ending="finish")
    assert ([call.id for call in run.pending_calls], pending(events)) == (["c1"], ["c1"])


def test_a_cut_call_that_somebody_answered_keeps_that_answer() -> None:
    _, events = run_of(*LIMIT, ToolResultPart("c1", "done"), ending="finish")
    assert answers(events) == [("c1", "done")]


def test_calls_beside_the_cut_one_still_wait() -> None:
    beside = [ToolCallDelta("c0", "get", "{}"), CloseDelta(key="c0"), *LIMIT[1:]]
    run, events = run_of(*beside, ending="finish")
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert ([call.id for call in run.pending_calls], pending(events)) == (["c0"], ["c0"])


def test_a_later_response_does_not_make_the_client_answer_an_earlier_cut_call() -> None:
    run, events = run_of(*LIMIT, TextDelta("Never mind."), ending="finish")
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert [message.content for message in run.history.messages] == [CUT_CALL_RESULT]


def test_calls_of_the_provider_itself_are_answered_too() -> None:
    _, events = run_of(ToolCallDelta("s1", "web_search", '{"q', server=True))
    assert answers(events) == [("s1", CUT_CALL_RESULT)]


def test_a_call_that_the_application_began_is_answered() -> None:
    started = ToolCallStartEvent(tool_call_id="own", tool_call_name="get")
    for ending in ENDINGS:
        assert answers(run_of(started, ending=ending)[1]) == [("own", CUT_CALL_RESULT)]
    done = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "own", "content": "done"}
    assert answers(run_of(started, done)[1]) == [("own", "done")]


def test_a_cut_call_of_a_subagent_is_answered_under_its_name() -> None:
    parent = Run(INPUT)
    events = parent.start()
    child = parent.subagent("helper", id="sub")
    for event in [*child.start(), *child.receive(ToolCallDelta("c1", "get", "{"))]:
        events += parent.receive(event)
    events += parent.fail("It failed.")
    assert_valid(events, lints=False)
    (result,) = [event for event in plain(events) if event["type"] == "TOOL_CALL_RESULT"]
    assert (result["toolCallId"], result["content"]) == ("c1", CUT_CALL_RESULT)
    assert result["subagentRunId"] == "sub"


# -- every API

USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get"}
RESPONSE = {"id": "resp", "model": "m", "status": "incomplete", "output": []}


def _chat(delta: Any, reason: str | None = None) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _candidate(**fields: Any) -> dict[str, Any]:
    return {"modelVersion": "m", "candidates": [{"index": 0, **fields}]}


def _output(**fields: Any) -> dict[str, Any]:
    return {"id": "x", "model": "m", "outputs": [{"index": 0, **fields}]}


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a"'}}

STREAMS: dict[str, list[dict[str, Any]]] = {
    "anthropic-messages": [
        {"type": "message_start", "message": MESSAGE},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "get", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"a"'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "message_stop"},
    ],
    "openai-responses": [
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a"'},
        {
            "type": "response.incomplete",
            "response": {**RESPONSE, "incomplete_details": {"reason": "max_output_tokens"}},
        },
    ],
    "openai-chat": [
        _chat(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get", "arguments": '{"a"'},
                    }
                ]
            }
        ),
        _chat({}, "length"),
    ],
    "litellm": [_chat({"tool_calls": [{"index": 0, **CHAT_CALL}]}), _chat({}, "length")],
    "mistral-chat": [_chat({"tool_calls": [{"index": 0, **CHAT_CALL}]}), _chat({"content": ""}, "length")],
    "cohere-chat": [
        {"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": []}}},
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": CHAT_CALL}}},
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "MAX_TOKENS"}},
    ],
    "bedrock-converse": [
        {"messageStart": {"role": "assistant"}},
        {
            "contentBlockStart": {
                "contentBlockIndex": 0,
                "start": {"toolUse": {"toolUseId": "c1", "name": "get"}},
            }
        },
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"a"'}}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "max_tokens"}},
    ],
    "gemini": [
        _candidate(
            content={
                "role": "model",
                "parts": [
                    {
                        "functionCall": {
                            "id": "c1",
                            "name": "get",
                            "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}],
                            "willContinue": True,
                        }
                    }
                ],
            }
        ),
        _candidate(finishReason="MAX_TOKENS"),
    ],
    "gemini-interactions": [
        {"event_type": "interaction.created", "interaction": {"id": "x", "status": "in_progress"}},
        {
            "event_type": "step.start",
            "index": 0,
            "step": {"type": "function_call", "id": "c1", "name": "get", "arguments": {}},
        },
        {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": '{"a"'}},
        {"event_type": "interaction.completed", "interaction": {"id": "x", "status": "incomplete"}},
    ],
    "ollama": [
        {"model": "m", "message": {"role": "assistant", "tool_calls": [CHAT_CALL]}, "done": False},
        {
            "model": "m",
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "length",
        },
    ],
    "xai-grpc": [
        _output(delta={"role": "ROLE_ASSISTANT", "tool_calls": [CHAT_CALL]}),
        _output(delta={}, finish_reason="REASON_MAX_LEN"),
    ],
}
WHOLE = {"ollama", "xai-grpc"}
"""APIs whose calls come whole: a connection cannot break off inside one."""

BEGUN = {
    "anthropic-messages": 3,
    "openai-responses": 3,
    "bedrock-converse": 3,
    "gemini-interactions": 3,
    "cohere-chat": 2,
}
"""The number of payloads after which the call has begun and nothing has ended it; elsewhere one."""


@pytest.mark.parametrize("api", API_IDS)
def test_a_length_limit_inside_a_call_ends_in_success_with_nothing_pending(api: str) -> None:
    machine = decoder(api)
    deltas = [delta for payload in STREAMS[api] for delta in machine.receive(payload)]
    run, events = run_of(*deltas, *machine.close(), ending="finish", api=api)
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert events[-1]["type"] == "RUN_FINISHED"
    assert (run.pending_calls, pending(events)) == ([], [])


# -- the shells


@pytest.mark.parametrize("api", sorted(STREAMS.keys() - WHOLE))
def test_a_stream_that_breaks_off_inside_a_call_answers_it_in_synchronous_code(api: str) -> None:
    events = plain(agui_reasoning.stream_run(INPUT, iter(STREAMS[api][: BEGUN.get(api, 1)]), api=api))
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert events[-1]["type"] == "RUN_ERROR"


@pytest.mark.anyio
@pytest.mark.parametrize("api", sorted(STREAMS.keys() - WHOLE))
async def test_a_stream_that_breaks_off_inside_a_call_answers_it(api: str) -> None:
    async def source() -> AsyncIterator[Any]:
        for payload in STREAMS[api][: BEGUN.get(api, 1)]:
            yield payload

    events = plain([event async for event in aio.stream_run(INPUT, source(), api=api)])
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert events[-1]["type"] == "RUN_ERROR"


def is_call_start(event: Any) -> bool:
    return isinstance(event, ToolCallStartEvent)


@law("E11")
def test_nothing_is_sent_while_a_generator_is_being_closed() -> None:
    def agent(run: Run) -> Iterator[Any]:
        yield from CUT
        yield TextDelta("never")

    events = agui_reasoning.run_agent(INPUT, agent)
    while not is_call_start(next(events)):
        pass
    events.close()  # a generator that yields now raises RuntimeError
    assert list(events) == []


@pytest.mark.anyio
async def test_nothing_is_sent_while_an_asynchronous_generator_is_being_closed() -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        for delta in CUT:
            yield delta

    events = aio.run_agent(INPUT, agent)
    while not is_call_start(await anext(events)):
        pass
    await events.aclose()
    assert [event async for event in events] == []


def test_an_agent_is_not_asked_to_run_what_was_cut() -> None:
    def agent(run: Run) -> Iterator[Any]:
        yield from LIMIT
        for call in run.pending_calls:
            yield ToolResultDelta(call.id, str(call.args))

    events = plain(agui_reasoning.run_agent(INPUT, agent))
    assert answers(events) == [("c1", CUT_CALL_RESULT)]
    assert events[-1]["type"] == "RUN_FINISHED"
