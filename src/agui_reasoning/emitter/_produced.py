"""What a run knows about its history: what it adds, and what providers report about what they were sent.

The additions are what `restore` would read: turns, tool results, changes of the effort. A provider's report
names places in the request, so it is resolved while the request is known; the response notes the units that
the model was not shown, and its values carry the note to the client and back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, Protocol, cast

from ag_ui.core import Message, ToolMessage
from msgspec import field
from msgspec.structs import replace

from agui_reasoning._envelope import unit_digest
from agui_reasoning._wire_events import hinted_error
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.deltas import (
    CallUnit,
    InputTransformation,
    InputTransformationsDelta,
    ResponseBuffer,
    UnitBuffer,
    Unshown,
)
from agui_reasoning.emitter._response import ResponseState
from agui_reasoning.emitter._visibility import Disclosure
from agui_reasoning.parts import (
    SHOWN_ON_REQUEST,
    Effort,
    EffortChange,
    Origin,
    Part,
    Prefix,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
    WithheldUnit,
)


class Produced(Unshown, gc=True, eq=False):
    """The history of a run, with the client's IDs of calls.

    Attributes:
        unanswered: The calls without a result, by the client's ID, each with its response.
        effort: The effort that changes with the next response.
        prefix: What preceded the conversation in the request that the next response answers.
    """

    unanswered: dict[str, tuple[CallUnit, ResponseBuffer]] = field(default_factory=dict)
    _items: list[Turn | EffortChange | Message] = field(default_factory=list)
    _state: ResponseState = cast("ResponseState", None)
    """The response that began last."""
    _last: ResponseState | None = None
    """The last response, until somebody asks for its turn."""
    _signed: bool = False
    _has_text: bool = False
    _client_ids: dict[str, str] = field(default_factory=dict)
    _before: str | None = None
    _entity_before: str | None = None
    _failed: list[str] = field(default_factory=list)
    """The calls whose result was an error, since the last response began."""
    effort: Effort | None = None
    prefix: Prefix | None = None

    @property
    def items(self) -> list[Turn | EffortChange | Message]:
        """The turns, tool results and changes of the effort so far, in order."""
        self._settle()
        return self._items

    def _settle(self) -> None:
        """Make the turn of the last response. Most runs end without anybody asking for it."""
        state, self._last = self._last, None
        if state is not None:
            # Nothing can be found after an empty response.
            self._before, self._entity_before = state.id, state.sole_entity
            self._items += [*_changes_of(state.effort), self._turn_of(state)]

    @property
    def shows_nothing(self) -> bool:
        """Whether the model thought, and signed it, but none of its reasoning has text."""
        return self._signed and not self._has_text

    # -- responses

    def open_response(
        self, response: ResponseBuffer, response_id: str, disclosure: Disclosure
    ) -> ResponseState:
        """Begin a response, which takes what was noted since the last one."""
        if self._last is not None:
            self._settle()
        failed, self._failed = tuple(self._failed), []
        self._state = state = ResponseState(
            response, response_id, disclosure, self._before, self._entity_before, failed
        )
        state.effort, self.effort = self.effort, None
        state.prefix, self.prefix = self.prefix, None
        return state

    def end_response(self, response: ResponseBuffer) -> None:
        """Add the response."""
        state = self._state
        if not (response.units or response.refused):
            self.effort = self.effort or state.effort  # nobody will hear of this response
            return
        self._last = state
        for unit in () if self._has_text else state.stretches:
            self._has_text |= any(map(_pieces_of, unit.segments))
            self._signed |= not SHOWN_ON_REQUEST.isdisjoint([value.kind for value in unit.opaque])

    def coming(self, open_response: ResponseBuffer | None) -> list[Turn | EffortChange]:
        """Return what follows the items: the response that is still open, and the next change."""
        if open_response is None:
            return [*_changes_of(self.effort)]
        is_turn = open_response.refused or any(not unit.open for unit in open_response.units)
        turn = [self._turn_of(self._state)] if is_turn else []
        return [*_changes_of(self._state.effort), *turn, *_changes_of(self.effort)]

    def _turn_of(self, state: ResponseState) -> Turn:
        """Return the complete parts of a response as `restore` would."""
        response = state.response
        ended = (unit for unit in response.units if not unit.open)
        parts = tuple(self._as_seen(state, unit, unit.part(response.origin)) for unit in ended)
        return Turn(
            parts,
            response.origin,
            response.id,
            refused=response.refused,
            withheld=response.withheld,
            prefix=state.prefix,
            conversation=response.conversation,
        )

    def _as_seen(self, state: ResponseState, unit: UnitBuffer, part: Part) -> Part:
        part = replace(part, seen=state.seen_as(unit))
        if isinstance(part, ToolCallPart):
            call = state.calls[unit]  # type: ignore[index]
            if call.id == part.id:
                return part
            return replace(part, id=call.id, ext={**(part.ext or {}), "native_id": part.id})
        if isinstance(part, ToolResultPart):
            return replace(part, tool_call_id=self.client_id(part.tool_call_id))
        return part

    # -- calls

    def note_call(self, call_id: str, unit: CallUnit) -> None:
        """Note a call of the open response, and the ID that the client has for it."""
        self._client_ids[unit.key or ""] = call_id
        self.unanswered[call_id] = unit, self._state.response

    def client_id(self, call_id: str) -> str:
        """Return the client's ID of a call."""
        return self._client_ids.get(call_id, call_id)

    def pending_calls(self) -> list[ToolCallPart]:
        """Return the calls that the client or the agent has to answer, under the client's IDs."""
        return [
            replace(unit.part(response.origin), id=call_id)
            for call_id, (unit, response) in self.unanswered.items()
            if not unit.server and unit.status == "complete"
        ]

    def note_result(
        self, message_id: str, call_id: str, content: Any, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Keep the result of a client's or the agent's tool, with the metadata of its event."""
        self.unanswered.pop(call_id, None)
        error = hinted_error(metadata)
        if error is not None:
            self._failed.append(call_id)
        self.items.append(
            ToolMessage(
                id=message_id,
                role="tool",
                content=content,
                tool_call_id=call_id,
                error=error,
                metadata=dict(metadata) if metadata else None,
            )
        )


_pieces_of: Final = attrgetter("pieces")


def _changes_of(effort: Effort | None) -> list[EffortChange]:
    return [] if effort is None else [EffortChange(effort)]


_CAUSES: Final = {
    "model": "another model produced them",
    "prefix": "the conversation before them has changed",
    "organization": "another account produced them",
    "end_user": "they were produced for another end user",
}
"""What the codes of Anthropic and OpenAI mean, by how they begin."""


class SentRequest(Protocol):
    """A request that was built."""

    @property
    def target(self) -> Origin:
        """The receiver."""

    @property
    def body(self) -> object:
        """The fields of the request."""

    def reasoning_at(self, path: str) -> ReasoningPart | None:
        """Return the reasoning at a place of the request."""


class InputReports(Unshown, gc=True, eq=False):
    """Resolves reports with the request that the response answers, warns once, and audits every entry."""

    _warn: Callable[[str], None]
    _on_audit: OnAudit | None
    _warned: frozenset[str] = frozenset()
    _built: tuple[SentRequest, ...] = ()
    _answered: tuple[SentRequest, ...] = ()

    def sent(self, request: SentRequest, *, alone: bool = False) -> None:
        """Note a request that was built, or with ``alone`` the one of several that is sent."""
        self._built = (request,) if alone else (*self._built, request)

    def responds(self) -> None:
        """Note that a response has begun: it answers what was built since the last one."""
        self._answered, self._built = self._built, ()

    def resolve(self, delta: InputTransformationsDelta, response: Origin | None) -> InputTransformationsDelta:
        """Return the report with the units that it is about."""
        request = self._request()
        found = [(entry, request.reasoning_at(entry.path) if request else None) for entry in delta.entries]
        target = request.target if request else response or Origin()
        model = delta.model or target.model
        units = [
            WithheldUnit(digest, model, entry.reason)
            for entry, part in found
            if entry.dropped and part is not None and (digest := unit_digest(part))
        ]
        for entry, part in found:
            self._audit(entry, part, target, model)
        self._warn_of(delta.entries, remembered=len(units) == sum(entry.dropped for entry in delta.entries))
        return replace(delta, units=tuple(units))

    def _request(self) -> SentRequest | None:
        """Return the request that the response answers; ``None`` if that is not known."""
        if not self._answered:
            return None
        first, *others = self._answered
        return first if all(other.body == first.body for other in others) else None

    def _audit(
        self, entry: InputTransformation, part: ReasoningPart | None, target: Origin, model: str | None
    ) -> None:
        if self._on_audit is not None:
            self._on_audit(
                AuditRecord(
                    "reported",
                    "withheld" if entry.dropped else "shown",
                    "" if part is None else part.seen,
                    entry.reason,
                    path=entry.path,
                    provider=target.provider,
                    api=target.api,
                    model=model,
                )
            )

    def _warn_of(self, entries: Iterable[InputTransformation], *, remembered: bool) -> None:
        dropped = Counter(entry.reason for entry in entries if entry.dropped)
        passed = Counter(entry.reason for entry in entries if not entry.dropped)
        sentences = []
        if dropped:
            end = " They are left out of later requests to it." if remembered else ""
            sentences.append(f"The model was not shown {_listed(dropped)}.{end}")
        if passed:
            sentences.append(f"The model was shown, although they failed a check, {_listed(passed)}.")
        sentence = " ".join(sentences)
        if sentence not in self._warned:
            self._warned |= {sentence}
            self._warn(sentence)


def _listed(reasons: Counter[str]) -> str:
    causes = (f"{reason}: {_cause(reason)}" for reason in sorted(reasons))
    return f"{reasons.total()} reasoning unit(s) of the request ({'; '.join(causes)})"


def _cause(reason: str) -> str:
    known = (cause for start, cause in _CAUSES.items() if reason.startswith(start))
    return next(known, "a reason of the provider's")
