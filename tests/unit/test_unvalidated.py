"""Test events made without validation: each is compared with its validated twin."""

from __future__ import annotations

import copy
import pickle
from typing import Any, get_args

import pytest
from ag_ui.core import CustomEvent, Event, TextMessageContentEvent
from pydantic import BaseModel

from agui_reasoning._unvalidated import blank, made

EVENTS: tuple[type[BaseModel], ...] = get_args(get_args(Event)[0])
SLOTS = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
VALUES: dict[str, Any] = {
    "timestamp": 1_700_000_000_000,
    "raw_event": {"a": None},
    "metadata": {"k": [1]},
    "subtype": "message",
    "content": {"a": 1},
    "messages": [],
    "patch": [],
    "snapshot": None,
    "event": {"b": 2},
    "value": [None],
}
OTHERS: dict[str, dict[str, Any]] = {
    "role": {"TOOL_CALL_RESULT": "tool", "TEXT_MESSAGE_START": "assistant", "TEXT_MESSAGE_CHUNK": "user"},
    "delta": {"STATE_DELTA": []},
    "content": {"TOOL_CALL_RESULT": "ok"},
}
OMITTED = {"type", "input", "outcome", "usage", "replace"}

each = pytest.mark.parametrize("model", EVENTS, ids=lambda model: model.__name__)
full = pytest.mark.parametrize("full", [False, True])


def _values(model: type[BaseModel], *, full: bool) -> dict[str, Any]:
    kind = model.model_fields["type"].default.value
    names = [
        n for n, field in model.model_fields.items() if n not in OMITTED and (full or field.is_required())
    ]
    return {name: OTHERS.get(name, {}).get(kind, VALUES.get(name, _word(name))) for name in names}


def _word(name: str) -> str:
    return "reasoning" if name == "role" else f"a {name}"


def _twins(
    model: type[BaseModel], values: dict[str, Any], extra: dict[str, Any]
) -> tuple[BaseModel, BaseModel]:
    validated = model.model_validate(values | extra)
    return validated, made(model, blank(model) | values, {*values, *extra}, dict(extra))


@each
@full
@pytest.mark.parametrize("extra", [{}, {"encryptedValueType": "x/y", "odd": None}])
def test_an_event_holds_what_its_validated_twin_holds(
    model: type[BaseModel], full: bool, extra: dict[str, Any]
) -> None:
    validated, event = _twins(model, _values(model, full=full), extra)
    assert [getattr(event, slot) for slot in SLOTS] == [getattr(validated, slot) for slot in SLOTS]
    assert list(vars(event)) == list(vars(validated))
    assert event == validated


@each
@full
def test_an_event_behaves_as_its_validated_twin(model: type[BaseModel], full: bool) -> None:
    validated, event = _twins(model, _values(model, full=full), {"odd": None})
    assert event.model_dump_json(by_alias=True) == validated.model_dump_json(by_alias=True)
    assert event.model_dump(exclude_unset=True) == validated.model_dump(exclude_unset=True)
    assert model.model_validate(event.model_dump(by_alias=True)) == validated
    assert (repr(event), event.model_extra) == (repr(validated), validated.model_extra)
    assert validated == event.model_copy() == copy.deepcopy(event) == pickle.loads(pickle.dumps(event))


def test_an_event_can_be_changed_like_another() -> None:
    event = made(TextMessageContentEvent, blank(TextMessageContentEvent), {"message_id", "delta"})
    event.message_id, event.delta, event.timestamp = "m", "Hi", 5
    assert event == TextMessageContentEvent(message_id="m", delta="Hi", timestamp=5)


def test_without_extra_members_each_event_has_its_own() -> None:
    first, second = (made(CustomEvent, blank(CustomEvent), set()) for _ in range(2))
    first.model_extra["a"] = 1  # type: ignore[index]
    assert second.model_extra == {}


def test_defaults_are_fresh() -> None:
    assert blank(CustomEvent) == blank(CustomEvent)
    assert blank(CustomEvent) is not blank(CustomEvent)
