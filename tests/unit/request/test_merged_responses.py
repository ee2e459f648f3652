"""Restore responses that a front end merged into one message, in the order in which the model wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count, product
from typing import Any

import pytest

from agui_reasoning import Run, build_request, check_events, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.emitter.stages import Steps
from agui_reasoning.parts import Opaque, Origin, ToolCallPart, ToolResultPart, Turn
from agui_reasoning.replay import compare, load_script, read_answer, read_request
from agui_reasoning.testing import AssistantUI, FrontEnd, TanStack, assert_round_trip
from tests.support.server_tools import QUESTION, SCRIPTS, run_with_a_tool
from tests.support.verifier import plain

KEYS = KeyRing({"k": bytes(32)})
WAYS: list[dict[str, Any]] = [
    {},
    {"keys": KEYS},
    {"keys": KEYS, "visibility": "summary"},
    {"keys": KEYS, "visibility": "hidden"},
]
scripts = pytest.mark.parametrize("script", SCRIPTS)
ways = pytest.mark.parametrize("way", WAYS, ids=["full", "keys", "summary", "hidden"])


@scripts
@ways
def test_everything_of_a_conversation_with_a_server_tool_survives_every_front_end(
    script: str, way: dict[str, Any]
) -> None:
    run, events = run_with_a_tool(script, **way)
    exchange = load_script(script)
    target = {name: exchange[name] for name in ("api", "provider", "model")}
    assert_round_trip(run.input, events, keys=way.get("keys"), **target)


@scripts
@ways
@pytest.mark.parametrize("front_end", [AssistantUI, TanStack])
def test_the_next_request_has_both_responses_in_order(
    script: str, way: dict[str, Any], front_end: type[FrontEnd]
) -> None:
    stages = [Steps()] if front_end is TanStack else []
    _, events = run_with_a_tool(script, stages=stages, **way)
    client = front_end()
    for event in events:
        client.receive(event)
    held = [QUESTION, *client.messages(), {"id": "u2", "role": "user", "content": "And by bicycle?"}]
    first, second = load_script(script), load_script(f"{script}-2")
    target = {name: first[name] for name in ("provider", "model")}
    request = build_request(first["api"], held, keys=way.get("keys"), thread_id="t", **target)
    answers = [entry for entry in read_answer(first) if entry.kind != "text"], read_answer(second)
    checks = compare(chain(*answers), read_request(first["api"], request.body))
    assert [check.kind for check in checks if not check.unchanged] == []


def sent_through(client: FrontEnd, events: list[Any]) -> list[dict[str, Any]]:
    for event in events:
        client.receive(event)
    return [QUESTION, *client.messages()]


def kinds(turns: Sequence[Turn]) -> list[list[str]]:
    return [[type(part).__name__.removesuffix("Part") for part in turn.parts] for turn in turns]


CALL = ToolCallDelta("c1", "get_weather", "{}")
SIGNED = OpaqueDelta(Opaque("gemini.thought_signature", "U0lH", attach="text"))
HM = ReasoningDelta("Hm.")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([CALL], [TextDelta("Rain.")], [["ToolCall"], ["Text"]]),
        ([HM, CALL], [TextDelta("Rain.")], [["Reasoning", "ToolCall"], ["Text"]]),
        ([CALL], [HM, TextDelta("Rain.")], [["ToolCall"], ["Reasoning", "Text"]]),
        ([HM, CALL], [TextDelta("Rain."), SIGNED], [["Reasoning", "ToolCall"], ["Text"]]),
        (
            [TextDelta("I look."), CALL],
            [HM, TextDelta("Rain.")],
            [["Text", "ToolCall"], ["Reasoning", "Text"]],
        ),
        ([TextDelta("I look."), CALL], [TextDelta("Rain.")], [["Text", "ToolCall"], ["Text"]]),
    ],
)
@pytest.mark.parametrize("front_end", [AssistantUI, TanStack])
def test_responses_without_reasoning_keep_their_order_too(
    front_end: type[FrontEnd], first: list[Delta], second: list[Delta], expected: list[list[str]]
) -> None:
    target = Origin("google", "gemini", "gemini-3-flash-preview")
    events = run_of([first, second], target, stages=[Steps()] if front_end is TanStack else [])
    history = restore(sent_through(front_end(), events))
    assert kinds(history.turns) == expected
    roles = [item.role if not isinstance(item, Turn) else "turn" for item in history.items]
    assert roles == ["user", "turn", "tool", "turn"]
    values = [value.value for turn in history.turns for part in turn.parts for value in values_of(part)]
    assert values == (["U0lH"] if SIGNED in second else [])


def test_reasoning_follows_its_response_in_whatever_order_the_messages_of_reasoning_are() -> None:
    signed = [CALL, OpaqueDelta(Opaque("gemini.thought_signature", "U0lH", attach="tool_call"))]
    events = run_of([signed, [HM]], Origin("google", "gemini", "gemini-3-flash-preview"))
    asked, first, second, *rest = sent_through(AssistantUI(), events)
    for held in ([asked, first, second, *rest], [asked, second, first, *rest]):
        assert kinds(restore(held).turns) == [["ToolCall", "Reasoning"], ["Reasoning"]]


def test_calls_of_a_merged_message_are_told_apart_by_their_own_metadata() -> None:
    call: dict[str, Any] = {"type": "function", "function": {"name": "get", "arguments": "{}"}}
    calls = [
        {**call, "id": name, "metadata": {"agui-reasoning": {"response": response}}}
        for name, response in (("c1", "one"), ("c2", "two"), ("c3", "two"))
    ]
    history = restore([QUESTION, {"id": "a", "role": "assistant", "toolCalls": calls}])
    assert kinds(history.turns) == [["ToolCall"], ["ToolCall", "ToolCall"]]


def test_three_responses_keep_their_order_whichever_of_them_has_values() -> None:
    shapes = product(["call", "text", "thought", "thought call", "call thought"], repeat=3)
    written = [
        [[f"{kind}-{number}" for kind in shape.split()] for number, shape in enumerate(three)]
        for three in shapes
    ]
    wrong = [names for names in written if through_assistant_ui(names) != list(chain(*names))]
    assert wrong == []


def through_assistant_ui(names: list[list[str]]) -> list[str]:
    """What comes back of responses whose parts have these names."""
    responses = [[delta_of(name) for name in response] for response in names]
    events = run_of(responses, Origin("deepseek", "openai-chat", "deepseek-reasoner"))
    turns = restore(sent_through(AssistantUI(), events)).turns
    return [name_of(part) for turn in turns for part in turn.parts]


def delta_of(name: str) -> Delta:
    if name.startswith("call"):
        return ToolCallDelta(name, "get", "{}")
    return ReasoningDelta(name) if name.startswith("thought") else TextDelta(name)


def name_of(part: Any) -> str:
    return str(part.id if isinstance(part, ToolCallPart) else part.text)


@pytest.mark.parametrize("front_end", [AssistantUI, TanStack])
def test_a_signature_that_comes_after_the_text_belongs_to_the_reasoning_that_ended(
    front_end: type[FrontEnd],
) -> None:
    late = [
        ReasoningDelta("Hm.", key="r"),
        CloseDelta(key="r"),
        TextDelta("Rain."),
        OpaqueDelta(Opaque("anthropic.signature", "U0lH"), key="r"),
    ]
    target = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
    for responses in ([late], [[CALL], late]):
        events = run_of(responses, target, stages=[Steps()] if front_end is TanStack else [])
        assert [finding.code for finding in check_events(events)] == []
        history = restore(sent_through(front_end(), events))
        assert kinds(history.turns)[-1] == ["Reasoning", "Text"]
        [reasoning, _] = history.turns[-1].parts
        assert [value.value for value in values_of(reasoning)] == ["U0lH"]
        assert [entry.outcome for entry in history.report] == ["restored"]


def test_a_span_names_reasoning_again_only_where_a_bubble_opens() -> None:
    target = Origin("openai", "openai-responses", "gpt-5.6-sol")
    answer: list[Delta] = [ReasoningDelta("Hm.", item_id="rs_1"), TextDelta("Rain.", ext={"id": "msg_1"})]
    alone, later = run_of([answer], target), run_of([[CALL], answer], target)
    assert len(spans_of(alone)) == 1
    *_, start, end, value, _finished = later
    [message] = [event["messageId"] for event in later if event["type"] == "REASONING_MESSAGE_START"]
    assert [start, end] == [
        {"type": "REASONING_START", "messageId": message},
        {"type": "REASONING_END", "messageId": message},
    ]
    assert (value["type"], value["entityId"]) == ("REASONING_ENCRYPTED_VALUE", message)
    assert len(spans_of(later)) == 2


def spans_of(events: list[Any]) -> list[Any]:
    return [event for event in events if event["type"] == "REASONING_START"]


def values_of(part: Any) -> tuple[Opaque, ...]:
    found: tuple[Opaque, ...] = getattr(part, "opaque", ())
    return found


def run_of(responses: Sequence[Sequence[Delta]], target: Origin, **options: Any) -> list[Any]:
    """The events of a run of some responses whose calls are answered on the server."""
    numbers = count()
    given = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [QUESTION]}
    run = Run(given, new_id=lambda: f"id{next(numbers)}", on_warning=lambda text: None, **options)
    events = run.start()
    for number, deltas in enumerate(responses):
        for delta in [ResponseStart(target, id=f"response-{number}"), *deltas, FinishDelta("stop")]:
            events += run.receive(delta)
        for call in run.pending_calls:
            events += run.receive(ToolResultPart(call.id, "4 °C"))
    return plain(events + run.finish())
