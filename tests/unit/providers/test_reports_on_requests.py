"""Test how refusals, and reports on the reasoning in a request, arrive through APIs of others."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning import Run, build_request
from agui_reasoning.deltas import (
    Delta,
    FinishDelta,
    InputTransformation,
    InputTransformationsDelta,
    ResponseStart,
    TextDelta,
)
from agui_reasoning.parts import (
    Opaque,
    Origin,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    Turn,
    WithheldUnit,
)
from agui_reasoning.providers import decoder
from agui_reasoning.request import History
from tests.internals.envelopes import unit_digest
from tests.support.strict_providers import STRICT

Json = dict[str, Any]
DETAILS = {"type": "refusal", "category": "cyber", "explanation": "Declined."}
DROPPED = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}
ENTRY = InputTransformation("messages.1.content.0", "model_binding_mismatch")
FIELDS = {"stop_details": DETAILS, "input_transformations": [DROPPED]}


def last_of(deltas: list[Delta]) -> list[Delta]:
    """The reports and the end."""
    return [delta for delta in deltas if isinstance(delta, InputTransformationsDelta | FinishDelta)]


def streamed(api: str, provider: str, model: str, *payloads: Any) -> list[Delta]:
    reader = decoder(api, provider=provider, model=model)
    return last_of([delta for one in (*payloads, "[DONE]") for delta in reader.receive(one)] + reader.close())


# -- Bedrock: fields of the model's own response, if the request asks for them


CONVERSE = ("bedrock-converse", "bedrock", "us.anthropic.claude-opus-5")


def test_converse_passes_on_the_fields_that_the_request_asked_for() -> None:
    stop = {"stopReason": "content_filtered", "additionalModelResponseFields": FIELDS}
    expected = [
        InputTransformationsDelta((ENTRY,)),
        FinishDelta("content_filtered", details=DETAILS, refused=True),
    ]
    assert streamed(*CONVERSE, {"messageStart": {"role": "assistant"}}, {"messageStop": stop}) == expected
    content = {"role": "assistant", "content": [{"text": "First,"}]}
    whole = decoder("bedrock-converse").whole({"output": {"message": content}, **stop, "usage": {}})
    assert last_of(whole) == expected


@pytest.mark.parametrize("fields", [None, {}, {"stop_details": None, "input_transformations": None}])
def test_converse_without_the_fields_says_nothing_of_a_refusal(fields: Any) -> None:
    stop = {"stopReason": "content_filtered", "additionalModelResponseFields": fields}
    given = ({"messageStart": {"role": "assistant"}}, {"messageStop": stop})
    assert streamed(*CONVERSE, *given) == [FinishDelta("content_filtered")]


# -- OpenAI Responses: reasoning items by their ID


GPT = ("openai-responses", "openai", "gpt-5.6")


def removed(name: Any, reason: str = "model_mismatch", **more: Any) -> Json:
    return {"type": "reasoning", "action": "removed", "id": name, "reason": reason, **more}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([removed("rs_1")], [InputTransformationsDelta((InputTransformation("rs_1", "model_mismatch"),))]),
        ([removed("rs_1", "turn_boundary")], []),  # expected: it is the default of these models
        ([removed("rs_1", action="kept"), removed(1), removed("rs_1", type="x"), "?"], []),
        (None, []),
        ({}, []),
    ],
)
def test_responses_name_the_items_that_were_removed(entries: Any, expected: list[Delta]) -> None:
    response = {
        "object": "response",
        "id": "resp_1",
        "model": "gpt-5.6",
        "status": "completed",
        "output": [],
        "input_transformations": entries,
    }
    created = {"type": "response.created", "response": {**response, "status": "in_progress"}}
    completed = {"type": "response.completed", "response": response}
    assert streamed(*GPT, created, completed) == [*expected, FinishDelta("completed")]
    assert last_of(decoder("openai-responses").whole(response)) == [*expected, FinishDelta("completed")]


# -- Chat Completions of gateways


def chunk(reason: str | None, **more: Any) -> Json:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": "No"}, "finish_reason": reason, **more}]}


@pytest.mark.parametrize(
    ("api", "provider", "model", "native", "refused"),
    [
        ("openai-chat", "openrouter", "anthropic/claude-opus-5", "refusal", True),
        ("openai-chat", "openrouter", "anthropic/claude-opus-5", "end_turn", False),
        ("litellm", "anthropic", "anthropic/claude-opus-5", None, True),
        ("litellm", "openai", "gpt-5.6", None, False),
        ("openai-chat", "openai", "gpt-5.6", None, False),
    ],
)
def test_gateways_name_a_refusal(api: str, provider: str, model: str, native: Any, refused: bool) -> None:
    more = {} if native is None else {"native_finish_reason": native}
    assert streamed(api, provider, model, chunk(None), chunk("content_filter", **more)) == [
        FinishDelta("content_filter", refused=refused)
    ]


# -- what is remembered


def thought(api: str, model: str) -> ReasoningPart:
    origin = Origin({"bedrock-converse": "bedrock"}.get(api, "openai"), api, model)
    if api == "openai-responses":
        value = Opaque("openai.encrypted_content", "gAAAAAB")
        return ReasoningPart((Segment("summary", 0, "Hm."),), (value,), "rs_1", origin=origin)
    return ReasoningPart(
        (Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", "U2ln"),), origin=origin
    )


@pytest.mark.parametrize(("given", "path"), [(CONVERSE, "messages.1.content.0"), (GPT, "rs_1")])
def test_a_unit_that_the_model_was_not_shown_is_left_out(given: tuple[str, str, str], path: str) -> None:
    api, provider, model = given
    origin = Origin(provider, api, model)
    run = Run(
        {"threadId": "t", "runId": "r", "messages": []},
        api=api,
        provider=provider,
        model=model,
        on_warning=lambda sentence: None,
    )
    run.start()
    items = (
        UserMessage(id="a", content="One?"),
        Turn((thought(api, model), TextPart("One.", origin=origin)), origin),
        UserMessage(id="b", content="Two?"),
    )
    before = run.request(history=History(items))
    assert [entry.outcome for entry in before.report] == ["echoed"]
    report = InputTransformationsDelta((InputTransformation(path, "model_mismatch"),))
    for delta in (ResponseStart(origin), report, TextDelta("Two."), FinishDelta("stop")):
        run.receive(delta)
    (answer,) = run.history.turns
    after = run.request(history=History((*items, answer, UserMessage(id="c", content="Three?"))))
    assert [(entry.outcome, entry.reason) for entry in after.report] == [("dropped", "withheld")]


def test_openai_takes_the_request_without_the_unit() -> None:
    """What followed it loses the ID that binds it to the unit."""
    api, provider, model = GPT
    origin = Origin(provider, api, model)
    unit = thought(api, model)
    call = ToolCallPart("c1", "get", "{}", origin=origin, ext={"id": "fc_1"})
    text = TextPart("One.", origin=origin, ext={"id": "msg_1"})
    report = (WithheldUnit(str(unit_digest(unit)), model, "model_mismatch"),)
    items = (
        UserMessage(id="a", content="One?"),
        Turn((unit, call), origin),
        ToolMessage(id="t", tool_call_id="c1", content="1"),
        Turn((text,), origin, withheld=report),
        UserMessage(id="b", content="Two?"),
    )
    for history, reasoning in ((History(items[:3]), 1), (History(items), 0)):  # it stays inside the tool loop
        body = build_request(api, history, provider=provider, model=model, store=False).body
        assert [item.get("type") for item in body["input"]].count("reasoning") == reasoning
        assert STRICT["openai"].refusals({name: body[name] for name in ("input",)}) == []
