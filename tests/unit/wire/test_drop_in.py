"""Test the drop-in for the official encoder: it writes the same, with two named differences."""

from __future__ import annotations

import ag_ui.encoder
import pytest
from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Event,
    EventType,
    RunAgentInput,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallStartEvent,
)
from hypothesis import given
from pydantic_core import PydanticSerializationError

from agui_reasoning.errors import LocalProtocolError
from agui_reasoning.testing.strategies import event_streams, run_inputs
from agui_reasoning.wire import EventEncoder, SSEEncoder

OFFICIAL = ag_ui.encoder.EventEncoder()
BREAKS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"))


def without_breaks(text: str) -> str:
    for character, escape in BREAKS:
        text = text.replace(character, escape)
    return text


@given(events=event_streams())
def test_every_event_of_a_run_is_written_as_the_official_encoder_writes_it(events: list[Event]) -> None:
    for event in events:
        assert without_breaks(EventEncoder().encode(event)) == without_breaks(OFFICIAL.encode(event))


@given(events=event_streams())
def test_our_encoder_writes_every_event_as_it_writes_its_members(events: list[Event]) -> None:
    encode = SSEEncoder().encode
    for event in events:
        assert encode(event) == encode(event.model_dump(by_alias=True, warnings=False))


@given(run_input=run_inputs())
def test_models_inside_an_event_are_written_so_too(run_input: RunAgentInput) -> None:
    event = RunStartedEvent(thread_id="t", run_id="r", input=run_input)
    assert EventEncoder().encode(event) == OFFICIAL.encode(event)


def louder() -> BaseEvent:
    class Louder(TextMessageContentEvent):
        loud: bool = True

    return Louder(message_id="m", delta="d")


@pytest.mark.parametrize(
    "event",
    [
        TextMessageEndEvent(message_id="m", timestamp=1),
        TextMessageEndEvent(message_id="é", raw_event={"a": None}, metadata={"a": [1, None, {"b": 1.5}]}),
        TextMessageEndEvent(message_id="m", metadata={"agui": {"seq": 1, "none": None}}),
        TextMessageEndEvent(message_id="m", metadata={"n": 2**70}),
        TextMessageStartEvent(message_id="m"),
        TextMessageStartEvent.model_validate({"messageId": "m", "odd": None, "encryptedValueType": "x"}),
        ToolCallStartEvent(tool_call_id="c", tool_call_name="n", parent_message_id=None),
        StateSnapshotEvent(snapshot=None),
        StateSnapshotEvent(snapshot={"a": [1.5, None, float("nan")]}),
        CustomEvent(name="n", value={"of": EventType.CUSTOM}),
        BaseEvent(type=EventType.CUSTOM, timestamp=3),
        louder(),
    ],
    ids=lambda event: event.type.value,
)
def test_other_events_are_written_as_the_official_encoder_writes_them(event: BaseEvent) -> None:
    assert EventEncoder().encode(event) == OFFICIAL.encode(event)


@pytest.mark.parametrize(
    "event", [TextMessageContentEvent(message_id="m", delta="a"), TextMessageEndEvent(message_id="m")]
)
def test_line_breaks_that_readers_split_at_are_escaped(event: BaseEvent) -> None:
    event.message_id = "a\u2028b\u2029c\x85d"  # type: ignore[attr-defined]
    written = EventEncoder().encode(event)
    assert written == without_breaks(OFFICIAL.encode(event))
    assert len(written.splitlines()) == 2


def test_text_with_half_a_character_is_escaped() -> None:
    event = TextMessageContentEvent(message_id="m", delta="a")
    event.delta = "\ud83d"
    with pytest.raises(PydanticSerializationError):
        OFFICIAL.encode(event)
    assert '"delta":"\\ud83d"' in EventEncoder().encode(event)


def test_what_no_encoder_can_write_is_named() -> None:
    with pytest.raises(LocalProtocolError, match="CUSTOM") as caught:
        EventEncoder().encode(CustomEvent(name="n", value=object()))
    assert caught.value.code == "not_json"


@pytest.mark.parametrize("accept", [None, "text/event-stream", "application/vnd.ag-ui.event+proto"])
def test_it_is_constructed_and_asked_like_the_official_one(accept: str | None) -> None:
    encoder = EventEncoder(accept=accept)
    assert isinstance(encoder, ag_ui.encoder.EventEncoder)
    assert encoder.get_content_type() == ag_ui.encoder.EventEncoder(accept=accept or "").get_content_type()
