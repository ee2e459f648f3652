"""Test the law *compat*: downgraded and upgraded again, a stream keeps text, order and structure.

And the law "bytes" for what rewrites streams: however they are cut, the same comes out, and what is not an
event that changes is what came in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_reasoning.compat import (
    ArrayRewriter,
    LinesRewriter,
    Rewriter,
    SSERewriter,
    ThinkingDowngrader,
    ThinkingUpgrader,
    Translator,
    translate,
)
from agui_reasoning.consumer import Conversation, Expander
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import SSEFrames, read_events
from tests.laws import law
from tests.support.play import FINISHED, STARTED, call, ev, text, thought
from tests.support.streams import valid_streams

Json = dict[str, Any]

KNOWN = ("THINKING_TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT")
patient = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def quiet(warning: str) -> None:
    pass


def upgrader(**options: Any) -> ThinkingUpgrader:
    numbers = count(1)
    return ThinkingUpgrader(quiet, new_id=lambda: f"id-{next(numbers)}", **options)


def downgrader(peer: str | None = None) -> ThinkingDowngrader:
    return ThinkingDowngrader(peer, quiet)


def upgraded_again(stream: list[Json]) -> list[Json]:
    return list(translate(translate(stream, downgrader()), upgrader()))


def expanded(stream: list[Json]) -> list[Json]:
    expander = Expander()
    return [event for chunk in stream for event in expander.receive(chunk)]


# -- downgraded and upgraded

deltas = st.sampled_from(["", "Hm", " ", "\u2028", "é", "☀"])


@st.composite
def spans(draw: st.DrawFn) -> list[Json]:
    """A span of messages, one after the other, explicit or as chunks."""
    name = f"s{draw(st.integers(0, 2))}"
    inside: list[Json] = []
    for number in range(draw(st.integers(0, 3))):
        texts = draw(st.lists(deltas, max_size=3))
        if draw(st.booleans()):
            inside += thought(f"r{number}", *texts)
        else:
            inside += [ev("REASONING_MESSAGE_CHUNK", messageId=f"r{number}", delta=delta) for delta in texts]
            inside += [ev("CUSTOM", name="n", value=number)]  # ends the chunks
    return [ev("REASONING_START", messageId=name), *inside, ev("REASONING_END", messageId=name)]


others = st.sampled_from([text("m1", "Hi"), call("c1", "{}"), [ev("STATE_SNAPSHOT", snapshot={})]])
tidy_streams = st.lists(st.one_of(spans(), others), max_size=5).map(
    lambda parts: [STARTED, *(event for part in parts for event in part), FINISHED]
)


def numbered(stream: list[Json]) -> list[Json]:
    """Ids of reasoning are numbered as they are opened, one series for spans and one for messages."""
    openers = {"REASONING_START": "span", "REASONING_MESSAGE_START": "message"}
    seen = {"span": 0, "message": 0}
    shown = []
    for event in stream:
        kind = event["type"]
        if kind in openers:
            seen[openers[kind]] += 1
        if kind.startswith("REASONING"):
            series = "message" if "MESSAGE" in kind else "span"
            event = {**event, "messageId": f"{series} {seen[series]}"}
        shown.append(event)
    return shown


@law("compat")
@given(tidy_streams)
def test_structure_comes_back_where_spans_and_messages_stand_in_a_row(stream: list[Json]) -> None:
    assert numbered(upgraded_again(stream)) == numbered(expanded(stream))


def reasoning_text(stream: list[Json]) -> str:
    return "".join(event["delta"] for event in stream if event["type"] in KNOWN)


def without_reasoning(stream: list[Json]) -> list[str]:
    return [
        event["type"]
        for event in stream
        if not event["type"].startswith(("REASONING", "THINKING", "SUBAGENT", "RUN_"))
    ]


@law("compat")
@patient
@given(valid_streams())
def test_text_and_order_come_back_whatever_runs_in_parallel(stream: list[Json]) -> None:
    today = [event for event in stream if not event["type"].startswith("THINKING")]
    whole, back = expanded(today), upgraded_again(today)
    assert reasoning_text(back) == reasoning_text(whole)
    assert without_reasoning(back) == without_reasoning(whole)


@law("compat")
@patient
@given(valid_streams())
def test_what_comes_back_is_a_stream_that_keeps_the_rules(stream: list[Json]) -> None:
    conversation = Conversation(on_warning=quiet)
    for event in upgraded_again([event for event in stream if not event["type"].startswith("THINKING")]):
        conversation.receive(event)
    conversation.end_of_stream()


@patient
@given(valid_streams())
def test_a_current_peer_gets_the_stream_as_it_is(stream: list[Json]) -> None:
    assert list(translate(stream, downgrader("1.0.0"))) == stream


# -- bytes

EVENTS: list[Json] = [
    STARTED,
    FINISHED,
    ev("THINKING_START"),
    ev("THINKING_TEXT_MESSAGE_START", timestamp=1),
    ev("THINKING_TEXT_MESSAGE_CONTENT", delta="\u2028é}]"),
    ev("THINKING_TEXT_MESSAGE_END"),
    ev("THINKING_END"),
    ev("REASONING_START", messageId="s"),
    *thought("r", 'a\\"'),
    ev("REASONING_END", messageId="s"),
    ev("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="r", encryptedValue="[{"),
    ev("CUSTOM", name="n", value=[{"a": "\\"}, [], None, -1.5e3]),
]
events = st.lists(st.sampled_from(EVENTS), max_size=8)
line_ends = st.sampled_from([b"\n", b"\r\n", b"\r"])
TRANSLATORS: dict[str, Callable[[], Translator]] = {
    "upgrade": upgrader,
    "repair": lambda: upgrader(repair=True),
    "downgrade": downgrader,
}


def dumped(draw: st.DrawFn, event: Json) -> bytes:
    separators, indent = draw(st.sampled_from([((",", ":"), None), ((", ", ": "), None), ((",", ": "), 1)]))
    ascii_only = draw(st.booleans())
    return json.dumps(event, separators=separators, indent=indent, ensure_ascii=ascii_only).encode()


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, bool]:
    """A frame with one line end throughout, and whether it holds an event."""
    end, space = draw(line_ends), draw(st.sampled_from([b"", b" "]))
    extra = st.sampled_from([b": hi", b":", b"id: 7", b"retry:9", b"event: THINKING_START", b"other"])
    lines: list[bytes] = draw(st.lists(extra, max_size=2))
    what = draw(st.sampled_from(["event", "event", "event", "nothing", "garbage"]))
    data = {"nothing": [], "garbage": [b"{oops", b"\xff"]}.get(what)
    if data is None:
        data = dumped(draw, draw(st.sampled_from(EVENTS))).split(b"\n")
    lines += [b"data:" + space + line for line in data]
    lines += draw(st.lists(extra, max_size=1))
    return b"".join(line + end for line in [*lines, b""]), what == "event"


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    body = b"".join(frame for frame, _ in draw(st.lists(frames(), max_size=6)))
    mark = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return mark + body[: draw(st.sampled_from([len(body), len(body), len(body) - 1, len(body) - 2, 9]))]


def rewritten(rewriter: Rewriter, pieces: list[bytes]) -> tuple[bytes, str | None]:
    """What comes out, and the code of the error, if there is one."""
    out = b""
    try:
        for piece in pieces:
            out += rewriter.feed(piece)
        while rest := rewriter.close():
            out += rest
    except RemoteProtocolError as error:
        return out, error.code
    return out, None


def pieces_of(body: bytes, cuts: list[int]) -> list[bytes]:
    marks = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    return [body[start:end] for start, end in pairwise(marks)]


cuts = st.lists(st.integers(0, 600), max_size=6)


@law("bytes")
@pytest.mark.parametrize("name", TRANSLATORS)
@pytest.mark.parametrize("limit", [1 << 20, 40])
@patient
@given(bodies(), cuts)
def test_any_cut_of_a_body_gives_the_same_bytes(name: str, limit: int, body: bytes, cuts: list[int]) -> None:
    def rewriter() -> SSERewriter:
        return SSERewriter(TRANSLATORS[name](), on_fault=lambda fault: None, max_frame_bytes=limit)

    whole = rewritten(rewriter(), [body])
    assert whole[1] is None
    assert rewritten(rewriter(), pieces_of(body, cuts)) == whole
    assert rewritten(rewriter(), [body[at : at + 1] for at in range(len(body))]) == whole


def parsed(body: bytes) -> list[Any]:
    """The events of a body, and the text of what is none."""
    reader = SSEFrames()
    found: list[Any] = []
    try:
        for texts in (lambda: reader.feed(body), reader.close):
            found += texts()
    except RemoteProtocolError:
        found.append("not UTF-8")
    return [_loaded(one) for one in found]


def _loaded(one: str) -> Any:
    try:
        return json.loads(one)
    except ValueError:
        return one


@pytest.mark.parametrize("name", TRANSLATORS)
@patient
@given(st.lists(frames().filter(lambda frame: b"\xff" not in frame[0]), max_size=6))
def test_a_reader_of_the_rewritten_body_finds_the_translated_events(
    name: str, sent: list[tuple[bytes, bool]]
) -> None:
    body = b"".join(frame for frame, _ in sent)
    out, error = rewritten(SSERewriter(TRANSLATORS[name](), on_fault=lambda fault: None), [body])
    assert error is None
    translator = TRANSLATORS[name]()
    expected: list[Any] = []
    for found in parsed(body):
        expected += translator.receive(found) if isinstance(found, dict) else [found]
    assert parsed(out) == expected


@patient
@given(bodies())
def test_a_body_in_which_nothing_changes_is_not_touched(body: bytes) -> None:
    body = body.replace(b"THINKING_", b"NOVELTY_")
    rewriter = SSERewriter(upgrader(), on_fault=lambda fault: None)
    assert rewritten(rewriter, [body]) == (body, None)
    assert rewriter.changed == 0


blanks = st.sampled_from([b"", b" ", b"\n", b"\r\n", b" \t\n\n"])


@st.composite
def arrays(draw: st.DrawFn) -> bytes:
    elements = [draw(blanks) + dumped(draw, event) + draw(blanks) for event in draw(events)]
    return draw(blanks) + b"[" + (b",".join(elements) or draw(blanks)) + b"]" + draw(blanks)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
    body = b"".join(dumped(draw, event) + end for event in draw(events))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + (body if draw(st.booleans()) else body.rstrip())


FORMS: dict[str, tuple[Any, Any]] = {"array": (ArrayRewriter, arrays()), "lines": (LinesRewriter, lines())}


@pytest.mark.parametrize("name", TRANSLATORS)
@pytest.mark.parametrize("form", FORMS)
@patient
@given(st.data())
def test_a_log_holds_the_translated_events_however_it_is_cut(
    name: str, form: str, data: st.DataObject
) -> None:
    make, logs = FORMS[form]
    log = data.draw(logs)
    whole, error = rewritten(make(TRANSLATORS[name]()), [log])
    assert error is None
    assert read_events(whole) == list(translate(read_events(log), TRANSLATORS[name]()))
    assert rewritten(make(TRANSLATORS[name]()), pieces_of(log, data.draw(cuts))) == (whole, None)
    assert rewritten(make(TRANSLATORS[name]()), [log[at : at + 1] for at in range(len(log))]) == (whole, None)


@pytest.mark.parametrize("form", FORMS)
@patient
@given(st.data())
def test_a_log_in_which_nothing_changes_says_what_it_said(form: str, data: st.DataObject) -> None:
    make, logs = FORMS[form]
    log = data.draw(logs)
    whole, error = rewritten(make(downgrader("1.0.0")), [log])
    assert (read_events(whole), error) == (read_events(log), None)


@pytest.mark.parametrize("form", FORMS)
@patient
@given(st.data())
def test_a_log_with_something_wrong_gives_the_same_however_it_is_cut(form: str, data: st.DataObject) -> None:
    make, logs = FORMS[form]
    log = data.draw(logs)
    at = data.draw(st.integers(0, len(log)))
    log = log[:at] + data.draw(st.sampled_from([b"}", b"]", b",", b'"', b"5", b"\xff", b""])) + log[at + 1 :]
    whole = rewritten(make(upgrader()), [log])
    assert rewritten(make(upgrader()), pieces_of(log, data.draw(cuts))) == whole
