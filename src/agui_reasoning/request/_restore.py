"""Restores turns of parts from a client's history.

A response takes the position of the first remaining assistant message or call that its envelopes name, else
that of its reasoning; its parts are ordered by their numbers. Front ends move reasoning to the front, merge
responses, change IDs and drop metadata, so the order of messages decides only if nothing else does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

from ag_ui.core import Interrupt
from msgspec.structs import replace
from pydantic import ValidationError

from agui_reasoning._envelope import EnvelopeReader, OnUndecryptable
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.crypto import Binding, KeyRing, token_key_id
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
from agui_reasoning.providers.stored_objects import objects_of
from agui_reasoning.request._fallback import fallback_turns
from agui_reasoning.request._history import History, HistoryItem, ReportEntry
from agui_reasoning.request._index import ClientHistory, Position, RecordedResponse, index_history
from agui_reasoning.request._messages import HistoryInput, messages_of, thread_of
from agui_reasoning.request._turns import Rebuilder


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
    if thread_id is None:
        thread_id = thread_of(given)
    messages = messages_of(given, limits)
    binding = _binding(keys, thread_id, tenant)
    opener = EnvelopeReader(keys, binding, bool(accept_plain), on_undecryptable)
    history = index_history(messages, opener, subagent, limits)
    responses = history.responses.values()
    rebuilder = Rebuilder(history, allow_file_ids is True)
    report = rebuilder.report
    turns = {response.id: rebuilder.turn(response) for response in responses}
    placed = fallback_turns(history, assume_provider, report)
    places = _places(history, {part.seen: place for place, turn in placed for part in turn.parts})
    placed += [(place, turns[n]) for n, place in places.items() if turns[n].parts or turns[n].refused]
    reasoning = {history.messages[index].id for index in history.foreign}  # the report has its values already
    refused = history.refused.items()
    report += [ReportEntry(unit, "dropped", reason) for unit, reason in refused if unit not in reasoning]
    if on_audit is not None:
        for entry, part in _audited(report, turns.values()):
            on_audit(_audit_record(entry, opener, history.value(entry.unit), part))
    vouched = objects_of(turns[response.id] for response in responses if response.authentic)
    # A client may have made up an effort.
    efforts = {id(turns[one.id]): one.place.effort for one in responses if one.place.effort in EFFORTS}
    return History(
        tuple(_in_order(history, placed, efforts)),
        tuple(report),
        vouched=vouched,
        interrupts=tuple(_interrupts(history)),
    )


def _interrupts(history: ClientHistory) -> Iterator[Interrupt]:
    """Yield what earlier runs asked about calls, without what a client may have made up of other forms."""
    for response in history.responses.values():
        for interrupt in response.place.interrupts:
            with suppress(ValidationError):
                yield Interrupt.model_validate(interrupt)


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


def _binding(keys: KeyRing | None, thread: str | None, tenant: str) -> Binding | None:
    if keys is None:
        return None
    if thread is None:
        raise ConfigurationError(
            "Encrypted values need a thread, and none was given.",
            code="keys_without_thread",
            hint="Pass thread_id=, or the whole run input.",
        )
    return Binding(thread, tenant=tenant)


def _places(history: ClientHistory, seen: Mapping[str, Position]) -> dict[str, Position]:
    """Return the position of each response, with each one after the previous response of its run.

    ``seen`` has the position of the messages and calls that belong to responses without values.

    A response of which only reasoning is visible has the position of that, but follows the previous response,
    wherever its reasoning was moved: assistant-ui and TanStack move it before all calls of the answer. So
    does one that they merged into the same message, in which text comes before calls. Responses at the same
    position keep the order in which they are returned.
    """
    responses = history.responses
    places = dict[str, Position]()
    for response in responses.values():
        waiting = {}
        before: RecordedResponse | None = response
        while before is not None and before.id not in places and before.id not in waiting:  # it may be forged
            waiting[before.id] = before
            before = responses.get(before.place.after) if before.place.after else None
        for follower in reversed(waiting.values()) if len(waiting) > 1 else waiting.values():
            place = follower.place
            previous = places.get(place.after) if place.after else None
            if previous is None and place.after_entity:
                previous = seen.get(place.after_entity)
            places[follower.id] = _place(history, follower, previous)
    return places


def _place(history: ClientHistory, response: RecordedResponse, previous: Position | None) -> Position:
    """Return the position of a response, given that of the previous one."""
    visible = _visible_position(history, response)
    own = visible or (response.found_at, -1)
    if previous is None or (visible is not None and previous[0] != own[0]):
        return own
    return max(own, previous)


def _visible_position(history: ClientHistory, response: RecordedResponse) -> Position | None:
    """Return the position of the first message or call of a response."""
    first: Position | None = None
    for call_id in response.calls:
        place = history.calls.get(call_id)
        if place is not None and (first is None or place < first):
            first = place
    for message_id in response.messages:
        index = history.by_id.get(message_id)
        if index is not None and history.messages[index].role == "assistant":
            first = (index, -1) if first is None else min(first, (index, -1))
    return first


def _in_order(
    history: ClientHistory, placed: list[tuple[Position, Turn]], efforts: Mapping[int, Any]
) -> Iterator[HistoryItem]:
    """Yield turns and messages by position, with results directly after the turn that called.

    Changes of the effort, by the identity of the turn that they come with, are directly before it.
    """
    # Results of server tools are part of a turn.
    results = {
        call_id: index for call_id, index in history.answers.items() if call_id not in history.server_calls
    }
    messages = history.messages
    cut = {call_id for call_id, index in results.items() if messages[index].text == CUT_CALL_RESULT}
    entries: list[tuple[Position, Turn | None]] = [*placed]
    entries += [((index, -2), None) for index, one in enumerate(messages) if one.role not in _OF_TURNS]
    entries.sort(key=itemgetter(0))
    for (index, _), turn in entries:
        if turn is None:
            if messages[index].role != "tool":
                yield history.message(index)
            elif (call_id := messages[index].answers) in results and call_id not in history.calls:
                yield history.message(results.pop(call_id))  # without its call, a result stays where it is
            continue
        if efforts and (effort := efforts.get(id(turn))):
            yield EffortChange(effort)
        yield _with_cut_calls(turn, cut & results.keys()) if cut else turn
        for part in turn.parts:
            if type(part) is ToolCallPart and part.id in results:
                yield history.message(results.pop(part.id))


def _with_cut_calls(turn: Turn, cut: Set[str]) -> Turn:
    """Return the turn, marking the calls as incomplete that its run answered for that reason."""
    parts = (
        replace(part, status="incomplete") if isinstance(part, ToolCallPart) and part.id in cut else part
        for part in turn.parts
    )
    return replace(turn, parts=tuple(parts))


_OF_TURNS: Final = frozenset({"assistant", "reasoning", "activity"})
"""The roles of messages that are not in a history themselves."""
