"""Reasoning in a field of any JSON type: it is read or omitted with a warning, and the answer stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agui_reasoning import AGUIReasoningWarning
from agui_reasoning.deltas import fold
from agui_reasoning.parts import NativePart, Opaque, Part, ReasoningPart, TextPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.providers.base import Decoder

ANSWER = "Noon."

Payloads = Callable[[Any], list[Any]]
"""What a provider sends, from the value of the field."""


# -- where each API has its reasoning


def _chat(name: str) -> Payloads:
    return lambda value: (
        [
            {"id": "r", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
            for delta in ({"role": "assistant", name: value}, {"content": ANSWER})
        ]
        + [{"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    )


def _whole_chat(name: str) -> Payloads:
    def payloads(value: Any) -> list[Any]:
        message = {"role": "assistant", name: value, "content": ANSWER}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return [{"id": "r", "object": "chat.completion", "choices": [choice]}]

    return payloads


def _in_chunk(name: str) -> Callable[[Any], list[Any]]:
    return lambda value: [{"type": "thinking", name: value}, {"type": "text", "text": ANSWER}]


def _mistral(name: str) -> Payloads:
    return lambda value: [
        {"id": "r", "choices": [{"index": 0, "delta": {"content": [chunk]}, "finish_reason": reason}]}
        for chunk, reason in zip(_in_chunk(name)(value), (None, "stop"), strict=True)
    ]


def _whole_mistral(name: str) -> Payloads:
    def payloads(value: Any) -> list[Any]:
        message = {"role": "assistant", "content": _in_chunk(name)(value)}
        return [{"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}]

    return payloads


def _cohere(value: Any) -> list[Any]:
    blocks = ({"type": "thinking", "thinking": value}, {"type": "text", "text": ANSWER})
    events: list[Any] = [{"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}}]
    for index, block in enumerate(blocks):
        events += [
            {"type": "content-start", "index": index, "delta": {"message": {"content": block}}},
            {"type": "content-end", "index": index},
        ]
    return [*events, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}]


def _whole_cohere(value: Any) -> list[Any]:
    content = [{"type": "thinking", "thinking": value}, {"type": "text", "text": ANSWER}]
    return [{"id": "r", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": content}}]


def _cohere_plan(value: Any) -> list[Any]:
    start, *rest = _cohere("")
    return [start, {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": value}}}, *rest]


def _whole_cohere_plan(value: Any) -> list[Any]:
    message = {"role": "assistant", "tool_plan": value, "content": [{"type": "text", "text": ANSWER}]}
    return [{"id": "r", "finish_reason": "COMPLETE", "message": message}]


def _ollama(value: Any) -> list[Any]:
    return [
        {"model": "m", "message": {"role": "assistant", "content": "", "thinking": value}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": ANSWER}, "done": True},
    ]


def _whole_ollama(value: Any) -> list[Any]:
    message = {"role": "assistant", "content": ANSWER, "thinking": value}
    return [{"model": "m", "message": message, "done": True, "done_reason": "stop"}]


CHAT_FIELDS = (
    *("thinking", "reasoning", "reasoning_content", "reasoning_text", "reasoning_details"),
    *("thinking_blocks", "reasoning_items", "reasoning_steps", "content_blocks", "reasoning_opaque"),
    *("provider_specific_fields", "extra_content"),
)

PLACES: dict[tuple[str, str], tuple[Payloads, Payloads]] = {
    **{
        (api, name): (_chat(name), _whole_chat(name))
        for api in ("openai-chat", "litellm")
        for name in CHAT_FIELDS
    },
    **{("mistral-chat", name): (_mistral(name), _whole_mistral(name)) for name in ("thinking", "text")},
    ("cohere-chat", "thinking"): (_cohere, _whole_cohere),
    ("cohere-chat", "tool_plan"): (_cohere_plan, _whole_cohere_plan),
    ("ollama", "thinking"): (_ollama, _whole_ollama),
}

VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "a whole number": 5,
    "a fraction": 0.5,
    "a string": "Hm.",
    "an empty string": "",
    "an empty list": [],
    "an empty object": {},
    "a list of strings": ["Hm", "."],
    "a list of numbers": [1, 2],
    "a list of lists": [[{"text": "Hm."}]],
    "a list of nulls": [None],
    "an object with text": {"text": "Hm."},
    "a list of objects with text": [{"text": "Hm"}, {"text": "."}],
    "an object of something else": {"other": {"more": 1}},
    "a typed object of something else": {"type": "thinking", "other": 1},
    "an object with text of another type": {"type": "thinking", "thinking": 5, "text": {"a": 1}},
    "an object with a type that is no string": [{"type": 5, "text": "Hm."}],
    "a signature": {"signature": "EqRk"},
    "a signature of another type": {"type": "thinking", "thinking": "Hm.", "signature": 5},
}

READ = ("a string", "a list of strings", "an object with text", "a list of objects with text")
"""The values with text that is read everywhere but in a field of something else."""

OF_TEXT = set(CHAT_FIELDS[:3]) | {
    "reasoning_text",
    "thinking_blocks",
    "reasoning_items",
    "text",
}
"""The fields that hold text in any of these forms."""


def parts_of(api: str, payloads: list[Any], *, whole: bool) -> tuple[list[Part], Decoder]:
    made = decoder(api, provider=None)
    if whole:
        return fold(made.whole(payloads[0])), made
    deltas = [delta for payload in payloads for delta in made.receive(payload)]
    return fold([*deltas, *made.close()]), made


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize(("api", "name"), PLACES, ids=str)
def test_the_answer_stays(api: str, name: str, whole: bool) -> None:
    answers = {}
    for kind, value in VALUES.items():
        parts, _ = parts_of(api, PLACES[api, name][whole](value), whole=whole)
        answers[kind] = [part.text for part in parts if isinstance(part, TextPart)]
    assert answers == {kind: [ANSWER] for kind in VALUES}


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize(("api", "name"), [place for place in PLACES if place[1] in OF_TEXT], ids=str)
def test_text_in_any_form_is_read(api: str, name: str, kind: str, whole: bool) -> None:
    parts, made = parts_of(api, PLACES[api, name][whole](VALUES[kind]), whole=whole)
    thoughts = [part.text for part in parts if isinstance(part, ReasoningPart)]
    assert ("".join(thoughts), made.warnings) == ("Hm.", [])


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "kind", ["true", "a whole number", "a list of numbers", "an object of something else"]
)
@pytest.mark.parametrize(("api", "name"), [place for place in PLACES if place[1] in OF_TEXT], ids=str)
def test_what_is_not_read_gives_a_warning(api: str, name: str, kind: str, whole: bool) -> None:
    _, made = parts_of(api, PLACES[api, name][whole](VALUES[kind]), whole=whole)
    assert [warning for warning in made.warnings if name in warning or "thinking" in warning]
    assert "more" not in "".join(made.warnings)


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize("api", ["openai-chat", "litellm"])
def test_a_signature_alone_signs_the_thought_before_it(api: str, whole: bool) -> None:
    signed = {"thinking": {"signature": "EqRk"}, "reasoning_content": "Hm."}
    if whole:
        payloads = _whole_chat("x")(None)
        payloads[0]["choices"][0]["message"] |= signed
    else:
        payloads = [*_chat("reasoning_content")("Hm.")[:1], *_chat("thinking")({"signature": "EqRk"})]
    parts, made = parts_of(api, payloads, whole=whole)
    [thought] = [part for part in parts if isinstance(part, ReasoningPart)]
    assert (thought.text, thought.opaque, made.warnings) == (
        "Hm.",
        (Opaque("anthropic.signature", "EqRk"),),
        [],
    )


def test_a_whole_response_warns_too() -> None:
    [response] = _whole_chat("thinking")(5)
    with pytest.warns(AGUIReasoningWarning, match="'thinking' could not be read"):
        assert [type(part) for part in decode_response("openai-chat", response)] == [TextPart]


# -- blocks in the spelling of another gateway


def content(api: str, block: Any, *, whole: bool) -> list[Any]:
    if whole:
        [response] = _whole_chat("content")(None)
        response["choices"][0]["message"]["content"] = [block, {"type": "text", "text": ANSWER}]
        return [response]
    deltas = [{"content": [block]}, {"content": [{"type": "text", "text": ANSWER}]}, {}]
    reasons = [None, None, "stop"]
    return [
        {"id": "r", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in zip(deltas, reasons, strict=True)
    ]


LISTS = ("openai-chat", "litellm", "mistral-chat")


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize("member", ["thinking", "text", "reasoning", "content"])
@pytest.mark.parametrize("kind", ["thinking", "reasoning"])
@pytest.mark.parametrize("api", LISTS)
def test_each_spelling_of_a_block_is_read(api: str, kind: str, member: str, whole: bool) -> None:
    parts, made = parts_of(api, content(api, {"type": kind, member: "Hm."}, whole=whole), whole=whole)
    assert [(type(part), part.text) for part in parts if not isinstance(part, NativePart)] == [
        (ReasoningPart, "Hm."),
        (TextPart, ANSWER),
    ]
    assert made.warnings == []


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "more", [{"enigma": "x"}, {"thinking": 5}, {"text": {"a": 1}}, {"thinking": "Hm.", "signature": 5}]
)
@pytest.mark.parametrize("kind", ["thinking", "reasoning"])
@pytest.mark.parametrize("api", LISTS)
def test_a_block_that_cannot_be_read_is_kept_as_it_is(
    api: str, kind: str, more: dict[str, Any], whole: bool
) -> None:
    block = {"type": kind, **more}
    parts, made = parts_of(api, content(api, block, whole=whole), whole=whole)
    assert [part.payload for part in parts if isinstance(part, NativePart)] == [block]
    assert [part.text for part in parts if isinstance(part, TextPart)] == [ANSWER]
    assert len(made.warnings) == 1


@pytest.mark.parametrize("api", LISTS)
def test_a_call_among_the_chunks_of_a_thought_is_no_error(api: str) -> None:
    block = {
        "type": "thinking",
        "thinking": [{"type": "text", "text": "Hm."}, {"type": "tool_use", "id": "t"}],
    }
    parts, _ = parts_of(api, content(api, block, whole=True), whole=True)
    assert [part.text for part in parts if isinstance(part, ReasoningPart)] == ["Hm."]


def test_a_thought_of_cohere_in_another_spelling_is_no_answer() -> None:
    blocks = [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": ANSWER}]
    message = {"role": "assistant", "content": blocks}
    response = {"id": "r", "finish_reason": "COMPLETE", "message": message}
    parts, _ = parts_of("cohere-chat", [response], whole=True)
    assert [(type(part), part.text) for part in parts] == [(ReasoningPart, "Hm."), (TextPart, ANSWER)]
