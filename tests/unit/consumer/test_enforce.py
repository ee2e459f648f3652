"""Test compatibility and enforcement: what is forgiven, removed and refused."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import pytest
from ag_ui.core import CustomEvent, TextMessageContentEvent, TextMessageStartEvent

from agui_reasoning import Conversation, LocalProtocolError
from agui_reasoning.errors import AGUIReasoningWarning
from tests.conformance.requirements import requirement
from tests.support.play import FINISHED, STARTED, Json, Played, call, ev, play, text, thought, value
from tests.support.verifier import plain

MEDIA = {"type": "image", "source": {"type": "url", "value": "u", "mimeType": "image/png"}}
BINARY = {"type": "binary", "mimeType": "image/png", "url": "u"}


def snapshot(*messages: Json) -> Json:
    return ev("MESSAGES_SNAPSHOT", messages=list(messages))


def user(content: Any, **more: Any) -> Json:
    return {"id": "u1", "role": "user", "content": content, **more}


# -- the compatibility boundary

SHIMMED: list[tuple[Json, str]] = [
    (ev("CUSTOM", name="n", value=1, rawEvent=None), "CUSTOM.rawEvent"),
    (ev("TOOL_CALL_START", toolCallId="c", toolCallName="n", parentMessageId=None), "parentMessageId"),
    (ev("TOOL_CALL_CHUNK", toolCallId="c", toolCallName="n", parentMessageId=None), "parentMessageId"),
    (snapshot(user([{**MEDIA, "metadata": None}])), "metadata"),
]


@requirement("C4")
@pytest.mark.parametrize(("event", "where"), SHIMMED, ids=lambda case: str(case)[:40])
def test_a_null_of_old_is_absent_with_one_warning(event: Json, where: str) -> None:
    played = Played(STARTED, event, stop=False)
    assert played.code is None
    assert sum("null" in warning and where in warning for warning in played.warnings) == 1


@requirement("C4")
def test_nulls_on_the_ends_of_runs_and_in_an_echoed_input_are_absent() -> None:
    echo = {
        **{"threadId": "t", "runId": "r", "forwardedProps": None},
        "tools": [{"name": "n", "description": "d", "parameters": None}],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": None}],
        "messages": [user([{**MEDIA, "metadata": None}])],
    }
    subagent = [
        ev("SUBAGENT_STARTED", subagentRunId="s", name="n"),
        ev("SUBAGENT_FINISHED", subagentRunId="s", result=None),
    ]
    played = Played({**STARTED, "input": echo}, *subagent, {**FINISHED, "result": None, "outcome": None})
    assert played.code is None
    assert len(played.warnings) == 7
    assert "forwardedProps" not in played.events[0]["input"]
    assert "outcome" not in played.events[-1]


@requirement("C4", "C10")
@pytest.mark.parametrize(
    "event",
    [
        {**text("m")[0], "metadata": None},
        {**text("m")[0], "subagentRunId": None},
        {**text("m", "x")[1], "delta": None},
        {**value("m"), "encryptedValue": None},
        {**ev("SUBAGENT_STARTED", subagentRunId="s", name="n"), "description": None},
    ],
    ids=lambda event: next(name for name, member in event.items() if member is None),
)
def test_any_other_null_is_malformed(event: Json) -> None:
    assert play(event).code == "malformed_event"


@requirement("C5")
def test_binary_parts_are_read_as_media() -> None:
    data = {"type": "binary", "mimeType": "application/pdf", "data": "QQ==", "filename": "a.pdf"}
    played = play(snapshot(user([BINARY, data])))
    source = {"type": "data", "value": "QQ==", "mimeType": "application/pdf"}
    document = {"type": "document", "source": source, "metadata": {"filename": "a.pdf"}}
    assert played.messages[0]["content"] == [MEDIA, document]
    assert played.warned("2 binary content part")


@requirement("C5")
def test_a_binary_part_beside_its_modern_form_is_one_part_and_one_without_data_is_lost() -> None:
    assert play(snapshot(user([BINARY, MEDIA]))).messages[0]["content"] == [MEDIA]
    played = play(snapshot(user([{"type": "binary", "mimeType": "image/png", "id": "x"}])))
    assert played.messages[0]["content"] == []
    assert played.warned("/messages/0/content/0")


# -- enforcement


@requirement("C7")
def test_an_unknown_event_is_dropped_with_its_name() -> None:
    played = play(ev("FUTURE_EVENT", x=1))
    assert played.types == ["RUN_STARTED", "RUN_FINISHED"]
    assert played.warned("FUTURE_EVENT")


@requirement("C8")
def test_an_unknown_property_is_stripped_with_its_path_however_it_is_called() -> None:
    odd = {"id": "m", "role": "assistant", "toolCalls": [], "constructor": 1}
    played = play({**text("x")[0], "futureProp": 1}, text("x")[-1], snapshot(odd))
    assert played.warned("TEXT_MESSAGE_START/futureProp")
    assert played.warned("MESSAGES_SNAPSHOT/messages/0/constructor")
    assert "futureProp" not in played.events[1]
    assert len(played.warnings) == 2


@requirement("C9")
def test_an_unknown_union_member_takes_with_it_what_needs_it() -> None:
    hologram = {"type": "image", "source": {"type": "hologram", "x": 1}}
    played = play(snapshot(user([{"type": "text", "text": "a"}, hologram, {"type": "smell"}])))
    assert played.messages[0]["content"] == [{"type": "text", "text": "a"}]
    assert played.warned("/messages/0/content/1 ")
    assert played.warned("/messages/0/content/2 ")
    assert len(played.warnings) == 2, "only the outermost place is told"


@requirement("C9")
def test_an_unknown_outcome_role_or_operation_is_removed() -> None:
    played = Played(
        STARTED, snapshot({"id": "x", "role": "narrator"}), {**FINISHED, "outcome": {"type": "paused"}}
    )
    assert (played.messages, "outcome" in played.events[-1]) == ([], False)
    assert played.warned("/messages/0")
    assert played.warned("/outcome")
    operations = [{"op": "increment", "path": "/n"}, {"op": "replace", "path": "/n", "value": 5}]
    played = play(ev("STATE_SNAPSHOT", snapshot={"n": 1}), ev("STATE_DELTA", delta=operations))
    assert played.conversation.state == {"n": 5}


MALFORMED: list[tuple[Json, str]] = [
    ({**text("m")[0], "messageId": 7}, "/messageId"),
    ({**text("m")[0], "timestamp": 1.5}, "/timestamp"),
    ({**text("m")[0], "timestamp": True}, "/timestamp"),
    ({**text("m")[0], "timestamp": "12"}, "/timestamp"),
    ({**text("m")[0], "timestamp": 2**53}, "/timestamp"),
    ({**text("m")[0], "role": 1}, "/role"),
    ({**text("m")[0], "metadata": []}, "/metadata"),
    (ev("TEXT_MESSAGE_CONTENT", messageId="m"), "/"),
    (ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}, replace=1), "/replace"),
    (ev("MESSAGES_SNAPSHOT", messages=[42]), "/messages/0"),
    (ev("MESSAGES_SNAPSHOT", messages={}), "/messages"),
    (snapshot(user(1)), "/messages/0/content"),
    (ev("STATE_DELTA", delta=[{"op": "add", "path": "a", "value": 1}]), "/delta/0/path"),
    (ev("RUN_FINISHED", **{"threadId": "t", "runId": "r"}, outcome=["x"]), "/outcome"),
    (ev("RUN_FINISHED", threadId="t", runId="r", usage=[{"inputTokens": -1}]), "/usage/0/inputTokens"),
    (ev("CUSTOM", name="n", value=math.nan), "/value"),
    (ev("CUSTOM", name="n", value={"a": [object()]}), "/value"),
    (ev("CUSTOM", name="n", value={1: 2}), "/value"),
    (thought("r")[0] | {"role": "assistant"}, "/role"),
]


@requirement("C10")
@pytest.mark.parametrize(("event", "path"), MALFORMED)
def test_a_malformed_value_is_fatal_and_its_place_is_told(event: Json, path: str) -> None:
    played = play(event)
    assert played.code == "malformed_event"
    assert f"malformed at {path}:" in str(played.error)
    assert played.error is not None
    assert (played.error.event_type, played.error.state) == (event["type"], "in a run")


@requirement("C10")
def test_no_value_is_in_the_error() -> None:
    played = play(ev("TEXT_MESSAGE_CONTENT", messageId="m", delta={"secret": "word"}))
    assert "secret" not in str(played.error)
    assert "word" not in repr(played.error)


@requirement("C10")
def test_a_whole_number_may_be_written_with_a_point() -> None:
    played = play({**text("m")[0], "timestamp": 12.0}, text("m")[-1])
    assert played.events[1]["timestamp"] == 12


@requirement("C11")
def test_unknown_members_of_closed_sets_are_stripped() -> None:
    played = play({**text("m", "x")[0], "role": "narrator"}, *text("m", "x")[1:])
    assert played.held == [("m", "assistant", "x")]
    assert played.warned("TEXT_MESSAGE_START/role")
    played = play(*thought("r"), {**value("r"), "subtype": "step"})
    assert "REASONING_ENCRYPTED_VALUE" not in played.types
    assert played.warned("REASONING_ENCRYPTED_VALUE", "dropped")
    assert "encryptedValue" not in played.messages[0]
    resume = [{"interruptId": "i", "status": "expired"}]
    echo = {"threadId": "t", "runId": "r", "messages": [], "resume": resume}
    assert Played({**STARTED, "input": echo}, FINISHED).events[0]["input"]["resume"] == []


@requirement("C11")
def test_a_subtype_that_is_no_string_and_a_constant_that_is_another_string_are_fatal() -> None:
    assert play({**value("r"), "subtype": 3}).code == "malformed_event"
    assert play(thought("r")[0] | {"role": "narrator"}).code == "malformed_event"
    assert play(ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="", role="user")).code


@requirement("C12")
def test_open_objects_keep_everything() -> None:
    anything = {"x": None, "__proto__": {"y": [1, None]}, "toString": 0}
    played = play(
        {**text("m")[0], "metadata": anything, "rawEvent": anything},
        text("m")[-1],
        ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content=anything),
        ev("STATE_SNAPSHOT", snapshot=anything),
        ev("STATE_DELTA", delta=[{"op": "remove", "path": "/x", "value": "left over"}]),
        ev("RAW", event=anything),
        ev("CUSTOM", name="n", value=anything),
    )
    assert played.warnings == []
    assert played.messages[0]["metadata"] == anything
    assert played.messages[1]["content"] == anything
    assert played.events[5]["delta"][0]["value"] == "left over"
    assert [event.get("event", event.get("value")) for event in played.events[6:8]] == [anything, anything]


@requirement("C13")
def test_raw_and_custom_are_delivered_in_silence() -> None:
    played = play(ev("RAW", event=None), ev("CUSTOM", name="acme.x", value=None))
    assert played.types[1:3] == ["RAW", "CUSTOM"]
    assert played.events[2]["value"] is None
    assert played.warnings == []


@requirement("C14")
def test_a_clean_stream_gives_no_warning() -> None:
    events = [
        ev("STEP_STARTED", stepName="s"),
        ev("REASONING_START", messageId="sp"),
        *thought("r", "Hm", metadata={"a": 1}),
        value("r"),
        ev("REASONING_END", messageId="sp"),
        *text("m", "Yes"),
        *call("c", "{}", parentMessageId="m"),
        value("c", subtype="tool-call"),
        ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="ok", role="tool"),
        ev("STATE_SNAPSHOT", snapshot={}),
        ev("STATE_DELTA", delta=[{"op": "add", "path": "/a", "value": 1}]),
        ev("STEP_FINISHED", stepName="s"),
    ]
    assert play(*events).warnings == []


# -- how events come in


@requirement("C2")
def test_an_event_without_a_type_is_refused_here_not_by_a_reader() -> None:
    assert Played({"messageId": "m"}).code == "malformed_event"
    assert Played({"type": ""}).code == "malformed_event"
    assert Played({"type": ["x"]}).code == "malformed_event"


def test_what_is_no_event_changes_nothing() -> None:
    conversation = Conversation()
    conversation.receive(STARTED)
    with pytest.raises(LocalProtocolError) as caught:
        conversation.receive("RUN_FINISHED")  # type: ignore[arg-type]
    assert caught.value.code == "not_an_event"
    conversation.receive(FINISHED)
    assert conversation.status == "finished"


def test_models_and_mappings_are_the_same() -> None:
    models = [
        TextMessageStartEvent(message_id="m", metadata={"a": None}),
        TextMessageContentEvent(message_id="m", delta="x"),
        CustomEvent(name="n", value=None),
    ]
    mappings = [model.model_dump(by_alias=True) for model in models]
    one, two = (Played(STARTED, *events, stop=False) for events in (models, mappings))  # type: ignore[arg-type]
    assert one.events == two.events
    assert one.warnings == two.warnings == []


def test_nan_in_a_model_is_refused_not_turned_into_null() -> None:
    played = play(CustomEvent(name="n", value={"x": math.nan}))  # type: ignore[arg-type]
    assert played.code == "malformed_event"


def test_what_comes_is_never_changed_nor_shared() -> None:
    inside: Json = {"a": {"b": 1}}
    event = {**text("m")[0], "metadata": inside, "futureProp": 1}
    played = Played(STARTED, event, stop=False)
    inside["a"]["b"] = 2
    assert event["futureProp"] == 1
    assert played.messages[0]["metadata"] == {"a": {"b": 1}}
    delivered = played.conversation.receive(ev("STATE_SNAPSHOT", snapshot=inside))[0]
    plain([delivered])[0]["snapshot"]["a"]["b"] = 3
    assert played.conversation.state == {"a": {"b": 2}}


def test_too_deep_an_event_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert play(ev("CUSTOM", name="n", value=deep)).code == "malformed_event"


def test_without_a_listener_python_warns() -> None:
    with pytest.warns(AGUIReasoningWarning, match="FUTURE_EVENT"):
        Conversation().receive({"type": "FUTURE_EVENT"})


def test_pythons_own_containers_and_subclasses_are_taken() -> None:
    class Name(str):
        pass

    class Count(int):
        pass

    value = {Name("a"): (Count(1), Name("b"), 1.5, MappingProxyType({"c": None}))}
    played = play(MappingProxyType(ev("CUSTOM", name=Name("n"), value=value)))  # type: ignore[arg-type]
    assert played.events[1]["value"] == {"a": [1, "b", 1.5, {"c": None}]}
    assert played.events[1]["name"] == "n"
