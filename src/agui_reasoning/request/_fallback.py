"""Builds turns from messages without an envelope, by the hint in metadata or by the order of messages.

Responses with only text and calls have no envelope, and other producers write their own values: the JSON of
pydantic-ai is supported, and bare provider strings if the caller names the provider.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

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
from agui_reasoning.request._history import ReportEntry
from agui_reasoning.request._index import ClientHistory, Position
from agui_reasoning.request._messages import ClientCall, ClientMessage

_REDACTED_ID = "redacted_thinking"


class _Portion(NamedTuple):
    """Text and calls of one response in a message, the call they follow or begin with, and its hint.

    It is ``apart`` if another response comes between it and the previous portion.
    """

    position: float
    response: str | None
    parts: list[Part]
    apart: bool = False


class _Placed(NamedTuple):
    """A turn, its position, and the response that its hint names."""

    place: Position
    response: str | None
    turn: Turn


def fallback_turns(
    history: ClientHistory, assume_provider: str | None, report: list[ReportEntry]
) -> list[tuple[Position, Turn]]:
    """Build turns from the messages and calls that no envelope names."""
    foreign = history.foreign
    owners = history.call_owners
    unnamed = [(one, call) for one in history.messages for call in one.calls if call.id not in owners]
    cut = _cut_calls(history, unnamed)
    followed = {response.place.after_entity for response in history.responses.values()}
    pending: list[Part] = []
    placed: list[_Placed] = []
    first = 0
    for index, message in enumerate(history.messages):
        role = message.role
        if role == "reasoning" and index in foreign:
            first = first if pending else index
            part = _reasoning(message, history.refused, assume_provider, report)
            pending.append(replace(part, seen=message.id))
        elif role == "assistant" and (unnamed or message.id not in history.message_owners):
            for portion in _portions(history, index, cut, followed):
                turn = _turn([*pending, *portion.parts])
                placed.append(_Placed((index, portion.position), portion.response, turn))
                pending = []
        elif pending and role == "user":
            placed.append(_Placed((first, -1), None, _turn(pending)))
            pending = []
    if pending:
        placed.append(_Placed((first, -1), None, _turn(pending)))
    return _joined(placed)


def _turn(parts: Sequence[Part]) -> Turn:
    """Return the turn of parts of which only those of reasoning may have an origin."""
    return Turn(tuple(parts), next((part.origin for part in parts if part.origin), None))


def plain_turn(message: ClientMessage) -> Turn:
    """Return an assistant message without values as a turn of unknown origin."""
    return Turn((*_text(message), *map(_call, message.calls)))


def _text(message: ClientMessage) -> list[Part]:
    return [TextPart(message.text, seen=message.id)] if message.text else []


def _call(call: ClientCall, cut: Container[str] = ()) -> ToolCallPart:
    status: Status = "incomplete" if call.id in cut else "complete"
    return ToolCallPart(call.id, call.name, call.arguments, status=status, seen=call.id)


def _portions(
    history: ClientHistory, index: int, cut: Container[str], followed: Container[str | None]
) -> list[_Portion]:
    """Return what no envelope names in a message: one portion, or several if a front end merged responses.

    assistant-ui and TanStack merge the responses around calls that the server answered. ``followed`` has the
    messages and calls without a value after which a response with values comes.
    """
    message = history.messages[index]
    portions = list(_calling(history, message, cut)) if message.calls else []
    text = [] if message.id in history.message_owners else _text(message)
    if text:
        hinted = message.hinted()
        earlier = _earlier_calls(history, message, hinted)
        before = sum(portion.position < earlier for portion in portions)
        portions.insert(before, _Portion(earlier - 0.5, hinted, text))
    merged: list[_Portion] = []
    for portion in portions:
        if merged and _is_continued(merged[-1], portion, followed):
            last = merged.pop()
            parts = [*last.parts, *portion.parts]
            portion = _Portion(last.position, last.response or portion.response, parts, last.apart)
        merged.append(portion)
    return merged


def _calling(history: ClientHistory, message: ClientMessage, cut: Container[str]) -> Iterator[_Portion]:
    """Yield a portion for each call of a message that no envelope names."""
    apart = False
    for number, call in enumerate(message.calls):
        named = call.id in history.call_owners
        if not named:
            yield _Portion(number, message.hinted(call), [_call(call, cut)], apart)
        apart = named


def _is_continued(last: _Portion, portion: _Portion, followed: Container[str | None]) -> bool:
    """Return whether two portions in succession may be of one response."""
    if portion.apart or last.parts[-1].seen in followed:
        return False
    return portion.response is None or last.response in (None, portion.response)


def _earlier_calls(history: ClientHistory, message: ClientMessage, own: str | None) -> int:
    """Return the number of calls before the text of a message; TanStack adds text to earlier calls.

    They belong to other responses than the text, and not to the one after it.
    """
    if own is None:
        return 0
    for number, call in enumerate(message.calls):
        response = history.call_owners.get(call.id) or message.hinted(call)
        recorded = history.responses.get(response or "")
        if response in (None, own) or (recorded is not None and recorded.place.after == own):
            return number
    return len(message.calls)


# -- calls of a response that the client stopped


def _cut_calls(history: ClientHistory, unnamed: list[tuple[ClientMessage, ClientCall]]) -> set[str]:
    """Return the IDs of the unanswered calls that the client received before it stopped the response.

    The last value of a response names all of its calls. If the values that arrived do not name a call of
    their response, the client never received the last one.
    """
    unanswered = [(message, call) for message, call in unnamed if call.id not in history.answers]
    if not unanswered:
        return set()
    calling = set(history.call_owners.values())
    followed = _followed_by_unseen(history, calling)
    return {
        call.id for message, call in unanswered if _is_of_recorded(history, message, call, calling, followed)
    }


def _followed_by_unseen(history: ClientHistory, calling: set[str]) -> set[str]:
    """Return the responses before those of which only reasoning is visible, in the same run."""
    found: set[str] = set()
    responses = history.responses
    for response in responses.values():
        if response.id in calling or any(name in history.by_id for name in response.messages):
            continue
        before = responses.get(response.place.after or "")
        while before is not None and before.id not in found:
            found.add(before.id)
            before = responses.get(before.place.after or "")
    return found


def _is_of_recorded(
    history: ClientHistory, message: ClientMessage, call: ClientCall, calling: set[str], followed: set[str]
) -> bool:
    """Return whether a call without a name belongs to a response with values.

    Without a hint, assistant-ui may have merged the call into the message of an earlier response. Then it is
    one of a later response of which only reasoning is visible. A message that exists only for calls, of a
    response that names none, has its own.
    """
    hinted = message.hinted(call)
    if hinted is not None:
        return hinted in history.responses
    response = history.message_owners.get(message.id)
    if response is None or response in calling or message.text:
        return response in followed
    return True


def _joined(placed: list[_Placed]) -> list[tuple[Position, Turn]]:
    """Join neighboring turns that are one response according to the hint in their metadata."""
    groups: list[list[_Placed]] = []
    for one in placed:
        if groups and one.response is not None and one.response == groups[-1][-1].response:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [(group[0].place, _turn([part for one in group for part in one.turn.parts])) for group in groups]


def _reasoning(
    message: ClientMessage, refused: Mapping[str, str], provider: str | None, report: list[ReportEntry]
) -> Part:
    value, unit = message.value, message.id
    segments = (Segment("text", 0, message.text),) if message.text else ()
    reason = refused.get(unit, "unknown_value" if value else "no_value")
    usable = isinstance(value, str) and value and unit not in refused
    part = _foreign_value(segments, str(value), provider) if usable else None
    if part is not None:
        report.append(ReportEntry(unit, "restored"))
        return part
    # Without a value the producer is unknown: keep the text for display, and never send it back, because
    # Anthropic refuses thinking without its signature, and Groq and Mistral refuse the field.
    report.append(ReportEntry(unit, "dropped", reason))
    return ReasoningPart(segments, status="incomplete")


def _foreign_value(segments: tuple[Segment, ...], value: str, provider: str | None) -> ReasoningPart | None:
    fields = load(value)
    signature: Any = value
    item_id: Any = None
    if isinstance(fields, dict):  # pydantic-ai's
        provider, signature, item_id = map(fields.get, ("provider_name", "signature", "id"))
        item_id = item_id if isinstance(item_id, str) else None
    known = signature_kinds().get(provider) if isinstance(provider, str) else None
    if known is None or not isinstance(signature, str | None):
        return None
    api, kind = known
    if item_id == _REDACTED_ID:
        kind, item_id = "anthropic.redacted_thinking", None
    opaque = (Opaque(kind, signature),) if signature else ()
    if kind.startswith("openai."):
        segments = tuple(Segment("summary", n, s.text) for n, s in enumerate(segments))
    return ReasoningPart(segments, opaque, item_id, origin=Origin(provider, api))
