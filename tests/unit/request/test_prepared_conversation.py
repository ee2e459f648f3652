"""The conversation of a request as parts: what the body leaves out is not in it."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
from ag_ui.core import ImagePart, ToolMessage, UserMessage

from agui_reasoning import ConfigurationError, build_request
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment, TextPart, ToolCallPart, Turn
from agui_reasoning.request import History, PreparedConversation, PreparedResponse, ProviderRequest, prepare

IMAGE = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
VIDEO = {"type": "video", "source": {"type": "url", "value": "https://example.com/a.mp4"}}
WORDS = {"type": "text", "text": "What is it?"}
OPENAI = Origin("openai", "openai-responses", "gpt-5.6-sol")
THOUGHT = ReasoningPart(
    (Segment("summary", 0, "Hm."),), (Opaque("openai.encrypted_content", "gAAA"),), "rs_1"
)


def asked(api: str, provider: str, *items: Any) -> ProviderRequest:
    history = History(tuple(items))
    return build_request(api, history, provider=provider, model="m", on_warning=lambda _: None)


def user(*content: Any) -> UserMessage:
    return UserMessage.model_validate({"id": "u", "role": "user", "content": list(content)})


def test_media_that_the_api_does_not_take_are_left_out_of_messages_and_named_in_results() -> None:
    turn = Turn((ToolCallPart("c1", "look", "{}"),))
    result = ToolMessage.model_validate(
        {"id": "t", "role": "tool", "toolCallId": "c1", "content": [WORDS, IMAGE]}
    )
    request = asked("openai-chat", "deepseek", user(WORDS, VIDEO), turn, result, user(VIDEO))
    first, response, last = request.conversation.items
    assert isinstance(first, UserMessage)
    assert [part.type for part in first.content] == ["text"]
    assert isinstance(response, PreparedResponse)
    (told,) = response.results
    sentence = "(Not sent in a tool result: image/png, 2 bytes.)"
    assert [part.text for part in told.content] == ["What is it?", sentence]  # type: ignore[union-attr]
    assert last.content == "(An attachment was left out: this model cannot read it.)"
    taken = asked("anthropic-messages", "anthropic", user(WORDS, IMAGE)).conversation.items[0]
    assert isinstance(taken.content[1], ImagePart)  # type: ignore[union-attr]


def test_reasoning_that_the_target_does_not_take_is_left_out_with_its_ids() -> None:
    turn = Turn((THOUGHT, TextPart("Yes.", ext={"id": "msg_1"})), OPENAI, id="r1")
    (_, same, _) = asked("openai-responses", "openai", user(WORDS), turn, user(WORDS)).conversation.items
    (_, other, _) = asked(
        "anthropic-messages", "anthropic", user(WORDS), turn, user(WORDS)
    ).conversation.items
    assert isinstance(same, PreparedResponse)
    assert isinstance(other, PreparedResponse)
    thought, said = same.parts
    assert (thought.item_id, thought.opaque[0].value) == ("rs_1", "gAAA")  # type: ignore[union-attr]
    assert said.ext["id"] == "msg_1"  # type: ignore[union-attr,index]
    (text,) = other.parts
    assert (text.text, text.ext) == ("Yes.", None)  # type: ignore[union-attr]


def test_its_repr_has_no_content() -> None:
    request = asked("anthropic-messages", "anthropic", user(WORDS))
    assert "What is it?" not in f"{request!r} {request.conversation!r}"
    assert "_conversation" not in repr(request)
    target = Origin("openai", "openai-responses", "gpt-5.6")
    assert ProviderRequest({}, target=target).conversation == PreparedConversation(target, ())


def test_a_conversation_is_prepared_as_the_request_has_it_and_warns_alike() -> None:
    turn = Turn((THOUGHT, TextPart("Yes.", ext={"id": "msg_1"}), ToolCallPart("c1", "look", "{}")), OPENAI)
    told: list[str] = []
    given: Any = {"model": "m", "provider": "openai", "on_warning": told.append}
    history = History((user(WORDS), turn))
    conversation = prepare("openai-responses", history, **given)
    assert conversation == build_request("openai-responses", history, **given).conversation
    assert [type(item) for item in conversation.items] == [UserMessage, PreparedResponse]
    assert len(told) == 2
    assert told[0] == told[1]
    assert list(signature(prepare).parameters) == list(signature(build_request).parameters)
    with pytest.raises(ConfigurationError, match="No model was named"):
        prepare("openai-responses", history)
