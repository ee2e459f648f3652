from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning.errors import LocalProtocolError, RemoteProtocolError
from agui_reasoning.wire import SSEDecoder

SECRET = "the-hidden-thought"
GOOD = b'data: {"type": "RUN_ERROR", "message": "m"}\n\n'
EVENT = {"type": "RUN_ERROR", "message": "m"}


def refused(data: bytes) -> RemoteProtocolError:
    with pytest.raises(RemoteProtocolError) as caught:
        SSEDecoder().feed(data)
    error = caught.value
    assert SECRET not in repr(error) + str(error) + repr(vars(error))
    assert error.__cause__ is None
    assert error.__context__ is None
    assert error.event_type is None
    return error


def test_events_come_as_dicts_in_order() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(GOOD + b'data: {"type":"X","a":[1,null]}\n\n') == [
        EVENT,
        {"type": "X", "a": [1, None]},
    ]
    assert decoder.close() == []


def test_json_over_several_data_lines_is_joined() -> None:
    assert SSEDecoder().feed(b'event: x\ndata: {"type":\ndata: "A"}\nid: 4\n\n') == [{"type": "A"}]


def test_unknown_types_and_members_pass() -> None:
    assert SSEDecoder().feed(b'data: {"type":"FUTURE","delta":null}\n\n') == [
        {"type": "FUTURE", "delta": None}
    ]


def test_lone_surrogate_escapes_are_accepted() -> None:
    events = SSEDecoder().feed(
        b'data: {"type":"A","delta":"\\ud83d"} \n\ndata:  {"type":"B","d":"\\ude00"}\n\n'
    )
    assert events == [{"type": "A", "delta": "\ud83d"}, {"type": "B", "d": "\ude00"}]


def test_deep_nesting_that_only_the_slow_parser_takes_is_accepted() -> None:
    deep = b"[" * 250 + b"]" * 250
    assert len(SSEDecoder().feed(b'data: {"type":"A","d":%b}\n\n' % deep)) == 1


@pytest.mark.parametrize(
    "text",
    [
        b'{"type":"the-hidden-thought"',
        b"the-hidden-thought",
        b'{"type":"A"} the-hidden-thought',
        b'{"type":"A","d":"\\ud83d"} the-hidden-thought',
        b'{"type":"A","the-hidden-thought":NaN}',
        b'{"type":"A","the-hidden-thought":Infinity}',
        b'{"type":"A","the-hidden-thought":-Infinity}',
        b'{"type":"\\ud83d","the-hidden-thought":NaN}',
        b'{"type":"A","the-hidden-thought":' + b"9" * 5000 + b"}",
        b'{"type":"A","the-hidden-thought":' + b"[" * 100_000 + b"}",
        b'{"type":"A",}',
        b"{'type':'A'}",
        b"[DONE]",
        b" ",
    ],
)
def test_what_is_not_json_is_an_error(text: bytes) -> None:
    assert refused(b"data: " + text + b" \n\n").code == "bad_json"


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"null",
        b"3",
        b'"the-hidden-thought"',
        b"{}",
        b'{"type":""}',
        b'{"type":null,"a":"the-hidden-thought"}',
        b'{"type":3}',
        b'{"type":["A"]}',
        b'[{"type":"A"}]',
    ],
)
def test_what_is_not_an_object_with_a_type_is_an_error(text: bytes) -> None:
    error = refused(b"data: " + text + b"\n\n")
    assert error.code == "bad_frame"
    assert "Frame 1" in str(error)


def test_bad_utf8_and_the_limit_are_errors() -> None:
    assert refused(b'data: {"type":"the-hidden-thought\xff"}\n\n').code == "bad_utf8"
    with pytest.raises(RemoteProtocolError) as caught:
        SSEDecoder(max_frame_bytes=20).feed(b'data: {"type":"the-hidden-thought')
    assert caught.value.code == "frame_too_large"


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"data: {\n\n", "bad_json"),
        (b"data: {}\n\n", "bad_frame"),
        (b"data: \xff\n\n", "bad_utf8"),
        (b"data: " + b"x" * 100, "frame_too_large"),
    ],
)
def test_events_before_an_error_in_the_same_read_are_returned_first(bad: bytes, code: str) -> None:
    decoder = SSEDecoder(max_frame_bytes=60)
    assert decoder.feed(GOOD + GOOD + bad + GOOD) == [EVENT, EVENT]
    with pytest.raises(RemoteProtocolError) as caught:
        decoder.feed(GOOD)
    assert caught.value.code == code
    assert "Frame 3" in str(caught.value)
    for call in (decoder.close, lambda: decoder.feed(b"")):
        with pytest.raises(RemoteProtocolError) as again:
            call()
        assert again.value is caught.value


def test_a_bad_frame_is_named_before_a_later_fault_of_the_framing() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(GOOD + b"data: {}\n\n" + b"data: \xff\n\n") == [EVENT]
    with pytest.raises(RemoteProtocolError) as caught:
        decoder.close()
    assert caught.value.code == "bad_frame"


def test_close_parses_a_final_frame_without_its_blank_line() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(GOOD.rstrip()) == []
    assert decoder.close() == [EVENT]
    assert decoder.close() == []


def test_close_on_a_cut_frame_says_that_the_stream_was_cut() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(GOOD + b'data: {"type":"the-hid') == [EVENT]
    with pytest.raises(RemoteProtocolError) as caught:
        decoder.close()
    assert caught.value.code == "bad_json"
    assert "lost" in caught.value.hint


def test_nothing_is_taken_after_close() -> None:
    decoder = SSEDecoder()
    decoder.close()
    with pytest.raises(LocalProtocolError):
        decoder.feed(GOOD)


def test_two_decoders_share_nothing() -> None:
    one, two = SSEDecoder(), SSEDecoder()
    one.feed(b'data: {"type":')
    results: list[Any] = [two.feed(GOOD), one.feed(b'"A"}\n\n')]
    assert results == [[EVENT], [{"type": "A"}]]
