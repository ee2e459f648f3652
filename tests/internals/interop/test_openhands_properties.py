"""Stored OpenHands messages: read and written again, they are the same, in each of their forms."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning import AGUIReasoningWarning, DecodeError, Run
from agui_reasoning.interop import openhands
from agui_reasoning.interop.openhands import message_fields
from agui_reasoning.parts import NativePart, Opaque, ReasoningPart, Segment, TextPart, ToolCallPart
from agui_reasoning.request import History
from tests.support.effort import examples

JSON = dict[str, Any]
EMPTY = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}

UPSTREAMS = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "deepseek": "deepseek/deepseek-v4-pro",
    "openai": "openai/gpt-5.6",
}
WORDS = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=8)
TEXTS = WORDS | st.tuples(WORDS, WORDS).map("\n".join)


def run_of(upstream: str) -> Run:
    return Run(
        {"threadId": "t", "runId": "r", **EMPTY},
        api="litellm",
        provider=upstream,
        model=UPSTREAMS[upstream],
        on_warning=lambda text: None,
    )


def text(words: str) -> list[JSON]:
    return [{"type": "text", "text": words}]


@st.composite
def thoughts(draw: st.DrawFn, upstream: str) -> JSON:
    """The reasoning of one message, in the field of its upstream."""
    words, value = draw(TEXTS), draw(WORDS)
    if upstream == "deepseek":
        return {"reasoning_content": words}
    if upstream == "openai":
        item = {"id": f"rs_{value}", "summary": [words, draw(TEXTS)], "encrypted_content": value}
        return {"responses_reasoning_item": item}
    blocks: list[JSON] = [{"type": "thinking", "thinking": words, "signature": value}]
    redacted: list[JSON] = [{"type": "redacted_thinking", "data": value}]
    return {"thinking_blocks": blocks + (redacted if draw(st.booleans()) else [])}


@st.composite
def conversations(draw: st.DrawFn, upstream: str) -> list[JSON]:
    """A question, then calls with their results, then an answer: as the SDK stores messages."""
    stored: list[JSON] = [{"role": "user", "content": text(draw(TEXTS))}]
    if draw(st.booleans()):
        image = {
            "type": "image",
            "image_urls": [draw(st.sampled_from(["data:image/png;base64,AA==", "https://x/y"]))],
        }
        stored[0]["content"].append(image)
    for number in range(draw(st.integers(0, 3))):
        thought = draw(thoughts(upstream))
        origin = "responses" if upstream == "openai" else "completion"
        call = {"id": f"call_{number}", "name": "get", "arguments": '{"n":1}', "origin": origin}
        content = text(draw(TEXTS)) if draw(st.booleans()) else []
        stored += [
            {"role": "assistant", "content": content, "tool_calls": [call], **thought},
            {"role": "tool", "content": text(draw(TEXTS)), "tool_call_id": f"call_{number}", "name": "get"},
        ]
    return [*stored, {"role": "assistant", "content": text(draw(TEXTS)), **draw(thoughts(upstream))}]


def chat(message: JSON) -> JSON:
    """A stored message as ``to_chat_dict`` writes it: parts of content, and calls with a function inside."""
    written = {name: value for name, value in message.items() if name != "responses_reasoning_item"}
    images = [
        {"type": "image_url", "image_url": {"url": url}}
        for part in message["content"]
        for url in part.get("image_urls", ())
    ]
    words = [part for part in message["content"] if part["type"] == "text"]
    written["content"] = [*words, *images] if images else "\n".join(part["text"] for part in words)
    if calls := message.get("tool_calls"):
        written["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls
        ]
    return written


def items(message: JSON) -> list[JSON]:
    """A stored message as ``to_responses_dict`` writes it: an item for each part."""
    if message["role"] == "tool":
        output = message["content"][0]["text"]
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}]
    written: list[JSON] = []
    if item := message.get("responses_reasoning_item"):
        summary = [{"type": "summary_text", "text": words} for words in item["summary"]]
        written.append({"type": "reasoning", **item, "summary": summary})
    user = message["role"] == "user"
    kind = "input_text" if user else "output_text"
    content: list[JSON] = []
    for part in message["content"]:
        content += [{"type": kind, "text": part["text"]}] if part["type"] == "text" else []
        content += [{"type": "input_image", "image_url": url} for url in part.get("image_urls", ())]
    if content:
        written.append({"type": "message", "role": message["role"], "content": content})
    for call in message.get("tool_calls", ()):
        called = {"call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
        written.append({"type": "function_call", "id": f"fc_{call['id']}", **called})
    return written


def again(upstream: str, stored: list[JSON]) -> list[JSON]:
    numbers = iter(range(1000))
    history = openhands.read_messages(
        stored, provider=upstream, model=UPSTREAMS[upstream], new_id=lambda: str(next(numbers))
    )
    return message_fields(run_of(upstream), history=history)


@pytest.mark.parametrize("upstream", UPSTREAMS)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_stored_messages_are_themselves_again(upstream: str, data: st.DataObject) -> None:
    stored = data.draw(conversations(upstream))
    before = json.dumps(stored)
    assert again(upstream, stored) == stored
    assert json.dumps(stored) == before


@pytest.mark.parametrize("upstream", ["anthropic", "deepseek"])
@settings(max_examples=examples(60))
@given(data=st.data())
def test_dicts_for_chat_completions_are_the_stored_messages(upstream: str, data: st.DataObject) -> None:
    stored = data.draw(conversations(upstream))
    assert again(upstream, [chat(message) for message in stored]) == stored


@settings(max_examples=examples(60))
@given(stored=conversations("openai"))
def test_items_for_responses_are_the_stored_messages(stored: list[JSON]) -> None:
    assert again("openai", [item for message in stored for item in items(message)]) == stored


def test_the_forms_mix_and_every_part_is_read() -> None:
    stored = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]},
        {
            "role": "assistant",
            "content": None,
            "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}],
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "get", "content": "4"},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "So."}],
        },
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "get", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "5"},
        {"role": "assistant", "content": "Nine."},
    ]
    history = openhands.read_messages(stored)
    first, second, third = (turn.parts for turn in history.turns)
    assert first == (
        ReasoningPart((Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", "EqQB"),)),
        ToolCallPart("c1", "get", "{}"),
    )
    assert second == (ReasoningPart((Segment("raw", 0, "So."),), (), "rs_1"), ToolCallPart("c2", "get", "{}"))
    assert third == (TextPart("Nine."),)
    assert [message.content for message in history.messages] == ["Be brief.", "A\nB", "4", "5"]
    assert [type(item) for item in history.items[1:2]] == [UserMessage]
    assert isinstance(history.items[3], ToolMessage)


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("text", ""),
        ({"role": "narrator"}, "/role"),
        ({"role": "assistant", "content": [{"type": "text", "text": 1}]}, "/content/text"),
        ({"role": "assistant", "tool_calls": "none"}, "/tool_calls"),
        ({"type": "reasoning", "summary": ["text"]}, "/summary"),
    ],
)
def test_what_is_no_message_of_openhands_is_refused(message: Any, path: str) -> None:
    with pytest.raises(DecodeError) as raised:
        openhands.read_messages([message])
    assert raised.value.code == "bad_payload"
    assert raised.value.path.startswith(path)


def test_nothing_is_an_empty_conversation() -> None:
    assert openhands.read_messages([]) == History()


# -- LiteLLM's messages of older logs


def test_calls_and_results_without_ids_belong_together_by_name() -> None:
    look, run = ({"name": name, "arguments": f'{{"at":"{name}"}}'} for name in ("look", "run"))
    history = openhands.read_messages(
        [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": None, "function_call": look, "tool_calls": None},
            {"role": "function", "name": "look", "content": "Here."},
            {"role": "assistant", "content": "So.", "function_call": run},
            {"role": "function", "name": "run", "content": "Done."},
            {"role": "assistant", "content": "Here.", "function_call": None},
        ],
        provider="openai",
        model="openai/gpt-4o",
    )
    body = run_of("openai").request(history=history).body["messages"]
    assert [message["role"] for message in body] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    for said, told, call in ((body[1], body[2], look), (body[3], body[4], run)):
        assert [one["function"] for one in said["tool_calls"]] == [call]
        assert [one["id"] for one in said["tool_calls"]] == [told["tool_call_id"]]
    assert [body[2]["content"], body[4]["content"]] == ["Here.", "Done."]


PICTURE = "data:image/png;base64,AA=="
IMAGES: dict[str, JSON] = {
    "of the SDK": {"type": "image", "image_urls": [PICTURE]},
    "of Chat Completions": {"type": "image_url", "image_url": {"url": PICTURE}},
    "of Responses": {"type": "input_image", "image_url": PICTURE},
}


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_images_in_results_are_kept(image: JSON) -> None:
    result = {"role": "tool", "tool_call_id": "c", "content": [*text("A screenshot."), image]}
    [told] = openhands.read_messages([result]).items
    assert isinstance(told, ToolMessage)
    assert [part.model_dump(by_alias=True, exclude_none=True) for part in told.content] == [  # type: ignore[union-attr]
        {"type": "text", "text": "A screenshot."},
        {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
    ]


def test_images_in_the_output_of_a_call_are_kept() -> None:
    item = {"type": "function_call_output", "call_id": "c", "output": [IMAGES["of Responses"]]}
    [told] = openhands.read_messages([item]).items
    assert isinstance(told, ToolMessage)
    assert [part.type for part in told.content] == ["image"]  # type: ignore[union-attr]


def test_images_of_the_model_are_kept_with_a_warning() -> None:
    image = IMAGES["of Chat Completions"]
    with pytest.warns(AGUIReasoningWarning, match="Images of the model"):
        history = openhands.read_messages([{"role": "assistant", "content": [*text("So."), image]}])
    assert [part.payload for part in history.turns[0].parts if isinstance(part, NativePart)] == [image]


def test_thoughts_in_the_content_are_read() -> None:
    content = [{"type": "thinking", "text": "Hm."}, *text("So.")]
    history = openhands.read_messages([{"role": "assistant", "content": content}])
    assert [type(part) for part in history.turns[0].parts] == [ReasoningPart, TextPart]


@pytest.mark.parametrize(
    ("message", "warning"),
    [
        (
            {"role": "user", "content": [{"type": "text", "text": "Hi.", "cache_prompt": True}]},
            "Marks for prompt caching",
        ),
        (
            {"role": "assistant", "content": None, "audio": {"id": "a", "data": "AA==", "transcript": "Hi."}},
            "Audio of the model was left out",
        ),
        (
            {
                "role": "user",
                "content": [*text("Hi."), {"type": "input_audio", "input_audio": {"data": "AA=="}}],
            },
            "neither text nor an image",
        ),
    ],
)
def test_what_is_left_out_is_told_once(message: JSON, warning: str) -> None:
    with pytest.warns(AGUIReasoningWarning, match=warning) as caught:
        history = openhands.read_messages([message, message])
    assert len(caught) == 1
    texts = [part.text for turn in history.turns for part in turn.parts if isinstance(part, TextPart)]
    texts += [item.content for item in history.items if isinstance(item, UserMessage)]
    assert texts == ["Hi.", "Hi."]
