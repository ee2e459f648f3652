"""Translate OpenHands events to AG-UI events and back."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import CustomEvent, RawEvent
from pydantic import BaseModel

from agui_reasoning import Conversation, DecodeError, check_events, reduce_events, restore, run_agent
from agui_reasoning.aio import run_agent as run_agent_async
from agui_reasoning.attribution import trace
from agui_reasoning.crypto import KeyRing
from agui_reasoning.emitter.stages import Chunks, Coalesce, Stage, Steps
from agui_reasoning.interop import openhands
from agui_reasoning.parts import (
    Opaque,
    Origin,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.support.growth import assert_linear
from tests.support.recordings import SHARED

FIXTURES = Path(__file__).parents[2] / "fixtures/openhands"
INPUT = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "messages": [],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}
CLAUDE = {"api": "litellm", "provider": "anthropic", "model": "anthropic/claude-sonnet-4-5"}


def load(name: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return events


def read(events: list[Any], **options: Any) -> list[Any]:
    numbers = count(1)
    given = {"run_input": INPUT, **CLAUDE, **options}
    return openhands.read_events(events, new_id=lambda: f"id-{next(numbers)}", **given)


def shown(events: list[Any]) -> list[tuple[str, str, str]]:
    """Role, id and content of the messages, and name and arguments of the calls."""
    told = []
    for message in reduce_events(events):
        if message.role == "tool":
            told.append((message.role, message.tool_call_id, str(message.content)))
            continue
        if message.role == "reasoning" or message.content:
            told.append((message.role, "", str(message.content)))
        calls = getattr(message, "tool_calls", None) or ()
        told += [(call.function.name, call.id, call.function.arguments) for call in calls]
    return told


@pytest.mark.parametrize("name", ["app", "sdk"])
def test_the_same_dicts_come_back(name: str) -> None:
    events = read(load(name))
    assert openhands.write_events(events) == load(name)
    as_json = [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in events]
    assert openhands.write_events(json.loads(json.dumps(as_json))) == load(name)


@pytest.mark.parametrize("stage", [Chunks(), Coalesce(40), Steps()], ids=lambda stage: type(stage).__name__)
@pytest.mark.parametrize("name", ["app", "sdk"])
def test_the_same_dicts_come_back_whatever_the_stage(name: str, stage: Stage) -> None:
    assert openhands.write_events(read(load(name), stages=[stage])) == load(name)


@pytest.mark.parametrize("name", ["app", "sdk"])
def test_the_events_are_valid_and_repeat_no_reasoning(name: str) -> None:
    events = read(load(name))
    assert [f.code for f in check_events(events) if f.severity == "error"] == []
    raw = "".join(event.model_dump_json() for event in events if isinstance(event, RawEvent))
    reasoning = [m.content for m in reduce_events(events) if m.role == "reasoning" and m.content]
    assert reasoning
    assert [text for text in reasoning if text in raw and "\n\n" not in text] == []


def test_a_stream_of_the_app_is_shown() -> None:
    assert shown(read(load("app"))) == [
        ("user", "", "Which file mentions Oslo?"),
        ("reasoning", "", "Two things can be done at once."),
        ("assistant", "", "I search the files."),
        (
            "execute_bash",
            "toolu_01",
            '{"command":"grep -rl Oslo .","is_input":false,"blocking":false,"hidden":false,'
            '"confirmation_state":"confirmed"}',
        ),
        ("str_replace_editor", "toolu_02", '{"path":"/a","start":0,"end":-1,"view_range":null}'),
        ("tool", "toolu_01", "./b.txt"),
        ("tool", "toolu_02", "Bergen"),
        ("reasoning", "", "Only one match."),
        ("think", "openhands-9", '{"thought":"b.txt it is."}'),
        ("tool", "openhands-9", "Your thought has been logged."),
        ("assistant", "", "It is b.txt."),
        ("reasoning", "", "Nothing is left."),
        ("assistant", "", "All done."),
        ("finish", "openhands-13", '{"final_thought":"It is b.txt.","outputs":{}}'),
    ]


def test_a_stream_of_the_sdk_is_shown() -> None:
    assert shown(read(load("sdk"))) == [
        ("user", "", "Look at this."),
        ("reasoning", "", "First, the weather."),
        ("assistant", "", "Two looks."),
        ("get_weather", "toolu_1", '{"city": "Oslo"}'),
        ("get_wether", "toolu_2", '{"city": '),
        ("tool", "toolu_1", "4 degrees"),
        ("tool", "toolu_2", "Tool 'get_wether' not found."),
        ("reasoning", "", "It is cold.\n\nSo say it."),
        ("terminal", "call_3", '{"command":"rm -rf /"}'),
        ("tool", "call_3", "Action rejected: Never."),
        ("reasoning", "", "Say it."),
        ("assistant", "", "It is cold."),
    ]


def test_what_is_about_the_agent_itself_is_custom() -> None:
    names = {
        name: [event.name for event in read(load(name)) if isinstance(event, CustomEvent)]
        for name in ("app", "sdk")
    }
    assert names == {
        "app": [
            "openhands.system",
            "openhands.recall",
            "openhands.recall",
            "openhands.agent_state_changed",
            "openhands.condensation",
            "openhands.agent_state_changed",
        ],
        "sdk": ["openhands.ConversationStateUpdateEvent", "openhands.Condensation", "openhands.PauseEvent"],
    }


def test_actions_of_one_response_are_one_turn_with_signatures() -> None:
    first = restore(reduce_events(read(load("app")))).turns[0]
    origin = Origin("anthropic", "litellm", "anthropic/claude-sonnet-4-5")
    assert first.id == "chatcmpl-1"
    assert first.parts[0] == ReasoningPart(
        (Segment("text", 0, "Two things can be done at once."),),
        (Opaque("anthropic.signature", "EqQBCgIYAhIM"),),
        origin=origin,
    )
    assert [type(part) for part in first.parts] == [ReasoningPart, TextPart, ToolCallPart, ToolCallPart]


def test_the_values_of_the_sdk_come_back_as_parts() -> None:
    turns = restore(reduce_events(read(load("sdk")))).turns
    values = [value for turn in turns for part in turn.parts for value in getattr(part, "opaque", ())]
    assert values == [
        Opaque("anthropic.signature", "EqQBCgIYAhIN"),
        Opaque("anthropic.redacted_thinking", "EvAFCoYBGAIiQL7a"),
        Opaque("openai.encrypted_content", "gAAAABpXb"),
    ]
    item = next(part for turn in turns for part in turn.parts if getattr(part, "item_id", None))
    assert item.segments == (Segment("summary", 0, "It is cold."), Segment("summary", 1, "So say it."))  # type: ignore[union-attr]


def test_a_sibling_refers_to_the_reasoning_of_the_first_action() -> None:
    records = trace(restore(reduce_events(read(load("app")))))
    told = [(record.call_id, record.reasoning, record.reasoning_ref) for record in records]
    assert told[:2] == [
        ("toolu_01", "Two things can be done at once.", None),
        ("toolu_02", "", "toolu_01"),
    ]


def test_an_observation_answers_its_cause_once() -> None:
    action = {"id": 1, "action": "run", "args": {"command": "ls"}}
    first = {"id": 2, "cause": 1, "observation": "run", "content": "a", "extras": {}}
    again = {"id": 3, "cause": 1, "observation": "run", "content": "b", "extras": {}}
    other = {"id": 4, "cause": 9, "observation": "run", "content": "c", "extras": {}}
    events = read([action, first, again, other])
    assert shown(events)[1:] == [("tool", "openhands-1", "a")]
    assert [event.value for event in events if isinstance(event, CustomEvent)] == [again, other]
    assert openhands.write_events(events) == [action, first, again, other]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"kind": "AgentErrorEvent", "error": "No such tool."}, "No such tool."),
        ({"kind": "UserRejectObservation", "rejection_reason": "Too risky."}, "Action rejected: Too risky."),
        ({"kind": "AgentErrorEvent", "error": ""}, None),
        ({"kind": "ObservationEvent", "observation": {"content": "a.txt"}}, None),
    ],
)
def test_an_error_of_a_tool_comes_back_as_one(result: dict[str, Any], error: str | None) -> None:
    [action] = [event for event in load("sdk") if event.get("kind") == "ActionEvent"][:1]
    answer = {
        "id": "e9",
        "source": "agent",
        "tool_name": "get",
        "tool_call_id": action["tool_call_id"],
        **result,
    }
    events = read([action, answer])
    [message] = [m for m in restore(reduce_events(events)).messages if m.role == "tool"]
    assert message.error == error
    assert openhands.write_events(events) == [action, answer]


PIXEL = "data:image/png;base64,aGk="
PART = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}


@pytest.mark.parametrize("text", ["A map.", ""], ids=["beside text", "alone"])
def test_an_image_in_an_observation_is_a_content_part(text: str) -> None:
    [action] = [event for event in load("sdk") if event.get("kind") == "ActionEvent"][:1]
    parts = [{"type": "text", "text": text}, {"type": "image", "image_urls": [PIXEL, 1]}, {"image_urls": 2}]
    answer = {
        "id": "e9",
        "source": "agent",
        "kind": "ObservationEvent",
        "tool_name": "get",
        "tool_call_id": action["tool_call_id"],
        "observation": {"content": parts},
    }
    events = read([action, answer], run_input=INPUT | {"protocolVersion": "1.0"})
    [message] = [m for m in reduce_events(events) if m.role == "tool"]
    shown = [part.model_dump(by_alias=True, exclude_none=True) for part in message.content]
    assert shown == [*([{"type": "text", "text": text}] if text else []), PART]
    assert openhands.write_events(events) == [action, answer]
    bare = [event for event in events if not isinstance(event, RawEvent)]
    written = openhands.write_events(bare)[-1]
    assert written["content"] == f"{text}\n(Not sent in a tool result: image/png, 2 bytes.)".strip()


def test_an_image_in_a_stored_result_is_a_content_part() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    content = [{"type": "text", "text": "A map."}, {"type": "image_url", "image_url": {"url": PIXEL}}]
    stored = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    ]
    *_, result = openhands.read_messages(stored).items
    shown = [part.model_dump(by_alias=True, exclude_none=True) for part in result.content]
    assert shown == [{"type": "text", "text": "A map."}, PART]


def test_a_command_of_the_users_own_is_no_call_of_the_model() -> None:
    event = {"id": 1, "source": "user", "action": "run", "args": {"command": "ls"}}
    events = read([event])
    assert shown(events) == []
    assert [event.value for event in events if isinstance(event, CustomEvent)] == [event]


def test_other_events_are_written_in_the_form_of_the_app() -> None:
    def agent(run: Any) -> Any:
        yield ReasoningPart((Segment("text", 0, "Look first."),))
        yield TextPart("I look.")
        yield ToolCallPart("call_1", "run", '{"command":"ls"}')
        yield ToolCallPart("call_2", "think", '{"thought":"Hm."}')
        yield ToolResultPart("call_1", "a.txt")
        yield ReasoningPart((Segment("text", 0, "Done."),))
        yield TextPart("It is a.txt.")

    events = list(run_agent(INPUT, agent, new_id=(f"id-{n}" for n in count()).__next__))
    written = openhands.write_events(events)
    response = written[0]["llm_response_id"]
    assert written == [
        {
            "id": 0,
            "source": "agent",
            "action": "run",
            "args": {"thought": "I look.", "command": "ls", "reasoning_content": "Look first."},
            "tool_call_metadata": {"function_name": "run", "tool_call_id": "call_1"},
            "llm_response_id": response,
        },
        {
            "id": 1,
            "source": "agent",
            "action": "think",
            "args": {"thought": "Hm."},
            "tool_call_metadata": {"function_name": "think", "tool_call_id": "call_2"},
            "llm_response_id": response,
        },
        {
            "id": 2,
            "source": "environment",
            "cause": 0,
            "observation": "run",
            "content": "a.txt",
            "extras": {},
            "tool_call_metadata": {"tool_call_id": "call_1"},
        },
        {
            "id": 3,
            "source": "agent",
            "action": "message",
            "args": {"content": "It is a.txt.", "reasoning_content": "Done."},
        },
    ]
    assert openhands.write_events(read(written)) == written


def test_dicts_written_without_records_show_the_same() -> None:
    events = read(load("app"))
    bare = [event for event in events if not isinstance(event, RawEvent)]
    assert shown(read(openhands.write_events(bare))) == shown(events)


HIDING = [{"visibility": "hidden", "keys": True}, {"visibility": "summary", "keys": True}]


@pytest.mark.parametrize("options", HIDING, ids=lambda options: options["visibility"])
@pytest.mark.parametrize("name", ["app", "sdk"])
def test_hidden_reasoning_is_in_no_event(name: str, options: dict[str, Any]) -> None:
    canary = "CANARY-7"
    text = json.dumps(load(name))
    secret = [
        "Two things can be done at once.",
        "Only one match.",
        "Nothing is left.",
        "First, the weather.",
        "Say it.",
    ]
    for one in secret:
        text = text.replace(one, canary)
    stray = {"id": 99, "cause": 77, "observation": "run", "content": "", "thought": canary}
    stray |= {"tool_call_metadata": {"model_response": {"reasoning_content": canary}}}
    keys = KeyRing.generate()
    events = read([*json.loads(text), stray], **{**options, "keys": keys, "on_warning": lambda text: None})
    assert [event for event in events if canary in event.model_dump_json()] == []
    turns = restore(reduce_events(events), keys=keys, thread_id="t").turns
    assert canary in [p.text for turn in turns for p in turn.parts if isinstance(p, ReasoningPart)]


def test_with_keys_no_value_leaves_in_the_clear() -> None:
    events = read(load("sdk"), keys=KeyRing.generate())
    text = "".join(event.model_dump_json() for event in events)
    assert not any(value in text for value in ("EqQBCgIYAhIN", "EvAFCoYBGAIiQL7a", "gAAAABpXb"))


class Stored(BaseModel):
    """Like an event of the SDK: members that are not set are stored as well."""

    id: str = "e-1"
    source: str = "agent"
    kind: str = "MessageEvent"
    llm_message: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}


def test_objects_of_the_sdk_are_read_as_they_are_stored() -> None:
    events = read([Stored()])
    assert openhands.write_events(events) == [Stored().model_dump()]
    assert shown(events) == [("assistant", "", "Hello.")]


def test_a_stream_is_read_in_a_run_as_it_comes() -> None:
    def agent(run: Any) -> Any:
        yield openhands.stream(iter(load("sdk")))

    events = list(run_agent(INPUT, agent, **CLAUDE))  # type: ignore[arg-type]
    assert shown(events) == shown(read(load("sdk")))
    assert not any(isinstance(event, RawEvent) for event in events)


@pytest.mark.anyio
async def test_an_asynchronous_stream_is_read_too() -> None:
    async def source() -> Any:
        for event in load("app"):
            yield event

    async def agent(run: Any) -> Any:
        yield openhands.stream(source())
        yield openhands.stream(load("app")[1])

    conversation = Conversation()
    async for event in run_agent_async(INPUT, agent, **CLAUDE):
        conversation.receive(event)
    assert conversation.status == "finished"
    assert [m.content for m in conversation.messages if m.role == "user"] == ["Which file mentions Oslo?"] * 2


def nested(levels: int) -> Any:
    """Lists in lists."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("event", "path"),
    [
        ("text", ""),
        ({"action": "run", "args": []}, "/args"),
        ({"action": "run", "args": {"thought": 1}}, "/args/thought"),
        ({"action": "run", "args": {"reasoning_content": []}}, "/args/reasoning_content"),
        ({"kind": "ActionEvent", "thinking_blocks": {}}, "/thinking_blocks"),
        (
            {"kind": "ActionEvent", "responses_reasoning_item": {"summary": [{}]}},
            "/responses_reasoning_item/summary",
        ),
        ({"action": "run", "args": {"n": float("nan")}}, ""),
        ({"observation": "null", "extras": nested(300)}, ""),
    ],
)
def test_what_is_no_event_of_openhands_is_refused(event: Any, path: str) -> None:
    with pytest.raises(DecodeError) as failure:
        read([event])
    assert (failure.value.code, failure.value.path) == ("bad_payload", path)


def test_a_record_that_does_not_fit_what_is_shown_is_left_aside() -> None:
    events = [event.model_dump(by_alias=True, exclude_none=True) for event in read(load("app"))]
    for event in events:
        if event["type"] == "RAW":
            event["event"] = {**event["event"], "texts": [[["id"], 7]]}
    assert shown(read(openhands.write_events(events))) == shown(read(load("app")))


def test_what_is_read_is_a_copy() -> None:
    given = {"observation": "agent_state_changed", "extras": {"agent_state": "running"}}
    events = read([given])
    given["extras"] = {}
    assert openhands.write_events(events) == [{**given, "extras": {"agent_state": "running"}}]


@pytest.mark.growth
def test_work_grows_with_the_log() -> None:
    def log(copies: int) -> list[dict[str, Any]]:
        return [
            {**event, "id": f"{copy}-{event['id']}", "llm_response_id": f"r{copy}"}
            for copy in range(copies)
            for event in load("app")
        ]

    assert_linear(log, lambda events: openhands.write_events(read(events)), 40)


@pytest.mark.skipif(not (SHARED / "seeds").is_dir(), reason=f"{SHARED}/seeds is not on this machine")
def test_the_examples_of_the_notes_are_read() -> None:
    text = next((SHARED / "seeds").glob("000_*")).read_text(encoding="utf-8")
    accepted = re.findall(r"Accepts (\{ args: .*\})", text)
    assert len(accepted) == 3
    for one in accepted:
        args = json.loads(re.sub(r"(\w+):", r'"\1":', one))["args"]
        event = {"action": "run", "args": args}
        events = read([event])
        assert openhands.write_events(events) == [event]
        told = [(role, content) for role, _, content in shown(events) if role in ("reasoning", "assistant")]
        assert ("assistant", "X") in told
        assert (("reasoning", "R") in told) == ("R" in str(args))
