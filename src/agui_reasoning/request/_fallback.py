"""Builds turns from messages without an envelope, by the hint in metadata or by the order of messages.

Responses with only text and calls have no envelope, and other producers write their own values: the JSON of
pydantic-ai is supported, and bare provider strings if the caller names the provider.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from agui_reasoning._hint import hint_of, hint_of_call
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


class _Piece(NamedTuple):
    """Text and calls of one response in a message, the call they follow or begin with, and its hint."""

    position: float
    response: str | None
    parts: list[Part]


class _Placed(NamedTuple):
    """A turn, its position, and the response that its hint names."""

    place: Position
    response: str | None
    turn: Turn


def fallback_turns(
    history: ClientHistory,
    view: ClientView,
    assume_provider: str | None,
    report: list[ReportEntry],
) -> list[tuple[Position, Turn]]:
    """Build turns from the messages and calls that no envelope names."""
    foreign = set(history.foreign)
    cut = view.cut_calls()
    pending: list[Part] = []
    placed: list[_Placed] = []
    first = 0
    for index, message in enumerate(history.messages):
        if index in foreign:
            first = first if pending else index
            part = _reasoning(message, history.refused, assume_provider, report)
            pending.append(replace(part, seen=str(message.get("id"))))
        elif message.get("role") == "assistant":
            for piece in _pieces(history, view, message, cut):
                placed.append(_Placed((index, piece.position), piece.response, _turn(pending, piece.parts)))
                pending = []
        elif message.get("role") == "user" and pending:
            placed.append(_Placed((first, -1), None, _turn(pending, [])))
            pending = []
    if pending:
        placed.append(_Placed((first, -1), None, _turn(pending, [])))
    return _joined(placed)


def _turn(reasoning: list[Part], parts: list[Part]) -> Turn:
    origin = next((part.origin for part in reasoning if part.origin), None)
    return Turn((*reasoning, *parts), origin)


def plain_turn(message: dict[str, Any]) -> Turn:
    """Return an assistant message without values as a turn of unknown origin."""
    return Turn((*_text(message), *(_call(call) for call in calls_of(message))))


def _text(message: dict[str, Any]) -> list[Part]:
    text = message_text(message)
    return [TextPart(text, seen=str(message.get("id")))] if text else []


def _call(call: dict[str, Any], cut: Container[str] = ()) -> ToolCallPart:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    name, arguments = str(function.get("name") or ""), str(function.get("arguments") or "")
    call_id = str(call.get("id"))
    status: Status = "incomplete" if call_id in cut else "complete"
    return ToolCallPart(call_id, name, arguments, status=status, seen=call_id)


def _pieces(
    history: ClientHistory, view: ClientView, message: dict[str, Any], cut: Container[str]
) -> list[_Piece]:
    """Return what no envelope names in a message: one piece, or several if a front end merged responses."""
    earlier = _earlier_calls(history, view, message)
    pieces = [
        _Piece(position, _hinted(hint_of_call(call, message)), [_call(call, cut)])
        for position, call in enumerate(calls_of(message))
        if view.response_of_call(str(call.get("id"))) is None
    ]
    text = [] if view.has_message(str(message.get("id"))) else _text(message)
    if text:
        before = sum(piece.position < earlier for piece in pieces)
        pieces.insert(before, _Piece(earlier - 0.5, _hinted(hint_of(message)), text))
    merged: list[_Piece] = []
    for piece in pieces:
        if merged and (piece.response is None or merged[-1].response in (None, piece.response)):
            last = merged.pop()
            piece = _Piece(last.position, last.response or piece.response, [*last.parts, *piece.parts])
        merged.append(piece)
    return merged


def _earlier_calls(history: ClientHistory, view: ClientView, message: dict[str, Any]) -> int:
    """Return the number of calls before the text of a message; TanStack adds text to earlier calls.

    They belong to other responses than the text, and not to the one after it.
    """
    own = _hinted(hint_of(message))
    if own is None:
        return 0
    for position, call in enumerate(calls_of(message)):
        response = view.response_of_call(str(call.get("id"))) or _hinted(hint_of_call(call, message))
        recorded = history.responses.get(response or "")
        if response in (None, own) or (recorded is not None and recorded.after == own):
            return position
    return len(calls_of(message))


def _joined(placed: list[_Placed]) -> list[tuple[Position, Turn]]:
    """Join neighboring turns that are one response according to the hint in their metadata."""
    groups: list[list[_Placed]] = []
    for one in placed:
        if groups and one.response is not None and one.response == groups[-1][-1].response:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [(group[0].place, _one_turn([one.turn for one in group])) for group in groups]


def _one_turn(turns: list[Turn]) -> Turn:
    return Turn(
        tuple(part for turn in turns for part in turn.parts),
        next((turn.origin for turn in turns if turn.origin), None),
    )


def _hinted(hint: Mapping[str, Any]) -> str | None:
    """Return the response that a hint names."""
    response = hint.get("response")
    return response if isinstance(response, str) else None


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
