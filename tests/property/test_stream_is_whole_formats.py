"""Test the law *stream = whole* for Bedrock, Mistral, Cohere and Ollama."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning.deltas import fold
from agui_reasoning.providers import decode_response
from tests.laws import law
from tests.property.test_stream_is_whole import cuts, objects, stream, words
from tests.support.wholes import Cut, normal

token = st.text("abcXYZ019+/=", min_size=4, max_size=12)
blob = st.binary(min_size=1, max_size=12).map(lambda raw: base64.b64encode(raw).decode())
json_text = st.sampled_from(["", "{}", '{"a": 1}'])


def same(api: str, response: dict[str, Any], cut: Cut, *, flat: bool = False) -> None:
    streamed = fold(stream(api, response, cut))
    assert normal(streamed, flat=flat) == normal(decode_response(api, response), flat=flat)


# -- Bedrock

thought = st.fixed_dictionaries({"text": words}, optional={"signature": token})
tagged = st.tuples(st.sampled_from(["", "\n"]), words, words).map(
    lambda drawn: {"text": f"{drawn[0]}<thinking>{drawn[1]}</thinking>\n{drawn[2]}"}
)
bedrock_block = st.one_of(
    thought.map(lambda text: {"reasoningContent": {"reasoningText": text}}),
    blob.map(lambda value: {"reasoningContent": {"redactedContent": value}}),
    words.map(lambda text: {"text": text}),
    tagged,
    objects.map(lambda image: {"image": image}),
    st.lists(objects, max_size=2).map(
        lambda content: {"toolResult": {"toolUseId": "s1", "content": content}}
    ),
)


@st.composite
def converse(draw: st.DrawFn) -> dict[str, Any]:
    content = draw(st.lists(bedrock_block, max_size=5))
    for number in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from([{}, {"type": "server_tool_use"}]))
        content.append(
            {"toolUse": {"toolUseId": f"t{number}", "name": "get", "input": draw(objects), **kind}}
        )
    reason = draw(st.sampled_from(["end_turn", "tool_use", "max_tokens"]))
    return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason}


@law("stream is whole")
@given(converse(), cuts())
def test_bedrock(response: dict[str, Any], cut: Cut) -> None:
    same("bedrock-converse", response, cut)


# -- Mistral

thinking_chunk = st.fixed_dictionaries(
    {
        "type": st.just("thinking"),
        "thinking": words.map(lambda text: [{"type": "text", "text": text}]),
        "closed": st.just(True),
    },
    optional={"signature": token},
)
text_chunk = st.fixed_dictionaries({"type": st.just("text"), "text": words})
reference = st.just({"type": "reference", "reference_ids": [1]})


@st.composite
def mistral(draw: st.DrawFn) -> dict[str, Any]:
    content = draw(st.lists(thinking_chunk | text_chunk | reference, max_size=5))
    message: dict[str, Any] = {"role": "assistant", "content": content, "tool_calls": None}
    texts = draw(st.lists(json_text, max_size=3))
    if texts:
        message["tool_calls"] = [
            {"id": f"abcdefgh{n}", "function": {"name": "get", "arguments": text}}
            for n, text in enumerate(texts)
        ]
    reason = draw(st.sampled_from(["stop", "tool_calls", "length"]))
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "c", "model": "mistral", "choices": [choice]}


@law("stream is whole")
@given(mistral(), cuts())
def test_mistral(completion: dict[str, Any], cut: Cut) -> None:
    same("mistral-chat", completion, cut)


# -- Cohere

cohere_block = st.one_of(
    words.map(lambda text: {"type": "thinking", "thinking": text}),
    words.map(lambda text: {"type": "text", "text": text}),
)


@st.composite
def cohere(draw: st.DrawFn) -> dict[str, Any]:
    content = draw(st.lists(cohere_block, max_size=4))
    texts = [number for number, block in enumerate(content) if block["type"] == "text"]
    message: dict[str, Any] = {"content": content, "tool_plan": draw(st.just("") | words)}
    message["tool_calls"] = [
        {"id": f"t{n}", "type": "function", "function": {"name": "get", "arguments": text}}
        for n, text in enumerate(draw(st.lists(json_text, max_size=3)))
    ]
    message["citations"] = [
        {"start": 0, "end": 1, "text": "x", "type": "TEXT_CONTENT", "content_index": number}
        for number in texts
    ]
    reason = draw(st.sampled_from(["COMPLETE", "TOOL_CALL", "MAX_TOKENS"]))
    return {"id": "c", "message": message, "finish_reason": reason}


@law("stream is whole")
@given(cohere(), cuts())
def test_cohere(response: dict[str, Any], cut: Cut) -> None:
    same("cohere-chat", response, cut)


# -- Ollama


@st.composite
def ollama(draw: st.DrawFn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": draw(st.just("") | words)}
    if draw(st.booleans()):
        message["thinking"] = draw(words)
    elif draw(st.booleans()):
        message["content"] = f"<think>{draw(words)}</think>\n\n{message['content']}"
    message["tool_calls"] = [
        {"id": f"call_{n}", "function": {"index": n, "name": "get", "arguments": draw(objects)}}
        for n in range(draw(st.integers(0, 3)))
    ]
    reason = draw(st.sampled_from(["stop", "length"]))
    return {"model": "qwen3", "message": message, "done": True, "done_reason": reason}


@law("stream is whole")
@given(ollama(), cuts())
def test_ollama(response: dict[str, Any], cut: Cut) -> None:
    same("ollama", response, cut, flat=True)
