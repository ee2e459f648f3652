"""Writes the conversation of a run as the fields of OpenHands messages."""

from __future__ import annotations

from typing import Any, Final

from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import History
from agui_reasoning.run import Run

__all__ = ["message_fields"]

_RESPONSES: Final = frozenset({"azure", "openai"})
"""Upstreams that OpenHands may call with the Responses API; for other calls it omits the items."""


def message_fields(run: Run, system: str | None = None, history: History | None = None) -> list[JSONObject]:
    """Write the messages of a run in the SDK's storage format, one dict per message."""
    model = run.model
    if run.provider in _RESPONSES and model is not None and "responses/" not in model:
        model = f"responses/{model}"
    request = run.request(api="litellm", model=model, system=system, tools=(), history=history)
    names: dict[str, str] = {}
    written = []
    for message in request.body["messages"]:
        names |= {call["id"]: call["function"]["name"] for call in _functions(message)}
        written.append(_fields(message, names, run))
    return written


def _functions(message: JSONObject) -> list[JSONObject]:
    return [call for call in message.get("tool_calls") or () if call["type"] == "function"]


def _fields(message: JSONObject, names: dict[str, str], run: Run) -> JSONObject:
    items = message.get("reasoning_items") or []
    fields: JSONObject = {"role": message["role"], "content": _content(message.get("content"))}
    if calls := _functions(message):
        origin = "responses" if items else "completion"
        fields["tool_calls"] = [{"id": call["id"], **call["function"], "origin": origin} for call in calls]
    if call_id := message.get("tool_call_id"):
        fields |= {"tool_call_id": call_id, "name": names.get(call_id, "unknown")}
    for name in ("reasoning_content", "thinking_blocks"):
        fields |= {name: message[name]} if message.get(name) else {}
    if items:
        fields["responses_reasoning_item"] = _item(items[-1])
    if len(items) > 1:
        run.warn_once(["An OpenHands message holds one reasoning item; those before the last are left out."])
    return fields


def _item(item: JSONObject) -> JSONObject:
    summary = [part["text"] for part in item["summary"]]
    return {"id": item.get("id"), "summary": summary, "encrypted_content": item["encrypted_content"]}


def _content(content: Any) -> list[JSONObject]:
    """Write text and images as content parts of the SDK."""
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    written: list[JSONObject] = []
    for part in parts:
        if part["type"] == "image_url":
            written.append({"type": "image", "image_urls": [part["image_url"]["url"]]})
        elif part["type"] == "text" and part["text"]:
            written.append(part)
    return written
