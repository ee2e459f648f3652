"""What a report calls *echoed* is in the request, byte for byte, and what it does not is not."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from ag_ui.core import Message, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning.parts import NativePart, Opaque, Origin, Part, ReasoningPart, Turn
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.echo import groups
from agui_reasoning.request import History, ProviderRequest, build_request
from agui_reasoning.testing.strategies import API_IDS
from agui_reasoning.testing.strategies import turns as turns_of
from tests.support.effort import examples, thinned
from tests.support.histories import conversations
from tests.support.strict_providers import STRICT


def named(origin: Origin) -> tuple[str, str, str]:
    return str(origin.api), str(origin.provider), str(origin.model)


MODELS: dict[str, tuple[str, str, str]] = {
    **{name: named(strict.target) for name, strict in STRICT.items()},
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


def unfaithful(target: str, items: list[Turn | Message]) -> list[str]:
    """The units of which nothing is in the request although they are echoed, or something although not."""
    api, provider, model = MODELS[target]
    history = History(tuple(items))
    request = build_request(api, history, provider=provider, model=model, on_warning=lambda text: None)
    assert len(request.explain().splitlines()) <= len(request.report)
    body = json.dumps(request.body, ensure_ascii=False, default=readable)
    turns: list[Any] = [item for item in items if isinstance(item, Turn)]
    parts = {part.seen: part for turn in turns for part in turn.parts}
    found: list[str] = []
    for entry in request.report:
        part = parts[entry.unit]
        # What the model cannot read is sent, but its provider leaves it out.
        echoed = entry.outcome == "echoed" or entry.reason == "model_binding"
        there = [mark in body for mark in (marks(part) if echoed else secrets(part))]
        if there and any(there) != echoed:
            found.append(f"{entry.outcome} {entry.reason}: {part!r}")
    return found


def secrets(part: Part) -> Iterator[str]:
    """Everything of a unit that only its own provider may get: its values, its reasoning, its blocks."""
    yield from marks(part)
    if isinstance(part, ReasoningPart):
        yield from (segment.text for segment in part.segments)


@settings(max_examples=examples(200))
@given(items=conversations())
def test_a_unit_is_in_the_request_if_and_only_if_it_is_said_to_be_echoed(items: list[Turn | Message]) -> None:
    items = [marked(item, number) for number, item in enumerate(items)]
    wrong = {target: unfaithful(target, items) for target in MODELS}
    assert {target: units for target, units in wrong.items() if units} == {}


# -- a thread that two providers share

PAIRS = thinned(permutations(API_IDS, 2), 4)
FOREIGN = {"foreign_origin", "native_foreign", "policy", "incomplete", "orphan"}
"""Why a unit of another provider is left out; calls that were cut, and responses without output, say so."""


def example(api: str) -> Origin:
    provider, model = provider_api(api).example
    return Origin(provider, api, model)


def share_values(one: str, other: str) -> bool:
    members = {f"{origin.api}:{origin.provider}" for origin in (example(one), example(other))}
    return any(members <= set(group.members) for group in groups())


def ask(target: Origin, *turns: Turn) -> tuple[ProviderRequest, str]:
    items: list[Turn | Message] = []
    for turn in turns:
        items += [UserMessage(id=f"u{turn.id}", content="And?"), turn]
    history = History((*items, UserMessage(id="u9", content="And now?")))
    request = build_request(
        str(target.api), history, provider=target.provider, model=target.model, on_warning=lambda text: None
    )
    return request, json.dumps(request.body, ensure_ascii=False, default=readable)


@pytest.mark.parametrize(("source", "api"), PAIRS)
@settings(max_examples=examples(8))
@given(data=st.data())
def test_two_providers_share_a_thread_and_each_gets_its_own(
    source: str, api: str, data: st.DataObject
) -> None:
    own = marked(replace(data.draw(turns_of(api)), id="own"), 0)
    other = marked(replace(data.draw(turns_of(source)), id="other"), 1)
    assert isinstance(own, Turn)
    assert isinstance(other, Turn)
    first, second = (own, other) if data.draw(st.booleans()) else (other, own)
    request, body = ask(example(api), first, second)
    theirs = {part.seen: part for part in other.parts}
    if not share_values(source, api):
        for part in other.parts:
            assert not any(secret in body for secret in secrets(part)), part
        reported = [entry for entry in request.report if entry.unit in theirs]
        assert {(entry.outcome == "echoed", entry.reason in FOREIGN) for entry in reported} <= {(False, True)}
        assert {entry.unit for entry in reported} >= {
            name for name, part in theirs.items() if isinstance(part, ReasoningPart | NativePart)
        }
    alone, _ = ask(example(api), own)
    assert [entry for entry in request.report if entry.unit not in theirs] == list(alone.report)
