"""Test the short ways from a model to its frame: they write what the general encoder writes, or nothing."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    EventType,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.wire import SSEEncoder, form_of, frames_of, json_string, short_frame

MODELS: list[Any] = [
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
]
LINES = 'a\u2028b\u2029c\x85d\x00\x1f\x7f"\\/\n\r\t<é你😀'
TEXTS = st.one_of(st.text(), st.text(LINES), st.sampled_from(["\ud83d", "a\udc00b", "NaN", "Infinity", ""]))

each = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


class Word(str):
    __slots__ = ()


class Name(enum.StrEnum):
    A = "b"


def in_general(event: BaseEvent) -> bytes:
    """Encode a mapping, which has no short way."""
    return SSEEncoder().encode(event.model_dump(by_alias=True, warnings=False))


def event_of(model: Any, entity_id: str, text: str, **more: Any) -> Any:
    """Create an event whose members may be what validation does not let through."""
    event = model(message_id="m", tool_call_id="c", delta="d")
    event.__pydantic_extra__.clear()
    for name, value in {id_field(model): entity_id, "delta": text, **more}.items():
        setattr(event, name, value)
    return event


def id_field(model: Any) -> str:
    return "message_id" if "message_id" in model.model_fields else "tool_call_id"


@each
@given(entity_id=TEXTS, texts=st.lists(TEXTS, min_size=2, max_size=4), subagent=st.none() | TEXTS)
def test_the_short_ways_write_what_the_general_encoder_writes(
    model: Any, entity_id: str, texts: list[str], subagent: str | None
) -> None:
    encode = SSEEncoder().encode
    for text in texts:
        event = event_of(model, entity_id, text, subagent_run_id=subagent)
        assert encode(event) == in_general(event)


OTHERS: list[dict[str, Any]] = [
    {"timestamp": 0},
    {"timestamp": False},
    {"metadata": {}},
    {"metadata": {"a": float("inf")}},
    {"raw_event": False},
    {"odd": None},
    {"odd": 1},
    {"delta": Word("a")},
    {"delta": Name.A},
    {"delta": EventType.CUSTOM},
    {"delta": None},
    {"delta": 7},
    {"message_id": None, "tool_call_id": None},
    {"message_id": Word("m"), "tool_call_id": Word("m")},
    {"subagent_run_id": Word("a")},
    {"subagent_run_id": 1},
    {"type": EventType.CUSTOM},
    {"type": "TEXT_MESSAGE_CONTENT"},
    {"delta": "\ud83d"},
    {"role": "assistant", "name": "n", "tool_call_name": "n"},
]


@each
@pytest.mark.parametrize("more", OTHERS, ids=str)
def test_an_event_is_written_alike_alone_and_after_one_that_is_almost_the_same(
    model: Any, more: dict[str, Any]
) -> None:
    before, event = (event_of(model, "m", "t", **members) for members in ({}, more))
    for stream in ([event], [before, event], [event, event], [before, before, event, before, event]):
        encode = SSEEncoder().encode
        assert [written(encode, one) for one in stream] == [written(in_general, one) for one in stream]


def written(encode: Any, event: Any) -> Any:
    try:
        return encode(event)
    except Exception as error:
        return str(error)


@pytest.mark.parametrize("more", [{"odd": 1}, {"delta": Word("a")}, {"metadata": {"a": 1.5}}, {"type": "x"}])
def test_what_needs_conversion_has_no_short_frame(more: dict[str, Any]) -> None:
    assert short_frame(event_of(TextMessageContentEvent, "m", "t", **more)) is None


def test_a_subclass_takes_the_general_way() -> None:
    class Louder(ReasoningMessageContentEvent):
        loud: bool = True

    event = Louder(message_id="m", delta="d")
    assert SSEEncoder().encode(event) == (
        b'data: {"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"d","loud":true}\n\n'
    )


def test_an_encoder_keeps_nothing_of_the_callers_events() -> None:
    encode = SSEEncoder().encode
    event = event_of(TextMessageContentEvent, "m", "One")
    encode(event)
    event.message_id, event.delta = "other", "Two"
    assert encode(event) == in_general(event)


def test_the_form_of_a_frame_has_a_place_for_its_text() -> None:
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "100 %b", "delta": "d"}
    assert form_of(event) == b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"100 %%b","delta":%b}\n\n'
    assert form_of(event) % json_string(LINES) == SSEEncoder().encode(event | {"delta": LINES})
    assert json_string(LINES) in SSEEncoder().encode(event | {"delta": LINES})


def test_ids_with_percent_signs_are_written_as_they_are() -> None:
    encode = SSEEncoder().encode
    events = [event_of(TextMessageContentEvent, "100 %b %%", text) for text in ("One", "Two", "50 %")]
    assert [encode(event) for event in events] == [in_general(event) for event in events]


EVENTS: list[Any] = [
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": LINES},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\ud83d"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "metadata": {"a": ["b", None, 1e16]}},
    {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "data: \n\ndata: "},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"a": 0.5}},
    TextMessageContentEvent(message_id="m", delta="d"),
]


@given(events=st.lists(st.sampled_from(EVENTS)))
def test_the_frames_of_several_events_are_those_of_each(events: list[Any]) -> None:
    assert frames_of(events) == b"".join(frames_of([event]) for event in events)
    assert frames_of(events).count(b"\n\n") == frames_of(events).count(b"\n") // 2 == len(events)


@pytest.mark.parametrize("event", [EVENTS[0], EVENTS[1], EVENTS[3], EVENTS[5]], ids=repr)
def test_the_frame_of_an_event_is_that_of_the_encoder(event: Any) -> None:
    assert frames_of([event]) == SSEEncoder().encode(event)
