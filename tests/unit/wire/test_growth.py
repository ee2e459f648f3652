"""Test the short way of content events: it writes what the general encoder writes, or leaves it the event."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from ag_ui.core import BaseEvent, EventType, ReasoningMessageContentEvent
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.wire import SSEEncoder
from agui_reasoning.wire._growth import GROWTHS, Growth

MODELS: list[Any] = sorted(GROWTHS, key=lambda model: model.__name__)
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
@given(entity_id=TEXTS, text=TEXTS, subagent=st.none() | TEXTS)
def test_the_short_way_writes_what_the_general_encoder_writes(
    model: Any, entity_id: str, text: str, subagent: str | None
) -> None:
    event = event_of(model, entity_id, text, subagent_run_id=subagent)
    assert SSEEncoder().encode(event) == in_general(event)


@each
def test_plain_content_takes_the_short_way(model: Any) -> None:
    event = event_of(model, "m", LINES, subagent_run_id="s")
    assert GROWTHS[model].frame(event) == in_general(event)


OTHERS: list[dict[str, Any]] = [
    {"timestamp": 0},
    {"metadata": {}},
    {"raw_event": False},
    {"odd": None},
    {"odd": 1},
    {"delta": Word("a")},
    {"delta": Name.A},
    {"delta": None},
    {"message_id": None, "tool_call_id": None},
    {"message_id": Word("m"), "tool_call_id": Word("m")},
    {"subagent_run_id": Word("a")},
    {"subagent_run_id": 1},
    {"type": EventType.CUSTOM},
    {"type": "TEXT_MESSAGE_CONTENT"},
    {"delta": "\ud83d"},
]


@each
@pytest.mark.parametrize("more", OTHERS, ids=str)
def test_an_event_with_more_than_ids_and_text_takes_the_general_way(model: Any, more: dict[str, Any]) -> None:
    event = event_of(model, "m", "t", **more)
    assert GROWTHS[model].frame(event) is None
    assert SSEEncoder().encode(event) == in_general(event)


def test_a_subclass_takes_the_general_way() -> None:
    class Louder(ReasoningMessageContentEvent):
        loud: bool = True

    event = Louder(message_id="m", delta="d")
    assert SSEEncoder().encode(event) == (
        b'data: {"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"d","loud":true}\n\n'
    )


def test_the_opening_ends_where_the_text_begins() -> None:
    growth: Growth = GROWTHS[ReasoningMessageContentEvent]
    assert growth.opening({"message_id": "m", "subagent_run_id": "s"}) == (
        b'data: {"type":"REASONING_MESSAGE_CONTENT","subagentRunId":"s","messageId":"m","delta":'
    )
