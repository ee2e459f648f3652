"""The emitter: deltas and parts in, AG-UI events out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ag_ui.core import (
    Event,
    Message,
    MessagesSnapshotEvent,
    ToolCallResultEvent,
    UserMessage,
)
from msgspec import structs
from pydantic import BaseModel

from agui_reasoning._envelope import EnvelopeWriter
from agui_reasoning._ids import new_uuid
from agui_reasoning._media import text_of
from agui_reasoning.audit import OnAudit
from agui_reasoning.deltas import Delta, InputTransformationsDelta, ResponseStart, UsageDelta
from agui_reasoning.deltas._assembler import Assembler
from agui_reasoning.deltas._fold import deltas_of
from agui_reasoning.deltas._operations import DELTA_TYPES
from agui_reasoning.emitter import _events as make
from agui_reasoning.emitter._disclosure import Disclosure, Visibility
from agui_reasoning.emitter._inputs import InputReports
from agui_reasoning.emitter._lane import Lane, open_lane
from agui_reasoning.emitter._passthrough import Passthrough
from agui_reasoning.emitter._redaction import Audience, veiled
from agui_reasoning.emitter._summaries import Settling, Summaries, Summarize, SummaryDue, settle_now
from agui_reasoning.emitter._values import Anchors, Values
from agui_reasoning.emitter._writer import Writer
from agui_reasoning.emitter.stages import Coalesce, Stage, run_stages
from agui_reasoning.errors import AGUIReasoningWarning, ConfigurationError, LocalProtocolError
from agui_reasoning.parts import (
    PART_TYPES,
    Effort,
    EffortChange,
    Origin,
    Part,
    Prefix,
    ToolCallPart,
    ToolResultPart,
    Turn,
    given_origin,
)
from agui_reasoning.wire._encode import frames_of

if TYPE_CHECKING:  # imported with the first key ring, event of the application or policy
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.emitter._application_events import ApplicationEvents
    from agui_reasoning.policy import EchoRule

__all__ = ["BaseEmitter"]


class BaseEmitter:
    """Turns what a model produces into correctly paired AG-UI events, without the run frame.

    The events are valid for the protocol and the official clients, whatever the order of the items.
    `agui_reasoning.Emitter` adds the echo rules of this package's providers.
    """

    def __init__(
        self,
        *,
        rule_of: Callable[[Origin], EchoRule],
        api: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        origin: Origin | None = None,
        thread_id: str | None = None,
        visibility: Visibility = "full",
        keys: KeyRing | None = None,
        tenant: str = "",
        ttl_s: int | None = None,
        pad_to: int = 0,
        summarize: Summarize | None = None,
        anchors: Anchors = "auto",
        stages: Sequence[Stage] = (),
        new_id: Callable[[], str] | None = None,
        now_ms: Callable[[], int] | None = None,
        on_warning: Callable[[str], None] | None = None,
        on_audit: OnAudit | None = None,
        used_call_ids: Iterable[str] = (),
        known_messages: Iterable[Message] = (),
        takes_media: bool = True,
    ) -> None:
        """Start before the first response.

        ``rule_of`` returns the echo rule for the origin of a response, ``takes_media`` says whether the
        client accepts media in tool results; the other arguments are those of `agui_reasoning.Emitter`.

        Raises:
            ConfigurationError: There are keys but no thread (``keys_without_thread``), the visibility is
                unknown (``unknown_visibility``), or there is an origin beside the fields of one
                (``wrong_option``).
        """
        named = given_origin(origin, api=api, provider=provider, model=model)
        self._default = None if named == Origin() else named
        self._assembler = Assembler(self._default)
        self.warn = on_warning or _warn
        self._rule_of = rule_of
        self._disclosure = Disclosure(visibility, keys is not None)
        sealer = _sealer(keys, thread_id, tenant, ttl_s, pad_to)
        self._values = Values(
            rule_of=rule_of, anchors=anchors, sealer=sealer, warn=self.warn, on_audit=on_audit
        )
        self._writer = Writer(
            new_id=new_id or new_uuid,
            now_ms=now_ms,
            disclosure=self._disclosure,
            values=self._values,
            used_call_ids=used_call_ids,
            takes_media=takes_media,
            warn=self.warn,
        )
        self._new_id, self._now_ms = new_id or new_uuid, now_ms
        self.inputs = InputReports(self.warn, on_audit)
        self._nested_ids: set[str] = set()
        """The messages and calls of nested emitters, which have already applied their visibility."""
        self._summarizes = visibility == "summary"
        self._summaries = Summaries(summarize, self.warn)
        self._stages = tuple(stages)
        for stage in self._stages:
            if isinstance(stage, Coalesce):
                stage.use_clock(now_ms)
        self._foreign = Passthrough(new_id or new_uuid)
        self._application: ApplicationEvents | None = None
        self._known = {message.id: message for message in known_messages}
        self._has_warned_of_raw = False
        self._parts = 0
        self._lane: Lane | None = None
        self._closed = False

    def nest(self, emitter: BaseEmitter, subagent: str) -> None:
        """Mark an emitter as that of a subagent; its values name the subagent, its events pass unchanged.

        IDs of calls are unique in the whole run.
        """
        emitter._values.subagent = subagent
        emitter._writer.used_call_ids = self._writer.used_call_ids
        emitter._writer.listeners = (self._nested_ids, *self._writer.listeners)

    @property
    def usage(self) -> tuple[UsageDelta, ...]:
        """The token counts of each response that reported any, and of other models that worked for it."""
        return tuple(self._assembler.usages)

    @property
    def summarizes(self) -> bool:
        """Whether the caller passed a function that makes summaries."""
        return self._summaries.wanted

    @property
    def finish_reason(self) -> str | None:
        """The provider's finish reason for the last response."""
        return self._assembler.finish_reason

    @property
    def finish_details(self) -> Mapping[str, Any] | None:
        """What the provider says about the end of the last response."""
        return self._assembler.finish_details

    @property
    def produced(self) -> tuple[Turn | EffortChange | Message, ...]:
        """The turns, the results of the client's and the agent's tools, and changes of the effort, in order.

        Of a response that is still open, the turn has the complete parts.
        """
        return (*self._writer.produced.items, *self._writer.produced.coming(self._assembler.response))

    def note_request(self, prefix: Prefix | None) -> None:
        """Note what preceded the conversation in the request that the next response answers.

        Its values carry that, so that a later request can warn of changes that invalidate them.

        Args:
            prefix: The ``prefix`` of the `ProviderRequest`.
        """
        self._writer.produced.note_request(prefix)

    def change_effort(self, effort: Effort) -> None:
        """Note that the effort changes with the next response. Its values carry the change."""
        self._writer.produced.change_effort(EffortChange(effort).effort)

    @property
    def has_open_part(self) -> bool:
        """Whether a part of the last response has begun and not ended."""
        response = self._assembler.response
        return response is not None and any(unit.open and unit.present for unit in response.units)

    @property
    def pending_calls(self) -> list[ToolCallPart]:
        """The unanswered calls, except the provider's own, under the IDs that the client knows."""
        return self._writer.produced.pending_calls()

    def receive(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> list[Event]:
        """Turn one delta, part, application event or message of the user into the events it causes.

        Raises:
            LocalProtocolError: The emitter is closed (``closed``), the item has the wrong type
                (``not_an_item``), or it is an event of unknown type (``unknown_event``), malformed
                (``malformed_event``) or of the run frame (``frame_event``). State is unchanged.
            ConfigurationError: The visibility would lose reasoning that the provider requires back
                (``visibility_without_keys``); state is unchanged. Or ``summarize`` is asynchronous
                (``async_summarize``).
        """
        lane = self._lane
        if lane is not None and (event := lane.event(item)) is not None:
            return run_stages(self._stages, [event]) if self._stages else [event]
        written = self._written(item)
        return self._staged(settle_now(self._summaries.settle(written)) if self._summarizes else written)

    def frames(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> bytes:
        """Turn one item into the Server-Sent Events of its events.

        Returns the bytes of `receive` and `SSEEncoder.encode`, faster: text that continues needs no event.

        Raises:
            LocalProtocolError: As in `receive`; or an application event cannot be written (``not_json``).
            ConfigurationError: As in `receive`.
        """
        lane = self._lane
        if lane is not None and not self._stages and (frame := lane.frame(item)) is not None:
            return frame
        return frames_of(self.receive(item))

    def receiving(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> Settling[list[Event]]:
        """Like `receive`, as a generator for shells that await summaries."""
        return self._staged((yield from self._summaries.settle(self._written(item))))

    def close(self) -> list[Event]:
        """End everything that is open. Further calls return nothing."""
        return self._end(self._assembler.close)

    def abort(self) -> list[Event]:
        """End everything that is open, and mark it incomplete. Further calls return nothing."""
        return self._end(self._assembler.abort)

    def _written(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> list[Any]:
        if type(item) is UsageDelta and self._lane is not None:
            return self._assembler.receive(item)  # changes no unit; some APIs send counts with every text
        self._leave_lane()
        if self._closed:
            raise LocalProtocolError(
                f"{type(item).__name__} came after the emitter was closed.",
                code="closed",
                hint="Create a new emitter for each run.",
                state="closed",
            )
        if isinstance(item, DELTA_TYPES):
            return self._apply(item)
        if isinstance(item, PART_TYPES):
            return [event for delta in self._deltas(item) for event in self._apply(delta)]
        if isinstance(item, UserMessage):
            return self._user_said(item)
        return [shown for event in self._read(item) for shown in self._pass_on(event)]

    def _read(self, item: Any) -> list[Event]:
        """Return the models of an application's event."""
        if self._application is None:
            from agui_reasoning.emitter._application_events import ApplicationEvents

            self._application = ApplicationEvents(self.warn, self._new_id)
        return self._application.read(item)

    def _staged(self, events: list[Event]) -> list[Event]:
        return run_stages(self._stages, events) if self._stages else events

    def _leave_lane(self) -> None:
        lane, self._lane = self._lane, None
        if lane is not None and (pieces := lane.pieces):
            self._writer.catch_up(lane.grew, pieces)

    def _apply(self, delta: Delta) -> list[Event | SummaryDue]:
        if isinstance(delta, ResponseStart):
            delta = self._of_account(delta)
            self._disclosure.check(delta.origin or self._default, self._rule_of)
        elif self._assembler.response is None:
            self._disclosure.check(self._default, self._rule_of)
        if isinstance(delta, ResponseStart):
            self.inputs.responds()
        elif isinstance(delta, InputTransformationsDelta):
            response = self._assembler.response
            delta = self.inputs.resolve(delta, response.origin if response else self._default)
        changes = self._assembler.receive(delta)
        written = self._writer.write(changes)
        self._lane = open_lane(delta, changes, written)
        return written

    def _of_account(self, start: ResponseStart) -> ResponseStart:
        """Name the account of a response whose decoder does not know it."""
        named, known = start.origin, self._default
        if named is None or named.account or known is None or known.account is None:
            return start
        same = known.provider in (None, named.provider)
        return structs.replace(start, origin=replace(named, account=known.account)) if same else start

    def _pass_on(self, event: Event) -> list[Event | SummaryDue]:
        self._foreign.note(event)
        before: list[Event | SummaryDue] = []
        if isinstance(event, ToolCallResultEvent) and event.subagent_run_id in (None, self._values.subagent):
            # The result of the agent's tool ends the response, as its delta would.
            before = self._writer.write(self._assembler.close())
            self._writer.produced.note_result(
                event.message_id, event.tool_call_id, event.content, event.metadata
            )
        if isinstance(event, MessagesSnapshotEvent) and self._writer.has_reasoned:
            self.warn(
                "A MESSAGES_SNAPSHOT follows streamed reasoning: some front ends show the reasoning twice, "
                "others drop it. Send snapshots at the start of a run."
            )
        is_decided = self._disclosure.full or not self._nested_ids.isdisjoint(_ids_of(event))
        passed = [event] if is_decided else veiled(event, self._audience)
        if not passed and not self._has_warned_of_raw:
            self._has_warned_of_raw = True
            self.warn(f"{event.type.value} is not passed on with visibility {self._disclosure.visibility!r}.")
        return [*before, *passed]

    @property
    def _audience(self) -> Audience:
        return Audience(self._is_known, self._writer.concealed)

    def _is_known(self, message: Message) -> bool:
        return self._known.get(message.id) == message

    def _user_said(self, message: UserMessage) -> list[Event | SummaryDue]:
        """Show a message of the user, and keep it. It ends the response, as the result of a tool does."""
        ended = self._writer.write(self._assembler.close())
        shown = message.model_copy(update={"id": message.id or self._new_id()})
        self._writer.produced.items.append(shown)
        if not isinstance(shown.content, str) and any(part.type != "text" for part in shown.content):
            self.warn("Media in a message of the user are missing in later runs: events contain text only.")
        now = self._now_ms() if self._now_ms else None
        return [*ended, *make.user_text(shown.id, text_of(shown.content), now)]

    def _deltas(self, part: Part) -> Iterable[Delta]:
        self._parts += 1
        response = self._assembler.response
        foreign = part.origin is not None and (response is None or response.origin != part.origin)
        if foreign and not isinstance(part, ToolResultPart):
            yield ResponseStart(part.origin)
        yield from deltas_of(part, f"emitted part {self._parts}")

    def _end(self, ending: Callable[[], Any]) -> list[Event]:
        if self._closed:
            return []
        self._closed = True
        self._leave_lane()
        written = self._writer.write(ending()) + self._writer.finish() + self._foreign.close()
        return run_stages(self._stages, settle_now(self._summaries.settle(written)), close=True)


def _sealer(
    keys: KeyRing | None, thread_id: str | None, tenant: str, ttl_s: int | None, pad_to: int
) -> EnvelopeWriter | None:
    if keys is None:
        return None
    if thread_id is None:
        raise ConfigurationError(
            "Encrypted values need a thread, and none was given.",
            code="keys_without_thread",
            hint="Pass thread_id=.",
        )
    from agui_reasoning.crypto import Binding

    return EnvelopeWriter(keys, Binding(thread_id, tenant=tenant), ttl_s, pad_to)


def _ids_of(event: Any) -> list[Any]:
    """Return the IDs of the messages, calls and value entities that an event refers to."""
    return [getattr(event, name, None) for name in ("message_id", "tool_call_id", "entity_id")]


def _warn(message: str) -> None:
    warnings.warn(message, AGUIReasoningWarning, stacklevel=2)
