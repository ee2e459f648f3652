"""Show thinking in `full` only, in every shape that once leaked, through `Run`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from agui_reasoning import Conversation, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta, fold
from agui_reasoning.parts import Part, ReasoningPart, TextPart
from agui_reasoning.providers import decode_response, decoder
from tests.support.verifier import plain

SECRET = "Nobody may read the canary."
ANSWER = "It is noon. `<think>` is a tag."
KEYS = KeyRing({"k": bytes(range(32))})
INPUT = {"threadId": "thread", "runId": "run", "messages": []}

THOUGHT = {"google": {"thought": True}}

TAGGED = {
    "think": f"<think>{SECRET}</think>{ANSWER}",
    "Gemini's tag": f"<thought>{SECRET}</thought>{ANSWER}",
    "capital": f"<Think>{SECRET}</Think>{ANSWER}",
    "capitals": f"<THINK>{SECRET}</THINK>{ANSWER}",
    "capitals and not": f"<THINK>{SECRET}</think>{ANSWER}",
    "a space in the tag": f"<think >{SECRET}</think >{ANSWER}",
    "spaces in the tag": f"< think >{SECRET}< / think >{ANSWER}",
    "a line in the tag": f"<think\n>{SECRET}</think\n>{ANSWER}",
    "an attribute": f'<think a="b">{SECRET}</think>{ANSWER}',
    "attributes": f"<think signature='x/y' hidden>{SECRET}</think>{ANSWER}",
    "a byte order mark": f"\ufeff<think>{SECRET}</think>{ANSWER}",
    "a zero-width space": f"\u200b<think>{SECRET}</think>{ANSWER}",
    "blanks of all kinds": f" \u3000\u00a0\u2060\n\u200b<think>{SECRET}</think>{ANSWER}",
    "reasoning": f"<reasoning>{SECRET}</reasoning>{ANSWER}",
    "reason": f"<reason>{SECRET}</reason>{ANSWER}",
    "thinking": f"<thinking>{SECRET}</thinking>{ANSWER}",
    "Claude's artifacts": f"<antThinking>{SECRET}</antThinking>{ANSWER}",
    "Seed": f"<seed:think>{SECRET}</seed:think>{ANSWER}",
    "Magistral": f"[THINK]{SECRET}[/THINK]{ANSWER}",
    "Kimi": f"◁think▷{SECRET}◁/think▷{ANSWER}",
    "Sky": f"<|begin_of_thought|>{SECRET}<|end_of_thought|>{ANSWER}",
    "Command": f"<|START_THINKING|>{SECRET}<|END_THINKING|>{ANSWER}",
    "Gemma 4": f"<|channel>thought\n{SECRET}<channel|>{ANSWER}",
    "MedGemma": f"<unused94>thought\n{SECRET}<unused95>{ANSWER}",
    "two thoughts": f"<think>{SECRET}</think>\n\ufeff<Think x>{SECRET}</Think>{ANSWER}",
    "harmony": (
        f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}"
    ),
    "harmony with a role": (
        f"<|start|>assistant<|channel|>analysis<|message|>{SECRET}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{ANSWER}"
    ),
    "harmony without an end": (
        f"<|channel|>analysis<|message|>{SECRET}<|start|>assistant<|channel|>final<|message|>{ANSWER}"
    ),
    "harmony, two thoughts": (
        f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>analysis to=python code"
        f"<|message|>{SECRET}<|call|><|start|>assistant<|channel|>final<|message|>{ANSWER}"
    ),
}
"""Content of a chat message."""

MODELS = {
    "no opening tag": ("deepseek-ai/DeepSeek-R1", f"\n{SECRET}\n</think>\n\n{ANSWER}"),
    "no opening tag, capitals": ("Qwen/Qwen3-30B-A3B-Thinking-2507", f"{SECRET}</THINK >{ANSWER}"),
    "between two answers": ("MiniMaxAI/MiniMax-M2", f"Hm. <Think>{SECRET}</Think>It is noon."),
    "behind a preamble": (
        "openai/gpt-oss-120b",
        f"<|channel|>commentary<|message|>Hm.<|end|><|start|>assistant<|channel|>analysis<|message|>{SECRET}"
        f"<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
    ),
}
"""Content of what some models say, where their row says that it may be thinking."""


def whole(content: Any, model: str = "m", **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **fields}
    return {
        "id": "r",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def chunk(content: Any, model: str = "m", *, reason: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content, **fields}, "finish_reason": reason}
    return {"id": "r", "model": model, "choices": [choice]}


def streamed(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    return [*chunks, chunk(None, reason="stop")]


def anthropic(*blocks: tuple[dict[str, Any], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    payloads: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "r", "model": "claude-x"}}]
    for index, (start, deltas) in enumerate(blocks):
        payloads.append({"type": "content_block_start", "index": index, "content_block": start})
        payloads += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        payloads.append({"type": "content_block_stop", "index": index})
    return [
        *payloads,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


def ollama(content: str) -> list[dict[str, Any]]:
    return [
        {"model": "m", "message": {"role": "assistant", "content": content}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]


TEXT_BLOCK = ({"type": "text", "text": ""}, [{"type": "text_delta", "text": ANSWER}])
THINKING = {"type": "thinking", "thinking": "", "signature": ""}

STREAMS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "chat: Gemini's mark and tag": (
        "openai-chat",
        streamed(
            chunk(f"<thought>{SECRET}", extra_content=THOUGHT),
            chunk(SECRET, extra_content=THOUGHT),
            chunk(f"</thought>{ANSWER}"),
        ),
    ),
    "chat: Gemini's tag closed under the mark": (
        "openai-chat",
        streamed(chunk(f"<thought>{SECRET}</thought>", extra_content=THOUGHT), chunk(ANSWER)),
    ),
    "chat: Gemini's mark alone": (
        "openai-chat",
        streamed(chunk(SECRET, extra_content=THOUGHT), chunk(ANSWER)),
    ),
    "chat: Vertex's mark, and only the closing tag": (
        "openai-chat",
        streamed(chunk(SECRET, extra_content={"vertex": {"thought": True}}), chunk(f"</thought>{ANSWER}")),
    ),
    "chat: Gemini's mark behind an answer": (
        "openai-chat",
        streamed(chunk("Hm. "), chunk(SECRET, extra_content=THOUGHT), chunk(ANSWER)),
    ),
    "chat: thought parts": (
        "openai-chat",
        streamed(
            chunk([{"type": "text", "text": SECRET, "thought": True}]),
            chunk([{"type": "text", "text": ANSWER}]),
        ),
    ),
    "chat: a tag in a part": (
        "openai-chat",
        streamed(chunk([{"type": "text", "text": f"<think>{SECRET}</think>{ANSWER}"}])),
    ),
    "chat: a tag in a block of Portkey's": (
        "openai-chat",
        streamed(
            chunk(None, content_blocks=[{"index": 0, "delta": {"text": f"<think>{SECRET}"}}]),
            chunk(None, content_blocks=[{"index": 0, "delta": {"text": f"</think>{ANSWER}"}}]),
        ),
    ),
    "chat: a tag behind reasoning in a field": (
        "openai-chat",
        streamed(chunk(None, reasoning_content="Hm."), chunk(f"<think>{SECRET}</think>{ANSWER}")),
    ),
    "anthropic: text in a block of thinking": (
        "anthropic-messages",
        anthropic((THINKING, [{"type": "text_delta", "text": SECRET}]), TEXT_BLOCK),
    ),
    "anthropic: an unknown delta in a block of thinking": (
        "anthropic-messages",
        anthropic((THINKING, [{"type": "thought_delta", "thought": SECRET}]), TEXT_BLOCK),
    ),
    "anthropic: thinking in a block of text": (
        "anthropic-messages",
        anthropic(
            (
                {"type": "text", "text": ""},
                [
                    {"type": "thinking_delta", "thinking": SECRET},
                    {"type": "signature_delta", "signature": "U0lH"},
                    {"type": "text_delta", "text": ANSWER},
                ],
            )
        ),
    ),
    "responses: text of an item of reasoning": (
        "openai-responses",
        [
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {"id": "rs_1", "type": "reasoning", "summary": []},
            },
            {"type": "response.output_text.delta", "output_index": 0, "item_id": "rs_1", "delta": SECRET},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"id": "rs_1", "type": "reasoning", "summary": []},
            },
            {"type": "response.output_text.delta", "output_index": 1, "item_id": "m_1", "delta": ANSWER},
            {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
        ],
    ),
    "responses: an item's text at once": (
        "openai-responses",
        [
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {"id": "rs_1", "type": "reasoning", "summary": []},
            },
            {"type": "response.output_text.done", "output_index": 0, "item_id": "rs_1", "text": SECRET},
            {"type": "response.output_text.delta", "output_index": 1, "item_id": "m_1", "delta": ANSWER},
            {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
        ],
    ),
    **{
        f"chat, {model}: {name}": ("openai-chat", streamed(chunk(content, model)))
        for name, (model, content) in MODELS.items()
    },
    **{f"chat: {name}": ("openai-chat", streamed(chunk(content))) for name, content in TAGGED.items()},
    **{f"Mistral: {name}": ("mistral-chat", streamed(chunk(content))) for name, content in TAGGED.items()},
    **{f"Ollama: {name}": ("ollama", ollama(content)) for name, content in TAGGED.items()},
}

WHOLES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat: Gemini's mark and tag": (
        "openai-chat",
        whole(f"<thought>{SECRET}</thought>{ANSWER}", extra_content=THOUGHT),
    ),
    "chat: thought parts": (
        "openai-chat",
        whole([{"type": "text", "text": SECRET, "thought": True}, {"type": "text", "text": ANSWER}]),
    ),
    "chat: a tag in a part": (
        "openai-chat",
        whole([{"type": "text", "text": f"<think>{SECRET}</think>{ANSWER}"}]),
    ),
    "chat: a tag behind reasoning in a field": (
        "openai-chat",
        whole(f"<think>{SECRET}</think>{ANSWER}", reasoning="Hm."),
    ),
    **{
        f"chat, {model}: {name}": ("openai-chat", whole(content, model))
        for name, (model, content) in MODELS.items()
    },
    **{f"chat: {name}": ("openai-chat", whole(content)) for name, content in TAGGED.items()},
    **{f"Mistral: {name}": ("mistral-chat", whole(content)) for name, content in TAGGED.items()},
    **{
        f"Ollama: {name}": ("ollama", ollama(content)[0] | {"done": True}) for name, content in TAGGED.items()
    },
}


def decode(api: str, payloads: Iterable[dict[str, Any]]) -> list[Delta]:
    made = decoder(api)
    return [delta for payload in payloads for delta in made.receive(payload)] + made.close()


def shown(items: Iterable[Any], visibility: Any) -> str:
    """Everything that leaves, as text."""
    warned: list[str] = []
    run = Run(INPUT, visibility=visibility, keys=KEYS, on_warning=warned.append)
    events = run.start() + [event for item in items for event in run.receive(item)] + run.finish()
    answer = "".join(event["delta"] for event in plain(events) if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert answer.endswith((ANSWER, "It is noon."))
    return json.dumps([plain(events), warned], ensure_ascii=False)


def check(parts: list[Part], items: list[Any]) -> None:
    """The thought is one, and only `full` shows it."""
    assert any(SECRET in part.text for part in parts if isinstance(part, ReasoningPart))
    assert not any(SECRET in part.text for part in parts if isinstance(part, TextPart))
    assert SECRET in shown(items, "full")
    for visibility in ("summary", "hidden"):
        out = shown(items, visibility)
        assert not [at for at in range(len(SECRET) - 11) if SECRET[at : at + 12] in out]


@pytest.mark.parametrize(("api", "payloads"), STREAMS.values(), ids=STREAMS)
def test_no_stream_shows_it(api: str, payloads: list[dict[str, Any]]) -> None:
    deltas = decode(api, payloads)
    check(fold(deltas), list(deltas))


@pytest.mark.parametrize(("api", "response"), WHOLES.values(), ids=WHOLES)
def test_no_whole_response_shows_it(api: str, response: dict[str, Any]) -> None:
    parts = decode_response(api, response)
    check(parts, list(parts))


CONTENTS = [("m", content) for content in TAGGED.values()] + list(MODELS.values())


@pytest.mark.parametrize(("model", "content"), CONTENTS, ids=[*TAGGED, *MODELS])
def test_no_cut_of_the_stream_changes_it(model: str, content: str) -> None:
    expected = fold(decode("openai-chat", streamed(chunk(content, model))))
    assert expected == decode_response("openai-chat", whole(content, model))
    for cut in range(len(content) + 1):
        two = streamed(chunk(content[:cut], model), chunk(content[cut:], model))
        assert fold(decode("openai-chat", two)) == expected
    assert fold(decode("openai-chat", streamed(*(chunk(c, model) for c in content)))) == expected


@pytest.mark.parametrize(("model", "content"), CONTENTS, ids=[*TAGGED, *MODELS])
def test_the_string_can_be_rebuilt(model: str, content: str) -> None:
    pieces = []
    for part in decode_response("openai-chat", whole(content, model)):
        tag: Any = (getattr(part, "ext", None) or {}).get("tag", {"open": "", "close": ""})
        assert isinstance(part, ReasoningPart | TextPart)
        pieces.append(tag["open"] + part.text + tag["close"])
    assert "".join(pieces) == content


NO_THOUGHT = {
    "in the answer": ("m", f"Hm. <think>{SECRET}</think>"),
    "in code": ("m", f"```\n<think>{SECRET}</think>\n```"),
    "harmony in the answer": ("m", f"Hm. <|channel|>analysis<|message|>{SECRET}"),
    "another tag": ("m", f"<thinker>{SECRET}</thinker>"),
    "an empty tag": ("m", f"<think/>{SECRET}"),
    "a lone closing tag": ("m", f"Hm.</think>{SECRET}"),
    "the beginning of a model that thinks unannounced": ("deepseek-r1", SECRET),
    "harmony without a thought": ("m", f"<|channel|>final<|message|>{SECRET}"),
}


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
@pytest.mark.parametrize(("model", "content"), NO_THOUGHT.values(), ids=NO_THOUGHT)
def test_what_is_no_thought_is_shown_byte_for_byte(model: str, content: str, visibility: Any) -> None:
    for cut in range(len(content) + 1):
        deltas = decode("openai-chat", streamed(chunk(content[:cut], model), chunk(content[cut:], model)))
        (part,) = fold(deltas)
        assert isinstance(part, TextPart)
        assert part.text == content
    run = Run(INPUT, visibility=visibility, keys=KEYS)
    events = run.start() + [event for delta in deltas for event in run.receive(delta)] + run.finish()
    answer = "".join(event["delta"] for event in plain(events) if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert answer == content


def test_a_mark_beside_a_signature_is_about_the_signature() -> None:
    """Recorded: Gemini marks a whole answer, tagless, beside its signature."""
    extra = {"google": {"thought": True, "thought_signature": "U0lH"}}
    (part,) = decode_response("openai-chat", whole(ANSWER, extra_content=extra))
    assert isinstance(part, TextPart)
    assert part.text == ANSWER


def test_a_thought_whose_opening_tag_is_in_the_prompt_is_cut_by_a_length_limit() -> None:
    cut = [chunk(SECRET, "deepseek-r1"), chunk(None, reason="length")]
    (part,) = fold(decode("openai-chat", cut))
    assert isinstance(part, ReasoningPart)
    assert (part.text, part.status) == (SECRET, "incomplete")


def test_reasoning_in_a_field_shows_that_nothing_was_opened_in_the_prompt() -> None:
    made = decoder("openai-chat")
    assert made.receive(chunk("Hm", "deepseek-r1"))[1:] == []
    told = made.receive(chunk(None, "deepseek-r1", reasoning_content="Why?"))
    assert [type(delta).__name__ for delta in told] == ["TextDelta", "CloseDelta", "ReasoningDelta"]
    more = made.receive(chunk("Yes.", "deepseek-r1"))
    assert [type(delta).__name__ for delta in more] == ["CloseDelta", "TextDelta"]


def test_nothing_is_held_before_a_call() -> None:
    calls = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]
    made = decoder("openai-chat")
    assert made.receive(chunk("Let me look.", "qwq-32b"))[1:] == []
    told = made.receive(chunk(None, "qwq-32b", tool_calls=calls))
    assert [type(delta).__name__ for delta in told] == ["TextDelta", "CloseDelta", "ToolCallDelta"]


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
def test_minimax_gets_its_string_back_byte_for_byte(visibility: Any) -> None:
    model = "MiniMax-M2"
    content = f"\ufeff< Think >\n{SECRET}\n</THINK> \n\nHm. <think a='b'>{SECRET}</think>It is noon."
    run = Run(INPUT, api="openai-chat", provider="minimax", model=model, visibility=visibility, keys=KEYS)
    made = decoder("openai-chat", provider="minimax", model=model)
    payloads = streamed(*(chunk(character, model) for character in content))
    deltas = [delta for payload in payloads for delta in made.receive(payload)] + made.close()
    events = run.start() + [event for delta in deltas for event in run.receive(delta)] + run.finish()
    conversation = Conversation("thread")
    for event in plain(events):
        conversation.receive(event)
    follow = Run(
        conversation.run_input("And now?").model_dump(by_alias=True, exclude_none=True),
        api="openai-chat",
        provider="minimax",
        model=model,
        keys=KEYS,
    )
    made_request = follow.request()
    assert made_request.body["messages"][0] == {"role": "assistant", "content": content}
    assert {entry.outcome for entry in made_request.report} == {"echoed"}
