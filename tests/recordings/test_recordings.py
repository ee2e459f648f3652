"""Decode and emit every recording: the stream holds everything, in order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import DecodeError, Emitter, ProviderError
from agui_reasoning.deltas import Delta, FinishDelta, fold, unfold
from agui_reasoning.parts import Part
from agui_reasoning.providers import decode_response, decoder
from tests.internals.envelopes import read_envelope
from tests.laws import law
from tests.support.recordings import EXPECT, arguments, dense, load, payloads, recordings, strings_named
from tests.support.verifier import Client, replay
from tests.support.wholes import WHOLES, normal

ALL = [
    pytest.param(api, *param.values, id=f"{api}-{param.id}", marks=param.marks)
    for api in EXPECT
    for param in recordings(api)
]
FLAT = {"openai-chat", "ollama"}
STREAMED = [param for param in ALL if param.values[1] is None or load(param.values[1])["stream"]]


def decode(recording: dict[str, Any]) -> list[Delta]:
    """The deltas of a recording; those of an error that it ends with included."""
    machine = decoder(recording["api"], provider=recording["provider"], model=recording["model"])
    if not recording["stream"]:
        return machine.whole(recording["response"])
    deltas: list[Delta] = []
    try:
        for payload in payloads(recording):
            deltas += machine.receive(payload)
        return deltas + machine.close()
    except (DecodeError, ProviderError) as error:
        return [*deltas, *error.deltas]


def emit(deltas: Iterable[Delta]) -> list[Any]:
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None)
    return [event for delta in deltas for event in emitter.receive(delta)] + emitter.close()


def carried(client: Client) -> list[str]:
    """Every opaque value the client holds, by response and place in it."""
    found: dict[tuple[int, int], dict[str, None]] = {}
    responses: dict[str, int] = {}
    entities = [*client.messages, *(call for m in client.messages for call in m.get("toolCalls", ()))]
    for entity in entities:
        envelope = read_envelope(entity.get("encryptedValue", ""))
        if envelope is None:
            continue
        number = responses.setdefault(envelope.response.id, len(responses))
        for unit in envelope.units:
            record = unit.part
            values = found.setdefault((number, unit.seq), {})
            values.update(dict.fromkeys(opaque.value for opaque in record.opaque))
            for native in (getattr(record, "native", None), getattr(record, "payload", None)):
                for name in ("encrypted_content", "thoughtSignature", "signature"):
                    values.update(dict.fromkeys(strings_named(native, name)))
    return [value for place in sorted(found) for value in found[place]]


@pytest.mark.parametrize(("api", "file"), ALL)
def test_everything_a_recording_holds_reaches_the_client(api: str, file: Path) -> None:
    recording = load(file)
    expected = EXPECT[api](recording)
    client = replay(emit(decode(recording)))

    assert dense("".join(_contents(client, "reasoning"))) == dense(expected.reasoning)
    assert dense("".join(_contents(client, "assistant"))) == dense(expected.answer)
    assert _calls(client, expected.calls) == [call[1:] for call in expected.calls]
    assert sorted(set(expected.opaque) - set(carried(client))) == []
    assert [value for value in carried(client) if value in expected.opaque] == _first_of_each(expected.opaque)


@pytest.mark.parametrize(("api", "file"), ALL)
def test_parts_unfold_and_fold_again(api: str, file: Path) -> None:
    parts = fold(decode(load(file)))
    assert fold(unfold(parts)) == parts


@law("pairing")
@pytest.mark.parametrize(("api", "file"), STREAMED)
def test_cut_anywhere_the_stream_still_ends_in_order(api: str, file: Path) -> None:
    recording = load(file)
    stream = payloads(recording)
    whole = fold(decode(recording))
    for cut in range(0, len(stream), max(1, len(stream) // 12)):
        deltas = decode({**recording, "events": recording["events"][:cut]})
        replay(emit(deltas))
        assert cut_but_complete(fold(deltas), whole) == []


def cut_but_complete(parts: list[Part], whole: list[Part]) -> list[str]:
    """The parts that say less than in the whole stream, and do not say that they are incomplete."""
    return [
        repr(part)
        for part, entire in zip(parts, whole, strict=False)
        if getattr(part, "status", "incomplete") == "complete" and said(part) != said(entire)
    ]


def said(part: Part) -> Any:
    """The text or the arguments of a part; an answer of white space may go on after a call."""
    return getattr(part, "arguments", None) or getattr(part, "text", "").strip()


def _contents(client: Client, role: str) -> list[str]:
    return [message.get("content", "") for message in client.messages if message["role"] == role]


def _calls(client: Client, expected: list[tuple[str, str, Any]]) -> list[tuple[str, Any]]:
    """The calls of the client; a call without an id was given one."""
    calls = [call for message in client.messages for call in message.get("toolCalls", ())]
    ids = [call[0] for call in expected]
    known = [call for call in calls if call["id"] in ids or "" in ids]
    return [(call["function"]["name"], arguments(call["function"]["arguments"])) for call in known]


def _first_of_each(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


@law("stream is whole")
@pytest.mark.parametrize(("api", "file"), STREAMED)
def test_a_stream_and_its_whole_are_the_same_parts(api: str, file: Path) -> None:
    recording = load(file)
    flat = api in FLAT
    if _failed(recording):
        pytest.skip("the provider reported an error: there is no whole")
    if not any(isinstance(delta, FinishDelta) for delta in decode(recording)):
        pytest.skip("the recording is a fragment without an end: there is no whole")
    for one in _each_response(recording):
        whole = decode_response(
            api, WHOLES[api](one), provider=recording["provider"], model=recording["model"]
        )
        assert normal(fold(decode(one)), flat=flat) == normal(whole, flat=flat)


def _each_response(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The recording, or its parts: one recorded stream may hold several responses."""
    starts = [n for n, d in enumerate(payloads(recording)) if _begins_response(d)]
    if len(starts) < 2:
        return [recording]
    ends = [*starts[1:], len(recording["events"])]
    return [
        {**recording, "events": recording["events"][start:end]}
        for start, end in zip(starts, ends, strict=True)
    ]


def _begins_response(data: Any) -> bool:
    return isinstance(data, dict) and data.get("type") == "response.created"


def _failed(recording: dict[str, Any]) -> bool:
    return any(isinstance(data, dict) and data.get("error") for data in payloads(recording))
