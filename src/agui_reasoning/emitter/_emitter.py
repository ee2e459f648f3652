"""The emitter: deltas and parts in, AG-UI events out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Unpack

from ag_ui.core import Event, Interrupt, Message, MessagesSnapshotEvent, ToolCallResultEvent, UserMessage
from msgspec import structs
from pydantic import BaseModel

from agui_reasoning._envelope import EnvelopeWriter
from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import WireEvents, Written, models_of, new_uuid, text_of
from agui_reasoning.deltas import (
    DELTA_TYPES,
    Assembler,
    Change,
    Delta,
    InputTransformationsDelta,
    ResponseStart,
    UsageDelta,
    counted,
    counts_of,
    deltas_of,
)
from agui_reasoning.emitter._fast import FastPath, fast_path, path_key
from agui_reasoning.emitter._produced import InputReports
from agui_reasoning.emitter._settings import EmitterOptions, EmitterSettings, settings_of, shows_options
from agui_reasoning.emitter._span import ReasoningSpan
from agui_reasoning.emitter._values import Values
from agui_reasoning.emitter._visibility import (
    Disclosure,
    Settling,
    Summaries,
    SummaryDue,
    Viewer,
    settle_now,
    shown_to,
)
from agui_reasoning.emitter._writer import Writer
from agui_reasoning.emitter.stages import Coalesce, run_stages
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
)
from agui_reasoning.wire import frames_of

if TYPE_CHECKING:  # imported with the first key ring, event of the application or policy
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.emitter._application import ApplicationEvents
    from agui_reasoning.policy import EchoRule


_names_of: Final[Callable[[Origin | None], Any]] = attrgetter("provider", "api", "model", "account")
_UNNAMED: Final = _names_of(Origin())
_DELTAS: Final = frozenset(DELTA_TYPES)


class BaseEmitter:
    """Turns what a model produces into correctly paired AG-UI events, without the run frame.

    The events are valid for the protocol and the official clients, whatever the order of the items.
    `agui_reasoning.Emitter` adds the echo rules of this package's providers.
    """

    fast: FastPath | None = None
    _last: tuple[Delta, list[Change], list[Any]] | None = None
    """A delta that a fast path may follow, with what it caused."""
    _application: ApplicationEvents | None = None
    _has_warned_of_raw = False
    _parts = 0
    _closed = False

    @shows_options(EmitterOptions, EmitterSettings)
    def __init__(
        self,
        *,
        rule_of: Callable[[Origin], EchoRule],
        thread_id: str | None = None,
        used_call_ids: Iterable[str] = (),
        known_messages: Iterable[Message] = (),
        takes_media: bool = True,
        **options: Unpack[EmitterOptions],
    ) -> None:
        """Start before the first response.

        ``rule_of`` returns the echo rule for the origin of a response, ``takes_media`` says whether the
        client accepts media in tool results; the other arguments are those of `agui_reasoning.Emitter`.

        Raises:
            ConfigurationError: There are keys but no thread (``keys_without_thread``), the visibility is
                unknown (``unknown_visibility``), or there is an origin beside the fields of one
                (``wrong_option``).
        """
        settings = settings_of(EmitterSettings, options)
        self._prepare(
            structs.replace(settings, origin=settings.named),
            rule_of=rule_of,
            thread_id=thread_id,
            used_call_ids=used_call_ids,
            known_messages=known_messages,
            takes_media=takes_media,
        )

    def _prepare(
        self,
        settings: EmitterSettings,
        *,
        rule_of: Callable[[Origin], EchoRule],
        thread_id: str | None,
        used_call_ids: Iterable[str],
        known_messages: Iterable[Message],
        takes_media: bool,
    ) -> None:
        """Start with settings, which name the origin, instead of options."""
        self._default = None if _names_of(settings.origin) == _UNNAMED else settings.origin
        self._assembler = Assembler(self._default)
        self.warn = settings.on_warning or _warn
        self._rule_of = rule_of
        self._disclosure = Disclosure.of(settings.visibility, sealed=settings.keys is not None)
        self._events = WireEvents(settings.now_ms)
        self._new_id = settings.new_id or new_uuid
        sealer = None if settings.keys is None else _sealer(settings, settings.keys, thread_id)
        on_audit = settings.on_audit
        self._writer = Writer(
            self._new_id,
            self._events,
            self._disclosure,
            Values(rule_of, settings.anchors, sealer, self._events, self.warn, on_audit),
            takes_media,
            self.warn,
            set(used_call_ids),
            ReasoningSpan(self._new_id, self._events),
        )
        self.inputs = InputReports(self.warn, on_audit)
        self._nested_ids: set[str] = set()
        """The messages and calls of nested emitters, which have already applied their visibility."""
        self._summarizes = settings.visibility == "summary"
        self._summaries = Summaries(settings.summarize, self._events, self.warn)
        self._stages = tuple(settings.stages)
        for stage in self._stages:
            if isinstance(stage, Coalesce):
                stage.use_clock(settings.now_ms)
        self._known_messages = known_messages
        self._paths: dict[object, FastPath] = {}
        """The fast paths of the units that grow in turn, by `path_key`."""

    def nest(self, emitter: BaseEmitter, subagent: str) -> None:
        """Mark an emitter as that of a subagent, which its events name; here, they pass unchanged.

        IDs of calls are unique in the whole run.
        """
        emitter._events.subagent = subagent
        emitter._writer.used_call_ids = self._writer.used_call_ids
        emitter._writer.listeners = (self._nested_ids, *self._writer.listeners)

    @property
    def usage(self) -> tuple[UsageDelta, ...]:
        """The token counts of each response that reported any, and of other models that worked for it."""
        return tuple(self._assembler.usages)

    @property
    def summarizes(self) -> bool:
        """Whether the caller passed a function that makes summaries."""
        return self._summaries.summarize is not None

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

    @property
    def shows_nothing(self) -> bool:
        """Whether the model thought, and signed it, but none of its reasoning has text."""
        return self._writer.produced.shows_nothing

    def note_request(self, prefix: Prefix | None) -> None:
        """Note what preceded the conversation in the request that the next response answers.

        Its values carry that, so that a later request can warn of changes that invalidate them.

        Args:
            prefix: The ``prefix`` of the `ProviderRequest`.
        """
        self._writer.produced.prefix = prefix

    def change_effort(self, effort: Effort) -> None:
        """Note that the effort changes with the next response. Its values carry the change."""
        self._writer.produced.effort = EffortChange(effort).effort

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
        fast = self.fast or self._another_path(item)
        while fast is not None:
            if (event := (fast.event or fast.first_event)(item)) is not None:
                return run_stages(self._stages, [event]) if self._stages else [event]
            fast = self._another_path(item)
        return models_of(self._take(item))

    def frames(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> bytes:
        """Turn one item into the Server-Sent Events of its events.

        Returns the bytes of `receive` and `SSEEncoder.encode`, faster: text that continues needs no event.

        Raises:
            LocalProtocolError: As in `receive`; or an application event cannot be written (``not_json``).
            ConfigurationError: As in `receive`.
        """
        fast = self.fast or self._another_path(item)
        while fast is not None:
            if (frame := (fast.frame or fast.first_frame)(item)) is not None:
                return frame
            fast = self._another_path(item)
        return frames_of(self._take(item))

    def receiving(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> Settling[list[Event]]:
        """Like `receive`, as a generator for shells that await summaries."""
        return models_of(self._staged((yield from self._summaries.settle(self._written(item)))))

    def close(self, *, interrupts: Sequence[Interrupt] = ()) -> list[Event]:
        """End everything that is open. Further calls return nothing.

        Args:
            interrupts: What RUN_FINISHED asks. The client returns no questions, so the value of the last
                response keeps those about its calls.
        """
        return models_of(self._end(interrupts))

    def abort(self) -> list[Event]:
        """End everything that is open, and mark it incomplete. Further calls return nothing."""
        return models_of(self._end(abort=True))

    def _take(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> list[Written]:
        written = self._written(item)
        if self._summarizes:
            written = settle_now(self._summaries.settle(written))
        return self._staged(written) if self._stages else written

    def _written(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> list[Any]:
        if self._closed:
            raise LocalProtocolError(
                f"{type(item).__name__} came after the emitter was closed.",
                code="closed",
                hint="Create a new emitter for each run.",
                state="closed",
            )
        if type(item) is UsageDelta and self._assembler.response is not None:
            return self._assembler.receive(item)  # changes no unit; some APIs send counts with every text
        self._last = None
        if self.fast is not None:
            self._leave_fast_path()
        if type(item) in _DELTAS:
            return self._apply(item)
        self._paths.clear()
        if isinstance(item, PART_TYPES):
            return [event for delta in self._deltas(item) for event in self._apply(delta)]
        if isinstance(item, UserMessage):
            return self._user_said(item)
        return [shown for event in self._application_events.read(item) for shown in self._pass_on(event)]

    @property
    def _application_events(self) -> ApplicationEvents:
        if self._application is None:
            from agui_reasoning.emitter._application import ApplicationEvents

            self._application = ApplicationEvents(self.warn, self._new_id)
        return self._application

    def _staged(self, written: list[Written], *, close: bool = False) -> list[Written]:
        if not self._stages:
            return written
        staged: list[Any] = run_stages(self._stages, models_of(written), close=close)
        return staged

    def _another_path(self, item: object) -> FastPath | None:
        """Change to the fast path of the unit that an item adds text to, and return it, if it is another."""
        if (last := self._last) is not None and type(item) is type(last[0]):
            self._last = None
            self.fast = fast_path(*last, staged=bool(self._stages))
            return self.fast
        path = self._paths.get(path_key(item)) if self._paths else None
        if path is None or path is self.fast:
            return None
        self._leave_fast_path()
        self.fast = path
        return path

    def _leave_fast_path(self) -> None:
        fast, self.fast = self.fast, None
        if fast is not None and (pieces := fast.take_pieces()):
            self._writer.catch_up(fast.grew, pieces)

    def _apply(self, delta: Any) -> list[Any]:
        kind = type(delta)
        if kind is ResponseStart:
            delta = self._of_account(delta)
            self._disclosure.check(delta.origin or self._default, self._rule_of)
            self.inputs.responds()
        elif self._default is not None and self._assembler.response is None:
            self._disclosure.check(self._default, self._rule_of)
        if kind is InputTransformationsDelta:
            response = self._assembler.response
            delta = self.inputs.resolve(delta, response.origin if response else self._default)
        changes = self._assembler.receive(delta)
        written = self._writer.write(changes)
        self._last = delta, changes, written
        if len(changes) > 1 or len(written) > 1 or (path := self._another_path(delta)) is None:
            self._paths.clear()  # more than text was added: a unit may have ended
        else:
            self._paths[path_key(delta)] = path
        return written

    def _of_account(self, start: ResponseStart) -> ResponseStart:
        """Name the account of a response whose decoder does not know it."""
        named, known = start.origin, self._default
        if named is None or named.account or known is None or known.account is None:
            return start
        if known.provider not in (None, named.provider):
            return start
        placed = structs.replace(start, origin=structs.replace(named, account=known.account))
        return counted(placed, counts_of(start))

    def _pass_on(self, event: Event) -> list[Any]:
        subagent = self._events.subagent
        if subagent is not None and getattr(event, "subagent_run_id", None) is None:
            event = event.model_copy(update={"subagent_run_id": subagent})
        self._application_events.opened.note(event)
        before: list[JSONObject | SummaryDue] = []
        if isinstance(event, ToolCallResultEvent) and event.subagent_run_id == subagent:
            # The result of the agent's tool ends the response, as its delta would.
            before = self._writer.write(self._assembler.close())
            self._writer.produced.note_result(
                event.message_id, event.tool_call_id, event.content, event.metadata
            )
        if isinstance(event, MessagesSnapshotEvent) and self._writer.has_reasoned:
            # assistant-ui shows it twice if it is in the snapshot, TanStack removes it if it is not.
            self.warn(
                "A MESSAGES_SNAPSHOT follows streamed reasoning: some front ends show the reasoning twice, "
                "others drop it. Send snapshots at the start of a run."
            )
        passed = [event]
        if not self._disclosure.full and self._nested_ids.isdisjoint(_ids_of(event)):
            passed = shown_to(event, Viewer(self._is_known, self._writer.hidden_calls))
        if not passed and not self._has_warned_of_raw:
            self._has_warned_of_raw = True
            self.warn(f"{event.type.value} is not passed on with visibility {self._disclosure.visibility!r}.")
        return [*before, *passed]

    def _is_known(self, message: Message) -> bool:
        return self._known.get(message.id) == message

    @cached_property
    def _known(self) -> dict[str, Message]:
        return {message.id: message for message in self._known_messages}

    def _user_said(self, message: UserMessage) -> list[JSONObject | SummaryDue]:
        """Show a message of the user, and keep it. It ends the response, as the result of a tool does."""
        ended = self._writer.write(self._assembler.close())
        shown = message.model_copy(update={"id": message.id or self._new_id()})
        self._writer.produced.items.append(shown)
        if not isinstance(shown.content, str) and any(part.type != "text" for part in shown.content):
            self.warn("Media in a message of the user are missing in later runs: events contain text only.")
        events, text = self._events, text_of(shown.content)
        now = events.now()
        start = events.at(now, type="TEXT_MESSAGE_START", messageId=shown.id, role="user")
        content = [events.delta("TEXT_MESSAGE_CONTENT", "messageId", shown.id, text)] if text else []
        return [*ended, start, *content, events.at(now, type="TEXT_MESSAGE_END", messageId=shown.id)]

    def _deltas(self, part: Part) -> Iterable[Delta]:
        self._parts += 1
        response = self._assembler.response
        foreign = part.origin is not None and (response is None or response.origin != part.origin)
        if foreign and not isinstance(part, ToolResultPart):
            yield ResponseStart(part.origin)
        yield from deltas_of(part, f"emitted part {self._parts}")

    def _end(self, interrupts: Sequence[Interrupt] = (), *, abort: bool = False) -> list[Written]:
        if self._closed:
            return []
        self._closed = True
        self._last = None
        self._leave_fast_path()
        self._paths.clear()
        writer = self._writer
        changes = self._assembler.abort() if abort else self._assembler.close()
        written: list[Any] = writer.write(changes)
        if writer.produced.unanswered:
            written += [*writer.finish(), *writer.ask(interrupts)]
        if self._application is not None:
            written += self._application.opened.ends(self._new_id)
        settled = settle_now(self._summaries.settle(written)) if self._summarizes else written
        return self._staged(settled, close=True)


def _sealer(settings: EmitterSettings, keys: KeyRing, thread_id: str | None) -> EnvelopeWriter:
    if thread_id is None:
        raise ConfigurationError(
            "Encrypted values need a thread, and none was given.",
            code="keys_without_thread",
            hint="Pass thread_id=.",
        )
    from agui_reasoning.crypto import Binding

    binding = Binding(thread_id, tenant=settings.tenant)
    return EnvelopeWriter(keys, binding, settings.ttl_s, settings.pad_to)


def _ids_of(event: Any) -> list[Any]:
    """Return the IDs of the messages, calls and value entities that an event refers to."""
    return [getattr(event, name, None) for name in ("message_id", "tool_call_id", "entity_id")]


def _warn(message: str) -> None:
    warnings.warn(message, AGUIReasoningWarning, stacklevel=2)
