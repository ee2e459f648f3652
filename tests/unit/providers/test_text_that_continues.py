"""Test when text that continues is read in a shape."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from agui_reasoning.deltas import TextDelta
from agui_reasoning.providers import API_IDS, decoder
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
