"""Spell one conversation in three APIs: the model's answers, and the next request.

A *script* is a list of steps: what the user says, what one response of the model is made of, and the results
of its calls, in the order of the calls. Each dialect writes a script down as a request, from the facts about
its API and from nothing of the package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from agui_reasoning.deltas import CloseDelta, Delta, FinishDelta, ReasoningDelta, ResponseStart, unfold
from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, TextPart, ToolCallPart
from tests.support.validators import check_anthropic, check_deepseek, check_responses

Body: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[str, Any]

ARGUMENTS = '{"city":"Oslo"}'


def user(text: str) -> Step:
    """What the user says."""
    return "user", text


def model(*parts: Part) -> Step:
    """One response of the model."""
    return "model", parts


def results(**contents: str) -> Step:
    """What the calls of the response before returned, in the order of the calls."""
    return "results", contents


@dataclass(frozen=True)
class Dialect:
    """An API: how its model speaks, and how a conversation is written for it.

    Attributes:
        think: A unit of reasoning, by a number.
        say: A piece of the answer.
        call: A call of the one tool, by its id.
        stream: The deltas of a response, as a decoder gives them.
        body: A script as the body of a request.
        check: What its provider refuses.
    """

    origin: Origin
    think: Callable[[int], Part]
    say: Callable[[str], Part]
    call: Callable[[str], Part]
    stream: Callable[[Sequence[Part]], list[Delta]]
    body: Callable[[Iterable[Step]], Body]
    check: Callable[[Body], list[str]]

    @property
    def target(self) -> dict[str, Any]:
        """Who gets the next request."""
        return {"api": self.origin.api, "provider": self.origin.provider, "model": self.origin.model}


def _streamed(parts: Sequence[Part]) -> list[Delta]:
    return [*unfold(parts), FinishDelta("stop")]


# -- Anthropic Messages

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-5")


def _claude_thinks(number: int) -> Part:
    """Every third block has its text withheld, every fourth is redacted."""
    if number % 4 == 3:
        return ReasoningPart((), (Opaque("anthropic.redacted_thinking", f"DATA-{number}"),), origin=CLAUDE)
    segments = (Segment("text", 0, f"Thought {number}."),) if number % 3 != 2 else ()
    return ReasoningPart(segments, (Opaque("anthropic.signature", f"SIG-{number}"),), origin=CLAUDE)


def _claude_block(part: Part) -> Body:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ToolCallPart):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": json.loads(part.arguments)}
    assert isinstance(part, ReasoningPart)
    [opaque] = part.opaque
    if opaque.kind == "anthropic.redacted_thinking":
        return {"type": "redacted_thinking", "data": opaque.value}
    return {"type": "thinking", "thinking": part.text, "signature": opaque.value}


def _claude_blocks(step: Step) -> tuple[str, list[Body]]:
    kind, said = step
    if kind == "user":
        return "user", [{"type": "text", "text": said}]
    if kind == "model":
        return "assistant", [_claude_block(part) for part in said]
    return "user", [
        {"type": "tool_result", "tool_use_id": call, "content": content} for call, content in said.items()
    ]


def _claude_body(script: Iterable[Step]) -> Body:
    """Roles alternate: what stands side by side is one message."""
    written = [_claude_blocks(step) for step in script]
    merged = groupby(written, key=lambda entry: entry[0])
    return {
        "messages": [
            {"role": role, "content": [block for _, blocks in group for block in blocks]}
            for role, group in merged
        ]
    }


# -- OpenAI Responses

GPT = Origin("openai", "openai-responses", "gpt-5.6")


def _gpt_thinks(number: int) -> Part:
    """Summaries have none, one or two parts."""
    segments = tuple(Segment("summary", n, f"Thought {number}, part {n}.") for n in range(number % 3))
    return ReasoningPart(
        segments, (Opaque("openai.encrypted_content", f"gAAAA-{number}"),), f"rs_{number}", origin=GPT
    )


def _gpt_says(text: str) -> Part:
    return TextPart(text, origin=GPT, ext={"id": "msg_" + "".join(filter(str.isalnum, text))})


def _gpt_calls(call_id: str) -> Part:
    return ToolCallPart(call_id, "weather", ARGUMENTS, origin=GPT, ext={"id": f"fc_{call_id}"})


def _gpt_item(part: Part) -> Body:
    """An item; what came back without its id is nobody's."""
    if isinstance(part, TextPart):
        return _gpt_message(part)
    if isinstance(part, ToolCallPart):
        call = {"call_id": part.id, "name": part.name, "arguments": part.arguments}
        return {"type": "function_call", **(part.ext or {}), **call}
    assert isinstance(part, ReasoningPart)
    return {
        "type": "reasoning",
        "id": part.item_id,
        "summary": [{"type": "summary_text", "text": segment.text} for segment in part.segments],
        "encrypted_content": part.opaque[0].value,
    }


def _gpt_message(part: TextPart) -> Body:
    if part.ext is None:
        return {"role": "assistant", "content": part.text}
    content = [{"type": "output_text", "text": part.text, "annotations": []}]
    status = "completed" if part.status == "complete" else "incomplete"
    return {"type": "message", "role": "assistant", **part.ext, "content": content, "status": status}


def _gpt_items(step: Step) -> list[Body]:
    kind, said = step
    if kind == "user":
        return [{"role": "user", "content": said}]
    if kind == "model":
        return [_gpt_item(part) for part in said]
    return [
        {"type": "function_call_output", "call_id": call, "output": content} for call, content in said.items()
    ]


def _gpt_body(script: Iterable[Step]) -> Body:
    return {"input": [item for step in script for item in _gpt_items(step)]}


# -- Chat completions of a provider that wants its reasoning back

DEEPSEEK = Origin("deepseek", "openai-chat", "deepseek-v4-pro")


def _deepseek_thinks(number: int) -> Part:
    ext = {"field": "reasoning_content"}
    return ReasoningPart((Segment("text", 0, f"Thought {number}."),), origin=DEEPSEEK, ext=ext)


def _deepseek_streamed(parts: Sequence[Part]) -> list[Delta]:
    """There is one string of reasoning: what comes later goes on with it."""
    deltas: list[Delta] = [ResponseStart(DEEPSEEK)]
    for part in parts:
        if isinstance(part, ReasoningPart):
            deltas += [ReasoningDelta(part.text, key="reasoning", ext=part.ext), CloseDelta(key="reasoning")]
        else:
            deltas += [delta for delta in unfold([part]) if not isinstance(delta, ResponseStart)]
    return [*deltas, FinishDelta("stop")]


def _deepseek_message(parts: Sequence[Part]) -> Body:
    """Flat: one string of reasoning, one text, a list of calls."""
    thought = "".join(part.text for part in parts if isinstance(part, ReasoningPart))
    said = "".join(part.text for part in parts if isinstance(part, TextPart))
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
        for part in parts
        if isinstance(part, ToolCallPart)
    ]
    message: Body = {"role": "assistant", "content": said, "reasoning_content": thought}
    return {**message, "tool_calls": calls} if calls else message


def _deepseek_messages(step: Step) -> list[Body]:
    kind, said = step
    if kind == "user":
        return [{"role": "user", "content": said}]
    if kind == "model":
        return [_deepseek_message(said)]
    return [{"role": "tool", "tool_call_id": call, "content": content} for call, content in said.items()]


def _deepseek_body(script: Iterable[Step]) -> Body:
    return {"messages": [message for step in script for message in _deepseek_messages(step)]}


DIALECTS: dict[str, Dialect] = {
    "anthropic-messages": Dialect(
        CLAUDE,
        _claude_thinks,
        lambda text: TextPart(text, origin=CLAUDE),
        lambda call_id: ToolCallPart(call_id, "weather", ARGUMENTS, origin=CLAUDE),
        _streamed,
        _claude_body,
        check_anthropic,
    ),
    "openai-responses": Dialect(
        GPT, _gpt_thinks, _gpt_says, _gpt_calls, _streamed, _gpt_body, check_responses
    ),
    "openai-chat": Dialect(
        DEEPSEEK,
        _deepseek_thinks,
        lambda text: TextPart(text, origin=DEEPSEEK),
        lambda call_id: ToolCallPart(call_id, "weather", ARGUMENTS, origin=DEEPSEEK),
        _deepseek_streamed,
        _deepseek_body,
        check_deepseek,
    ),
}
