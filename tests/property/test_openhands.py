"""The law of OpenHands events: dicts to AG-UI events to dicts gives the same dicts."""

from __future__ import annotations

from json import dumps, loads
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning import check_events
from agui_reasoning.interop import openhands
from agui_reasoning.testing.strategies import json_values, texts

Event = dict[str, Any]

WORDS = texts() | st.sampled_from(["ls", "R", "0", "{}", "<think>x</think>y", "null"])
EVENT_IDS = st.integers(0, 5)
RESPONSES = st.sampled_from([None, "", "resp_1", "resp_2"])
CALL_IDS = st.sampled_from([None, "", "call_1", "call_2"])
THOUGHTS = (
    st.none()
    | WORDS
    | st.fixed_dictionaries({}, optional={"text": WORDS, "reasoning_content": st.none() | WORDS})
)


def some(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[Event]:
    return st.fixed_dictionaries(required, optional=optional)


METADATA = some(
    {},
    function_name=st.just("execute_bash"),
    tool_call_id=CALL_IDS,
    model_response=some({}, id=RESPONSES),
    total_calls_in_response=st.just(2),
)
ARGS = some(
    {},
    thought=THOUGHTS,
    reasoning_content=st.none() | WORDS,
    content=WORDS,
    command=WORDS,
    blocking=st.booleans(),
    outputs=json_values(),
)
ACTIONS = some(
    {"action": st.sampled_from(["run", "think", "finish", "message", "condensation", "recall", "mcp"])},
    id=EVENT_IDS,
    source=st.sampled_from(["agent", "agent", "user", "environment"]),
    args=ARGS,
    message=WORDS,
    tool_call_metadata=METADATA,
    llm_response_id=RESPONSES,
)
OBSERVATIONS = some(
    {"observation": st.sampled_from(["run", "think", "null", "agent_state_changed"])},
    id=EVENT_IDS,
    cause=EVENT_IDS,
    content=WORDS,
    extras=json_values(),
    tool_call_metadata=METADATA,
)
CONTENT = st.lists(some({"type": st.just("text"), "text": WORDS}), max_size=2)
BLOCKS = st.lists(
    some({"type": st.just("thinking"), "thinking": WORDS}, signature=st.none() | WORDS)
    | some({"type": st.just("redacted_thinking"), "data": WORDS}),
    max_size=2,
)
ITEMS = st.none() | some(
    {"id": st.sampled_from([None, "rs_1"]), "summary": st.lists(WORDS, max_size=2)},
    content=st.none() | st.lists(WORDS, max_size=2),
    encrypted_content=st.none() | WORDS,
)
REASONING = {
    "reasoning_content": st.none() | WORDS,
    "thinking_blocks": BLOCKS,
    "responses_reasoning_item": ITEMS,
}
CALLED = some({"id": CALL_IDS, "name": st.just("run"), "arguments": WORDS | st.just('{"command": "ls"}')})
SDK_EVENTS = st.one_of(
    some(
        {"kind": st.just("ActionEvent"), "id": EVENT_IDS, "thought": CONTENT, "tool_name": st.just("run")},
        tool_call_id=CALL_IDS,
        tool_call=CALLED,
        action=st.none() | some({"kind": st.just("RunAction"), "command": WORDS}),
        llm_response_id=RESPONSES,
        **REASONING,
    ),
    some(
        {
            "kind": st.just("MessageEvent"),
            "llm_message": some(
                {"role": st.sampled_from(["user", "assistant", "system", "tool"]), "content": CONTENT},
                **REASONING,
            ),
        },
        llm_response_id=RESPONSES,
    ),
    some(
        {"kind": st.just("ObservationEvent"), "action_id": EVENT_IDS, "tool_call_id": CALL_IDS},
        observation=some({"kind": st.just("RunObservation")}, content=CONTENT, exit_code=st.integers(0, 2)),
        extended_content=CONTENT,
    ),
    some({"kind": st.sampled_from(["Condensation", "PauseEvent"])}, summary=WORDS),
)
# As they are stored: JSON joins the halves of a character.
STREAMS = st.lists(ACTIONS | OBSERVATIONS | SDK_EVENTS, max_size=8).map(dumps).map(loads)


@given(STREAMS)
def test_the_same_dicts_come_back_and_the_events_are_valid(events: list[Event]) -> None:
    written = openhands.read_events(events, on_warning=lambda sentence: None)
    assert [finding.message for finding in check_events(written) if finding.severity == "error"] == []
    assert openhands.write_events(written) == events


@given(STREAMS)
def test_what_is_written_without_records_is_read_again(events: list[Event]) -> None:
    written = openhands.read_events(events, on_warning=lambda sentence: None)
    dicts = openhands.write_events([event for event in written if event.type != "RAW"])
    again = openhands.read_events(dicts, on_warning=lambda sentence: None)
    assert openhands.write_events(again) == dicts
