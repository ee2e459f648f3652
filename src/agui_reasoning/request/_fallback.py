"""Builds turns from messages without an envelope, by the hint in metadata or by the order of messages.

Responses with only text and calls have no envelope, and other producers write their own values: the JSON of
pydantic-ai is supported, and bare provider strings if the caller names the provider.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from agui_reasoning._hint import hint_of
from agui_reasoning._strict_json import load
from agui_reasoning.parts import (
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    Status,
    TextPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.providers.registry import signature_kinds
from agui_reasoning.request._client_history import ClientHistory, Position, calls_of, message_text
from agui_reasoning.request._client_view import ClientView
from agui_reasoning.request._history import ReportEntry

__all__ = ["fallback_turns", "plain_turn"]

_REDACTED_ID = "redacted_thinking"


def fallback_turns(
    history: ClientHistory,
    view: ClientView,
    assume_provider: str | None,
    report: list[ReportEntry],
) -> list[tuple[Position, Turn]]:
    """Build turns from the messages and calls that no envelope names."""
    foreign = set(history.foreign)
    messages, calls, cut = view.messages, view.calls, view.cut_calls()
    pending: list[Part] = []
    placed: list[tuple[Position, Turn]] = []
    first = 0
    for index, message in enumerate(history.messages):
        if index in foreign:
            first = first if pending else index
            part = _reasoning(message, history.refused, assume_provider, report)
            pending.append(replace(part, seen=str(message.get("id"))))
        elif message.get("role") == "assistant":
            parts = _unclaimed(message, messages, calls, cut)
            if parts:
                placed.append(((index, _position(message, messages, calls)), _turn(pending, parts)))
                pending = []
        elif message.get("role") == "user" and pending:
            placed.append(((first, -1), _turn(pending, [])))
            pending = []
    if pending:
        placed.append(((first, -1), _turn(pending, [])))
    return _joined(history, placed)


def _turn(reasoning: list[Part], parts: list[Part]) -> Turn:
    origin = next((part.origin for part in reasoning if part.origin), None)
    return Turn((*reasoning, *parts), origin)


def plain_turn(message: dict[str, Any]) -> Turn:
    """Return an assistant message without values as a turn of unknown origin."""
    return Turn(tuple(_unclaimed(message, set(), set())))


def _unclaimed(
    message: dict[str, Any], messages: set[str], calls: set[str], cut: Container[str] = ()
) -> list[Part]:
    parts: list[Part] = []
    text, message_id = message_text(message), str(message.get("id"))
    if message_id not in messages and text:
        parts.append(TextPart(text, seen=message_id))
    for call in calls_of(message):
        call_id = str(call.get("id"))
        if call_id not in calls:
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            name, arguments = str(function.get("name") or ""), str(function.get("arguments") or "")
            status: Status = "incomplete" if call_id in cut else "complete"
            parts.append(ToolCallPart(call_id, name, arguments, status=status, seen=call_id))
    return parts


def _position(message: dict[str, Any], messages: set[str], calls: set[str]) -> int:
    """Return where a message's own content begins: calls merged into another's message come later."""
    if str(message.get("id")) not in messages:
        return -1
    return next((n for n, call in enumerate(calls_of(message)) if str(call.get("id")) not in calls), -1)


def _joined(history: ClientHistory, placed: list[tuple[Position, Turn]]) -> list[tuple[Position, Turn]]:
    """Join neighboring turns that are one response according to the hint in their metadata."""
    groups: list[list[tuple[Position, Turn]]] = []
    before: str | None = None
    for place, turn in placed:
        response = _hinted(history.messages[place[0]])
        if groups and response is not None and response == before:
            groups[-1].append((place, turn))
        else:
            groups.append([(place, turn)])
        before = response
    return [(group[0][0], _one_turn([turn for _, turn in group])) for group in groups]


def _one_turn(turns: list[Turn]) -> Turn:
    return Turn(
        tuple(part for turn in turns for part in turn.parts),
        next((turn.origin for turn in turns if turn.origin), None),
    )


def _hinted(message: Mapping[str, Any]) -> str | None:
    """Return the response of a message, by its own hint or that of its calls."""
    for entity in (message, *calls_of(message)):
        response = hint_of(entity).get("response")
        if isinstance(response, str):
            return response
    return None


def _reasoning(
    message: dict[str, Any], refused: Mapping[str, str], provider: str | None, report: list[ReportEntry]
) -> Part:
    text, value = message_text(message), message.get("encryptedValue")
    segments = (Segment("text", 0, text),) if text else ()
    unit = str(message.get("id"))
    reason = refused.get(unit, "unknown_value" if value else "no_value")
    usable = isinstance(value, str) and value and unit not in refused
    part = _foreign_value(segments, str(value), provider) if usable else None
    if part is not None:
        report.append(ReportEntry(unit, "restored"))
        return part
    # Without a value the producer is unknown: keep the text for display, and never send it back.
    report.append(ReportEntry(unit, "dropped", reason))
    return ReasoningPart(segments, status="incomplete")


def _foreign_value(segments: tuple[Segment, ...], value: str, provider: str | None) -> ReasoningPart | None:
    fields = load(value)
    if isinstance(fields, dict) and isinstance(fields.get("provider_name"), str):
        return _pydantic_ai(segments, fields)
    if provider is None or isinstance(fields, dict):
        return None
    return _signed(segments, provider, value, None)


def _pydantic_ai(segments: tuple[Segment, ...], fields: dict[str, Any]) -> ReasoningPart | None:
    signature, item_id = fields.get("signature"), fields.get("id")
    item_id = item_id if isinstance(item_id, str) else None
    if signature is not None and not isinstance(signature, str):
        return None
    return _signed(segments, fields["provider_name"], signature, item_id)


def _signed(
    segments: tuple[Segment, ...], provider: str, value: str | None, item_id: str | None
) -> ReasoningPart | None:
    known = signature_kinds().get(provider)
    if known is None:
        return None
    api, kind = known
    if item_id == _REDACTED_ID:
        kind, item_id = "anthropic.redacted_thinking", None
    opaque = (Opaque(kind, value),) if value else ()
    if kind.startswith("openai."):
        segments = tuple(Segment("summary", n, s.text) for n, s in enumerate(segments))
    return ReasoningPart(segments, opaque, item_id, origin=Origin(provider, api))
