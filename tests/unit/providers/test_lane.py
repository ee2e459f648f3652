"""Test when a repeat is decoded without reading it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from agui_reasoning import _scripted as scripted
from agui_reasoning.deltas import TextDelta
from agui_reasoning.providers import API_IDS, decoder
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.registry import provider_api
from tests.property.test_decoder_lane import growing_of, outcomes, reading, spoken_in
from tests.support.recordings import payloads

JSON = dict[str, Any]


def counted(machine: Decoder) -> list[Any]:
    """The payloads that the decoder reads."""
    read: list[Any] = []
    decode = machine._decode

    def note(data: JSON) -> Any:
        read.append(data)
        return decode(data)

    machine._decode = note  # type: ignore[method-assign]
    return read


def chunk(text: str, **more: Any) -> JSON:
    return {"id": "c1", "choices": [{"index": 0, "delta": {"content": text}}], **more}


@pytest.mark.parametrize("api", API_IDS)
def test_every_api_reads_at_most_two_of_many_repeats(api: str) -> None:
    script = scripted.load_script(provider_api(api).scripts[0])
    sent = payloads(script)
    repeated = []
    for at in growing_of(api, script["provider"], script["model"], sent):
        machine = decoder(api, provider=script["provider"], model=script["model"])
        for payload in copy.deepcopy(sent[: at + 1]):
            machine.receive(payload)
        read = counted(machine)
        for number in range(9):
            payload = copy.deepcopy(sent[at])
            spoken_in(payload, f"-{number}")
            machine.receive(payload)
        repeated.append(len(read))
    assert min(repeated) <= 2


def _streams(api: str) -> Iterator[JSON]:
    for name in provider_api(api).scripts:
        yield scripted.load_script(name)


@pytest.mark.parametrize("api", API_IDS)
@pytest.mark.parametrize("junk", [None, 1.5, {"text": "other"}, ["other"]], ids=str)
def test_members_declared_unread_change_nothing(api: str, junk: Any) -> None:
    repeatable = provider_api(api).load_decoder().repeatable
    assert repeatable is not None
    for script in _streams(api):
        changed = copy.deepcopy(payloads(script))
        for payload in changed:
            for path in repeatable.unread:
                _fill(payload, path.split("/"), junk)
        both = []
        for sent in (payloads(script), changed):
            machine = reading(decoder(api, provider=script["provider"], model=script["model"]))
            found, _, ended, warnings = outcomes(machine, sent)
            both.append((found, ended, warnings))
        assert both[0] == both[1]


def _fill(value: Any, path: list[str], junk: Any) -> None:
    if isinstance(value, list):
        for inner in value:
            _fill(inner, path, junk)
    elif isinstance(value, dict):
        if len(path) == 1:
            value[path[0]] = junk
        elif path[0] in value:
            _fill(value[path[0]], path[1:], junk)


def test_a_member_that_equals_the_text_by_chance_is_compared() -> None:
    machine = decoder("openai-chat")
    for _ in range(3):
        machine.receive(chunk("stop", note="stop"))
    read = counted(machine)
    assert machine.receive(chunk("length", note="length")) == [TextDelta("length", key="text")]
    assert len(read) == 1


def test_a_payload_with_very_many_values_is_not_copied() -> None:
    machine = decoder("openai-chat")
    machine.receive(chunk("Hm"))
    read = counted(machine)
    for _ in range(4):
        machine.receive(chunk("so", numbers=list(range(100))))
    assert len(read) == 4
    assert machine._lane is None


def test_payloads_that_never_repeat_are_rarely_copied() -> None:
    copies = 0
    machine = decoder("openai-chat")
    for number in range(1000):
        machine.receive({**chunk("so"), "id": f"c{number}"})
        copies += machine._lane is not None
    assert copies < 16


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
