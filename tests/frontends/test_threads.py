"""Conversations through real front ends: what a provider must get back does come back, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agui_reasoning.deltas import ReasoningDelta, ToolCallDelta
from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.harness import FrontEnd, Thread, Visibility
from tests.frontends.provider import Break

if TYPE_CHECKING:
    from tests.support.browser import Faults

APIS = ("anthropic-weather", "openai-weather", "chat-weather")
UMBRELLA, BICYCLE, SCOOTER = "Umbrella or raincoat?", "And if I go by bicycle?", "And by scooter?"

every = pytest.mark.parametrize("front_end", FRONT_ENDS, ids=repr)


@every
@pytest.mark.parametrize(
    ("script", "visibility"),
    [
        *product(APIS, ["full", "hidden"]),
        ("anthropic-weather", "summary"),
        ("gemini-weather", "hidden"),
    ],
)
def test_two_turns_with_a_tool_call(
    start: Start, front_end: FrontEnd, script: str, visibility: Visibility
) -> None:
    thread = start(front_end, script, visibility=visibility)
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    assert [thread.missing(number) for number in (1, 2, 3)] == [[], [], []]
    assert len(thread.values(3)) > len(thread.values(2)) > 0
    assert thread.exposed() == []
    assert (thread.revealed() == []) is (visibility != "full")
    assert len(thread.thread_ids) == 1


@every
def test_a_page_is_loaded_again(start: Start, front_end: FrontEnd) -> None:
    thread = start(front_end, "anthropic-weather")
    thread.ask(UMBRELLA, requests=2)
    thread.reload()
    expect(thread.page.get_by_text("Answer 2:")).to_be_visible()
    thread.ask(BICYCLE)
    assert thread.missing(3) == []
    assert len(thread.thread_ids) == 1


@every
def test_an_answer_is_regenerated(start: Start, front_end: FrontEnd) -> None:
    thread = start(front_end, "anthropic-weather")
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    thread.regenerate()
    thread.ask(SCOOTER)
    assert thread.missing(4, answers=[1, 2]) == []
    assert thread.missing(5, answers=[1, 2, 4]) == []


@every
def test_an_earlier_question_is_edited(start: Start, front_end: FrontEnd) -> None:
    thread = start(front_end, "openai-weather")
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    thread.edit(0, "Umbrella or poncho?", requests=2)
    thread.ask(SCOOTER)
    assert thread.missing(4, answers=[]) == []
    assert thread.missing(5, answers=[4]) == []
    assert thread.missing(6, answers=[4, 5]) == []


@every
def test_a_hidden_thread_is_loaded_again_regenerated_and_edited(start: Start, front_end: FrontEnd) -> None:
    thread = start(front_end, "anthropic-weather", visibility="hidden")
    thread.ask(UMBRELLA, requests=2)
    thread.reload()
    thread.ask(BICYCLE)
    thread.regenerate()
    thread.edit(1, SCOOTER)
    assert [thread.missing(number, answers=[1, 2]) for number in (3, 4, 5)] == [[], [], []]
    assert (thread.exposed(), thread.revealed()) == ([], [])


@dataclass(frozen=True)
class Case:
    """An answer that breaks.

    Attributes:
        kind: Within what.
        after: After how many deltas of it.
        again: How many requests the next question takes. A call that is cut comes after words, so that the
            provider takes that question for a second one, and calls no tool.
        partly: The broken answers whose reasoning was complete, and may go back.
    """

    kind: type
    after: int
    again: int
    partly: tuple[int, ...] = ()


broken = pytest.mark.parametrize(
    "case",
    [Case(ReasoningDelta, 2, again=2), Case(ToolCallDelta, 3, again=1, partly=(1,))],
    ids=["thinking", "call"],
)


@every
@broken
def test_a_run_is_stopped(start: Start, faults: Faults, front_end: FrontEnd, case: Case) -> None:
    faults.expect("ERR_ABORTED")
    thread = start(front_end, "anthropic-weather")
    thread.provider.break_next(Break(case.kind, case.after, stays=True))
    front_end.ask(thread.page, UMBRELLA)
    thread.provider.wait_for(1)
    if case.partly:
        expect(thread.page.get_by_text("Answer 1:")).to_be_visible()
    thread.stop()
    _goes_on(thread, case)


@every
def test_a_run_is_stopped_before_the_arguments_of_a_call(
    start: Start, faults: Faults, front_end: FrontEnd
) -> None:
    faults.expect("ERR_ABORTED")
    thread = start(front_end, "openai-weather")
    thread.provider.break_next(Break(ToolCallDelta, after=1, stays=True))
    front_end.ask(thread.page, UMBRELLA)
    thread.provider.wait_for(1)
    thread.runs[0].wait_for("TOOL_CALL_START")
    thread.stop()
    thread.ask(UMBRELLA, requests=2)
    assert thread.missing(2, answers=[]) == []
    assert thread.missing(3, answers=[2]) == []


@every
@broken
def test_a_provider_fails(start: Start, front_end: FrontEnd, case: Case) -> None:
    thread = start(front_end, "anthropic-weather")
    thread.provider.break_next(Break(case.kind, case.after))
    thread.ask(UMBRELLA)
    expect(thread.page.get_by_role("alert")).to_be_visible()
    _goes_on(thread, case)


def _goes_on(thread: Thread, case: Case) -> None:
    """Ask again after a broken answer: nothing of it is sent back that was not complete."""
    thread.ask(UMBRELLA, requests=case.again)
    thread.ask(BICYCLE)
    last = case.again + 2
    assert len(thread.provider.requests) == last
    missing = [thread.missing(number, range(2, number), case.partly) for number in range(2, last + 1)]
    assert missing == [[]] * (last - 1)
    assert thread.exposed() == []
