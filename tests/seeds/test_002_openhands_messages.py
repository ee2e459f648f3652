"""Document 002: messages that OpenHands stores, and those that LiteLLM sends."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest
from ag_ui.core import ToolMessage
from pydantic import BaseModel

from agui_reasoning import ConfigurationError, History, Run
from agui_reasoning.interop import litellm, openhands
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers import decode_response
from tests.seeds import CALL, INPUT, answered, each, numbers, row, told

JSON = dict[str, Any]

CLAUDE = {"provider": "anthropic", "model": "anthropic/claude-sonnet-4-5"}
PNG = "data:image/png;base64,AA=="
PICTURE = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}}
STORED_PICTURE = {"type": "image_url", "image_urls": [PNG]}
SENT_PICTURE = {"type": "image_url", "image_url": {"url": PNG}}
FUNCTION = {"name": "look", "arguments": '{"at":"a"}'}
CALLED = {"id": "call_1", "type": "function", "function": FUNCTION}
BLOCK = {"type": "thinking", "thinking": "R", "signature": "EqQB"}
CACHED = {"type": "ephemeral"}


def text(*texts: str) -> list[JSON]:
    return [{"type": "text", "text": one} for one in texts]


def stored(role: str, content: Any, **fields: Any) -> JSON:
    """A message of the old class with all its fields."""
    plain = {"cache_enabled": False, "vision_enabled": False, "function_calling_enabled": False}
    nothing = {"tool_calls": None, "tool_call_id": None, "name": None}
    return {
        "role": role,
        "content": content,
        "condensable": True,
        "event_id": -1,
        **plain,
        **nothing,
        **fields,
    }


THREAD = [
    stored("system", text("Be brief.")),
    stored("user", text("Look.")),
    stored("assistant", text("I look."), tool_calls=[CALLED]),
    stored("tool", text("4"), tool_call_id="call_1", name="look"),
]
SENT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "call_1", "content": "4"},
]


def read(*messages: Any) -> History:
    return openhands.read_messages(messages, new_id=numbers(), **CLAUDE)


def sent(*messages: Any, **target: str) -> list[JSON]:
    """The messages of the next request after stored ones."""
    run = Run(INPUT, api="litellm", **(target or CLAUDE))
    body: list[JSON] = run.request(history=read(*messages)).body["messages"]
    return body


# -- the class of OpenHands


@each("number", {f"002-01{role}": n for n, role in enumerate(("system", "user", "assistant", "tool"))})
def test_a_message_of_each_role_is_read(number: int) -> None:
    assert sent(*THREAD)[number] == SENT[number]


@row("002-02")
@pytest.mark.parametrize("part", [STORED_PICTURE, {"type": "image", "image_urls": [PNG]}, SENT_PICTURE])
def test_pictures_of_the_user_are_read(part: JSON) -> None:
    user = stored("user", [*text("q"), part], vision_enabled=True)
    assert sent(user) == [{"role": "user", "content": [*text("q"), SENT_PICTURE]}]


@row("002-05")
def test_texts_of_a_message_are_joined_by_line_breaks() -> None:
    assert sent(stored("user", text("a", "b"))) == [{"role": "user", "content": "a\nb"}]


@row("002-15")
def test_messages_of_both_serializers_can_be_mixed() -> None:
    assert sent({"role": "system", "content": "Be brief."}, *THREAD[1:3], SENT[3]) == SENT


class Function(BaseModel):
    """What LiteLLM makes of the function of a call."""

    name: str
    arguments: str


class Call(BaseModel):
    """LiteLLM's object for a call."""

    id: str
    type: str
    function: Function


class Message(BaseModel, extra="allow"):
    """A message as an object of LiteLLM, or of OpenHands."""

    role: str
    content: Any = None


@row("002-07", "002-08", "002-10")
def test_calls_are_read_as_dicts_and_as_objects() -> None:
    calls = [Call.model_validate(CALLED)]
    said = {"content": None, "tool_calls": calls, "function_call": None, "audio": None}
    answer = {"role": "tool", "tool_call_id": "call_1", "name": "look", "content": "4"}
    expected = [{"role": "assistant", "content": None, "tool_calls": [CALLED]}, SENT[3]]
    for message in (Message(role="assistant", **said), {"role": "assistant", **said, "tool_calls": [CALLED]}):  # type: ignore[arg-type]
        assert sent(SENT[1], message, answer)[1:] == expected


@row("002-18")
def test_hints_for_the_condenser_are_read_and_not_sent() -> None:
    assert sent(stored("user", text("Look."), event_id=7, condensable=False)) == [SENT[1]]


# -- the serializers


def run_of(*messages: JSON, **options: Any) -> Run:
    run = Run({**INPUT, "messages": list(messages)}, api="litellm", **{**CLAUDE, **options})
    run.start()
    return run


ASKED = {"id": "u", "role": "user", "content": "Look."}
SEEN = {"id": "u", "role": "user", "content": [*text("q"), PICTURE]}
HELD = [
    ASKED,
    {"id": "a", "role": "assistant", "toolCalls": [CALLED]},
    {"id": "t", "role": "tool", "toolCallId": "call_1", "content": "4"},
]
AS_STRINGS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "call_1", "content": "4", "name": "look"},
]
AS_LISTS = [
    {"role": "system", "content": text("Be brief.")},
    {"role": "user", "content": text("Look.")},
    AS_STRINGS[2],
    {**AS_STRINGS[3], "content": text("4")},
]


@each(
    "capability, written",
    {
        "002-05b": ({}, AS_STRINGS),
        "002-06": ({"function_calling": True}, AS_LISTS),
        "002-06 vision": ({"vision": True}, AS_LISTS),
        "002-03": (
            {"cache": True},
            [
                {"role": "system", "content": [{**text("Be brief.")[0], "cache_control": CACHED}]},
                *AS_LISTS[1:3],
                {**AS_LISTS[3], "cache_control": CACHED},
            ],
        ),
    },
)
def test_content_is_a_list_where_a_capability_asks_for_it(capability: JSON, written: list[JSON]) -> None:
    assert litellm.messages(run_of(*HELD), system="Be brief.", **capability) == written


@row("002-04")
def test_pictures_are_left_out_without_vision() -> None:
    heard: list[str] = []
    run = run_of(SEEN, on_warning=heard.append)
    assert litellm.messages(run, vision=False) == [{"role": "user", "content": "q"}]
    assert heard == ["An image was left out of the messages for LiteLLM: vision is off."]
    assert litellm.messages(run, vision=True) == [{"role": "user", "content": [*text("q"), SENT_PICTURE]}]


@row("002-09")
def test_messages_are_json_with_arguments_as_text() -> None:
    written = litellm.messages(run_of(*HELD), cache=True)
    assert json.loads(json.dumps(written)) == written
    (call,) = written[1]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"at": "a"}


@row("002-03", "002-21")
@pytest.mark.parametrize("mark", [{"cache_prompt": True}, {"cache_control": CACHED}])
def test_stored_marks_for_the_cache_are_told(mark: JSON) -> None:
    with pytest.warns(
        match=r"^Marks for prompt caching were left out: mark the messages of the next request\.$"
    ):
        history = read(stored("system", [{**text("Be brief.")[0], **mark}], cache_enabled=True), ASKED)
    assert [message.content for message in history.messages] == ["Be brief.", "Look."]


# -- LiteLLM's own message


@row("002-11")
def test_a_function_call_of_a_response_is_a_call() -> None:
    message = {"role": "assistant", "content": None, "function_call": FUNCTION}
    response = {"choices": [{"index": 0, "finish_reason": "function_call", "message": message}]}
    ((call),) = decode_response("litellm", response)
    assert isinstance(call, ToolCallPart)
    assert (call.name, call.args) == ("look", {"at": "a"})


AUDIO = {"id": "audio_1", "data": "AA==", "expires_at": 1, "transcript": "Hello."}


@row("002-12")
def test_the_transcript_of_audio_is_the_text() -> None:
    message = {"role": "assistant", "content": None, "audio": AUDIO}
    response = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    assert told(answered(response, api="litellm")) == [("assistant", "Hello.")]
    with pytest.warns(match=r"^Audio of the model was left out; its transcript is read as text\.$"):
        history = read(ASKED, message)
    assert [part.text for part in history.turns[0].parts if isinstance(part, TextPart)] == ["Hello."]


@row("002-13", "002-14")
def test_a_stored_function_call_and_its_result_belong_together() -> None:
    legacy = [
        {"role": "assistant", "content": None, "function_call": FUNCTION},
        {"role": "function", "name": "look", "content": "4"},
    ]
    assistant, result = sent(SENT[1], *legacy)[1:]
    (call,) = assistant["tool_calls"]
    assert call["function"] == FUNCTION
    assert result == {"role": "tool", "tool_call_id": call["id"], "content": "4"}


# -- pictures elsewhere


@row("002-19")
def test_a_picture_in_a_result_is_kept_and_sent_where_litellm_hands_it_on() -> None:
    result = stored("tool", [*text("4"), STORED_PICTURE], tool_call_id="call_1", name="look")
    history = read(*THREAD[:3], result)
    message = history.messages[-1]
    assert isinstance(message, ToolMessage)
    assert [part.type for part in message.content] == ["text", "image"]  # type: ignore[union-attr]
    run = Run(INPUT, api="litellm", **CLAUDE)
    written = run.request(history=history).body["messages"][-1]
    assert written == {**SENT[3], "content": [*text("4"), SENT_PICTURE]}
    with pytest.warns(match="The image in a tool result cannot be sent to this API"):
        request = run.request(history=history, provider="openai", model="gpt-4o")
    told = {**SENT[3], "content": "4\n(Not sent in a tool result: image/png, 1 bytes.)"}
    assert request.body["messages"][-1] == told


@row("002-20")
def test_a_picture_of_the_model_is_kept_and_its_loss_is_told() -> None:
    with pytest.warns(match=r"^Images of the model are kept in the history, but no request includes them\.$"):
        history = read(SENT[1], stored("assistant", [*text("I look."), STORED_PICTURE]))
    (turn,) = history.turns
    assert [type(part) for part in turn.parts] == [TextPart, NativePart]
    assert turn.parts[1].payload == STORED_PICTURE  # type: ignore[union-attr]


# -- OpenHands' message, upstreams


THOUGHT = ReasoningPart((Segment("text", 0, "R"),), (Opaque("anthropic.signature", "EqQB"),))


@row("002-16")
def test_messages_of_the_sdk_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("openhands.sdk.llm")
    module.Message = Message  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "openhands.sdk.llm", module)
    run = run_of(ASKED)
    for part in (THOUGHT, CALL, ToolResultPart("call_1", "4")):
        run.receive(part)
    written: list[Any] = openhands.messages(run)
    assert written == [
        Message(role="user", content=text("Look.")),
        Message.model_validate(
            {
                "role": "assistant",
                "content": [],
                "tool_calls": [{"id": "call_1", **FUNCTION, "origin": "completion"}],
                "thinking_blocks": [BLOCK],
            }
        ),
        Message.model_validate(
            {"role": "tool", "content": text("4"), "tool_call_id": "call_1", "name": "look"}
        ),
    ]


@row("002-16")
def test_without_the_sdk_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openhands.sdk.llm", None)
    with pytest.raises(ConfigurationError, match="The OpenHands SDK is not installed") as failure:
        openhands.messages(run_of(ASKED))
    assert failure.value.code == "missing_framework"


@row("002-17")
@pytest.mark.parametrize(
    ("target", "fields"),
    [
        (CLAUDE, {"thinking_blocks": [BLOCK]}),
        (
            {"provider": "deepseek", "model": "deepseek/deepseek-v4-pro"},
            {"content": "", "reasoning_content": ""},
        ),
        ({"provider": "openai", "model": "openai/gpt-5.2"}, {}),
    ],
    ids=["anthropic", "deepseek", "openai"],
)
def test_each_upstream_gets_what_it_takes_of_one_history(target: dict[str, str], fields: JSON) -> None:
    said = {"role": "assistant", "content": None, "thinking_blocks": [BLOCK], "tool_calls": [CALLED]}
    written = sent(SENT[1], said, SENT[3], **target)
    assert written == [
        SENT[1],
        {"role": "assistant", "content": None, "tool_calls": [CALLED], **fields},
        SENT[3],
    ]
