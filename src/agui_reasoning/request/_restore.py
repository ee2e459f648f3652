"""Restores turns of parts from a client's history.

A response takes the position of the first remaining assistant message or call that its envelopes name, else
that of its reasoning; its parts are ordered by their numbers. Front ends move reasoning to the front, merge
responses, change IDs and drop metadata, so the order of messages decides only if nothing else does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ag_ui.core import Message

from agui_reasoning._envelope import EnvelopeReader, OnUndecryptable
from agui_reasoning._failed_tools import TOOL_FAILED
from agui_reasoning._hint import hint_of_call, hinted_error
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.crypto._keys import token_key_id
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import (
    CUT_CALL_RESULT,
    EFFORTS,
    EffortChange,
    Opaque,
    Part,
    ReasoningPart,
    ToolCallPart,
    Turn,
)
from agui_reasoning.providers._stored_objects import objects_of
from agui_reasoning.request._client_history import (
    ClientHistory,
    Position,
    RecordedResponse,
    calls_of,
    index_history,
    message_text,
)
from agui_reasoning.request._client_view import ClientView
from agui_reasoning.request._fallback import fallback_turns
from agui_reasoning.request._history import History, HistoryItem, ReportEntry
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
    allow_file_ids: bool | None = None,
) -> History:
    """Restore turns and messages from a client's history.

    Args:
        given: The client's run input or messages.
        keys: The key ring that encrypted the values. With it, only values that it decrypts are restored.
        thread_id: The thread of the values; default is that of the run input.
        tenant: The tenant that owns the conversation, from your authentication and never from the client.
        accept_plain: With keys: also read plain envelopes and other producers' values, for histories from
            before encryption. They are not authenticated.
        assume_provider: The producer of values without an envelope, if you know it.
        on_undecryptable: With keys: ``"drop"`` reports values that are unencrypted or cannot be decrypted,
            and continues; ``"raise"`` raises an error.
        subagent: The ID of a subagent's run, to restore only its conversation; otherwise the messages of
            subagents are left out.
        on_audit: Called with a record without content for each entry of the report, and for each text and
            call whose value came back.
        limits: The limits on the size of the history.
        allow_file_ids: With ``True``, values that are not encrypted may name files and other objects stored
            at the provider, which it reads with your API key.

    Returns:
        The conversation in order, with a report of the outcome for each reasoning unit.

    Raises:
        RemoteProtocolError: The input is malformed (``bad_input``) or exceeds the limits (``too_large``).
        ConfigurationError: There are keys but no thread (``keys_without_thread``), or encrypted values but no
            keys (``keys_missing``).
        DecryptionError: A value is not authentic, and ``on_undecryptable`` is ``"raise"``.
    """
    opener = EnvelopeReader(
        keys, _binding(given, keys, thread_id, tenant), bool(accept_plain), on_undecryptable
    )
    history = index_history(given, opener, subagent, limits)
    report: list[ReportEntry] = []
    turns: dict[str, Turn] = {}
    view = ClientView(history)
    for response in history.responses.values():
        turns[response.id], entries = rebuild(history, response, view, allow_file_ids=allow_file_ids is True)
        report += entries
    places = _places(history)
    placed = fallback_turns(history, view, assume_provider, report)
    placed += [(place, turns[n]) for n, place in places.items() if turns[n].parts or turns[n].refused]
    report += _refused_elsewhere(history)
    if on_audit is not None:
        for entry, part in _audited(report, turns.values()):
            on_audit(_audit_record(entry, opener, history.value(entry.unit), part))
    vouched = objects_of(turns[response.id] for response in history.responses.values() if response.authentic)
    efforts = {id(turns[response.id]): response.effort for response in history.responses.values()}
    return History(tuple(_in_order(history, placed, efforts)), tuple(report), vouched=vouched)


def _audited(
    report: Iterable[ReportEntry], turns: Iterable[Turn]
) -> Iterator[tuple[ReportEntry, Part | None]]:
    """Yield what is audited: the report, with the part of each entry, and texts and calls with a value."""
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
    """Return the binding that the values must have."""
    if keys is None:
        return None
    thread = thread_id if thread_id is not None else thread_of(given)
    if thread is None:
        raise ConfigurationError(
            "Encrypted values need a thread, and none was given.",
            code="keys_without_thread",
            hint="Pass thread_id=, or the whole run input.",
        )
    return Binding(thread, tenant=tenant)


def _refused_elsewhere(history: ClientHistory) -> Iterator[ReportEntry]:
    """Yield values on answers and calls that may not be used; the report already has those of reasoning."""
    reasoning = {str(history.messages[index].get("id")) for index in history.foreign}
    for unit, reason in history.refused.items():
        if unit not in reasoning:
            yield ReportEntry(unit, "dropped", reason)


def _places(history: ClientHistory) -> dict[str, Position]:
    """Return the position of each response, with each one after the previous response of its run.

    A response of which only reasoning is visible has the position of that, but follows the previous response,
    wherever a front end moved its reasoning. So does one that a front end merged into the same message, in
    which text comes before calls. Responses at the same position keep the order in which they are returned.
    """
    responses = history.responses
    places, plain = dict[str, Position](), _plain_calls(history)
    for response in responses.values():
        waiting: dict[str, RecordedResponse] = {}
        while response.id not in places and response.id not in waiting:  # a forged one may follow itself
            waiting[response.id] = response
            response = responses.get(response.after or "", response)
        for follower in reversed(waiting.values()):
            before = follower.after or ""
            places[follower.id] = _place(history, follower, places.get(before, plain.get(before)))
    return places


def _plain_calls(history: ClientHistory) -> dict[str, Position]:
    """Return the position of the last call of each response without values, by the hint of its calls."""
    return {
        response: (index, position)
        for index, message in enumerate(history.messages)
        for position, call in enumerate(calls_of(message))
        if isinstance(response := hint_of_call(call, message).get("response"), str)
        and response not in history.responses
    }


def _place(history: ClientHistory, response: RecordedResponse, previous: Position | None) -> Position:
    """Return the position of a response, given that of the previous one."""
    visible = _visible_position(history, response)
    own = visible or (min(response.found_at), -1)
    if previous is None or (visible is not None and previous[0] != own[0]):
        return own
    return max(own, previous)


def _visible_position(history: ClientHistory, response: RecordedResponse) -> Position | None:
    """Return the position of the first message or call of a response."""
    places = [history.calls[call] for call in response.calls if call in history.calls]
    for message_id in response.messages:
        index = history.by_id.get(message_id)
        if index is not None and history.messages[index].get("role") == "assistant":
            places.append((index, -1))
    return min(places, default=None)


def _in_order(
    history: ClientHistory, placed: list[tuple[Position, Turn]], efforts: Mapping[int, str | None]
) -> Iterator[HistoryItem]:
    """Yield turns and messages by position, with results directly after the turn that called.

    Changes of the effort, by the identity of the turn that they come with, are directly before it.
    """
    results = _results(history)
    entries: list[tuple[Position, Turn | None]] = [*placed]
    entries += [((index, -2), None) for index, m in enumerate(history.messages) if _stays(m)]
    for (index, _), turn in sorted(entries, key=lambda entry: entry[0]):
        if turn is None:
            message = history.messages[index]
            if message.get("role") != "tool" or str(message.get("toolCallId")) in results:
                yield from _own(history, message, results)
            continue
        yield from _change_of(efforts.get(id(turn)))
        yield _with_cut_calls(turn, results)
        for part in turn.parts:
            if isinstance(part, ToolCallPart):
                yield from (as_message(message) for message in results.pop(part.id, ()))


def _change_of(effort: Any) -> Iterator[EffortChange]:
    """Yield a change of the effort, which a client may have made up."""
    if effort in EFFORTS:
        yield EffortChange(effort)


def _with_cut_calls(turn: Turn, results: Mapping[str, list[dict[str, Any]]]) -> Turn:
    """Return the turn, marking the calls as incomplete that its run answered for that reason."""
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
    history: ClientHistory, message: dict[str, Any], results: dict[str, list[dict[str, Any]]]
) -> Iterator[Message]:
    """Yield a message in its own position; a result with an unknown call stays there."""
    if message.get("role") != "tool":
        yield as_message(message)
    elif str(message.get("toolCallId")) not in history.calls:
        yield from map(as_message, results.pop(str(message.get("toolCallId")), ()))


def _results(history: ClientHistory) -> dict[str, list[dict[str, Any]]]:
    """Return the results of the client's and the agent's tools, by call; others are part of a turn."""
    found: dict[str, list[dict[str, Any]]] = {}
    for message in history.messages:
        call_id = str(message.get("toolCallId"))
        if message.get("role") == "tool" and call_id not in history.server_calls:
            found.setdefault(call_id, []).append(_with_error(message, history.failed))
    return {call_id: messages[:1] for call_id, messages in found.items()}


def _with_error(message: dict[str, Any], failed: Container[str]) -> dict[str, Any]:
    """Return a result with its error, which the event that created it can only carry as a hint."""
    if message.get("error"):
        return message
    error = hinted_error(message.get("metadata"))
    if error is None and str(message.get("toolCallId")) in failed:
        error = message_text(message) or TOOL_FAILED
    return message if error is None else {**message, "error": error}


def _stays(message: dict[str, Any]) -> bool:
    return message.get("role") not in ("assistant", "reasoning", "activity")
