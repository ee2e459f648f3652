"""The findings about whole runs: what must stay without them, and that their cost is linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agui_reasoning import Run, check_events
from agui_reasoning.consumer._history import Pieces
from agui_reasoning.crypto import KeyRing
from agui_reasoning.emitter import Visibility
from tests.conformance import corpus
from tests.recordings.test_recordings import ALL, decode
from tests.support.growth import assert_linear
from tests.support.play import FINISHED, STARTED, Json, call, ev, text, thought, value
from tests.support.recordings import load

KEYS = KeyRing({"k": bytes(32)})
NEW = {"missing_value", "copied_reasoning", "repeated_reasoning", "result_renamed", "late_reasoning_end"}
LONG = "The user asks about the weather in Bergen."
INPUT = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
VISIBILITIES: tuple[Visibility, ...] = ("full", "summary", "hidden")


def codes(events: list[Any]) -> set[str]:
    return NEW & {finding.code for finding in check_events(events)}


@pytest.mark.parametrize(("api", "file"), ALL)
def test_an_emitted_recording_has_none(api: str, file: Any) -> None:
    exchange = load(file)
    names = {name: exchange[name] for name in ("api", "provider", "model")}
    deltas = decode(exchange)
    for visibility in VISIBILITIES:
        run = Run(INPUT, visibility=visibility, keys=KEYS, on_warning=lambda warning: None, **names)
        events = run.start() + [event for delta in deltas for event in run.receive(delta)]
        assert codes([*events, *run.finish()]) == set(), visibility


@pytest.mark.parametrize("name", corpus.names())
def test_a_conformance_stream_has_none(name: str) -> None:
    assert codes(corpus.stream(name).events) == set()


def hinted(event: Json, response: str) -> Json:
    return {**event, "metadata": {"agui-reasoning": {"response": response}}}


def test_reasoning_that_ends_before_the_text_or_after_other_text_is_not_late() -> None:
    start, *grew, end = thought("r", LONG)
    other = text("m", "a")
    assert codes([STARTED, start, *grew, end, *other, FINISHED]) == set()
    assert codes([STARTED, start, *grew, text("m")[0], end, *text("m")[1:], FINISHED]) == set()
    assert codes([STARTED, *other, start, *grew, end, FINISHED]) == set()
    subagent = [{**event, "subagentRunId": "S"} for event in (start, *grew, end)]
    announced = ev("SUBAGENT_STARTED", subagentRunId="S", name="s")
    done = ev("SUBAGENT_FINISHED", subagentRunId="S")
    assert codes([STARTED, announced, *subagent[:-1], *other, subagent[-1], done, FINISHED]) == set()
    one, two = hinted(start, "1"), hinted(other[0], "2")
    assert codes([STARTED, one, *grew, two, *other[1:], end, FINISHED]) == set()
    same = hinted(other[0], "1")
    assert codes([STARTED, one, *grew, same, *other[1:], end, FINISHED]) == {"late_reasoning_end"}


def test_a_truncated_or_failed_run_still_tells_what_leaked() -> None:
    leak = [STARTED, *thought("r", LONG), ev("CUSTOM", name="n", value=LONG)]
    assert codes(leak) == {"copied_reasoning"}
    assert codes([STARTED, *thought("r", LONG), *text("m"), *thought("s", LONG)]) == {"repeated_reasoning"}
    assert codes([STARTED, *thought("r", LONG), *call("c", parentMessageId="m")]) == set()


def test_a_copy_under_the_name_of_reasoning_is_told_once() -> None:
    events = [STARTED, ev("RAW", event={"reasoning_content": LONG}), *thought("r", LONG), FINISHED]
    assert [finding.code for finding in check_events(events)] == ["reasoning_in_raw"]


def test_a_finding_shows_neither_text_nor_value() -> None:
    sealed = "c2lnbmF0dXJlIG9mIGEgcHJvdmlkZXI="
    events = [STARTED, *thought("r", LONG), value("r", sealed), *text("m"), *thought("s", LONG)]
    events += [ev("RAW", event=[sealed, LONG]), FINISHED]
    findings = check_events(events)
    assert [finding.code for finding in findings] == ["repeated_reasoning", "copied_reasoning"]
    assert not any(LONG in repr(one) or sealed in repr(one) for one in findings)


class Read:
    """Counts the characters that are read from texts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        read = Pieces.read

        def counted(pieces: Pieces) -> str:
            result = read(pieces)
            self.count += len(result)
            return result

        monkeypatch.setattr(Pieces, "read", counted)


def many_results(number: int) -> list[Json]:
    """One long text, then messages, calls, results and state."""
    events = [STARTED, *thought("r", *["Hm. "] * number)]
    for turn in range(number):
        again = f"{LONG} {turn}"
        events += [
            *thought(f"r{turn}", again),
            *text(f"m{turn}"),
            *call(f"c{turn}", parentMessageId=f"m{turn}"),
        ]
        events += [ev("TOOL_CALL_RESULT", messageId=f"t{turn}", toolCallId=f"c{turn}", content="")]
        events += [ev("STATE_SNAPSHOT", snapshot={"a": again})]
    return [*events, FINISHED]


def many_values(number: int) -> list[Json]:
    """One message that is opened again and again, which is told, with values."""
    return [
        STARTED,
        *[event for turn in range(number) for event in [*thought("r"), value("r", f"{LONG} {turn}")]],
        FINISHED,
    ]


@pytest.mark.growth
@pytest.mark.parametrize("made", [many_results, many_values])
def test_the_cost_is_linear(made: Callable[[int], list[Json]]) -> None:
    assert_linear(made, check_events, 150)


def test_texts_are_read_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Read(monkeypatch)
    check_events(many_results(50))
    small, read.count = read.count, 0
    check_events(many_results(200))
    assert read.count < 5 * small
