from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from agui_reasoning.errors import ConfigurationError, LocalProtocolError, RemoteProtocolError
from agui_reasoning.wire import MAX_FRAME_BYTES, SSEFrames


def texts(data: bytes) -> list[str]:
    """Every frame, the same whether the bytes come at once or one by one."""
    whole, single = SSEFrames(), SSEFrames()
    at_once = whole.feed(data) + whole.close()
    one_by_one = [text for byte in data for text in single.feed(bytes([byte]))] + single.close()
    assert at_once == one_by_one
    return at_once


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: This is the first message.\n\n", ["This is the first message."]),
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", ["YHOO\n+2\n10"]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            ["first event", "second event", " third event"],
        ),
        (b"data:test\n\ndata: test\n\n", ["test", "test"]),
        (b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", ["73857293", "2153"]),
        # the third example: an empty frame is skipped here, and the last block is kept if not empty
        (b"data\n\ndata\ndata\n\ndata:", ["\n"]),
    ],
)
def test_the_examples_of_the_html_standard(stream: bytes, expected: list[str]) -> None:
    assert texts(stream) == expected


def test_frames_that_are_alike_and_others_are_read_in_any_order() -> None:
    kinds = {
        b"data: a\n\n": ["a"],
        b"data: b\n\n\n": ["b"],
        b"data: \n\n": [],
        b"data: c\r\n\r\n": ["c"],
        b"data: d\ndata: e\n\n": ["d\ne"],
        b"event: one\ndata: f\n\n": ["f"],
        b"event: one\ndata: data: g\n\n": ["data: g"],
        b"event: two\ndata: h\n\n": ["h"],
        b"event: one\r\ndata: i\r\n\r\n": ["i"],
        b": comment\n\ndata: j\n\n": ["j"],
    }
    for several in product(kinds, repeat=3):
        assert texts(b"\n\n" + b"".join(several)) == [text for kind in several for text in kinds[kind]]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_end_with_lf_cr_or_crlf(end: bytes) -> None:
    assert texts(b"data: a%bdata: b%b%bdata: c%b%b" % ((end,) * 5)) == ["a\nb", "c"]


def test_line_ends_may_be_mixed() -> None:
    assert texts(b"data: a\r\n\ndata: b\r\rdata: c\n\r\ndata: d\n\r") == ["a", "b", "c", "d"]


def test_crlf_cut_between_reads_counts_once() -> None:
    frames = SSEFrames()
    assert frames.feed(b"data: a\r") == []
    assert frames.feed(b"") == []
    assert frames.feed(b"\ndata: b\r") == []
    assert frames.feed(b"\n\r") == ["a\nb"]  # a CR is a line end at once, so the frame is not held back
    assert frames.feed(b"\ndata: c\n\n") == ["c"]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_no_other_character_ends_a_line(character: str) -> None:
    assert texts(f"data: a{character}b\n\n".encode()) == [f"a{character}b"]


def test_a_character_may_be_cut_anywhere() -> None:
    assert texts("data: é😀\u2028\n\n".encode()) == ["é😀\u2028"]


def test_only_a_leading_byte_order_mark_is_skipped() -> None:
    mark = "\ufeff".encode()
    assert texts(mark + b"data: a\n\n" + mark + b"data: lost\n\ndata: " + mark + b"b\n\n") == ["a", "\ufeffb"]
    assert texts(mark) == []


def test_one_space_is_removed() -> None:
    assert texts(b"data:a\n\ndata: a\n\ndata:  a\n\ndata:\ta\n\n") == ["a", "a", " a", "\ta"]


def test_other_fields_and_comments_are_skipped_whatever_their_bytes() -> None:
    stream = b":\xff\nevent: e\nid: 1\nretry: 5\ndatas: x\n data: x\nDATA: x\nfoo\ndata: a\nevent: f\n\n"
    assert texts(stream) == ["a"]


@pytest.mark.parametrize("stream", [b"", b"\n\n\n", b"data\n\n", b"data:\n\ndata: \n\n", b"id: 1\n\n"])
def test_frames_without_data_are_skipped(stream: bytes) -> None:
    assert texts(stream) == []


@pytest.mark.parametrize("stream", [b"data: a", b"data: a\n", b"data: a\r\n", b"data: a\nda"])
def test_close_gives_a_frame_that_lacks_its_blank_line(stream: bytes) -> None:
    frames = SSEFrames()
    assert frames.feed(stream) == []
    assert frames.close() == ["a"]
    assert frames.close() == []


def test_nothing_is_taken_after_close() -> None:
    frames = SSEFrames()
    frames.close()
    with pytest.raises(LocalProtocolError) as caught:
        frames.feed(b"data: a\n\n")
    assert caught.value.code == "closed"


def test_content_is_not_judged() -> None:
    assert texts(b"data: [DONE]\n\ndata: {oops\n\n") == ["[DONE]", "{oops"]


def test_bytearray_and_memoryview_are_bytes() -> None:
    frames = SSEFrames()
    assert frames.feed(bytearray(b"data: a\n")) == []
    assert frames.feed(memoryview(b"\n")) == ["a"]


@pytest.mark.parametrize("data", [b"\xff", b"\xed\xa0\xbd", b"\xc3"])
def test_data_that_is_not_utf8_is_an_error(data: bytes) -> None:
    frames = SSEFrames()
    assert frames.feed(b"data: one\n\ndata: a" + data + b"\n\ndata: never\n\n") == ["one"]
    with pytest.raises(RemoteProtocolError) as caught:
        frames.feed(b"")
    assert caught.value.code == "bad_utf8"
    assert "Frame 2" in str(caught.value)
    assert "byte 1" in str(caught.value)
    assert caught.value.__context__ is None


def test_an_error_with_nothing_before_it_is_raised_at_once_and_again() -> None:
    frames = SSEFrames()
    with pytest.raises(RemoteProtocolError) as first:
        frames.feed(b"data: \xff\n\n")
    calls: list[Callable[[], list[str]]] = [lambda: frames.feed(b"data: a\n\n"), frames.close, frames.close]
    for call in calls:
        with pytest.raises(RemoteProtocolError) as again:
            call()
        assert again.value is first.value


def test_close_raises_the_error_that_was_held_back() -> None:
    frames = SSEFrames()
    assert frames.feed(b"data: a\n\ndata: \xff\n\n") == ["a"]
    with pytest.raises(RemoteProtocolError):
        frames.close()


@pytest.mark.parametrize("tail", [b"data: \xe2\x80", b"data: \xff\n"])
def test_a_last_frame_that_is_not_utf8_is_an_error(tail: bytes) -> None:
    frames = SSEFrames()
    frames.feed(tail)
    with pytest.raises(RemoteProtocolError) as caught:
        frames.close()
    assert caught.value.code == "bad_utf8"


def outcome(chunks: list[bytes], limit: int) -> tuple[list[str], str]:
    frames, got = SSEFrames(limit), []
    try:
        for chunk in chunks:
            got += frames.feed(chunk)
        got += frames.close()
    except RemoteProtocolError as error:
        return got, error.code
    return got, ""


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: 4567890\n\n", (["4567890"], "")),
        (b"data: ok\n\ndata: 45678901\n\n", (["ok"], "frame_too_large")),
        (b"data: 456789012", ([], "frame_too_large")),
        (b": comments count while they are read\n\n", ([], "frame_too_large")),
        (b": comment\n: comment\n: comment\n\n", ([], "")),
        (b"data: 12345\ndata: 1\n\n", (["12345\n1"], "")),
        (b"data: 12345\ndata: 12\n\n", ([], "frame_too_large")),
        (b"data\n" * 9 + b"\n", (["\n" * 8], "")),
        (b"data\n" * 20 + b"\n", ([], "frame_too_large")),
        (b"data: 12345\nevent: 1\n\n", ([], "frame_too_large")),
        (b"data: a\n\n" * 20, (["a"] * 20, "")),
    ],
)
def test_the_limit_counts_held_data_and_the_line_being_read(
    stream: bytes, expected: tuple[list[str], str]
) -> None:
    assert outcome([stream], 13) == expected
    assert outcome([bytes([byte]) for byte in stream], 13) == expected


def test_the_limit_is_named_in_the_error_and_10_mib_by_default() -> None:
    assert MAX_FRAME_BYTES == 10 * 1024 * 1024
    frames = SSEFrames()
    assert frames.feed(b"x" * MAX_FRAME_BYTES) == []
    with pytest.raises(RemoteProtocolError) as caught:
        frames.feed(b"x")
    assert caught.value.code == "frame_too_large"
    assert str(MAX_FRAME_BYTES) in str(caught.value)
    assert "max_frame_bytes" in caught.value.hint


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_a_configuration_error(limit: int) -> None:
    with pytest.raises(ConfigurationError):
        SSEFrames(limit)


def test_a_long_frame_in_single_bytes_is_linear() -> None:
    # Byte by byte this takes under a second; with quadratic joins, minutes.
    frames = SSEFrames()
    for byte in b"data: " + b"x" * (1 << 19):
        frames.feed(bytes((byte,)))
    assert frames.feed(b"\n\n") == ["x" * (1 << 19)]
