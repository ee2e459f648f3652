"""Refuse what providers refuse, from the facts about them and without the package.

Each ``check_…`` takes the body of a request and returns what is wrong with it, in the words of the provider
where they are known. An empty list is a request that the provider would take.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

Body = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")


def check_anthropic(
    body: Body, *, produced: Iterable[Mapping[str, Any]] | None = None, inside: Collection[str] = ()
) -> list[str]:
    """Anthropic Messages with thinking on.

    Args:
        body: The request.
        produced: The thinking blocks that Anthropic really made, where that is known: no other may come.
        inside: What the model accepts inside a conversation: ``system``, ``effort``.
    """
    faults = _anthropic_instructions(body, inside)
    messages = _without_instructions(body["messages"])
    faults += _anthropic_roles(messages) + anthropic_lines(messages)
    used: set[str] = set()
    for number, message in enumerate(messages):
        after = messages[number + 1] if number + 1 < len(messages) else None
        blocks = message["content"]
        faults += _anthropic_blocks(message, number)
        if message["role"] == "assistant":
            faults += _anthropic_assistant(blocks, number, final=after is None)
            faults += _anthropic_calls(blocks, after, used, number)
        else:
            before = messages[number - 1]["content"] if number else []
            faults += _anthropic_results(blocks, before, number)
        if produced is not None:
            known = [dict(block) for block in produced]
            faults += [
                f"messages.{number}: Invalid `signature` in `thinking` block"
                for block in blocks
                if block["type"] in THINKING and block not in known
            ]
    return faults


_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_EFFORT_BETA = "mid-conversation-output-config-2026-07-01"


def _anthropic_instructions(body: Body, inside: Collection[str]) -> list[str]:
    """Where messages of the role ``system`` may stand, and what they may say."""
    messages = body["messages"]
    betas = body.get("extra_headers", {}).get("anthropic-beta", "").split(",")
    faults = []
    for number, message in enumerate(messages):
        if message["role"] != "system":
            continue
        place = f"messages.{number}"
        before = messages[number - 1] if number else None
        after = messages[number + 1] if number + 1 < len(messages) else None
        if "system" in (before or {}).get("role", "") or (after and after["role"] == "system"):
            faults.append(f"{place}: consecutive system messages")
        if before and before["content"] and before["content"][-1]["type"] == "tool_use":
            faults.append(f"{place}: a system message between a call and its result")
        if "output_config" in message:
            if "effort" not in inside:
                faults.append(f"{place}: per-message effort is not supported on this model")
            if _EFFORT_BETA not in betas:
                faults.append(f"{place}.output_config: Extra inputs are not permitted")
            if message["output_config"].get("effort") not in _EFFORTS:
                faults.append(f"{place}.output_config.effort: unknown level")
            if not message["content"]:
                continue
        faults += [f"{place}: {fault}" for fault in _misplaced(message, before, after, inside)]
    return faults


def _misplaced(
    message: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    inside: Collection[str],
) -> list[str]:
    """Why instructions with content may not stand in a place."""
    if "system" not in inside:
        return ["role 'system' is not supported on this model"]
    faults = [] if message["content"] else ["a system message with neither content nor output_config"]
    faults += ["blank" for block in message["content"] if not block["text"].strip()]
    if before is None:
        faults.append("use the top-level 'system' parameter for the initial system prompt")
    elif before["role"] == "assistant" and before["content"][-1]["type"] not in _SERVER_CALLS:
        faults.append("a system message must follow a user message")
    if after is not None and after["role"] == "user":
        faults.append("a system message must be followed by an assistant message")
    return faults


_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


def _without_instructions(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of user and model; those of the model around instructions are one."""
    kept: list[Mapping[str, Any]] = []
    instructed = False
    for message in messages:
        if message["role"] == "system":
            instructed = True
            continue
        if instructed and kept and kept[-1]["role"] == message["role"] == "assistant":
            kept[-1] = {**kept[-1], "content": [*kept[-1]["content"], *message["content"]]}
        else:
            kept.append(message)
        instructed = False
    return kept


def _anthropic_roles(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    roles = [message["role"] for message in messages]
    faults = [f"messages: unexpected role {role}" for role in roles if role not in ("user", "assistant")]
    compacted = bool(messages) and bool(messages[0]["content"]) and _is_summary(messages[0])
    if roles and roles[0] != "user" and not compacted:
        faults.append("messages: first message must use the user role")
    faults += ["messages: roles must alternate" for a, b in pairwise(roles) if a == b]
    return faults


def _is_summary(message: Mapping[str, Any]) -> bool:
    return bool(message["content"][0]["type"] == "compaction")


def anthropic_lines(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the API says about compactions and fallbacks in the wrong place."""
    blocks = [(number, block) for number, message in enumerate(messages) for block in message["content"]]
    summaries = [place for place, (_, block) in enumerate(blocks) if block["type"] == "compaction"]
    faults = []
    if len([place for place in summaries if blocks[place][1].get("content")]) > 1:
        faults.append("compaction_block_ambiguous: `messages` holds more than one `compaction` block")
    if any(place and blocks[place][1].get("signature") for place in summaries):
        faults.append("compaction_block_misplaced: the `compaction` block is not the first block")
    if any(blocks[place][1].get("content") == "" for place in summaries):
        faults.append("compaction.content: String should have at least 1 character")
    for number, message in enumerate(messages):
        kinds = [block["type"] for block in message["content"]]
        lines = [place for place, kind in enumerate(kinds) if kind == "fallback"]
        if lines and {*THINKING, "tool_use"} & {*kinds[: lines[-1]]}:
            faults.append(f"messages.{number}: a block of the model that declined, before its fallback")
        if kinds and {*kinds} == {"fallback"}:
            faults.append(f"messages.{number}: content is empty")
    return faults


def _anthropic_blocks(message: Mapping[str, Any], number: int) -> list[str]:
    blocks = message["content"]
    faults = [] if blocks else [f"messages.{number}: content is empty"]
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            faults.append(f"messages.{number}: text content blocks must contain non-whitespace text")
        if block["type"] == "thinking" and not block.get("signature"):
            faults.append(f"messages.{number}: signature: Field required")
        if block["type"] in THINKING and "cache_control" in block:
            faults.append(f"messages.{number}: cache_control: Extra inputs are not permitted")
        if block["type"] in THINKING and message["role"] != "assistant":
            faults.append(f"messages.{number}: thinking in a user message")
    return faults


def _anthropic_assistant(blocks: Sequence[Mapping[str, Any]], number: int, *, final: bool) -> list[str]:
    faults = []
    if blocks and blocks[-1]["type"] in THINKING:
        faults.append(f"messages.{number}: The final block in an assistant message cannot be `thinking`")
    if (
        final
        and blocks
        and blocks[-1]["type"] == "text"
        and blocks[-1]["text"] != blocks[-1]["text"].rstrip()
    ):
        faults.append("messages: final assistant content cannot end with trailing whitespace")
    called: set[str] = set()
    answered: set[str] = set()
    for block in blocks:
        if block["type"] in _SERVER_CALLS:
            called.add(block["id"])
        elif "tool_use_id" in block:
            answered.add(block["tool_use_id"])
            if block["tool_use_id"] not in called:
                faults.append(f"messages.{number}: a result without its server_tool_use before it")
    if called - answered and not final:
        faults.append(f"messages.{number}: server_tool_use was found without a corresponding result block")
    return faults


def _anthropic_calls(
    blocks: Sequence[Mapping[str, Any]], after: Mapping[str, Any] | None, used: set[str], number: int
) -> list[str]:
    faults = []
    calls = [block for block in blocks if block["type"] == "tool_use"]
    for call in calls:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", call["id"]):
            faults.append(f"messages.{number}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if call["id"] in used:
            faults.append(f"messages.{number}: `tool_use` ids must be unique")
        if not isinstance(call["input"], dict):
            faults.append(f"messages.{number}: tool_use.input: Input should be a valid dictionary")
        used.add(call["id"])
    answers = [
        b.get("tool_use_id") for b in (after or {"content": []})["content"] if b["type"] == "tool_result"
    ]
    if missing := [call["id"] for call in calls if call["id"] not in answers]:
        faults.append(
            f"messages.{number}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {missing}"
        )
    return faults


def _anthropic_results(
    blocks: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]], number: int
) -> list[str]:
    faults = []
    called = [block["id"] for block in before if block["type"] == "tool_use"]
    kinds = [block["type"] == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        faults.append(f"messages.{number}: tool_result blocks must come first in the content")
    answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if len(set(answers)) != len(answers):
        faults.append(f"messages.{number}: each tool_use must have a single result")
    faults += [
        f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {answer}"
        for answer in answers
        if answer not in called
    ]
    return faults


def check_responses(
    body: Body, *, bound: Mapping[str, str] | None = None, strict: bool = True, any_open_item: bool = False
) -> list[str]:
    """OpenAI Responses.

    Args:
        body: The request.
        bound: Item id to the id of the reasoning it was produced with, as the server knows it.
        strict: The server matches items and reasoning by id (OpenAI, Azure).
        any_open_item: Reasoning may be the last item of its response (OpenRouter).
    """
    items = body["input"]
    faults: list[str] = []
    for number, item in enumerate(items):
        if item.get("type") == "reasoning":
            faults += _reasoning_item(item, body)
            after = next((i for i in items[number + 1 :] if i.get("type") != "reasoning"), None)
            if not any_open_item and not _follows(item, after, strict=strict):
                faults.append(
                    f"Item '{item.get('id')}' of type 'reasoning' was provided without its required "
                    "following item."
                )
        if item.get("type") == "item_reference" and body.get("store") is False:
            faults.append(f"Item with id '{item['id']}' not found.")
        needed = (bound or {}).get(item.get("id") or "")
        if needed and body.get("store") is not False and not _led_by(items, number, needed):
            faults.append(
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required "
                f"'reasoning' item: '{needed}'."
            )
    return faults + check_calls(body)


def _reasoning_item(item: Mapping[str, Any], body: Body) -> list[str]:
    faults = []
    if not isinstance(item.get("summary"), list):
        faults.append("Missing required parameter: 'input[].summary'.")
    if "status" in item:
        faults.append("Unknown parameter: 'input[].status'.")
    if body.get("store") is False and not item.get("encrypted_content"):
        faults.append(
            f"Item with id '{item.get('id')}' not found. "
            "Items are not persisted when `store` is set to false."
        )
    if not item.get("id") and not item.get("encrypted_content"):
        faults.append("Missing required parameter: 'input[].id'.")
    return faults


def _follows(reasoning: Mapping[str, Any], after: Mapping[str, Any] | None, *, strict: bool) -> bool:
    """Whether an item can be what a reasoning item led to."""
    if after is None or after.get("role") in ("user", "system", "developer"):
        return False
    if str(after.get("type")).endswith("_output") and after.get("type") != "shell_call_output":
        return False
    return not (strict and reasoning.get("id") and not after.get("id"))


def _led_by(items: Sequence[Mapping[str, Any]], number: int, needed: str) -> bool:
    """Whether the reasoning stands before an item, with nothing but items of the model between them."""
    for item in reversed(items[:number]):
        if item.get("type") == "reasoning" and item.get("id") == needed:
            return True
        if item.get("role") == "user":
            return False
    return False


def check_calls(body: Body) -> list[str]:
    faults = []
    called: list[str] = []
    answered: list[str] = []
    for item in body["input"]:
        if item.get("type") in ("function_call", "custom_tool_call"):
            called.append(item["call_id"])
            if len(item["call_id"]) > 64:
                faults.append("Invalid 'input[].call_id': string too long.")
            if item["type"] == "function_call" and not isinstance(item["arguments"], str):
                faults.append("Invalid type for 'input[].arguments'.")
        elif item.get("type") in ("function_call_output", "custom_tool_call_output"):
            answered.append(item["call_id"])
            known = body.get("previous_response_id") is not None or item["call_id"] in called
            if not known:
                faults.append(f"No tool call found for function call output with call_id {item['call_id']}.")
    faults += [f"No tool output found for function call {call}." for call in called if call not in answered]
    faults += [f"Duplicate call_id {call}." for call in set(called) if called.count(call) > 1]
    return faults


def check_end(api: str, body: Body) -> list[str]:
    """What a provider says, or does by itself, when it is to go on with words of the model's own.

    Histories may end so on purpose, so this is no part of the other checks: it is for those that do not.
    """
    return _ENDS[api](body)


def _anthropic_end(body: Body) -> list[str]:
    said = [message["role"] for message in body["messages"] if message["role"] != "system"]
    if not said or said[-1] == "user":
        return []
    return ["This model does not support assistant message prefill. It must end with a user message."]


def _responses_end(body: Body) -> list[str]:
    items = [item for item in body["input"] if item.get("role") not in ("system", "developer")]
    last = items[-1] if items else {"role": "user"}
    answered = str(last.get("type")).endswith("_output") or last.get("role") == "user"
    return [] if answered else ["input: nothing follows the model's last item"]


def _chat_end(body: Body) -> list[str]:
    said = [message["role"] for message in body["messages"] if message["role"] not in ("system", "developer")]
    if not said or said[-1] in ("user", "tool"):
        return []
    return ["Expected last role User or Tool (or Assistant with prefix True) for serving"]


def _xai_end(body: Body) -> list[str]:
    """The model answers somebody: it does not go on with its own words."""
    last = body["messages"][-1] if body["messages"] else {"role": "ROLE_USER"}
    return ["the last message is the model's"] if last["role"] == "ROLE_ASSISTANT" else []


def _gemini_end(body: Body) -> list[str]:
    contents = body["contents"]
    return [] if not contents or contents[-1]["role"] == "user" else ["contents: the model spoke last"]


def _interactions_end(body: Body) -> list[str]:
    steps = body["input"]
    return [] if not steps or steps[-1]["type"] == "user_input" else ["input: the model spoke last"]


_ENDS = {
    "anthropic-messages": _anthropic_end,
    "openai-responses": _responses_end,
    "openai-chat": _chat_end,
    "litellm": _chat_end,
    "xai-grpc": _xai_end,
    "gemini": _gemini_end,
    "gemini-interactions": _interactions_end,
    "bedrock-converse": _anthropic_end,
    "mistral-chat": _chat_end,
    "cohere-chat": _chat_end,
    "ollama": _chat_end,
}

STRICT_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "refusal"})
"""What OpenAI documents for a message; Groq, Cerebras and Mistral refuse anything else."""


def check_chat(body: Body, *, fields: Iterable[str] = (), results: tuple[type, ...] = (str,)) -> list[str]:
    """Chat completions of a strict server.

    Args:
        body: The request.
        fields: What the server takes in a message beside `STRICT_FIELDS`.
        results: The types of content that it takes in results of tools.
    """
    faults = []
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        role = message["role"]
        if waiting and role != "tool":
            faults.append(
                f"An assistant message with 'tool_calls' must be followed by tool messages: {waiting}"
            )
            waiting = []
        extra = set(message) - STRICT_FIELDS - set(fields)
        faults += [f"'messages.{number}' : property '{name}' is unsupported" for name in sorted(extra)]
        if role == "tool":
            faults += _tool_message(message, waiting, results)
        elif role == "assistant":
            faults += _chat_assistant(message, number)
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
        elif role in ("user", "system", "developer"):
            faults += [] if isinstance(message["content"], str | list) else [f"messages.{number}: no content"]
        else:
            faults.append(f"messages.{number}: unknown role {role}")
    if waiting:
        faults.append(f"An assistant message with 'tool_calls' must be followed by tool messages: {waiting}")
    return faults


def _tool_message(message: Mapping[str, Any], waiting: list[str], results: tuple[type, ...]) -> list[str]:
    if not isinstance(message["content"], results):
        return ["a tool message must have a string as content"]
    if not waiting:
        return ["messages with role 'tool' must be a response to a preceding message with 'tool_calls'"]
    expected = waiting.pop(0)
    return [] if message["tool_call_id"] == expected else [f"tool results out of order: {expected}"]


def _chat_assistant(message: Mapping[str, Any], number: int) -> list[str]:
    faults = []
    calls = message.get("tool_calls")
    if message.get("content") is None and not calls:
        faults.append("Invalid assistant message: content or tool_calls must be set")
    if calls is not None and not calls:
        faults.append("[] is too short - 'messages.tool_calls'")
    for call in calls or ():
        function = call.get("function") or call.get("custom")
        if not call["id"] or not function["name"]:
            faults.append(f"messages.{number}: a call without an id or a name")
        if "function" in call and not call["function"]["arguments"]:
            faults.append(f"messages.{number}: arguments are not JSON")
    return faults


def check_deepseek(body: Body) -> list[str]:
    """DeepSeek with thinking on."""
    return check_chat(body, fields=["reasoning_content"]) + [
        "The `reasoning_content` in the thinking mode must be passed back to the API."
        for message in body["messages"]
        if message["role"] == "assistant" and not isinstance(message.get("reasoning_content"), str)
    ]


def check_kimi(body: Body) -> list[str]:
    """Kimi K2.5 and later, thinking on."""
    faults = check_chat(body, fields=["reasoning_content"])
    for number, message in enumerate(body["messages"]):
        if not message.get("tool_calls"):
            continue
        if not message.get("reasoning_content"):
            faults.append(
                "thinking is enabled but reasoning_content is missing in assistant tool call message at "
                f"index {number}"
            )
        if message.get("content", " ") == "":
            faults.append("text content is empty")
    return faults


def check_gemini_chat(body: Body) -> list[str]:
    """Gemini 3 behind its OpenAI-compatible endpoint."""
    faults = check_chat(body, fields=["extra_content"])
    users = [n for n, message in enumerate(body["messages"]) if message["role"] == "user"]
    for message in body["messages"][users[-1] + 1 if users else 0 :]:
        calls = message.get("tool_calls") or ()
        if calls and not _thought_signature(calls[0]):
            faults.append("Function call is missing a thought_signature in functionCall parts")
    return faults


def _thought_signature(call: Mapping[str, Any]) -> Any:
    content = call.get("extra_content") or {}
    return any(content.get(name, {}).get("thought_signature") for name in ("google", "vertex"))


def check_openrouter(body: Body) -> list[str]:
    """OpenRouter in front of an upstream that signs."""
    faults = check_chat(body, fields=["reasoning_details", "reasoning"])
    seen: dict[str, int] = {}
    for number, message in enumerate(body["messages"]):
        for detail in message.get("reasoning_details") or ():
            signs = str(detail.get("format")).startswith(("anthropic-", "google-"))
            if detail["type"] == "reasoning.text" and signs and not detail.get("signature"):
                faults.append("Invalid signature in thinking block")
            known = detail.get("id") if detail["type"] == "reasoning.encrypted" else None
            if known and seen.setdefault(known, number) != number:
                faults.append(f"Duplicate item found with id {known}")
    return faults


def check_gemini(body: Body, *, enforced: bool = True) -> list[str]:
    """Gemini's generateContent; ``enforced``: the model demands thought signatures on calls."""
    contents = body["contents"]
    roles = [content["role"] for content in contents]
    faults = [f"contents: invalid role {role}" for role in roles if role not in ("user", "model")]
    faults += ["contents: roles do not alternate" for a, b in pairwise(roles) if a == b]
    faults += [] if roles[:1] in ([], ["user"]) else ["contents: a call must come after a user turn"]
    for number, content in enumerate(contents):
        faults += [] if content["parts"] else [f"contents[{number}]: parts must not be empty"]
        faults += [fault for part in content["parts"] for fault in _gemini_part(part, content["role"])]
        after = contents[number + 1]["parts"] if number + 1 < len(contents) else []
        faults += _gemini_calls(content["parts"], after, enforced=enforced)
    given = [part for content in contents for part in content["parts"]]
    asked = sum("functionCall" in part for part in given)
    answered = sum("functionResponse" in part for part in given)
    return [*faults, *([] if asked == answered else ["the number of calls and responses differs"])]


_GEMINI_DATA = ("text", "functionCall", "functionResponse", "executableCode", "codeExecutionResult")
_GEMINI_MORE = ("toolCall", "toolResponse", "inlineData", "fileData")


def _gemini_part(part: Mapping[str, Any], role: str) -> list[str]:
    data = [name for name in (*_GEMINI_DATA, *_GEMINI_MORE) if name in part]
    faults = [] if len(data) == 1 else ["a part must have exactly one data field"]
    if part.get("text") == "" and "thoughtSignature" not in part:
        faults.append("a part must not be empty")
    if part.get("thought"):
        faults.append("a thought is of no use")
    of_user = ("functionResponse", "fileData")
    if "thoughtSignature" in part and (role == "user" or data[0] in of_user):
        faults.append("Invalid thought signature")
    return faults


def _gemini_calls(
    parts: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], *, enforced: bool
) -> list[str]:
    calls = [part for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in after if "functionResponse" in part]
    faults = []
    if calls and enforced and not calls[0].get("thoughtSignature"):
        faults.append("Function call is missing a thought_signature in functionCall parts")
    if calls:
        asked = [(part["functionCall"].get("id"), part["functionCall"]["name"]) for part in calls]
        if asked != [(result.get("id"), result["name"]) for result in results]:
            faults.append("the function responses do not fit the function calls before them")
    faults += ["a response must be an object" for one in results if not isinstance(one["response"], dict)]
    return faults
