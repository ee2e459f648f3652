"""Test the laws of the wire: cuts change nothing, encode and decode are inverse, errors are the named one."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import SSEDecoder, SSEEncoder, SSEFrames, iter_events, iter_payloads, read_events
from tests.laws import law

NASTY = "\u2028\u2029\u0085\x0b\x0c\x1c\x1e\r\n \ufeff:é😀"
TEXT = st.text(st.one_of(st.sampled_from(NASTY), st.characters(codec="utf-8")), max_size=12)
# A high surrogate followed by a low one is a pair once it is escaped; only JSON text order tells.
LONE = st.builds("{}{}".format, TEXT, st.sampled_from(["\ud83d", "\ude00", "\udcff", "\ude00\ud83d"]))
NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)


def json_values(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | NUMBERS | text
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=6,
    )


def events(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda kind, name, value: {"type": kind, "name": name, "value": value},
        st.just("CUSTOM") | st.text("ABC_", min_size=1),
        text,
        json_values(text).filter(lambda value: value is not None),
    )


ENDS = st.sampled_from(["\n", "\r", "\r\n"])
NOISE = st.sampled_from([": ping", ":", "event: a", "id: 1", "retry: 10", "foo", "datax: 1"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[dict[str, Any]]]:
    """A legal stream in any dress, and the events in it."""
    expected = draw(st.lists(events(TEXT), max_size=4))
    lines: list[str] = []
    for event in expected:
        indent = draw(st.sampled_from([None, 1]))
        text = json.dumps(event, ensure_ascii=draw(st.booleans()), indent=indent)
        data = [f"data:{draw(st.sampled_from(['', ' ']))}{line}" for line in text.split("\n")]
        lines += [*draw(st.lists(NOISE, max_size=2)), *data, *draw(st.lists(NOISE, max_size=1)), ""]
    body = ""
    for line in lines:
        end = draw(ENDS)  # an LF on an empty line just behind a CR would be the second half of a CRLF
        body += line + ("\r" if end == "\n" and not line and body.endswith("\r") else end)
    if draw(st.booleans()):  # T4: the last blank line may be missing
        body = body.rstrip("\r\n")
    return (draw(st.sampled_from(["", "\ufeff"])) + body).encode(), expected


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(marks)]


def outcome(chunks: list[bytes], limit: int = 10_000) -> tuple[list[dict[str, Any]], str]:
    decoder, got = SSEDecoder(limit), []
    try:
        for chunk in chunks:
            got += decoder.feed(chunk)
        got += decoder.close()
    except RemoteProtocolError as error:
        return got, str(error)
    return got, ""


def bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


PLACES = st.lists(st.integers(0, 10_000), max_size=8)


@law("bytes")
@given(streams(), PLACES)
def test_any_split_of_a_stream_gives_the_same_events(
    stream: tuple[bytes, list[dict[str, Any]]], places: list[int]
) -> None:
    data, expected = stream
    assert outcome(cut(data, places)) == (expected, "")
    assert outcome(bytewise(data)) == (expected, "")
    assert outcome([data]) == (expected, "")


SCRAPS = st.sampled_from(
    [
        *(b"data:", b"data: ", b'{"type":"A"}', b'{"type":', b'"A"}', b"{}", b"\n", b"\r", b"\r\n", b"\n\n"),
        *(b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", b": c\n", b"[DONE]", b"NaN", b'"\\ud83d"', b"0" * 40),
    ]
)
RUBBISH = st.binary(max_size=60) | st.lists(SCRAPS, max_size=20).map(b"".join)


@law("bytes")
@given(RUBBISH, PLACES, st.integers(1, 60))
@example(b'data:{"type":"A"}\n\ndata:{}\n\ndata:\xff\n\n', [3], 60)
@example(b'data:{"type":"A"}\r\n\r\ndata:' + b"0" * 80, [19], 40)
def test_any_split_of_rubbish_gives_the_same_events_and_the_same_error(
    data: bytes, places: list[int], limit: int
) -> None:
    verdict = outcome([data], limit)
    assert outcome(cut(data, places), limit) == verdict
    assert outcome(bytewise(data), limit) == verdict


LINES = st.sampled_from(
    [
        *(b"data: a", b"data: bb", b"data:c", b"data: ", b"data", b"datax: 1", b"data: " + b"0" * 40),
        *(b"event: e", b"id: 1", b": ping", b"data: \xff", b"data: \xe2\x80\xa8", b"", b"", b""),
    ]
)


@given(
    st.lists(st.tuples(LINES, st.sampled_from([b"\n"] * 8 + [b"\r\n", b"\r"])), max_size=24),
    st.booleans(),
    PLACES,
    st.integers(1, 60),
)
def test_frames_read_whole_are_those_read_byte_by_byte(
    lines: list[tuple[bytes, bytes]], crlf: bool, places: list[int], limit: int
) -> None:
    data = b":\n\n" + b"".join(line + (b"\r\n" if crlf and end == b"\n" else end) for line, end in lines)
    verdict = frames(bytewise(data), limit)
    assert frames([data], limit) == verdict
    assert frames(cut(data, places), limit) == verdict


def frames(chunks: list[bytes], limit: int) -> tuple[list[str], str]:
    reader, got = SSEFrames(limit), []
    try:
        for chunk in chunks:
            got += reader.feed(chunk)
        got += reader.close()
    except RemoteProtocolError as error:
        return got, str(error)
    return got, ""


@given(RUBBISH)
def test_whole_recordings_raise_nothing_else(data: bytes) -> None:
    for read in (iter_events, iter_payloads):
        try:
            for item in read(data):
                assert item is not NotImplemented
        except RemoteProtocolError as error:
            assert error.code in {"bad_json", "bad_frame", "bad_utf8"}  # noqa: PT017


@given(st.lists(events(TEXT | LONE), max_size=5), PLACES)
def test_what_is_encoded_is_decoded(sent: list[dict[str, Any]], places: list[int]) -> None:
    encoder = SSEEncoder()
    data = b"".join(encoder.encode(event) for event in sent)
    assert outcome(cut(data, places)) == (sent, "")
    assert read_events(data) == sent
    lines = data.decode().splitlines()  # a careless reader sees one line per frame, too
    assert len(lines) == 2 * len(sent)


@given(st.lists(events(TEXT | LONE), min_size=1, max_size=4), st.integers(0, 3))
def test_every_form_of_a_recording_reads_the_same(sent: list[dict[str, Any]], form: int) -> None:
    texts = [json.dumps(event) for event in sent]
    pretty = "\n".join(json.dumps(event, indent=2) for event in sent)
    forms = ["".join(f"data: {t}\n\n" for t in texts), "\n".join(texts), f"[{','.join(texts)}]", pretty]
    assert read_events(forms[form].encode()) == sent
