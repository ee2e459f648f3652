"""Two turns with a tool through each implementer of Open Responses, and what it is sent of its reasoning."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from ag_ui.core import UserMessage
from msgspec.structs import replace

from agui_reasoning import Emitter
from agui_reasoning.deltas import fold
from agui_reasoning.parts import NativePart, Opaque, Origin, ReasoningPart, Segment, ToolResultPart, Turn
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.providers.echo import rule_for
from agui_reasoning.request import History, ProviderRequest, build_request
from tests.support.strict_providers import STRICT
from tests.support.strict_providers.openai_responses import lacks_reasoning
from tests.support.two_turns import Led
from tests.support.vendor_shapes import (
    ARGUMENTS,
    CALL_ID,
    THOUGHT,
    message_events,
    message_item,
    part_events,
    raw_events,
    raw_item,
    responses_event,
    responses_stream,
    summarized,
    summary_events,
)
from tests.support.verifier import replay

JSON = dict[str, Any]

API = "openai-responses"
CALL = {"type": "function_call", "id": "fc_1", "call_id": CALL_ID, "name": "forecast", "arguments": ARGUMENTS}
TEXT = {"type": "reasoning_text", "text": THOUGHT}
RAW, VALUED = raw_item("rs_1"), summarized("rs_1", THOUGHT, encrypted_content="gAAAA")
RAW_EVENTS, VALUED_EVENTS = part_events(RAW), summary_events(0, VALUED)
COPIED = {**VALUED, "encrypted_content": THOUGHT}
SENT = {"type": "reasoning", "id": "rs_1", "summary": []}
BOTH = raw_item("rs_1", encrypted_content="gAAAA")
SIGNED = raw_item("rs_1", signature="SIG", format="anthropic-claude-v1")
THOUGHTS = [responses_event("reasoning.started", None, thought=THOUGHT)]

# The provider, its reasoning, whole and streamed, and what it is sent of it. Perplexity's is in events only.
LOOPS: dict[str, tuple[JSON | None, list[JSON], JSON | None]] = {
    "vllm responses": (RAW, part_events(RAW, numbers=(0, 1, 2)), {**SENT, "content": [TEXT]}),
    "llama.cpp responses": (RAW, RAW_EVENTS, {**SENT, "content": [TEXT]}),
    "ollama responses": (COPIED, summary_events(0, COPIED), {**SENT, "encrypted_content": THOUGHT}),
    "huggingface responses": (RAW, RAW_EVENTS, None),
    "open responses": (RAW, RAW_EVENTS, None),
    "copilot": (VALUED, VALUED_EVENTS, VALUED),
    "meta": (VALUED, VALUED_EVENTS, VALUED),
    "meta behind openrouter": (
        VALUED,
        VALUED_EVENTS,
        {name: value for name, value in VALUED.items() if name != "id"},
    ),
    "meta behind zen": (VALUED, VALUED_EVENTS, None),
    "deepseek responses": (BOTH, raw_events(0, BOTH), BOTH),
    "lmstudio responses": (RAW, raw_events(0, RAW), {**SENT, "content": [TEXT]}),
    "bedrock-mantle": (BOTH, raw_events(0, BOTH, number=1), BOTH),
    "perplexity": (None, THOUGHTS, None),
    "openrouter responses": (SIGNED, raw_events(0, SIGNED), SIGNED),
}


def asked(number: int) -> JSON:
    return {"id": f"u{number}", "role": "user", "content": "Rain?"}


def answered(target: Origin, *events: JSON, name: str = "a") -> list[JSON]:
    """The messages of a client that saw this response."""
    reader = decoder(API, provider=target.provider, model=target.model)
    stream = responses_stream(*events, output=(), model=target.model or "")
    deltas = [delta for payload in stream for delta in reader.receive(payload)]
    numbers = count()
    emitter = Emitter(new_id=lambda: f"{name}{next(numbers)}", on_warning=lambda text: None)
    return replay(
        [e for delta in deltas + reader.close() for e in emitter.receive(delta)] + emitter.close()
    ).messages


def build(target: Origin, messages: Any, **options: Any) -> ProviderRequest:
    options.setdefault("on_warning", lambda text: None)
    return build_request(API, messages, provider=target.provider, model=target.model, **options)


@pytest.mark.parametrize("name", LOOPS)
def test_two_turns_with_a_tool(name: str, led: Led) -> None:
    strict, (_, events, sent) = STRICT[name], LOOPS[name]
    led(strict.target)
    called = responses_event("output_item.done", 1, item={**CALL, "status": "completed"})
    messages = [
        asked(1),
        *answered(strict.target, *events, called),
        {"id": "t1", "role": "tool", "toolCallId": CALL_ID, "content": "4C"},
    ]
    first = build(strict.target, messages)
    assert strict.reject(first.body) is None
    assert [item for item in first.body["input"] if item.get("type") == "reasoning"] == (
        [sent] if sent else []
    )
    assert first.lost == ()
    messages += [*answered(strict.target, *message_events(0, message_item("msg_2")), name="b"), asked(2)]
    second = build(strict.target, messages)
    assert strict.reject(second.body) is None
    assert [item.get("role") or item["type"] for item in second.body["input"]][-2:] == ["assistant", "user"]


def test_deepseek_gets_the_reasoning_that_led_to_its_calls() -> None:
    parallel = [responses_event("output_item.done", n, item={**CALL, "call_id": f"c{n}"}) for n in (1, 2)]
    target = STRICT["deepseek responses"].target
    made = build(target, [asked(1), *answered(target, *LOOPS["deepseek responses"][1], *parallel)])
    assert lacks_reasoning(made.body) == []
    assert lacks_reasoning({"input": [item for item in made.body["input"] if item != BOTH]})


def test_perplexity_gets_the_signature_of_a_call_and_nothing_else_of_its_own() -> None:
    strict = STRICT["perplexity"]
    found = {"type": "search_results", "queries": ["Rain?"], "results": []}
    signed = {**CALL, "status": "completed", "thought_signature": "SIG"}
    events = [responses_event("output_item.done", n, item=item) for n, item in enumerate((found, signed))]
    made = build(strict.target, [asked(1), *answered(strict.target, *THOUGHTS, *events)])
    assert strict.reject(made.body) is None
    assert made.body["input"][1:-1] == [
        {
            "type": "function_call",
            "call_id": CALL_ID,
            "name": "forecast",
            "arguments": ARGUMENTS,
            "thought_signature": "SIG",
        }
    ]
    assert [(entry.outcome, entry.reason) for entry in made.report] == [
        ("dropped", "policy"),
        ("dropped", "needs_keys"),
        ("echoed", ""),
    ]


@pytest.mark.parametrize("name", [name for name, (whole, _, _) in LOOPS.items() if whole])
def test_a_stream_means_its_whole_response(name: str) -> None:
    target, (whole, events, _) = STRICT[name].target, LOOPS[name]
    assert whole is not None
    reader = decoder(API, provider=target.provider, model=target.model)
    stream = responses_stream(*events, output=(whole,), model=target.model or "")
    streamed = fold([delta for payload in stream for delta in reader.receive(payload)])
    assert streamed == decode_response(API, stream[-1]["response"], provider=target.provider)


# -- nothing native


COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "X"}
SEARCH = {"type": "acme:search_call", "id": "s_1", "status": "completed"}


@pytest.mark.parametrize("target", [Origin("acme", API, "m"), STRICT["llama.cpp responses"].target])
def test_servers_that_may_refuse_it_get_nothing_native(target: Origin) -> None:
    hosted = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    parts = decode_response(
        API,
        {"id": "resp_1", "object": "response", "output": [COMPACTION, SEARCH, hosted, message_item()]},
        provider=target.provider,
        model=target.model,
    )
    assert [type(part) for part in parts[:2]] == [NativePart, NativePart]
    assert any(isinstance(part, ToolResultPart) for part in parts)
    turn = Turn(tuple(parts), target, "resp_1")
    made = build(target, History((turn, UserMessage(id="u1", content="Go on."))))
    assert [item.get("type") for item in made.body["input"]] == ["message", None]
    natives = [entry for entry in made.report if entry.reason == "policy"]
    assert len(natives) == 2
    own = EchoRule(api=API, status="accepted", field=("items",), scope="all")
    made = build(target, History((turn, UserMessage(id="u1", content="Go on."))), policy=[own])
    assert made.body["input"][:3] == [COMPACTION, SEARCH, hosted]


# -- what a reasoning item is


def thought(*segments: Segment, **fields: Any) -> ReasoningPart:
    return ReasoningPart(segments, (), "rs_1", **fields)


def sent(part: ReasoningPart, provider: str, **options: Any) -> tuple[list[JSON], list[tuple[str, str]]]:
    """The reasoning items of a request after this reasoning and a call, and the report."""
    target = Origin(provider, API, "m")
    call = decode_response(API, {"output": [CALL], "object": "response"}, provider=provider, model="m")
    items = (Turn((part, *call), target, "resp_1"), UserMessage(id="u1", content="Hm?"))
    made = build(target, History(items), **options)
    found = [item for item in made.body["input"] if item.get("type") == "reasoning"]
    return found, [(entry.outcome, entry.reason) for entry in made.report]


def for_all_turns(provider: str) -> EchoRule:
    """The row of a provider, for every turn."""
    return rule_for(Origin(provider, API, "m")).model_copy(update={"scope": "all"})


ALL = EchoRule(api=API, status="accepted", field=("items",), scope="all")


def test_parts_keep_the_type_that_they_had() -> None:
    noted = {"content_types": [{"type": "output_text", "annotations": []}, {"type": "function_call_output"}]}
    part = thought(Segment("raw", 0, "Hm."), Segment("raw", 1, "So."), Segment("raw", 2, "Yes."), ext=noted)
    (item,), _ = sent(part, "acme", policy=[ALL])
    assert item["content"] == [
        {"type": "output_text", "text": "Hm.", "annotations": []},
        {"type": "reasoning_text", "text": "So."},
        {"type": "reasoning_text", "text": "Yes."},
    ]


def test_a_server_that_reads_one_part_gets_one() -> None:
    rule = ALL.model_copy(update={"item_text": "content"})
    part = thought(Segment("summary", 0, "Short."), Segment("raw", 0, "Hm."), Segment("raw", 1, "So."))
    assert sent(part, "acme", policy=[rule])[0] == [
        {**SENT, "content": [{"type": "reasoning_text", "text": "Hm.\n\nSo."}]}
    ]
    # vLLM refuses encrypted content, whoever put it there.
    valued = replace(part, opaque=(Opaque("openai.encrypted_content", "gAAAA"),))
    assert sent(valued, "vllm", policy=[for_all_turns("vllm")])[0][0].keys() == {*SENT, "content"}
    # Without raw reasoning, the summary is all the model can be shown.
    summary = thought(Segment("summary", 0, "Short."))
    assert sent(summary, "acme", policy=[rule])[0] == [
        {**SENT, "content": [{"type": "reasoning_text", "text": "Short."}]}
    ]


@pytest.mark.parametrize("provider", ["acme", "vllm", "llamacpp", "ollama", "lmstudio"])
def test_an_item_of_nothing_is_not_sent(provider: str) -> None:
    rule = ALL if provider == "acme" else for_all_turns(provider)
    found, report = sent(thought(), provider, policy=[rule])
    assert (found, report) == ([], [("dropped", "empty")])


def test_an_id_alone_is_sent_where_the_server_knows_it() -> None:
    assert sent(thought(), "openai")[0] == [SENT]
    assert sent(thought(), "openai", store=False)[0] == []


# -- agents, and input that steered a response


def test_items_go_back_with_their_agent() -> None:
    agent = {"agent_name": "researcher"}
    message = {**message_item(), "agent": agent}
    items = [{**VALUED, "agent": agent}, message, {**CALL, "agent": agent}]
    target = Origin("openai", API, "gpt-6")
    parts = decode_response(API, {"output": items, "object": "response"}, provider="openai", model="gpt-6")
    made = build(target, History((Turn(tuple(parts), target, "resp_1"), UserMessage(id="u1", content="Hm?"))))
    assert [item.get("agent") for item in made.body["input"][:3]] == [agent, agent, agent]
    # Of values that are not authenticated, too.
    whole = [responses_event("output_item.done", number, item=item) for number, item in enumerate(items)]
    made = build(target, [*answered(target, *whole), asked(1)])
    assert [item.get("agent") for item in made.body["input"][:3]] == [agent, agent, agent]
    # Its shape is checked, because clients can write it.
    odd = [replace(parts[1], ext={"id": "msg_1", "agent": {"agent_name": 1}})]
    made = build(target, History((Turn(tuple(odd), target, "resp_1"), UserMessage(id="u1", content="Hm?"))))
    assert "agent" not in made.body["input"][0]


def test_input_that_steered_a_response_stays_between_the_two() -> None:
    target = Origin("openai", API, "gpt-6")
    first, second = (
        Turn(
            tuple(
                decode_response(
                    API,
                    {
                        "output": [{**VALUED, "id": f"rs_{number}"}, message_item(f"msg_{number}")],
                        "object": "response",
                    },
                    provider="openai",
                    model="gpt-6",
                )
            ),
            target,
            f"resp_{number}",
        )
        for number in (1, 2)
    )
    words = [UserMessage(id="u1", content="Rain?"), UserMessage(id="u2", content="Only in Oslo.")]
    made = build(target, History((words[0], first, words[1], second, UserMessage(id="u3", content="So?"))))
    assert [item.get("id") or item["content"] for item in made.body["input"]] == [
        "Rain?",
        "rs_1",
        "msg_1",
        "Only in Oslo.",
        "rs_2",
        "msg_2",
        "So?",
    ]
