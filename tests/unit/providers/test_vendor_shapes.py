"""Test every vendor's shapes: what they mean, and that the client keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agui_reasoning import DecodeError
from agui_reasoning.deltas import Delta, UsageDelta, fold
from agui_reasoning.parts import Part, ReasoningPart, TextPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.providers.vendors import vendors
from agui_reasoning.request import build_request, restore
from agui_reasoning.wire import read_payloads
from tests.recordings.test_round_trip import has_envelope, history
from tests.support.vendor_shapes import ARGUMENTS, CALL_ID, CHAT, RESPONSES, Shape, chat_chunk, chat_whole

SHAPES = [pytest.param(shape, id=f"{shape.api}-{shape.provider}-{shape.name}") for shape in CHAT + RESPONSES]
WHOLE = [param for param in SHAPES if param.values[0].whole is not None]
COUNTED = {"completion_tokens_details": {"reasoning_tokens": 20}}
APIS = ("openai-chat", "openai-responses")


def streamed(shape: Shape) -> list[Delta]:
    reader = decoder(shape.api, provider=shape.provider, model=shape.model)
    deltas = [delta for payload in shape.stream for delta in reader.receive(payload)]
    return deltas + reader.close()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stream_means_its_parts(shape: Shape) -> None:
    assert fold(streamed(shape)) == shape.expected


@pytest.mark.parametrize("shape", WHOLE)
def test_a_whole_response_means_the_same(shape: Shape) -> None:
    found = decode_response(shape.api, shape.whole, provider=shape.provider, model=shape.model)
    assert found == shape.expected


@pytest.mark.parametrize("shape", SHAPES)
def test_the_parts_come_back_from_the_clients_history(shape: Shape) -> None:
    restored = [list(turn.parts) for turn in restore(history(streamed(shape))).turns]
    assert [parts for parts in restored if has_envelope(parts)] == (
        [shape.expected] if has_envelope(shape.expected) else []
    )


# Half a tag is text where nothing follows.
@pytest.mark.parametrize("shape", [p for p in SHAPES if "content_tags" not in p.values[0].arrives])
def test_a_stream_that_is_cut_anywhere_still_ends_in_order(shape: Shape) -> None:
    said = "".join(map(_text, shape.expected))
    for end in range(len(shape.stream)):
        found = fold(_cut(shape, end))
        # What has come was said, and nothing of it twice.
        assert said.startswith("".join(map(_text, found)))


def _cut(shape: Shape, end: int) -> list[Delta]:
    reader = decoder(shape.api, provider=shape.provider, model=shape.model)
    deltas = [delta for payload in shape.stream[:end] for delta in reader.receive(payload)]
    try:
        return deltas + reader.close()
    except DecodeError as error:
        return [*deltas, *error.deltas]


def _text(part: Part) -> str:
    return part.text if isinstance(part, ReasoningPart | TextPart) else ""


# -- what is no part: counts, and where a signature goes back


@pytest.mark.parametrize(
    ("provider", "usage", "expected"),
    [
        # Reasoning beside the output, with a total and without one.
        ("xai", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35, **COUNTED}, 25),
        ("xai", {"prompt_tokens": 10, "completion_tokens": 5, **COUNTED}, 25),
        (None, {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35, **COUNTED}, 25),
        # Reasoning in the output; some gateways count more of it than there is output.
        ("deepseek", {"prompt_tokens": 10, "completion_tokens": 25, "total_tokens": 35, **COUNTED}, 25),
        ("deepseek", {"prompt_tokens": 10, "completion_tokens": 25, **COUNTED}, 25),
        ("vercel-gateway", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, **COUNTED}, 5),
        ("xai", {"prompt_tokens": 10, "completion_tokens": 25, "total_tokens": 35, **COUNTED}, 25),
    ],
)
def test_reasoning_counts_as_output_once(provider: str | None, usage: dict[str, Any], expected: int) -> None:
    reader = decoder("openai-chat", provider=provider)
    found = reader.whole({**chat_whole({"content": "Hi."}), "usage": usage})
    (counts,) = (delta for delta in found if isinstance(delta, UsageDelta))
    assert (counts.output_tokens, counts.reasoning_tokens) == (expected, 20)


@pytest.mark.parametrize("provider", ["groq", None])
def test_groq_streams_its_counts_in_a_field_of_its_own(provider: str | None) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 25, "total_tokens": 35, **COUNTED}
    reader = decoder("openai-chat", provider=provider)
    chunk = chat_chunk({"content": "Hi."}, finish="stop", x_groq={"usage": usage})
    deltas = [*reader.receive(chunk), *reader.close()]
    (counts,) = (delta for delta in deltas if isinstance(delta, UsageDelta))
    assert (counts.input_tokens, counts.output_tokens, counts.reasoning_tokens) == (10, 25, 20)


# -- no vendor is left out


@pytest.mark.parametrize("api", APIS)
def test_every_vendor_has_a_shape_for_every_field_of_its_row(api: str) -> None:
    shown: dict[str, set[str]] = {}
    for shape in CHAT + RESPONSES:
        if shape.api == api:
            shown.setdefault(shape.provider, set()).update(shape.arrives)
    # A row may have several names of one vendor, the usual one first.
    rows = {row.provider[0].rstrip("*"): set(row.arrives) for row in vendors(api)}
    assert {name: sorted(fields) for name, fields in shown.items()} == {
        name: sorted(fields) for name, fields in rows.items()
    }


def test_perplexitys_thoughts_stay_with_the_client() -> None:
    signed, musing = (shape for shape in RESPONSES if shape.provider == "perplexity")
    started = next(event for event in musing.stream if event.get("thought"))
    stream = [*signed.stream[:2], started, *signed.stream[2:]]
    messages = [
        {"id": "u1", "role": "user", "content": "Rain?"},
        *history(streamed(replace(signed, stream=stream))),
        {"id": "t1", "role": "tool", "toolCallId": CALL_ID, "content": "Yes."},
    ]
    request = build_request("openai-responses", messages, provider="perplexity", model="model-1")
    call = {"type": "function_call", "call_id": CALL_ID, "name": "forecast"}
    assert request.body["input"] == [
        {"role": "user", "content": "Rain?"},
        {**call, "arguments": ARGUMENTS, "thought_signature": "SIG"},
        {"type": "function_call_output", "call_id": CALL_ID, "output": "Yes."},
    ]
    assert [(entry.outcome, entry.reason) for entry in request.report] == [
        ("dropped", "policy"),
        ("echoed", ""),
    ]
    assert request.lost == ()


@pytest.mark.parametrize("shape", RESPONSES, ids=lambda shape: f"{shape.provider}-{shape.name}")
@pytest.mark.parametrize("named", [True, False])
def test_events_need_no_event_line(shape: Shape, named: bool) -> None:
    lines = [
        (f"event: {data['type']}\n" if named else "") + f"data: {json.dumps(data)}\n\n"
        for data in shape.stream
    ]
    assert read_payloads("".join(lines).encode()) == shape.stream
