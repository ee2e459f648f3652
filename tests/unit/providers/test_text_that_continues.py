"""Test when text that continues is read in a shape."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from agui_reasoning import DecodeError, ProviderError
from agui_reasoning.deltas import NativeDelta, ReasoningDelta, TextDelta
from agui_reasoning.providers import API_IDS, decoder
from agui_reasoning.providers.base import Decoder
from agui_reasoning.replay import CONVERSATIONS, load_script
from tests.property.test_decoder_growth import growing_of, outcomes, spoken_in
from tests.support.full_reading import reading
from tests.support.recordings import payloads

JSON = dict[str, Any]


COUNTS: dict[str, JSON] = {"xai-grpc": {"usage": {"total_tokens": 5}}}
"""What payloads have beside the members of the scripts."""


def chunk(text: str, **more: Any) -> JSON:
    return {"id": "c1", "choices": [{"index": 0, "delta": {"content": text, **more}}]}


@pytest.mark.parametrize("as_text", [False, True], ids=["parsed", "text"])
@pytest.mark.parametrize("api", API_IDS)
def test_every_api_has_a_shape_for_text(api: str, as_text: bool) -> None:
    script = load_script(CONVERSATIONS[api])
    sent = payloads(script)
    found = []
    for at in growing_of(api, script["provider"], script["model"], sent):
        machine = decoder(api, provider=script["provider"], model=script["model"])
        for payload in copy.deepcopy(sent[: at + 1]):
            machine.receive(payload)
        for number in range(2):
            payload = {**copy.deepcopy(sent[at]), **COUNTS.get(api, {})}
            spoken_in(payload, f"-{number}")
            machine.receive(json.dumps(payload) if as_text else payload)
        found.append(machine.more is not None)
    assert any(found)


def test_a_stream_of_another_form_is_soon_read_in_full_only() -> None:
    machine = decoder("openai-chat")
    other = {"index": 1, "delta": {"content": "or"}}
    for _ in range(40):
        one = chunk("so")
        machine.receive({**one, "choices": [*one["choices"], other]})
    machine.receive(chunk("so"))
    assert machine.more is None


def test_members_that_nothing_reads_may_be_anything() -> None:
    machine = decoder("openai-chat")
    for number in range(4):
        machine.receive(chunk("so", novelty=number))
    assert machine.more is not None


def test_events_of_bedrock_that_are_padded_have_a_shape() -> None:
    machine = decoder("bedrock-converse")
    for padding in ("a", "ab", "abc", "abcd"):
        machine.receive(bedrock("so", p=padding))
    assert machine.more is not None


def test_a_member_of_another_value_is_read_in_full() -> None:
    machine = decoder("openai-chat")
    for _ in range(3):
        assert isinstance(machine.receive(chunk("so"))[-1], TextDelta)
    assert machine.more is not None
    assert [type(delta).__name__ for delta in machine.receive(chunk("so", reasoning="Hm"))] == [
        "CloseDelta",
        "ReasoningDelta",
        "CloseDelta",
        "TextDelta",
    ]


def test_a_repeat_with_bad_counts_is_refused_and_lost_alone() -> None:
    machine, plain = decoder("gemini"), reading(decoder("gemini"))
    part = {"candidates": [{"content": {"parts": [{"text": "Hm"}]}}]}
    counts = [{"totalTokenCount": 1}, {"totalTokenCount": 2}, {"totalTokenCount": 3}]
    sent = [{**part, "usageMetadata": usage} for usage in [*counts, {"totalTokenCount": "4"}, counts[0]]]
    assert outcomes(machine, sent) == outcomes(plain, sent)


def test_a_stream_that_was_closed_is_read_again() -> None:
    machine, plain = decoder("xai-grpc"), reading(decoder("xai-grpc"))
    payload = {"id": "x", "outputs": [{"delta": {"content": "so"}, "index": 0}]}
    for one in (machine, plain):
        outcomes(one, [payload] * 4)
    assert outcomes(machine, [payload] * 4) == outcomes(plain, [payload] * 4)


# -- payloads that seem to only add text

ANTHROPIC: list[JSON] = [
    {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
]
COHERE: list[JSON] = [
    {"type": "message-start", "id": "c"},
    {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
]


def anthropic(text: str, **more: Any) -> JSON:
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
        **more,
    }


def cohere(text: str, **more: Any) -> JSON:
    return {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}, **more}


def ollama(text: str, **more: Any) -> JSON:
    return {"model": "q", "created_at": "now", "message": {"content": text}, "done": False, **more}


def bedrock(text: str, **more: Any) -> JSON:
    return {"contentBlockIndex": 0, "delta": {"text": text}, **more}


def gemini(*texts: str, model: str | None = None, count: int | None = None) -> JSON:
    parts = [{"text": text} for text in texts]
    usage = None if count is None else {"totalTokenCount": count}
    return {"candidates": [{"content": {"parts": parts}}], "usageMetadata": usage, "modelVersion": model}


def mistral(text: str, **words: str) -> JSON:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": text, **words}]}
    return {"id": "m", "choices": [{"index": 0, "delta": {"content": [thought]}}]}


def xai(text: str, **more: Any) -> JSON:
    return {"id": "x", "outputs": [{"index": 0, "delta": {"content": text, **more}}]}


def interaction(delta: JSON) -> JSON:
    return {"event_type": "step.delta", "index": 0, "delta": {"type": "text", **delta}}


AFTER_TWO: dict[str, tuple[str, list[JSON], JSON]] = {
    "a malformed member": (
        "anthropic-messages",
        [*ANTHROPIC, *map(anthropic, "ab")],
        anthropic("c", error=0),
    ),
    "text after what is no JSON": (
        "anthropic-messages",
        [ANTHROPIC[0], anthropic("a", role=float("nan"))],
        anthropic("b"),
    ),
    "a malformed ID": ("cohere-chat", [*COHERE, *map(cohere, "ab")], cohere("c", id=0)),
    "a malformed type": (
        "cohere-chat",
        [*COHERE, *map(cohere, "ab")],
        cohere("c", delta={"message": {"content": {"type": 0, "text": "c"}}}),
    ),
    "a malformed text": ("ollama", [*map(ollama, "ab")], ollama("c", response=0)),
    "an error beside text": ("cohere-chat", [*COHERE, *map(cohere, "ab")], cohere("c", error="Oh.")),
    "an error by its object": ("openai-chat", [*map(chunk, "ab")], {**chunk("c"), "object": "error"}),
    "another response": (
        "openai-chat",
        [
            chunk("a"),
            {**chunk("b"), "choices": [{**chunk("b")["choices"][0], "finish_reason": "stop"}]},
            chunk("c"),
        ],
        {**chunk("d"), "id": "c2"},
    ),
    "text after the end": ("ollama", [*map(ollama, "ab"), ollama("c", done=True)], ollama("d")),
    "a role": ("bedrock-converse", [{"role": "a"}, *map(bedrock, "ab")], bedrock("c", role="a")),
    "another text": ("mistral-chat", [mistral("a"), mistral("b")], mistral("c", thinking="d")),
    "counts without a count": ("openai-chat", [*map(chunk, "ab")], {**chunk("c"), "usage": {}}),
    "counts of another model": (
        "gemini",
        [gemini("a", model="one"), gemini(model="two", count=1), *[gemini("b", model="one")] * 2],
        gemini("c", model="one", count=2),
    ),
    "citations": ("xai-grpc", [*map(xai, "ab")], xai("c", citations=[{"url": "https://example.org"}])),
    "a first sign of the API": ("ollama", [{"message": {"content": one}} for one in "ab"], ollama("c")),
}
"""What came, the API, and a payload that seems to add text as the two before it did."""


def said(machine: Decoder, sent: list[JSON], *, as_text: bool) -> list[Any]:
    """What a decoder says of payloads, and of their end."""
    found: list[Any] = []
    for one in [*sent, None]:
        try:
            found += machine.close() if one is None else machine.receive(json.dumps(one) if as_text else one)
        except (DecodeError, ProviderError) as error:
            found += [error.code, *error.deltas]
    return found


@pytest.mark.parametrize("as_text", [False, True], ids=["parsed", "text"])
@pytest.mark.parametrize("name", AFTER_TWO)
def test_what_more_than_text_comes_is_not_passed_over(name: str, as_text: bool) -> None:
    api, before, last = AFTER_TWO[name]
    sent = [*before, last]
    full = said(reading(decoder(api)), sent, as_text=as_text)
    assert said(decoder(api), sent, as_text=as_text) == full


@pytest.mark.parametrize("name", ["x y", "", "class", "__slots__", "\ud800", "text", "1"])
def test_members_may_have_any_name(name: str) -> None:
    deltas = [{"content": text, name: 5} for text in "abc"]
    sent = [{"id": "c1", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    assert [delta.text for delta in said(decoder("openai-chat"), sent, as_text=True)[1:4]] == [*"abc"]
    start = {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}
    steps = [start, *(interaction({"text": text, name: "d"}) for text in "abc")]
    full = said(reading(decoder("gemini-interactions")), steps, as_text=False)
    assert said(decoder("gemini-interactions"), steps, as_text=False) == full


def test_a_whole_number_with_a_point_may_stand_beside_half_a_character() -> None:
    sent = {"\ud800": 1, "id": "c1", "choices": [{"index": 0.0, "delta": {"content": "so"}}]}
    [_, delta] = decoder("openai-chat").receive(sent)
    assert delta == TextDelta("so", key="text")


def test_details_of_any_format_grow() -> None:
    def details(text: str) -> JSON:
        entry = {"type": "reasoning.text", "format": "\ud800", "index": 0, "text": text}
        return {"id": "c1", "choices": [{"index": 0, "delta": {"reasoning_details": [entry]}}]}

    machine = decoder("openai-chat", provider="openrouter")
    told = [delta for text in "abc" for delta in machine.receive(details(text))]
    assert [delta.text for delta in told if isinstance(delta, ReasoningDelta)] == ["a", "b", "c"]


@pytest.mark.parametrize("index", [2**63, -(2**63) - 1, 1e19])
def test_details_whose_index_exceeds_64_bits_stay_as_they_came(index: float) -> None:
    entry = {"type": "reasoning.text", "index": index, "text": "a"}
    machine = decoder("openai-chat", provider="openrouter")
    sent = {"id": "c1", "choices": [{"index": 0, "delta": {"reasoning_details": [entry]}}]}
    assert NativeDelta("openrouter.detail", entry) in machine.receive(sent)
    assert NativeDelta("openrouter.detail", entry) in machine.receive(sent)


def test_members_of_a_text_without_text_follow_blocks_that_grew() -> None:
    def growing(text: str, **signature: str) -> JSON:
        block = {"type": "thinking", "thinking": text, **signature}
        return chunk("", reasoning_content=text, thinking_blocks=[block])

    machine = decoder("litellm", provider="anthropic")
    for sent in (growing("a"), growing("b"), growing("", signature="c2ln"), chunk("so")):
        machine.receive(sent)
    last = {"id": "c1", "choices": [{"index": 0, "delta": {"content": [{"x": 1, "type": "text"}]}}]}
    assert machine.receive(last) == [TextDelta("", key="text", ext={"x": 1})]
