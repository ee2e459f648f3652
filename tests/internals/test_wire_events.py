"""Test events as wire JSON and as models: those made without validation equal their validated twins."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any
from uuid import RFC_4122, UUID

import pytest
from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent
from pydantic import BaseModel

from agui_reasoning._wire_events import models_of, new_uuid, template_of, wire_event

SLOTS = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
CONTENTS: list[tuple[type[BaseModel], str]] = [
    (ReasoningMessageContentEvent, "messageId"),
    (TextMessageContentEvent, "messageId"),
    (ToolCallArgsEvent, "toolCallId"),
]
MORE: Any = [
    {},
    {"subagentRunId": "s"},
    {"timestamp": 5, "metadata": {"a": [1]}, "rawEvent": 0},
]

each = pytest.mark.parametrize(("model", "id_name"), CONTENTS)
with_more = pytest.mark.parametrize("more", MORE, ids=str)


def _twins(model: type[BaseModel], id_name: str, more: dict[str, Any]) -> tuple[BaseModel, BaseModel]:
    first = {"type": model.model_fields["type"].default.value, **more, id_name: "m", "delta": "One"}
    template = template_of(first)
    template("Two", more.get("timestamp"))
    return model.model_validate(first | {"delta": "Ünd"}), template("Ünd", more.get("timestamp"))


@each
@with_more
def test_an_event_holds_what_its_validated_twin_holds(
    model: type[BaseModel], id_name: str, more: dict[str, Any]
) -> None:
    validated, event = _twins(model, id_name, more)
    assert [getattr(event, slot) for slot in SLOTS] == [getattr(validated, slot) for slot in SLOTS]
    assert list(vars(event)) == list(vars(validated))
    assert event == validated


@each
@with_more
def test_an_event_behaves_as_its_validated_twin(
    model: type[BaseModel], id_name: str, more: dict[str, Any]
) -> None:
    validated, event = _twins(model, id_name, more)
    assert event.model_dump_json(by_alias=True) == validated.model_dump_json(by_alias=True)
    assert event.model_dump(exclude_unset=True) == validated.model_dump(exclude_unset=True)
    assert (repr(event), event.model_extra) == (repr(validated), validated.model_extra)
    assert validated == event.model_copy() == copy.deepcopy(event) == pickle.loads(pickle.dumps(event))


def test_each_event_of_a_template_is_the_callers_own() -> None:
    template = template_of({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d"})
    first: Any = template("One", None)
    first.message_id, first.delta, first.timestamp = "changed", "changed", 5
    first.model_extra["a"] = 1
    first.model_fields_set.clear()
    assert template("Two", None) == TextMessageContentEvent(message_id="m", delta="Two")
    assert template("Two", None).model_fields_set == {"type", "message_id", "delta"}


def test_wire_json_has_the_order_of_the_models_and_no_nulls() -> None:
    event = wire_event("TEXT_MESSAGE_START", 5, {"a": 1}, "sub", messageId="m", role="assistant", name=None)
    (model,) = models_of([event])
    assert list(event.items()) == list(model.model_dump(by_alias=True, mode="json").items())


def test_an_event_of_the_application_stays_as_it_is() -> None:
    event = TextMessageContentEvent(message_id="m", delta="d")
    assert models_of([event])[0] is event


# -- IDs


def test_ids_are_random_uuids_of_version_4() -> None:
    ids = [new_uuid() for _ in range(1_000)]
    read = [UUID(one) for one in ids]
    assert [str(one) for one in read] == ids
    assert {(one.version, one.variant) for one in read} == {(4, RFC_4122)}
    assert len(set(ids)) == 1_000
    bits = [sum(one.int >> bit & 1 for one in read) for bit in range(128)]
    assert sum(0 < count < 1_000 for count in bits) == 128 - 6  # of version and variant


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_two_processes_never_use_the_same_ids() -> None:
    new_uuid()  # leaves some that the child must not use
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, " ".join(new_uuid() for _ in range(5)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as pipe:
        of_child = pipe.read().split()
    os.waitpid(child, 0)
    assert len(of_child) == 5
    assert {new_uuid() for _ in range(100)}.isdisjoint(of_child)
