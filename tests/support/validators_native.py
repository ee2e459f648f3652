"""Refuse what Bedrock, Mistral, Cohere and Ollama refuse, from the facts about them.

Like `tests.support.validators`, which holds the other APIs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

Body = dict[str, Any]
Message = Mapping[str, Any]


def check_bedrock(body: Body, *, signed: bool = True) -> list[str]:
    """Bedrock Converse, as boto3 takes it.

    Args:
        body: The request.
        signed: The model is Claude, which takes no thinking without its signature; else none has one.
    """
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    faults = ["first message must use the user role"] if roles[:1] == ["assistant"] else []
    faults += ["roles must alternate" for a, b in pairwise(roles) if a == b]
    used: set[str] = set()
    for number, message in enumerate(messages):
        blocks = message["content"]
        after = messages[number + 1]["content"] if number + 1 < len(messages) else []
        before = messages[number - 1]["content"] if number else []
        faults += [] if blocks else [f"{number}: content is empty"]
        for block in blocks:
            faults += _bedrock_block(block, number, message["role"], signed)
        faults += _bedrock_calls(blocks, after, before, used, number)
        if message["role"] == "assistant" and blocks and "reasoningContent" in blocks[-1]:
            faults.append(f"{number}: the final block cannot be thinking")
    has_tools = any(
        name in block for m in messages for block in m["content"] for name in ("toolUse", "toolResult")
    )
    if has_tools and not body.get("toolConfig", {}).get("tools"):
        faults.append(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        )
    return faults + ["system text is blank" for one in body.get("system", ()) if not one["text"].strip()]


def _bedrock_block(block: Message, number: int, role: str, signed: bool) -> list[str]:
    reasoning = block.get("reasoningContent")
    thinking = [] if reasoning is None else _bedrock_thinking(reasoning, number, role, signed)
    return [*_bedrock_text(block, number), *thinking]


def _bedrock_text(block: Message, number: int) -> Iterator[str]:
    if len(block) != 1:
        yield f"{number}: a block is a union of {sorted(block)}"
    if "text" in block and not block["text"].strip():
        yield f"{number}: text field is blank"
    for one in block.get("toolResult", {}).get("content", ()):
        if "text" in one and not one["text"].strip():
            yield f"{number}: text of a result is blank"
    if "toolResult" in block and not block["toolResult"]["content"]:
        yield f"{number}: a result without content"


def _bedrock_thinking(reasoning: Message, number: int, role: str, signed: bool) -> Iterator[str]:
    if role != "assistant":
        yield f"{number}: thinking of a user"
    if set(reasoning) not in ({"reasoningText"}, {"redactedContent"}):
        yield f"{number}: reasoningContent is a union"
    if "redactedContent" in reasoning and not isinstance(reasoning["redactedContent"], bytes):
        yield f"{number}: redactedContent is encoded twice"
    if "reasoningText" in reasoning and ("signature" in reasoning["reasoningText"]) != signed:
        yield f"{number}: signature: Field required, or foreign"


def _bedrock_calls(
    blocks: Sequence[Message],
    after: Sequence[Message],
    before: Sequence[Message],
    used: set[str],
    number: int,
) -> Iterator[str]:
    calls = [block["toolUse"] for block in blocks if "toolUse" in block]
    own = [call["toolUseId"] for call in calls if call.get("type") == "server_tool_use"]
    for call in calls:
        if not re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", call["toolUseId"]):
            yield f"{number}: toolUseId failed to satisfy constraint"
        if call["toolUseId"] in used:
            yield f"{number}: toolUseId is not unique"
        if not isinstance(call["input"], dict):
            yield f"{number}: toolUse.input is no object"
        used.add(call["toolUseId"])
    answers = [block["toolResult"]["toolUseId"] for block in after if "toolResult" in block]
    if missing := [c["toolUseId"] for c in calls if c["toolUseId"] not in [*answers, *own]]:
        yield f"{number}: Expected toolResult blocks for the following Ids: {missing}"
    kinds = ["toolResult" in block for block in blocks]
    if not own and kinds != sorted(kinds, reverse=True):
        yield f"{number}: toolResult blocks must come first"
    called = [block["toolUse"]["toolUseId"] for block in before if "toolUse" in block]
    results = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    for result in results:
        if result not in [*called, *own]:
            yield f"{number}: the number of toolResult blocks exceeds the number of toolUse blocks"
    if len(set(results)) != len(results):
        yield f"{number}: duplicate toolResult"


def check_bedrock_unsigned(body: Body) -> list[str]:
    """Bedrock Converse with a model that does not sign."""
    return check_bedrock(body, signed=False)


def check_mistral(body: Body) -> list[str]:
    """Mistral's chat."""
    messages = body["messages"]
    faults = list(_results(messages))
    for number, message in enumerate(messages):
        known = {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}
        faults += [f"{number}: extra_forbidden {name}" for name in set(message) - known]
        for call in message.get("tool_calls") or ():
            if not re.fullmatch(r"[a-zA-Z0-9]{9}", call["id"]):
                faults.append(
                    f"{number}: Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9"
                )
        if message["role"] == "assistant":
            faults += _mistral_chunks(message, number)
    for before, after in pairwise(messages):
        if before["role"] == "tool" and after["role"] in ("user", "system"):
            faults.append(f"Unexpected role '{after['role']}' after role 'tool'")
    if messages and messages[-1]["role"] == "assistant":
        faults.append("Expected last role User or Tool")
    return faults


def _mistral_chunks(message: Message, number: int) -> Iterator[str]:
    content = message["content"]
    if not content and not message.get("tool_calls"):
        yield f"{number}: Assistant message must have either content or tool_calls"
    kinds = [] if isinstance(content, str) else [chunk["type"] for chunk in content]
    if kinds and set(kinds) == {"thinking"} and not message.get("tool_calls"):
        yield f"{number}: nothing but thinking"


def check_cohere(body: Body) -> list[str]:
    """Cohere's chat, version 2."""
    faults = list(_results(body["messages"]))
    for number, message in enumerate(body["messages"]):
        if message["role"] != "assistant":
            continue
        content = message.get("content") or ""
        said = (
            bool(content)
            if isinstance(content, str)
            else any(b["type"] == "text" and b["text"] for b in content)
        )
        if message.get("tool_calls") and said:
            faults.append(f"{number}: text content is not allowed when tool_calls are provided")
        if not (said or message.get("tool_calls")):
            faults.append(f"{number}: an assistant message must have content or tool_calls")
    return faults


def check_ollama(body: Body) -> list[str]:
    """Ollama's chat."""
    faults = list(_results(body["messages"]))
    for number, message in enumerate(body["messages"]):
        if not isinstance(message.get("content"), str):
            faults.append(f"{number}: content is no string")
        faults += [
            f"{number}: json: cannot unmarshal string into Go struct field arguments"
            for call in message.get("tool_calls") or ()
            if not isinstance(call["function"]["arguments"], dict)
        ]
    return faults


def _results(messages: Sequence[Message]) -> Iterator[str]:
    """Every call is answered once, directly behind its message, and nothing else is."""
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{number}: a result without its call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"{number}: Not the same number of function calls and responses"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if set(waiting) & seen or len(set(waiting)) != len(waiting):
            yield f"{number}: an id twice"
        seen |= set(waiting)
    if waiting:
        yield "calls without results at the end"
