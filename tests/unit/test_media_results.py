"""Test results of tools that contain media: to the client, into the request, and back from the client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import ImagePart, TextPart

from agui_reasoning import Conversation, LocalProtocolError, Run, check_events
from agui_reasoning.deltas import ToolCallDelta, ToolResultDelta, fold
from agui_reasoning.parts import ToolCallPart, ToolResultPart
from tests.support.verifier import plain

QUESTION = {"id": "u", "role": "user", "content": "Where is it?"}
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [QUESTION]}
CLAUDE = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude"}

MAP: dict[str, Any] = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
NOTE = {"type": "text", "text": "A map."}
SENT = [NOTE, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]
AS_TEXT = "A map.\n(Not sent in a tool result: image/png, 2 bytes.)"
MODELS = [TextPart(text="A map."), ImagePart.model_validate(MAP)]


def looked(
    client: dict[str, Any], content: Any, error: str | None = None
) -> tuple[Run, list[Any], list[str]]:
    heard: list[str] = []
    run = Run(INPUT | client, on_warning=heard.append, **CLAUDE)
    events = run.start() + run.receive(ToolCallPart("c1", "look", "{}"))
    events += run.receive(ToolResultPart("c1", content, error))
    return run, events, heard


def shown(events: list[Any]) -> Any:
    [result] = [event for event in plain(events) if event["type"] == "TOOL_CALL_RESULT"]
    return result["content"]


@pytest.mark.parametrize("content", [[NOTE, MAP], MODELS], ids=["json", "models"])
def test_media_reach_the_client_and_the_request(content: Any) -> None:
    run, events, heard = looked({"protocolVersion": "1.0"}, content)
    assert shown(events) == [NOTE, MAP]
    assert run.request().body["messages"][-1]["content"][0]["content"] == SENT
    assert heard == []


def test_media_come_back_from_the_client() -> None:
    conversation = Conversation("t")
    conversation.run_input("Where is it?")
    run, events, _ = looked({"protocolVersion": "1.0"}, [NOTE, MAP])
    events += run.finish()
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
    sent = json.loads(conversation.run_input("And now?").model_dump_json(by_alias=True, exclude_none=True))
    result, asked = Run(sent, **CLAUDE).request().body["messages"][-1]["content"]
    assert (result["content"], asked) == (SENT, {"type": "text", "text": "And now?"})
    assert check_events(events) == []


URL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


@pytest.mark.parametrize(
    ("api", "provider", "model", "written"),
    [
        ("litellm", "anthropic", "anthropic/claude-sonnet-4-6", [NOTE, URL]),
        ("litellm", "bedrock", "bedrock/us.anthropic.claude-sonnet-4-6", [NOTE, URL]),
        ("litellm", "vertex_ai", "vertex_ai/claude-sonnet-4-6", [NOTE, URL]),
        ("litellm", "openai", "responses/gpt-5.6-sol", [NOTE, URL]),
        ("litellm", "openai", "gpt-4o", AS_TEXT),
        ("litellm", "vertex_ai", "vertex_ai/gemini-3-pro", AS_TEXT),
        ("openai-chat", "litellm", "anthropic/claude-sonnet-4-6", [NOTE, URL]),
        ("openai-chat", "litellm", "openrouter/anthropic/claude-sonnet-4-6", AS_TEXT),
        ("openai-chat", "openrouter", "anthropic/claude-sonnet-4-6", AS_TEXT),
        ("openai-chat", "openai", "gpt-4o", AS_TEXT),
    ],
)
def test_media_go_through_litellm_to_models_that_get_them(
    api: str, provider: str, model: str, written: Any
) -> None:
    run, _, heard = looked({"protocolVersion": "1.0"}, [NOTE, MAP])
    request = run.request(api=api, provider=provider, model=model)
    assert request.body["messages"][-1]["content"] == written
    assert any("image in a tool result" in told for told in heard) == (written == AS_TEXT)


def test_a_client_that_declares_no_version_gets_text_and_the_model_still_gets_the_media() -> None:
    run, events, heard = looked({}, [NOTE, MAP])
    assert shown(events) == AS_TEXT
    assert run.request().body["messages"][-1]["content"][0]["content"] == SENT
    assert len(heard) == 1
    assert "declares no protocol version" in heard[0]


def test_an_error_follows_the_media() -> None:
    run, events, _ = looked({"protocolVersion": "1.0"}, [MAP], "Too dark.")
    said = {"type": "text", "text": "Too dark."}
    assert shown(events) == [MAP, said]
    [result] = run.request().body["messages"][-1]["content"]
    assert (result["content"], result["is_error"]) == ([SENT[1], said], True)


def test_media_of_a_server_tool_are_in_its_own_block_only() -> None:
    deltas = [ToolCallDelta("s", "look", server=True), ToolResultDelta("s", [NOTE, MAP], native={"a": 1})]
    _, result = fold(deltas)
    assert isinstance(result, ToolResultPart)
    assert (result.content, result.native) == (AS_TEXT, {"a": 1})


def test_a_list_of_something_else_is_refused_without_quoting_it() -> None:
    with pytest.raises(LocalProtocolError) as error:
        looked({}, [{"type": "image", "data": "c2VjcmV0"}])
    assert error.value.code == "not_an_item"
    assert "c2VjcmV0" not in f"{error.value} {error.value.hint} {error.value.__context__}"
