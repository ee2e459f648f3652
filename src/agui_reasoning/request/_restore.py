"""A client's history back into turns of parts.

A response stands where the first surviving assistant message or call that its envelopes name stands, else
where its reasoning stands; inside it, sequence decides. Front ends move reasoning to the front, fold
responses together, rename ids and drop metadata, so the order of the messages decides only where nothing
else does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ag_ui.core import Message

from agui_reasoning._envelope import EnvelopeReader, OnUndecryptable
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.crypto._keys import token_key_id
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import CUT_CALL_RESULT, Opaque, Part, ReasoningPart, ToolCallPart, Turn
from agui_reasoning.request._client_history import (
    ClientHistory,
    Position,
    RecordedResponse,
    index_history,
    message_text,
)
from agui_reasoning.request._client_view import ClientView
from agui_reasoning.request._fallback import fallback_turns
from agui_reasoning.request._history import History, ReportEntry
from agui_reasoning.request._intake import HistoryInput, thread_of
from agui_reasoning.request._messages import as_message
from agui_reasoning.request._rebuild import rebuild

__all__ = ["restore"]


def restore(
    given: HistoryInput,
    *,
    keys: KeyRing | None = None,
    thread_id: str | None = None,
    tenant: str = "",
    accept_plain: bool | None = None,
    assume_provider: str | None = None,
    on_undecryptable: OnUndecryptable = "drop",
    subagent: str | None = None,
    on_audit: OnAudit | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> History:
    """Give a client's history back as turns and messages.

    Args:
        given: What the client sent: a run input, or its messages.
        keys: The ring that wrote the values. With it only what it decrypts is restored.
        thread_id: The thread the values belong to; default is the run input's own.
        tenant: Whose conversation it is, by your authentication and never by what the client sent.
        accept_plain: With keys: read plain envelopes and other producers' values too, for histories from
            before there were keys. They prove nothing about who wrote them.
        assume_provider: Whose values those are that no envelope tells, if you know.
        on_undecryptable: With keys: ``"drop"`` reports a value that does not open, or that nobody encrypted,
            and goes on; ``"raise"`` raises.
        subagent: The id of a subagent's run, to restore its conversation and nothing else; otherwise the
            messages of subagents are left out.
        on_audit: Called with a content-free record for each entry of the report, and for each text and call
            whose value came back.
        limits: How large the history may be.

    Returns:
        Everything in order, and a report of what became of each reasoning unit.

    Raises:
        RemoteProtocolError: The input is malformed (``bad_input``), or larger than the limits
            (``too_large``).
        ConfigurationError: Keys without a thread (``keys_without_thread``), or encrypted values without keys
            (``keys_missing``).
        DecryptionError: A value is not authentic, and ``on_undecryptable`` says so.
    """
    opener = EnvelopeReader(
        keys, _binding(given, keys, thread_id, tenant), bool(accept_plain), on_undecryptable
    )
    seen = index_history(given, opener, subagent, limits)
    report: list[ReportEntry] = []
    turns: dict[str, Turn] = {}
    view = ClientView(seen)
    for response in seen.responses.values():
        turns[response.id], entries = rebuild(seen, response, view)
        report += entries
    placed = [(place, turns[name]) for name, place in _places(seen).items() if turns[name].parts]
    placed += fallback_turns(seen, view.messages, view.calls, assume_provider, report)
    report += _refused_elsewhere(seen)
    if on_audit is not None:
        for entry, part in _audited(report, turns.values()):
            on_audit(_audit_record(entry, opener, seen.value(entry.unit), part))
    return History(tuple(_in_order(seen, placed)), tuple(report))


def _audited(
    report: Iterable[ReportEntry], turns: Iterable[Turn]
) -> Iterator[tuple[ReportEntry, Part | None]]:
    """What an auditor hears of: the report, with the part of each entry, and texts and calls with a value."""
    parts = [part for turn in turns for part in turn.parts]
    reasoning: dict[str, deque[Part]] = {}
    for part in parts:
        if isinstance(part, ReasoningPart):
            reasoning.setdefault(part.seen, deque()).append(part)
    for entry in report:
        same = reasoning.get(entry.unit)
        yield entry, same.popleft() if same else None
    for part in parts:
        opaque: tuple[Opaque, ...] = getattr(part, "opaque", ())
        if opaque and not isinstance(part, ReasoningPart):
            yield ReportEntry(part.seen, "restored"), part


def _audit_record(entry: ReportEntry, opener: EnvelopeReader, value: str, part: Part | None) -> AuditRecord:
    origin = part.origin if part else None
    return AuditRecord(
        "restored",
        "restored" if entry.outcome == "restored" else "dropped",
        entry.unit,
        entry.reason,
        thread_id=opener.binding.thread_id if opener.binding else None,
        tenant=opener.binding.tenant if opener.binding else None,
        provider=origin.provider if origin else None,
        api=origin.api if origin else None,
        model=origin.model if origin else None,
        key_id=token_key_id(value),
        text_chars=sum(len(s.text) for s in part.segments) if isinstance(part, ReasoningPart) else 0,
        opaque_chars=sum(len(opaque.value) for opaque in getattr(part, "opaque", ())),
        value_chars=len(value),
    )


def _binding(given: HistoryInput, keys: KeyRing | None, thread_id: str | None, tenant: str) -> Binding | None:
    """What the values must be bound to."""
    if keys is None:
        return None
    thread = thread_id if thread_id is not None else thread_of(given)
    if thread is None:
        raise ConfigurationError(
            "There are keys, and nothing says which thread the history belongs to.",
            code="keys_without_thread",
            hint="Pass thread_id=, or the whole run input.",
        )
    return Binding(thread, tenant=tenant)


def _refused_elsewhere(seen: ClientHistory) -> Iterator[ReportEntry]:
    """Values on answers and calls that may not be used; those of reasoning are in the report already."""
    reasoning = {str(seen.messages[index].get("id")) for index in seen.foreign}
    for unit, reason in seen.refused.items():
        if unit not in reasoning:
            yield ReportEntry(unit, "dropped", reason)


def _places(seen: ClientHistory) -> dict[str, Position]:
    """Where each response stands.

    One of which nothing but reasoning is seen stands where that stands, and behind the response that came
    before it in its run, wherever a front end has moved its reasoning. Of those in one place, the first given
    is the first.
    """
    responses = seen.responses
    places = {r.id: place for r in responses.values() if (place := _visible_position(seen, r))}
    for response in responses.values():
        waiting: dict[str, RecordedResponse] = {}
        while response.id not in places and response.id not in waiting:  # a forged one may come after itself
            waiting[response.id] = response
            response = responses.get(response.after or "", response)
        for unseen in reversed(waiting.values()):
            own = (min(unseen.found_at), -1)
            places[unseen.id] = max(own, places.get(unseen.after or "", own))
    return places


def _visible_position(seen: ClientHistory, response: RecordedResponse) -> Position | None:
    """Where the first message or call of a response stands."""
    places = [seen.calls[call] for call in response.calls if call in seen.calls]
    for message_id in response.messages:
        index = seen.by_id.get(message_id)
        if index is not None and seen.messages[index].get("role") == "assistant":
            places.append((index, -1))
    return min(places, default=None)


def _in_order(seen: ClientHistory, placed: list[tuple[Position, Turn]]) -> Iterator[Turn | Message]:
    """Turns and messages by place; results directly behind the turn that called."""
    results = _results(seen)
    entries: list[tuple[Position, Turn | None]] = [*placed]
    entries += [((index, -2), None) for index, m in enumerate(seen.messages) if _stays(m)]
    for (index, _), turn in sorted(entries, key=lambda entry: entry[0]):
        if turn is None:
            message = seen.messages[index]
            if message.get("role") != "tool" or str(message.get("toolCallId")) in results:
                yield from _own(seen, message, results)
            continue
        yield _with_cut_calls(turn, results)
        for part in turn.parts:
            if isinstance(part, ToolCallPart):
                yield from (as_message(message) for message in results.pop(part.id, ()))


def _with_cut_calls(turn: Turn, results: Mapping[str, list[dict[str, Any]]]) -> Turn:
    """The turn, with the calls marked that its run answered because they were cut."""
    called = {part.id for part in turn.parts if isinstance(part, ToolCallPart)}
    answers = {call_id: results[call_id][0] for call_id in called if call_id in results}
    cut = {call_id for call_id, message in answers.items() if message_text(message) == CUT_CALL_RESULT}
    if not cut:
        return turn
    parts = (
        replace(part, status="incomplete") if isinstance(part, ToolCallPart) and part.id in cut else part
        for part in turn.parts
    )
    return replace(turn, parts=tuple(parts))


def _own(
    seen: ClientHistory, message: dict[str, Any], results: dict[str, list[dict[str, Any]]]
) -> Iterator[Message]:
    """A message in its own place; a result whose call is unknown stays where it is."""
    if message.get("role") != "tool":
        yield as_message(message)
    elif str(message.get("toolCallId")) not in seen.calls:
        yield from map(as_message, results.pop(str(message.get("toolCallId")), ()))


def _results(seen: ClientHistory) -> dict[str, list[dict[str, Any]]]:
    """The results of the client's and the agent's tools, by call; the provider's own are in its turn."""
    found: dict[str, list[dict[str, Any]]] = {}
    for message in seen.messages:
        call_id = str(message.get("toolCallId"))
        if message.get("role") == "tool" and call_id not in seen.server_calls:
            found.setdefault(call_id, []).append(message)
    return {call_id: messages[:1] for call_id, messages in found.items()}


def _stays(message: dict[str, Any]) -> bool:
    return message.get("role") not in ("assistant", "reasoning", "activity")
