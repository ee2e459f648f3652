"""Test JSON lines and AWS's binary event stream, cut anywhere, and frames that botocore reads."""

from __future__ import annotations

import itertools
import json
import struct
from copy import deepcopy
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.gateway import FRAMINGS
from agui_reasoning.providers import provider_api

# Readers take their limit as an argument, too.
AWSEventStream: Any = FRAMINGS["aws-event-stream"].reader
JSONLines: Any = FRAMINGS["json-lines"].reader


def encode_event(name: str, payload: Any) -> bytes:
    bedrock = provider_api("bedrock-converse").http
    assert bedrock is not None
    return FRAMINGS["aws-event-stream"].write(bedrock, {"event": name, "data": payload})


EVENTS: list[tuple[str, Any]] = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Brr \u2028 ❄"}}}),
    ("throttlingException", {"message": "Slow down."}),
]
STREAM = b"".join(encode_event(*event) for event in EVENTS)


def fed(reader: Any, data: bytes, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    return [text for piece in pieces for text in reader.feed(piece)] + reader.close()


@given(st.lists(st.integers(0, 10_000), max_size=8))
def test_an_event_stream_cut_anywhere_is_the_same_events(cuts: list[int]) -> None:
    texts = fed(AWSEventStream(), STREAM, cuts)
    assert [json.loads(text) for text in texts] == [{name: payload} for name, payload in EVENTS]


@given(st.lists(st.integers(0, 10_000), max_size=8))
def test_lines_cut_anywhere_are_the_same_lines(cuts: list[int]) -> None:
    data = '{"a": "é"}\r\n\n{"b": "\u2028"}\n{"c": 1}'.encode()
    texts = fed(JSONLines(), data, cuts)
    assert [json.loads(text) for text in texts] == [{"a": "é"}, {"b": "\u2028"}, {"c": 1}]


@given(st.integers(0, len(STREAM) * 8 - 1))
def test_a_changed_bit_never_gives_another_event(bit: int) -> None:
    damaged = bytearray(STREAM)
    damaged[bit // 8] ^= 1 << bit % 8
    reader = AWSEventStream()
    try:
        texts = [*reader.feed(bytes(damaged)), *reader.close()]
    except RemoteProtocolError as error:
        if error.code not in ("bad_frame", "frame_too_large"):
            raise
    else:
        assert len(texts) < len(EVENTS)


@pytest.mark.parametrize("framing", ["json-lines", "aws-event-stream"])
def test_what_is_too_large_is_refused(framing: Any) -> None:
    maker: Any = FRAMINGS[framing].reader
    with pytest.raises(RemoteProtocolError) as caught:
        maker(64).feed(encode_event("metadata", {"x": "y" * 99}) if "aws" in framing else b"x" * 65)
    assert caught.value.code == "frame_too_large"


def until_error(reader: Any, data: bytes, cuts: list[int]) -> tuple[list[str], str]:
    texts: list[str] = []
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    try:
        for a, b in itertools.pairwise(places):
            texts += reader.feed(data[a:b])
        texts += reader.feed(b"")
    except RemoteProtocolError as error:
        with pytest.raises(RemoteProtocolError):
            reader.close()
        return texts, error.code
    return texts, ""


def with_payload(name: str, payload: bytes) -> bytes:
    """A message with another payload, and the right sizes and sums."""
    made = encode_event(name, None)
    (headers,) = struct.unpack_from(">I", made, 4)
    lengths = struct.pack(">II", 16 + headers + len(payload), headers)
    message = lengths + struct.pack(">I", crc32(lengths)) + made[12 : 12 + headers] + payload
    return message + struct.pack(">I", crc32(message))


BAD: dict[str, tuple[Any, bytes, list[str], str]] = {
    "a long line": (JSONLines(9), b'{"a": 1}\n"' + b"x" * 10 + b'"\n1\n', ['{"a": 1}'], "frame_too_large"),
    "a damaged message": (
        AWSEventStream(),
        encode_event("e", 1) + encode_event("f", 2)[:-1] + b"\0" + encode_event("g", 3),
        ['{"e":1}'],
        "bad_frame",
    ),
    "a line that is not UTF-8": (JSONLines(), b'{"a": 1}\n"\xff"\n1\n', ['{"a": 1}'], "bad_utf8"),
    "a message that is not UTF-8": (
        AWSEventStream(),
        encode_event("e", 1) + with_payload("f", b'"\xff"'),
        ['{"e":1}'],
        "bad_utf8",
    ),
    "a large message": (
        AWSEventStream(99),
        encode_event("e", 1) + encode_event("f", "x" * 99),
        ['{"e":1}'],
        "frame_too_large",
    ),
}


@pytest.mark.parametrize("name", BAD)
@given(cuts=st.lists(st.integers(0, 10_000), max_size=8))
def test_what_came_before_a_bad_frame_is_returned_wherever_the_bytes_are_cut(
    name: str, cuts: list[int]
) -> None:
    reader, data, texts, code = BAD[name]
    assert until_error(deepcopy(reader), data, cuts) == (texts, code)


def test_botocore_reads_our_frames() -> None:
    eventstream = pytest.importorskip("botocore.eventstream", reason="botocore is not installed")
    buffer = eventstream.EventStreamBuffer()
    buffer.add_data(STREAM)
    read = [event.to_response_dict() for event in buffer]
    kinds = [one["headers"].get(":event-type") or one["headers"][":exception-type"] for one in read]
    assert [(kind, json.loads(one["body"])) for kind, one in zip(kinds, read, strict=True)] == EVENTS
