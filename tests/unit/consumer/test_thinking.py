from __future__ import annotations

import pytest

from agui_reasoning.compat import (
    ThinkingEndEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
    ThinkingUpgrader,
)
from agui_reasoning.errors import AGUIReasoningWarning
from tests.conformance.requirements import requirement
from tests.support.play import FINISHED, STARTED, Json, Played, ev, play

START, TEXT_START = ev("THINKING_START"), ev("THINKING_TEXT_MESSAGE_START")
CONTENT = ev("THINKING_TEXT_MESSAGE_CONTENT", delta="Hm")
TEXT_END, END = ev("THINKING_TEXT_MESSAGE_END"), ev("THINKING_END")
WHOLE = [START, TEXT_START, CONTENT, TEXT_END, END]


def upgrade(*events: Json) -> tuple[list[Json], list[str]]:
    warnings: list[str] = []
    numbers = iter(f"id-{n}" for n in range(1, 99))
    upgrader = ThinkingUpgrader(warnings.append, new_id=numbers.__next__)
    return [upgraded for event in events for upgraded in upgrader.receive(event)], warnings


@requirement("C6", "V7")
def test_thinking_becomes_reasoning_and_each_translation_is_told() -> None:
    events, warnings = upgrade(*WHOLE)
    assert events == [
        {"type": "REASONING_START", "messageId": "id-1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "id-2", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "id-2", "delta": "Hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "id-2"},
        {"type": "REASONING_END", "messageId": "id-1"},
    ]
    assert len(warnings) == 5
    for warning, event, upgraded in zip(warnings, WHOLE, events, strict=True):
        assert event["type"] in warning
        assert upgraded["type"] in warning


def test_a_title_is_dropped_and_quoted() -> None:
    events, warnings = upgrade(ev("THINKING_START", title="Planning"))
    assert events == [{"type": "REASONING_START", "messageId": "id-1"}]
    assert "'Planning'" in warnings[1]


@requirement("V6")
def test_a_producers_own_id_is_overwritten() -> None:
    events, _ = upgrade(ev("THINKING_TEXT_MESSAGE_START", messageId="mine"))
    assert events[0]["messageId"] == "id-1"


@requirement("V8")
@pytest.mark.parametrize("orphan", [CONTENT, TEXT_END, END], ids=lambda event: event["type"])
def test_what_continues_nothing_gets_an_id_that_is_told_and_fails(orphan: Json) -> None:
    events, warnings = upgrade(orphan)
    assert events[0]["messageId"] == "id-1"
    assert any("generated ID 'id-1'" in warning for warning in warnings)
    assert play(orphan).code == "not_open"


@requirement("V8")
def test_content_after_the_end_and_an_unclosed_first_phase_fail() -> None:
    assert play(START, TEXT_START, TEXT_END, CONTENT).code == "not_open"
    played = play(START, START, END)
    assert (played.code, played.types.count("REASONING_START")) == ("left_open", 2)


@requirement("V8")
def test_the_phase_outlives_a_run_but_not_the_stream() -> None:
    assert Played(STARTED, START, ev("RUN_ERROR", message="x"), STARTED, END).code == "not_open"
    upgrader = ThinkingUpgrader(lambda warning: None, new_id=iter(["a", "b"]).__next__)
    upgrader.receive(START)
    assert upgrader.close() == []
    assert upgrader.receive(END)[0]["messageId"] == "b"


@requirement("V9")
def test_text_needs_no_span_and_several_texts_are_several_messages() -> None:
    assert play(TEXT_START, CONTENT, TEXT_END).held == [("id-1", "reasoning", "Hm")]
    played = play(START, TEXT_START, CONTENT, TEXT_END, TEXT_START, CONTENT, TEXT_END, END)
    assert [content for _, _, content in played.held] == ["Hm", "Hm"]
    assert len({name for name, _, _ in played.held}) == 2


@requirement("V10")
def test_other_members_are_stripped_and_other_types_dropped() -> None:
    played = play(START, {**TEXT_START, "signature": "SEAL"}, CONTENT, TEXT_END, END, ev("THINKING_CHUNK"))
    assert played.warned("REASONING_MESSAGE_START/signature")
    assert played.warned("THINKING_CHUNK", "dropped")
    assert played.messages == [{"id": "id-2", "role": "reasoning", "content": "Hm"}]


@requirement("V11")
def test_the_translation_comes_before_what_drops_unknown_events() -> None:
    assert "REASONING_MESSAGE_CONTENT" in play(*WHOLE).types


def test_models_are_taken_and_other_events_pass_unchanged() -> None:
    models = [
        ThinkingStartEvent(title="T"),
        ThinkingTextMessageStartEvent(),
        ThinkingTextMessageContentEvent(delta="Hm"),
        ThinkingTextMessageEndEvent(),
        ThinkingEndEvent(timestamp=1),
    ]
    assert models[0].model_dump(by_alias=True) == {"type": "THINKING_START", "title": "T"}
    upgrader = ThinkingUpgrader(lambda warning: None)
    types = [upgrader.receive(model)[0]["type"] for model in models]
    assert types == [event["type"] for event in upgrade(*WHOLE)[0]]
    other = ev("CUSTOM", name="n", value=None)
    assert upgrader.receive(other) == [other]
    assert upgrader.receive(other)[0] is not other
    assert Played(STARTED, *models, FINISHED).held[0][2] == "Hm"  # type: ignore[arg-type]


def test_without_a_listener_python_warns() -> None:
    with pytest.warns(AGUIReasoningWarning, match="THINKING_END"):
        ThinkingUpgrader().receive(START | {"type": "THINKING_END"})
