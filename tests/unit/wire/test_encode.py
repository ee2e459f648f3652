from __future__ import annotations

import datetime
import json
from types import MappingProxyType
from typing import Any

import pytest
from ag_ui.core import (
    CustomEvent,
    EventType,
    RawEvent,
    ReasoningMessageContentEvent,
    RunFinishedEvent,
    StateSnapshotEvent,
    StepStartedEvent,
    ToolCall,
)
from pydantic import field_serializer

from agui_reasoning.errors import LocalProtocolError
from agui_reasoning.wire import KEEP_ALIVE, MEDIA_TYPE, SSEDecoder, SSEEncoder

SECRET = "the-hidden-thought"


def written(event: Any) -> dict[str, Any]:
    frame = SSEEncoder().encode(event)
    assert frame.startswith(b"data: ")
    assert frame.endswith(b"\n\n")
    assert frame.count(b"\n") == 2
    value = json.loads(frame[6:])
    assert isinstance(value, dict)
    return value


def refused(event: Any) -> LocalProtocolError:
    with pytest.raises(LocalProtocolError) as caught:
        SSEEncoder().encode(event)
    error = caught.value
    assert SECRET not in repr(error) + str(error) + repr(vars(error))
    assert error.__cause__ is None
    assert error.__context__ is None
    return error


def test_a_model_is_one_data_line_with_camel_case_names() -> None:
    event = ReasoningMessageContentEvent(message_id="m1", delta="Hm", timestamp=5)
    assert SSEEncoder().encode(event) == (
        b'data: {"type":"REASONING_MESSAGE_CONTENT","timestamp":5,"messageId":"m1","delta":"Hm"}\n\n'
    )


def test_optional_members_without_a_value_are_absent() -> None:
    event = RunFinishedEvent(thread_id="t", run_id="r", result=None, timestamp=None)
    assert written(event) == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def test_an_unknown_member_that_is_none_is_absent_too() -> None:
    event = ReasoningMessageContentEvent.model_validate(
        {"messageId": "m", "delta": "", "encryptedValueType": None}
    )
    assert "encryptedValueType" not in written(event)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        (CustomEvent(name="n", value=None), "value"),
        (StateSnapshotEvent(snapshot=None), "snapshot"),
        (RawEvent(event=None), "event"),
        ({"type": "CUSTOM", "name": "n", "value": None}, "value"),
        ({"type": "STATE_SNAPSHOT", "snapshot": None}, "snapshot"),
        ({"type": EventType.RAW, "event": None}, "event"),
    ],
)
def test_a_required_payload_that_is_null_stays(event: Any, payload: str) -> None:
    assert written(event)[payload] is None


def test_a_payload_name_means_nothing_on_another_event() -> None:
    assert written({"type": "STEP_STARTED", "stepName": "s", "value": None}) == {
        "type": "STEP_STARTED",
        "stepName": "s",
    }


@pytest.mark.parametrize("make", [lambda value: CustomEvent(name="n", value=value), dict])
def test_nulls_inside_open_payloads_survive(make: Any) -> None:
    value = {"a": None, "b": [None, {"c": None}]}
    event = make(value) if make is not dict else {"type": "CUSTOM", "name": "n", "value": value}
    assert written(event)["value"] == value


def test_nulls_inside_metadata_survive() -> None:
    event = ReasoningMessageContentEvent(message_id="m", delta="", metadata={"k": None})
    assert written(event)["metadata"] == {"k": None}


def test_a_mapping_is_written_as_given_and_left_alone() -> None:
    event = {"type": "X_OWN", "snake_case": 1, "gone": None}
    assert written(MappingProxyType(event)) == {"type": "X_OWN", "snake_case": 1}
    assert event == {"type": "X_OWN", "snake_case": 1, "gone": None}


def test_models_dates_and_frozen_mappings_inside_a_mapping_are_written() -> None:
    call = ToolCall.model_validate({"id": "c", "function": {"name": "f", "arguments": ""}})
    inner = MappingProxyType({"call": call, "day": datetime.date(2026, 1, 2)})
    expected = {
        "call": {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}},
        "day": "2026-01-02",
    }
    assert written({"type": "CUSTOM", "name": "n", "value": inner})["value"] == expected
    # the same through the path for lone surrogates
    assert written({"type": "CUSTOM", "name": "\ud83d", "value": inner})["value"] == expected


def test_line_separators_are_escaped_for_readers_that_split_there() -> None:
    frame = SSEEncoder().encode({"type": "CUSTOM", "name": "a\u2028b\u2029c\u0085d\r\ne", "value": "é😀"})
    assert len(frame.decode().splitlines()) == 2
    assert "é😀".encode() in frame
    assert json.loads(frame[6:])["name"] == "a\u2028b\u2029c\u0085d\r\ne"


@pytest.mark.parametrize("text", ["\ud83d", "\ude00", "a\ud83d b", "\udcff"])  # noqa: PT014 -- ruff sees U+FFFD
def test_lone_surrogates_are_written_as_escapes(text: str) -> None:
    event = ReasoningMessageContentEvent.model_construct(message_id="m", delta=text)
    assert written(event)["delta"] == text
    assert SSEDecoder().feed(SSEEncoder().encode(event))[0]["delta"] == text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("prefix", ["", "\ud83d"])
def test_nan_and_infinity_are_refused_and_never_become_null(number: float, prefix: str) -> None:
    inner = CustomEvent(name="inner", value=number)
    for value in (number, [number], {"a": {"b": number}}, inner, [inner], MappingProxyType({"a": inner})):
        error = refused(CustomEvent.model_construct(name=prefix + SECRET, value=value))
        assert (error.code, error.event_type) == ("not_json", "CUSTOM")
        assert refused({"type": "CUSTOM", "name": prefix + SECRET, "value": value}).code == "not_json"


def test_the_words_nan_and_infinity_are_fine() -> None:
    assert written({"type": "CUSTOM", "name": "NaN", "value": "-Infinity"})["value"] == "-Infinity"


def test_what_json_cannot_say_is_refused() -> None:
    circle: list[Any] = [SECRET]
    circle.append(circle)
    for value in (circle, object(), b"\xff"):
        assert refused({"type": "CUSTOM", "name": SECRET, "value": value}).code == "not_json"


def test_a_serializer_that_fails_is_refused_without_its_words() -> None:
    class Failing(RawEvent):
        @field_serializer("event")
        def _fail(self, value: object) -> object:
            raise ValueError(SECRET)

    assert refused(Failing(event=1)).code == "not_json"


def test_wrong_values_in_a_constructed_model_cause_no_warning() -> None:
    event = ReasoningMessageContentEvent.model_construct(message_id=SECRET, delta=7)
    assert written(event)["delta"] == 7


@pytest.mark.parametrize("event", [{}, {"type": ""}, {"type": None}, {"type": 3}, {"delta": SECRET}])
def test_a_type_is_required(event: Any) -> None:
    assert refused(event).code == "bad_event"


@pytest.mark.parametrize("event", [[], "data", None, 3])
def test_only_models_and_mappings_are_events(event: Any) -> None:
    assert refused(event).code == "bad_event"


def test_a_model_that_is_no_object_is_refused() -> None:
    from pydantic import RootModel

    assert refused(RootModel[list[int]]([1])).code == "bad_event"


def test_keep_alive_is_invisible_to_the_decoder() -> None:
    assert KEEP_ALIVE == b": keep-alive\n\n"
    assert SSEDecoder().feed(KEEP_ALIVE * 3) == []
    assert MEDIA_TYPE == "text/event-stream"


def test_a_number_that_python_does_not_write_is_written_as_the_model_writes_it() -> None:
    event = StepStartedEvent(step_name="look", metadata={"count": 10**5000})
    assert SSEEncoder().encode(event).rstrip().endswith(b"0" * 5000 + b'},"stepName":"look"}')
