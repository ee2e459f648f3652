"""Translate a log; `tests/property/test_compat.py` has the laws."""

from __future__ import annotations

import tracemalloc

import pytest

from agui_reasoning.compat import ArrayRewriter, LinesRewriter, Rewriter, ThinkingDowngrader, ThinkingUpgrader
from agui_reasoning.errors import RemoteProtocolError

START, UPGRADED = b'{"type": "THINKING_START"}', b'{"type":"REASONING_START","messageId":"s"}'
END = b'{"type": "THINKING_END"}'
CUSTOM = b'{ "type":"CUSTOM", "name": "]", "value": [{"a": "\\"}"}] }'


def upgrader(*, repair: bool = False) -> ThinkingUpgrader:
    return ThinkingUpgrader(lambda warning: None, new_id=lambda: "s", repair=repair)


def lines(body: bytes, *, repair: bool = False) -> bytes:
    return whole(LinesRewriter(upgrader(repair=repair)), body)


def array(body: bytes, *, repair: bool = False) -> bytes:
    return whole(ArrayRewriter(upgrader(repair=repair)), body)


def whole(rewriter: Rewriter, body: bytes) -> bytes:
    return rewriter.feed(body) + rewriter.close()


def failing(rewriter: Rewriter, body: bytes) -> tuple[bytes, str]:
    """What comes out before the error, and its code."""
    out = b""
    try:
        out += rewriter.feed(body)
        while rest := rewriter.close():
            out += rest
    except RemoteProtocolError as error:
        return out, error.code
    pytest.fail("there was no error")


def test_values_that_do_not_change_stay_and_white_space_between_them_does_not() -> None:
    body = b"\xef\xbb\xbf\n" + CUSTOM + b"\r\n\n  " + START + b"\t\n" + CUSTOM
    assert lines(body) == b"\n".join([CUSTOM, UPGRADED, CUSTOM, b""])
    body = b"\xef\xbb\xbf [\n  " + CUSTOM + b" ,\n  " + START + b"\n]\n\n"
    assert array(body) == b"[" + CUSTOM + b",\n" + UPGRADED + b"]\n"


def test_an_object_over_several_lines_becomes_one_line() -> None:
    assert lines(START.replace(b" ", b"\n  ") + b"\n" + START + b"\n") == (UPGRADED + b"\n") * 2


def test_a_value_that_is_left_out_leaves_no_line_and_no_comma() -> None:
    assert lines(END + b"\r\n" + CUSTOM + b"\n" + END + b"\n", repair=True) == CUSTOM + b"\n"
    body = b"[" + END + b", " + CUSTOM + b", " + END + b"]"
    assert array(body, repair=True) == b"[" + CUSTOM + b"]\n"
    assert array(b"[" + END + b", " + END + b"]", repair=True) == b"[]\n"


def test_values_that_are_added_stand_before_the_one_they_come_with() -> None:
    ended = b'{"type":"REASONING_END","messageId":"s"}'
    assert lines(START + b"\n" + START, repair=True) == b"\n".join([UPGRADED, ended, UPGRADED, b""])
    assert array(b"[" + START + b"," + START + b"]", repair=True) == (
        b"[" + b",\n".join([UPGRADED, ended, UPGRADED]) + b"]\n"
    )


@pytest.mark.parametrize("body", [b"", b" \n"])
def test_an_empty_log_stays_empty(body: bytes) -> None:
    assert lines(body) == b""
    assert array(b"[" + body + b"]") == b"[]\n"


@pytest.mark.parametrize(
    ("rest", "code"),
    [
        (b"5", "bad_frame"),
        (b"nul", "bad_json"),
        (b"}", "bad_json"),
        (b"[]", "bad_frame"),
        (b'{"type": "\xff"}', "bad_utf8"),
        (b'{"type": NaN}', "bad_json"),
        (b'{"type": "RAW"', "bad_json"),
        (b'{"type": 5}', "bad_frame"),
        (b'"text"', "bad_frame"),
    ],
)
def test_what_is_wrong_costs_nothing_before_it(rest: bytes, code: str) -> None:
    assert failing(LinesRewriter(upgrader()), START + b"\n" + rest) == (UPGRADED + b"\n", code)
    assert failing(ArrayRewriter(upgrader()), b"[" + START + b", " + rest + b"]") == (b"[" + UPGRADED, code)


@pytest.mark.parametrize(
    "body", [b"[", b"[" + START, b"[" + START + b",", b"[" + START + b"]]", b"", b"\xef"]
)
def test_an_array_that_is_cut_or_goes_on_behind_its_end_is_wrong(body: bytes) -> None:
    assert failing(ArrayRewriter(upgrader()), body)[1] == "bad_json"


def test_two_values_without_a_comma_are_wrong_and_the_first_one_is_kept() -> None:
    assert failing(ArrayRewriter(upgrader()), b"[" + START + b" " + END + b"]")[0] == b"[" + UPGRADED


def test_a_fault_is_raised_again() -> None:
    rewriter = LinesRewriter(upgrader())
    for _ in range(2):
        with pytest.raises(RemoteProtocolError, match="Item 1"):
            rewriter.feed(b"} ")


def test_whoever_listens_to_faults_gets_the_value_as_it_is() -> None:
    codes: list[str] = []
    rewriter = LinesRewriter(upgrader(), on_fault=lambda fault: codes.append(fault.code))
    assert whole(rewriter, b"5\n" + START) == b"5\n" + UPGRADED + b"\n"
    assert codes == ["bad_frame"]


def test_a_value_that_is_too_large_is_refused_before_it_is_complete() -> None:
    for rewriter in (
        LinesRewriter(upgrader(), max_value_bytes=20),
        ArrayRewriter(upgrader(), max_value_bytes=20),
    ):
        body = b'[{"type": "' if isinstance(rewriter, ArrayRewriter) else b'{"type": "'
        assert failing(rewriter, body + b"x" * 20)[1] == "frame_too_large"


def test_strings_are_followed_through_every_cut() -> None:
    text = b'{"a": "\\\\\\"}", "b": [{}]} "x" 5 [1]'
    values = b'{"a": "\\\\\\"}", "b": [{}]}\n"x"\n5\n[1]\n'
    for size in range(1, len(text)):
        rewriter = LinesRewriter(upgrader(), on_fault=lambda fault: None)
        found = [rewriter.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert b"".join([*found, rewriter.close()]) == values


def test_a_long_string_costs_one_look_and_no_more_memory_than_itself() -> None:
    size, piece = 8 << 20, b"x" * (1 << 12)
    rewriter = LinesRewriter(ThinkingDowngrader(on_warning=lambda warning: None))
    tracemalloc.start()
    rewriter.feed(b'{"type": "CUSTOM", "name": "n", "value": "')
    for _ in range(size // len(piece)):
        assert rewriter.feed(piece) == b""
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2 * size
    assert len(rewriter.feed(b'"}\n')) > size
