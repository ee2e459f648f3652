"""Test the upgrader's options; `tests/unit/consumer/test_thinking.py` tests the translation."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ReasoningMessageStartEvent

from agui_reasoning.compat import ThinkingStartEvent, ThinkingUpgrader
from tests.support.play import FINISHED, STARTED, Json, ev, play, thought

START, TEXT_START = ev("THINKING_START"), ev("THINKING_TEXT_MESSAGE_START")
CONTENT = ev("THINKING_TEXT_MESSAGE_CONTENT", delta="Hm")
TEXT_END, END = ev("THINKING_TEXT_MESSAGE_END"), ev("THINKING_END")


def upgrade(*events: Any, **options: Any) -> tuple[list[Json], list[str]]:
    warnings: list[str] = []
    numbers = iter(range(1, 99))
    upgrader = ThinkingUpgrader(warnings.append, new_id=lambda: f"id-{next(numbers)}", **options)
    return [upgraded for event in events for upgraded in upgrader.receive(event)], warnings


def repaired(*events: Json) -> list[Json]:
    return upgrade(*events, repair=True)[0]


def span(name: str, *inside: Json) -> list[Json]:
    return [ev("REASONING_START", messageId=name), *inside, ev("REASONING_END", messageId=name)]


def test_content_without_an_opener_gets_one() -> None:
    assert repaired(CONTENT, CONTENT, TEXT_END) == thought("id-1", "Hm", "Hm")


@pytest.mark.parametrize("stray", [TEXT_END, END], ids=lambda event: event["type"])
def test_an_end_of_nothing_is_left_out(stray: Json) -> None:
    events, warnings = upgrade(stray, stray, repair=True)
    assert events == []
    assert len(warnings) == 2
    assert all(stray["type"] in warning for warning in warnings)


def test_what_is_open_is_closed_before_the_next_of_its_kind() -> None:
    assert repaired(START, START, END) == [*span("id-1"), *span("id-2")]
    assert repaired(TEXT_START, TEXT_START, TEXT_END) == [*thought("id-1"), *thought("id-2")]


@pytest.mark.parametrize("end", [FINISHED, ev("RUN_ERROR", message="x")], ids=lambda event: event["type"])
def test_the_runs_end_closes_what_is_open(end: Json) -> None:
    events = repaired(STARTED, START, TEXT_START, CONTENT, end)
    assert events == [STARTED, *span("id-1", *thought("id-2", "Hm")), end]


def test_a_new_run_begins_with_nothing_open() -> None:
    assert repaired(STARTED, START, TEXT_START, STARTED, TEXT_END, END)[3:] == [STARTED]


def test_a_stream_that_just_stops_gets_no_ends() -> None:
    upgrader = ThinkingUpgrader(lambda warning: None, repair=True)
    upgrader.receive(START)
    assert upgrader.close() == []


def test_what_is_right_is_not_repaired() -> None:
    whole = [STARTED, START, TEXT_START, CONTENT, TEXT_END, TEXT_START, TEXT_END, END, FINISHED]
    assert upgrade(*whole, repair=True) == upgrade(*whole)
    # A message may outlive its span.
    assert upgrade(START, TEXT_START, END, CONTENT, TEXT_END, repair=True)[0] == [
        ev("REASONING_START", messageId="id-1"),
        ev("REASONING_MESSAGE_START", messageId="id-2", role="reasoning"),
        ev("REASONING_END", messageId="id-1"),
        *thought("id-2", "Hm")[1:],
    ]


def test_the_role_of_old_reasoning_is_mended_and_only_then() -> None:
    old = ev("REASONING_MESSAGE_START", messageId="r", role="assistant")
    events, warnings = upgrade(old, repair=True)
    assert events == thought("r")[:1]
    assert "assistant" in warnings[0]
    assert old["role"] == "assistant"
    assert upgrade(old) == ([old], [])
    novel = ev("REASONING_MESSAGE_START", messageId="r", role="novelty")
    assert upgrade(novel, repair=True) == ([novel], [])
    model = ReasoningMessageStartEvent(message_id="r", role="reasoning")
    assert upgrade(model, repair=True) == (thought("r")[:1], [])


def test_every_repair_makes_a_stream_that_is_accepted() -> None:
    assert play(*repaired(CONTENT, START, START, TEXT_END, FINISHED)[:-1]).code is None


def test_a_title_is_kept_as_metadata() -> None:
    events, warnings = upgrade(START | {"title": "Plan", "metadata": {"a": 1}}, keep_title=True)
    assert events[0]["metadata"] == {"a": 1, "agui-reasoning": {"title": "Plan"}}
    assert len(warnings) == 1
    assert "metadata" not in upgrade(ThinkingStartEvent(), keep_title=True)[0][0]


def test_only_losses_are_told_on_request_each_kind_once_and_titles_are_not_quoted() -> None:
    titled = START | {"title": "Secret"}
    _, warnings = upgrade(titled, CONTENT, CONTENT, titled, CONTENT, TEXT_END, END, tell="losses")
    assert len(warnings) == 2
    assert "title is dropped" in warnings[0]
    assert "generated ID 'id-2'" in warnings[1]
    assert upgrade(START, TEXT_START, CONTENT, TEXT_END, END, tell="losses")[1] == []
