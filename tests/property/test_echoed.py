"""Everything that a report calls *echoed* is in the request, byte for byte."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ag_ui.core import Message
from hypothesis import given, settings

from agui_reasoning.parts import NativePart, Opaque, Part, ReasoningPart, Turn
from agui_reasoning.request import History, build_request
from tests.property.test_request import TARGETS, conversations
from tests.support.effort import examples

MODELS: dict[str, tuple[str, str, str]] = {
    **{name: target[:3] for name, target in TARGETS.items()},
    "litellm-chat": ("openai-chat", "litellm", "anthropic/claude-opus-5"),
    "litellm-responses": ("openai-responses", "litellm", "openai/gpt-5.6"),
    "litellm-messages": ("anthropic-messages", "litellm", "anthropic/claude-opus-5"),
    "vercel": ("openai-chat", "vercel-gateway", "anthropic/claude-opus-5"),
    "copilot": ("openai-chat", "github-copilot", "claude-opus-5"),
    "zai": ("openai-chat", "zai", "glm-5"),
    "xai": ("openai-responses", "xai", "grok-4"),
    "unknown": ("openai-chat", "nobody", "model"),
}


def marked(item: Turn | Message, number: int) -> Turn | Message:
    """A turn whose units can be told apart: by name, and by whatever may go out of them."""
    if not isinstance(item, Turn):
        return item
    parts = (
        replace(_marked(part, f"MARK{number:03}X{index:03}"), seen=f"unit {number}.{index}")
        for index, part in enumerate(item.parts)
    )
    return replace(item, parts=tuple(parts))


def _marked(part: Part, mark: str) -> Part:
    values = (_value(opaque, f"{mark}V{n:03}") for n, opaque in enumerate(getattr(part, "opaque", ())))
    if isinstance(part, NativePart):
        payload = part.payload if isinstance(part.payload, dict) else {}
        return replace(part, payload=payload | {"encrypted_content": mark})
    if isinstance(part, ReasoningPart):
        segments = tuple(replace(s, text=f"{mark}T{n:03}") for n, s in enumerate(part.segments))
        item_id = part.item_id and f"rs_{mark}"
        return replace(part, opaque=tuple(values), segments=segments, item_id=item_id)
    return replace(part, opaque=tuple(values)) if hasattr(part, "opaque") else part


def _value(opaque: Opaque, mark: str) -> Opaque:
    return replace(opaque, value=json.dumps({"value": mark}) if opaque.encoding == "json" else mark)


def marks(part: Part) -> Iterator[str]:
    """What tells that a unit is in a request: its values, else its text, or the id by which it is stored."""
    values = [] if _goes_by_id(part) else [opaque.value for opaque in getattr(part, "opaque", ())]
    if isinstance(part, NativePart):
        yield part.payload["encrypted_content"]
    elif values:
        yield from (json.loads(value)["value"] if value.startswith("{") else value for value in values)
    elif isinstance(part, ReasoningPart):
        yield from (segment.text for segment in part.segments)
        yield from [part.item_id] if part.item_id else []


def _goes_by_id(part: Part) -> bool:
    """An item that came without its encrypted content is a reference to what the provider stored."""
    kinds = [opaque.kind for opaque in getattr(part, "opaque", ())]
    is_item = part.origin is None or part.origin.api == "openai-responses"
    return is_item and bool(getattr(part, "item_id", None)) and "openai.encrypted_content" not in kinds


def readable(blob: bytes) -> list[str]:
    """A blob as its base64, and as the letters that Bedrock's are for a redacted thought of Claude."""
    return [b64encode(blob).decode("ascii"), blob.decode("latin-1")]


def missing(target: str, items: list[Turn | Message]) -> list[str]:
    """The units that are said to be echoed, and of which nothing is in the request."""
    api, provider, model = MODELS[target]
    history = History(tuple(items))
    request = build_request(api, history, provider=provider, model=model, on_warning=lambda text: None)
    assert len(request.explain().splitlines()) <= len(request.report)
    body = json.dumps(request.body, ensure_ascii=False, default=readable)
    turns: list[Any] = [item for item in items if isinstance(item, Turn)]
    parts = {part.seen: part for turn in turns for part in turn.parts}
    echoed = [parts[entry.unit] for entry in request.report if entry.outcome == "echoed"]
    wanted = [(part, list(marks(part))) for part in echoed]
    return [repr(part) for part, found in wanted if found and not any(mark in body for mark in found)]


@settings(max_examples=examples(200))
@given(items=conversations())
def test_what_is_said_to_be_echoed_is_in_the_request(items: list[Turn | Message]) -> None:
    items = [marked(item, number) for number, item in enumerate(items)]
    lost = {target: missing(target, items) for target in MODELS}
    assert {target: units for target, units in lost.items() if units} == {}
