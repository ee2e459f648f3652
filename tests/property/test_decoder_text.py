"""Test that JSON text is decoded as its parsed form is, with the same errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.property.test_decoder_growth import STREAMS, Stream, fresh, outcomes, repeats
from tests.recordings.test_recordings import STREAMED
from tests.support.effort import examples
from tests.support.recordings import load, payloads

TEXTS: dict[str, Callable[[Any], Any]] = {
    "text": lambda payload: json.dumps(payload, ensure_ascii=False),
    "escaped text": lambda payload: json.dumps(payload),
    "bytes": lambda payload: json.dumps(payload).encode(),
}


def written(stream: Iterable[Any], how: str) -> list[Any]:
    return [payload if isinstance(payload, str) else TEXTS[how](payload) for payload in stream]


def assert_same(stream: Stream, how: str) -> None:
    parsed = outcomes(fresh(stream), map(json.loads, map(json.dumps, stream[3])))
    assert outcomes(fresh(stream), written(stream[3], how)) == parsed


@pytest.mark.parametrize(("api", "file"), STREAMED)
def test_recordings(api: str, file: Path) -> None:
    recording = load(file)
    assert_same((api, recording["provider"], recording["model"], payloads(recording)), "text")


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: f"{stream[0]}-{stream[1]}")
def test_streams_of_vendors(stream: Stream) -> None:
    for how in TEXTS:
        assert_same(stream, how)


@settings(max_examples=examples(400))
@given(repeats())
def test_payloads_that_differ(stream: Stream) -> None:
    assert_same(stream, "text")
