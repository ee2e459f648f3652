"""Refuse what xAI and LiteLLM's upstreams refuse, from the facts about them.

Each ``check_…`` takes the body of a request and returns what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.validators import Body, check_chat

_FIELDS = {
    "ROLE_SYSTEM": {"role", "content"},
    "ROLE_USER": {"role", "content"},
    "ROLE_ASSISTANT": {"role", "content", "reasoning_content", "encrypted_content", "tool_calls"},
    "ROLE_TOOL": {"role", "content", "encrypted_content", "tool_calls", "tool_call_id"},
}
_CLIENT = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"


def check_xai(body: Body) -> list[str]:
    """xAI's gRPC chat: every message has content, every call of the client one result."""
    faults: list[str] = []
    waiting: list[str] = []
    server: set[str] = set()
    for number, message in enumerate(body["messages"]):
        faults += _xai_message(message, number)
        role = message["role"]
        if role == "ROLE_ASSISTANT":
            for call in message.get("tool_calls", ()):
                waiting += [call["id"]] if call["type"] == _CLIENT else []
                server |= {call["id"]} if call["type"] != _CLIENT else set()
        elif role == "ROLE_TOOL" and not message.get("tool_calls"):
            faults += _xai_result(message, waiting, number)
        elif role == "ROLE_TOOL":
            unknown = {call["id"] for call in message["tool_calls"]} - server
            faults += [f"messages.{number}: result of an unknown call {name}" for name in sorted(unknown)]
        elif role == "ROLE_USER" and waiting:
            faults.append(f"messages.{number}: calls without a result: {waiting}")
    return [*faults, *([f"calls without a result: {waiting}"] if waiting else [])]


def _xai_message(message: Mapping[str, Any], number: int) -> list[str]:
    where, role = f"messages.{number}", message["role"]
    extra = set(message) - _FIELDS.get(role, set())
    faults = [f"{where}: no field named {name}" for name in sorted(extra)]
    content = message.get("content")
    if not (isinstance(content, list) and content and all(isinstance(part, dict) for part in content)):
        faults.append(f"{where}: content is missing")
    reasoning = {name: message.get(name, "-") for name in ("reasoning_content", "encrypted_content")}
    faults += [f"{where}: {name} is empty" for name, value in reasoning.items() if not value]
    calls = message.get("tool_calls", ())
    return faults + [f"{where}: a call without an id, a type or a name" for call in calls if not _named(call)]


def _named(call: Mapping[str, Any]) -> bool:
    return bool(call["id"] and call["function"]["name"]) and call["type"].startswith("TOOL_CALL_TYPE_")


def _xai_result(message: Mapping[str, Any], waiting: list[str], number: int) -> list[str]:
    call_id = message.get("tool_call_id")
    if call_id is None:
        return []  # an output of a tool of the provider's own, without its call
    if call_id not in waiting:
        return [f"messages.{number}: result of an unknown call {call_id}"]
    waiting.remove(call_id)
    return []


def check_litellm(body: Body) -> list[str]:
    """Claude through LiteLLM: Chat Completions, and blocks of thinking that are signed."""
    faults = check_chat(body, fields=["thinking_blocks"], results=(str, list))
    for number, message in enumerate(body["messages"]):
        for block in message.get("thinking_blocks", ()):
            wanted = {"thinking": "signature", "redacted_thinking": "data"}.get(block["type"])
            if wanted is None or not block.get(wanted):
                faults.append(f"messages.{number}: Invalid `signature` in `thinking` block")
    return faults
