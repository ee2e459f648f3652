"""Translate one frame; `tests/property/test_compat.py` has the laws for whole bodies."""

from __future__ import annotations

import pytest

from agui_reasoning.compat import SSERewriter, ThinkingDowngrader, ThinkingUpgrader
from agui_reasoning.errors import RemoteProtocolError
from tests.support.play import Json

START = b'data: {"type": "THINKING_START"}'
UPGRADED = b'data: {"type":"REASONING_START","messageId":"s"}'
CONTENT = b'{"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "x"}'
OPENED = b'{"type":"REASONING_MESSAGE_START","messageId":"s","role":"reasoning"}'
UPGRADED_CONTENT = b'{"type":"REASONING_MESSAGE_CONTENT","delta":"x","messageId":"s"}'


def rewriter(*, repair: bool = False, **options: object) -> SSERewriter:
    upgrader = ThinkingUpgrader(lambda warning: None, new_id=lambda: "s", repair=repair)
    return SSERewriter(upgrader, **options)  # type: ignore[arg-type]


def rewrite(body: bytes, *, repair: bool = False) -> bytes:
    machine = rewriter(repair=repair)
    return machine.feed(body) + machine.close()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_frame_keeps_its_line_ends_its_comments_and_its_fields(end: bytes) -> None:
    frame = [b"id: 7", b": why", START, b"retry: 3", b"", b""]
    expected = [b"id: 7", b": why", UPGRADED, b"retry: 3", b"", b""]
    assert rewrite(end.join(frame)) == end.join(expected)


def test_an_event_field_that_names_the_type_names_the_new_one() -> None:
    assert rewrite(b"event: THINKING_START\n" + START + b"\n\n") == (
        b"event: REASONING_START\n" + UPGRADED + b"\n\n"
    )
    assert rewrite(b"event: message\n" + START + b"\n\n") == b"event: message\n" + UPGRADED + b"\n\n"


def test_an_event_over_several_data_lines_takes_the_place_of_the_first() -> None:
    assert rewrite(b'data: {"type":\nid: 1\ndata: "THINKING_START"}\n\n') == UPGRADED + b"\nid: 1\n\n"


def test_what_a_frame_becomes_beyond_one_event_are_frames_like_it() -> None:
    kind = b"event:THINKING_TEXT_MESSAGE_CONTENT\r\n"
    assert rewrite(b"id:1\r\n" + kind + b"data:" + CONTENT + b"\r\n\r\n", repair=True) == (
        b"id:1\r\nevent:REASONING_MESSAGE_START\r\ndata:" + OPENED + b"\r\n\r\n"
        b"event:REASONING_MESSAGE_CONTENT\r\ndata:" + UPGRADED_CONTENT + b"\r\n\r\n"
    )


def test_a_stream_that_just_stops_behind_a_frame_gets_what_two_frames_need() -> None:
    expected = b"data:" + OPENED + b"\n\ndata:" + UPGRADED_CONTENT + b"\n\n"
    assert rewrite(b"data:" + CONTENT, repair=True) == expected
    assert rewrite(START) == UPGRADED
    assert rewrite(START + b"\n") == UPGRADED + b"\n"


def test_a_frame_without_an_event_left_keeps_only_what_was_beside_it() -> None:
    stray = b'data: {"type": "THINKING_END"}\n\n'
    assert rewrite(stray + b": hi\n\n", repair=True) == b": hi\n\n"
    assert rewrite(b"id: 4\nevent: THINKING_END\n" + stray, repair=True) == b"id: 4\n\n"


def test_comments_between_frames_go_on_at_once_and_frames_when_they_are_complete() -> None:
    machine = rewriter()
    assert machine.feed(b": keep-alive\n") == b": keep-alive\n"
    assert machine.feed(b"\n" + START) == b"\n"
    assert machine.feed(b"\n: still\n") == b""
    assert machine.feed(b"\n") == UPGRADED + b"\n: still\n\n"


def test_what_is_no_event_is_a_fault_that_costs_nothing_before_it() -> None:
    machine = rewriter()
    good = b"data: [1]\n\n".replace(b"[1]", b'{"type": "RAW"}')
    assert machine.feed(good + b"data: [DONE]\n\n" + good) == good
    for _ in range(2):
        with pytest.raises(RemoteProtocolError) as caught:
            machine.feed(good)
        assert caught.value.code == "bad_json"


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"{", "bad_json"), (b"5", "bad_frame"), (b'"\xff"', "bad_utf8"), (b"x" * 99, "frame_too_large")],
)
def test_whoever_listens_to_faults_gets_the_frame_as_it_is(data: bytes, code: str) -> None:
    codes: list[str] = []
    machine = rewriter(on_fault=lambda fault: codes.append(fault.code), max_frame_bytes=80)
    body = b"data: " + data + b"\n\n"
    assert machine.feed(body + START + b"\n\n") == body + UPGRADED + b"\n\n"
    assert codes == [code]


def test_a_fault_of_the_translator_is_a_fault() -> None:
    codes: list[str] = []
    downgrader = ThinkingDowngrader(on_warning=lambda warning: None)
    machine = SSERewriter(downgrader, on_fault=lambda fault: codes.append(fault.code))
    body = b'data: {"type": "REASONING_MESSAGE_CHUNK", "delta": "x"}\n\n'
    assert machine.feed(body) == body
    assert codes == ["chunk_without_id"]


def test_a_frame_that_is_too_large_is_not_held() -> None:
    machine = rewriter(on_fault=lambda fault: None, max_frame_bytes=10)
    assert machine.feed(b"data: 456789") == b"data: 456789"
    assert machine.feed(b"more") == b"more"
    assert machine.feed(b"\nid: 5\n") == b"\nid: 5\n"


def test_events_are_counted_and_handed_out() -> None:
    seen: list[Json] = []
    machine = rewriter(repair=True, on_events=seen.extend)
    machine.feed(b"data:" + CONTENT + b'\n\ndata: {"type": "RAW", "event": 1}\n\n')
    assert [event["type"][:13] for event in seen] == ["REASONING_MES", "REASONING_MES", "RAW"]
    assert (machine.events, machine.changed, machine.written) == (2, 1, 3)


def test_a_lone_surrogate_survives_the_rewriting() -> None:
    body = b'data: {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "\\ud83d"}\n\n'
    assert b'"delta":"\\ud83d"' in rewrite(body)
