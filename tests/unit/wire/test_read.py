from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import iter_events, iter_payloads, read_events, read_payloads

ONE, TWO = {"type": "A", "n": 1}, {"type": "B"}
FORMS = [
    b'data: {"type":"A","n":1}\n\ndata: {"type":"B"}\n\n',
    b'event: x\r\ndata: {"type":"A","n":1}\r\n\r\nevent: y\r\ndata: {"type":"B"}',
    b'\n\n: hello\n\ndata:{"type":"A","n":1}\n\nretry: 5\ndata:{"type":"B"}\n\n',
    b'id: 1\ndata: {"type":"A","n":1}\n\ndata: {"type":"B"}\n\n',
    b'retry: 1\rdata: {"type":"A","n":1}\r\rdata: {"type":"B"}\r\r',
    b'{"type":"A","n":1}\n{"type":"B"}\n',
    b'\n {"type":"A","n":1} \r\n\r\n{"type":"B"}',
    b'{\n "type": "A",\n "n": 1\n}\n{\n "type": "B"\n}\n',
    b'[{"type":"A","n":1},{"type":"B"}]',
    b' [\n {"type": "A", "n": 1} ,\n {"type": "B"}\n]\n',
]


def drain(items: Iterator[Any]) -> tuple[list[Any], RemoteProtocolError | None]:
    got: list[Any] = []
    try:
        for item in items:
            got.append(item)  # noqa: PERF402 -- what came before the error counts
    except RemoteProtocolError as error:
        assert error.__context__ is None  # noqa: PT017 -- both ways out are outcomes here
        return got, error
    return got, None


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("data", FORMS)
def test_every_form_is_told_apart(data: bytes, mark: bytes) -> None:
    assert read_events(mark + data) == [ONE, TWO]
    assert read_payloads(mark + data) == [ONE, TWO]


@pytest.mark.parametrize("data", [b'{"type":"A","n":1}', b'{\n  "type": "A",\n  "n": 1\n}\n'])
def test_one_object_is_a_list_of_one(data: bytes) -> None:
    assert read_events(data) == [ONE]
    assert read_payloads(data) == [ONE]


@pytest.mark.parametrize("data", [b"", b" \n\t", b"[]", b" [ ] ", b": only a comment\n\n", b"\xef\xbb\xbf"])
def test_nothing_gives_nothing(data: bytes) -> None:
    assert read_events(data) == []
    assert read_payloads(data) == []


def test_done_stays_a_string_among_payloads_and_is_no_event() -> None:
    data = b'data: {"type":"B"}\n\ndata: [DONE]\n\n'
    assert read_payloads(data) == [TWO, "[DONE]"]
    got, error = drain(iter_events(data))
    assert got == [TWO]
    assert error is not None
    assert error.code == "bad_json"


def test_payloads_may_be_any_json() -> None:
    assert read_payloads(b'1\n"two"\nnull\n[3]') == [1, "two", None, [3]]
    assert read_payloads(b"data: 1\n\ndata: [2]\n\n") == [1, [2]]


def test_lone_surrogates_and_line_separators_pass_in_every_form() -> None:
    text = '{"type":"\\ud83d","d":"\u2028\u0085"}'.encode()
    expected = {"type": "\ud83d", "d": "\u2028\u0085"}
    for data in (text, b"[%b]" % text, b"data: %b\n\n" % text, b"%b\n%b" % (b"{}", text)):
        assert read_payloads(data)[-1] == expected


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"type":"B"}\n{"type":', "bad_json"),
        (b'{"type":"B"}\n{oops}\n{"type":"C"}', "bad_json"),
        (b'{"type":"B"}\nNaN', "bad_json"),
        (b'[{"type":"B"},', "bad_json"),
        (b'[{"type":"B"}', "bad_json"),
        (b'[{"type":"B"} {"type":"C"}]', "bad_json"),
        (b'[{"type":"B"}] trailing', "bad_json"),
        (b'[{"type":"B"},]', "bad_json"),
        (b'data: {"type":"B"}\n\ndata: {', "bad_json"),
        (b'data: {"type":"B"}\n\ndata: \xff\n\n', "bad_utf8"),
        (b'{"type":"B"}\n{"type":"\xff"}', "bad_utf8"),
        (b'{"type":"B"}\n\xff', "bad_utf8"),
        (b'[{"type":"B"},{"type":"\xff"}]', "bad_utf8"),
    ],
)
def test_what_was_good_before_an_error_is_yielded(data: bytes, code: str) -> None:
    for items in (iter_payloads(data), iter_events(data)):
        got, error = drain(items)
        assert got == [TWO]
        assert error is not None
        assert error.code == code
    with pytest.raises(RemoteProtocolError):
        read_payloads(data)


@pytest.mark.parametrize("data", [b"<html>", b"hello: x", b"\xff", b"[", b"data", b"{"])
def test_what_has_no_known_form_is_an_error(data: bytes) -> None:
    got, error = drain(iter_payloads(data))
    assert got == []
    assert error is not None
    assert error.code in {"bad_json", "bad_utf8"}


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"B"}\n3',
        b'[{"type":"B"},{}]',
        b'{"type":"B"}{"type":""}',
        b'data: {"type":"B"}\n\ndata: []\n\n',
    ],
)
def test_events_need_an_object_with_a_type(data: bytes) -> None:
    got, error = drain(iter_events(data))
    assert got == [TWO]
    assert error is not None
    assert error.code == "bad_frame"


def test_a_recording_has_no_frame_limit() -> None:
    data = b'data: {"type":"A","d":"%b"}\n\n' % (b"x" * (11 * 1024 * 1024))
    assert len(read_events(data)) == 1
    assert len(read_payloads(data)) == 1


def test_errors_carry_no_content() -> None:
    for data in (b'{"a":"the-hidden', b"[the-hidden", b'data: "the-hidden\n\n', b'"the-hidden\xff'):
        _, error = drain(iter_payloads(data))
        assert error is not None
        assert "the-hidden" not in repr(error) + str(error) + repr(vars(error))
