"""A run: RUN_STARTED, its events, and exactly one of RUN_FINISHED and RUN_ERROR."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from ag_ui.core import DeveloperMessage, Event, Interrupt, ResumeEntry, RunAgentInput, SystemMessage
from msgspec.structs import replace
from pydantic import BaseModel

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import Written, event_model, models_of, new_uuid
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.deltas import Delta, UsageDelta
from agui_reasoning.emitter import BaseEmitter, Settling, settings_of, shows_options
from agui_reasoning.errors import LocalProtocolError
from agui_reasoning.parts import Effort, EffortChange, Origin, Part, ToolCallPart
from agui_reasoning.run._frame import Ending, Frame, RunFrame, SubagentFrame, parse_input, usage_of
from agui_reasoning.run._options import (
    ReasoningRequest,
    RequestOptions,
    RequestSettings,
    RunOptions,
    RunSettings,
    echo_rule,
    read_request,
    run_settings,
    shown,
    target_named,
)

if TYPE_CHECKING:  # imported with the first policy or request
    from agui_reasoning.policy import EchoRule
    from agui_reasoning.request import History, OpenCall, ProviderRequest

_OPEN_PART = (
    "A request leaves out the part of the response that has not ended: pass `CloseDelta` or `FinishDelta` "
    "to the run first."
)

_NOT_SHOWN = (
    "The model's reasoning was signed but had no text, so there is nothing to show: newer Claude models omit "
    'it by default. Set `display` of `thinking` to "summarized", as `ProviderRequest.merged` does, or the '
    "visibility to hidden."
)


class Run:
    """One run of an agent: its input, its options and the events it emits.

    Call `start`, then `receive` for each item, then one of `finish`, `cancel` and `fail`, which close
    everything open. Every method returns a list of events and does no input or output.
    """

    @shows_options(RunOptions, RunSettings)
    def __init__(self, run_input: RunAgentInput | Mapping[str, Any], **options: Unpack[RunOptions]) -> None:
        """Prepare a run.

        Args:
            run_input: The client's input, as a model or as JSON.
            api: The API ID of the model, or a `ProviderAPI` of your own; with ``provider`` and ``model``, the
                origin of deltas without one.
            provider: The provider ID.
            model: The model's name.
            origin: API, provider, model and account, instead of the three arguments before.
            visibility: How much of the reasoning the client sees: ``"full"``, ``"summary"`` or ``"hidden"``.
            keys: Encrypts the values that the client stores, and decrypts those it sends back; bound to the
                thread of the input and to the tenant.
            tenant: The tenant of the conversation. Take it from your authentication, never from the request.
            ttl_s: Lifetime of encrypted values in seconds; unlimited by default.
            pad_to: Pads values to a multiple of this many bytes before encryption, to hide their lengths.
            summarize: With ``"summary"``, writes the text for a unit without a summary; it can be
                asynchronous under `agui_reasoning.aio`.
            accept_plain: See `restore`.
            on_undecryptable: See `restore`.
            limits: Maximum sizes of the input.
            client_instructions: Whether to ``"keep"`` or ``"drop"`` messages of the roles ``system`` and
                ``developer`` in the input, which the model obeys like your own instructions.
            allow_reasoning_request: Whether ``forwardedProps.reasoning`` of the input chooses the effort and
                the display: ``True``, or the lowest and the highest effort, as ``("low", "high")``; ignored
                by default. See `reasoning_request`.
            allow_file_ids: Whether the client may name files and other objects stored at the provider, which
                it reads with your API key: ``False`` for never, ``True`` for always. By default, messages
                may name them, but values that are not encrypted may not.
            anchors: When a response without reasoning gets an empty reasoning message to carry its values:
                ``"auto"`` where the echo policy says so, ``"required"`` where the provider requires them
                back, ``"always"`` or ``"never"``.
            policy: Rows of the echo policy that are tried before those of this package: a list of `EchoRule`,
                or the path of a TOML file.
            tags: Opening to closing tags of reasoning inside answers, instead of the usual ones; see
                `decoder`.
            starts_in_reasoning: Whether answers start inside reasoning; see `decoder`.
            stages: Change the events after the emitter, in order.
            new_id: Generates IDs; by default, random UUIDs.
            now_ms: Returns the Unix time in milliseconds; without it, events have no timestamps.
            on_warning: Called with each warning; default is Python's ``warnings``.
            on_audit: Called with a content-free record of each value that is sent, restored or dropped.

        Raises:
            RemoteProtocolError: The input is malformed, or asks for an unknown effort or display
                (``bad_input``), or exceeds the limits (``too_large``): respond with an HTTP error instead of
                a stream.
            ConfigurationError: The API (``unknown_api``) or the visibility (``unknown_visibility``) is
                unknown, a row of the policy is invalid (``bad_policy``), or there is an origin beside
                ``api``, ``provider`` or ``model`` (``wrong_option``).
        """
        settings = run_settings(options)
        self.input, self._call_ids, self._is_checked = parse_input(run_input, settings.limits)
        allowed, visibility = settings.allow_reasoning_request, settings.visibility
        self._reasoning_request = read_request(self.input.forwarded_props, allowed, visibility)
        dropped = self._drop_instructions() if settings.client_instructions == "drop" else 0
        keys = None if settings.keys is None else settings.keys._for_run()
        visibility, on_audit = shown(visibility, self._reasoning_request), self._audited(settings.on_audit)
        settings = replace(settings, keys=keys, visibility=visibility, on_audit=on_audit)
        modern = self.input.protocol_version is not None
        self._prepare(settings, RunFrame(self.input.thread_id, self.input.run_id, modern))
        if dropped:
            self.warn_once([f"{dropped} message(s) of the client with instructions were dropped."])

    def _prepare(self, settings: RunSettings, frame: Frame, subagent_id: str | None = None) -> None:
        """Begin the run, or that of a subagent, whose input has been read."""
        self._settings, self._frame, self._subagent_id = settings, frame, subagent_id
        self.origin = cast("Origin", settings.origin)
        self.keys, self.tenant, self.visibility = settings.keys, settings.tenant, settings.visibility
        self.tags, self.starts_in_reasoning = settings.tags, settings.starts_in_reasoning
        self._subagents: tuple[Run, ...] = ()
        self._opened: History | Exception | None = None
        self._warned: frozenset[str] = frozenset()
        self._state: Literal["new", "running", "ended"] = "new"
        self._terminal: Written | None = None
        self._emitter = BaseEmitter.__new__(BaseEmitter)
        self._emitter._prepare(
            settings,
            rule_of=partial(echo_rule, own=self.policy),
            thread_id=self.input.thread_id,
            used_call_ids=self._call_ids,
            known_messages=self.input.messages,
            takes_media=self.input.protocol_version is not None,
        )

    @property
    def api(self) -> str | None:
        """The API ID of the model."""
        return self.origin.api

    @property
    def provider(self) -> str | None:
        """The provider ID."""
        return self.origin.provider

    @property
    def model(self) -> str | None:
        """The model's name."""
        return self.origin.model

    def __repr__(self) -> str:
        named: dict[str, str | None] = {"thread_id": self.input.thread_id, "run_id": self.input.run_id}
        named |= {"api": self.api, "provider": self.provider, "model": self.model, "state": self._state}
        members = (f"{name}={value!r}" for name, value in named.items() if value is not None)
        return f"Run({', '.join(members)})"

    def _drop_instructions(self) -> int:
        """Remove the client's messages with instructions, and return their number."""
        kept = [m for m in self.input.messages if not isinstance(m, SystemMessage | DeveloperMessage)]
        dropped = len(self.input.messages) - len(kept)
        self.input = self.input.model_copy(update={"messages": kept})
        return dropped

    @property
    def pending_calls(self) -> list[ToolCallPart]:
        """The unanswered calls of this run, without those to server tools."""
        return self._emitter.pending_calls

    @property
    def open_calls(self) -> list[OpenCall]:
        """The unanswered calls of earlier runs, in order, with what the user said about them.

        Answer each with a ``ToolResultPart``, before the next request: those that a person had to approve,
        and calls of front-end tools that have no result because the user wrote something else. Calls without
        a result when the user wrote and the model answered are no longer open, unless `resume` names them.

        The errors are those of `history`.

        Raises:
            RemoteProtocolError: An answer came after its interrupt had expired (``expired_interrupt``); only
                if the run has a clock.

        Warns:
            AGUIReasoningWarning: A call has no answer, and an answer belongs to no call.
        """
        from agui_reasoning.request import open_calls, unrecognized

        earlier, resume = self._restored, self.resume
        calls = list(open_calls(earlier, self._emitter.produced, resume, self._now()))
        self.warn_once(unrecognized(calls, earlier, resume))
        return calls

    @property
    def finish_reason(self) -> str | None:
        """The provider's finish reason of the last response; ``None`` until it arrives.

        Unless reasoning is hidden, the metadata of RUN_FINISHED contains it.
        """
        return self._emitter.finish_reason

    @property
    def finish_details(self) -> Mapping[str, Any] | None:
        """What the provider says about the end of the last response, such as why it was refused.

        The metadata of RUN_FINISHED contains it under the same condition, without ``fallback_credit_token``.
        """
        return self._emitter.finish_details

    @property
    def summarizes(self) -> bool:
        """Whether the run has a ``summarize`` function."""
        return self._emitter.summarizes

    @property
    def policy(self) -> tuple[EchoRule, ...]:
        """The rows of the echo policy that are tried before those of the package."""
        return cast("tuple[EchoRule, ...]", self._settings.policy)

    @property
    def reasoning_request(self) -> ReasoningRequest | None:
        """What the front end asks for in ``forwardedProps.reasoning``, within what the server allows.

        ``None`` if it asks for nothing, or may not. The run shows its reasoning accordingly, and `history`
        contains the effort as a change, so that `request` sends it; an agent with requests of its own reads
        it here.
        """
        return self._reasoning_request

    @property
    def terminal(self) -> Event | None:
        """The terminal event of the run; ``None`` until it ends."""
        if type(self._terminal) is dict:
            self._terminal = event_model(self._terminal)
        return cast("Event | None", self._terminal)

    @property
    def history(self) -> History:
        """The conversation so far: the restored input, and the output of this run.

        A response that is still open, such as parts without a `FinishDelta`, counts with its complete parts.
        The input is restored once. If that fails, every access raises the same error.
        """
        return self._restored.with_items(self._emitter.produced)

    @property
    def _restored(self) -> History:
        """The conversation before this run."""
        if self._opened is None:
            from agui_reasoning.request import checked_messages, restore

            try:
                settings = self._settings
                self._opened = restore(
                    checked_messages(self.input.messages) if self._is_checked else self.input,
                    keys=settings.keys,
                    thread_id=self.input.thread_id,
                    tenant=settings.tenant,
                    accept_plain=settings.accept_plain,
                    on_undecryptable=settings.on_undecryptable,
                    subagent=self._subagent_id,
                    on_audit=settings.on_audit,
                    limits=settings.limits,
                    allow_file_ids=settings.allow_file_ids,
                )
            except Exception as error:
                self._opened = error
                raise
            effort = self._reasoning_request and self._reasoning_request.effort
            if effort and effort != self._opened.effort:
                self._emitter.change_effort(effort)  # before the agent's own choice, which wins
        if isinstance(self._opened, Exception):
            raise self._opened
        return self._opened

    @property
    def resume(self) -> Mapping[str, ResumeEntry]:
        """The answers to the previous run's interrupts, by interrupt ID."""
        return {entry.interrupt_id: entry for entry in self.input.resume or ()}

    @shows_options(RequestOptions, RequestSettings)
    def request(self, **options: Unpack[RequestOptions]) -> ProviderRequest:
        """Build the provider's next request from the conversation so far.

        Args:
            system: System instructions.
            tools: AG-UI tools are converted, other mappings are sent verbatim; default is the input's tools.
            store: Whether the provider stores the response, if it can.
            previous_response_id: The turn that the provider has stored, with everything before it: see
                `build_request`.
            conversation: The ID of the provider's conversation that stores it: see `build_request`.
            apply_flags: Add the fields that the policy recommends to the body.
            history: The conversation to send; default is `history` of the run.
            keep_turns: Send only the newest part of it: see `History.trim`.
            api: The API of the request, if it is not that of the run.
            provider: The provider that receives it, if it is not that of the run.
            model: The model that receives it, if it is not that of the run.
            origin: API, provider, model and account, instead of the three arguments before.
            foreign_reasoning: See `build_request`.
            refused_turns: See `build_request`.
            policy: Rows of the echo policy that are tried before those of the run.

        Raises:
            ConfigurationError: Neither the call nor the run names an API (``no_api``), ``keep_turns`` is
                negative (``bad_limit``), or there is an origin beside ``api``, ``provider`` or ``model``
                (``wrong_option``).
            RemoteProtocolError: The request would name an object stored at the provider although
                ``allow_file_ids`` is ``False`` (``file_not_allowed``).

        Warns:
            AGUIReasoningWarning: A part of the last response has not ended, and is left out.
        """
        from agui_reasoning.request import build_request, check_named_objects

        settings = settings_of(RequestSettings, options)
        named = target_named(settings)
        if settings.history is None and self._emitter.has_open_part:
            self.warn_once([_OPEN_PART])
        sent = self.history if settings.history is None else settings.history
        request = build_request(
            None,
            sent if settings.keep_turns is None else sent.trim(keep_turns=settings.keep_turns),
            origin=named.completed(self.origin),
            system=settings.system,
            tools=(self.input.tools or ()) if settings.tools is None else settings.tools,
            store=settings.store,
            previous_response_id=settings.previous_response_id,
            conversation=settings.conversation,
            policy=(*settings.policy, *self.policy),
            foreign_reasoning=settings.foreign_reasoning,
            refused_turns=settings.refused_turns,
            apply_flags=settings.apply_flags,
            on_warning=self._settings.on_warning,
        )
        self._emitter.inputs.sent(request)
        if self._settings.allow_file_ids is False:
            check_named_objects(request, sent, self._emitter.produced)
        self._emitter.note_request(request.prefix)
        return request

    def change_effort(self, effort: Effort) -> None:
        """Change the effort of the responses that follow, in this run and in later ones.

        The next request contains the change, as an item of the conversation if the model takes that, else as
        a field. It comes back in the value of the next response. If the effort is already that of the
        conversation, nothing changes.

        Args:
            effort: The level.

        Raises:
            ConfigurationError: The level is unknown (``wrong_option``).
        """
        if self.history.effort != EffortChange(effort).effort:
            self._emitter.change_effort(effort)

    def subagent(self, name: str, *, id: str | None = None) -> Run:  # noqa: A002
        """Create the run of a subagent, with SUBAGENT_STARTED instead of RUN_STARTED, and so on.

        Yield its events, or pass them to `receive` of this run. It has its own history, and this run includes
        its token counts.

        Args:
            name: The subagent's name.
            id: The ID of its run; generated by default.
        """
        own_id = id or (self._settings.new_id or new_uuid)()
        child = copy(self)
        child._prepare(
            replace(self._settings, stages=()), SubagentFrame(own_id, name, self._subagent_id), own_id
        )
        self._subagents += (child,)
        self._emitter.nest(child._emitter, own_id)
        return child

    def start(self) -> list[Event]:
        """Start the run.

        Raises:
            LocalProtocolError: It was already started (``not_new``).
        """
        return models_of(self._start())

    def _start(self) -> list[Written]:
        self._require("new", "start")
        self._state = "running"
        return [self._frame.started(self._now())]

    def receive(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> list[Event]:
        """Turn one delta, part or application event into events.

        Args:
            item: The next item. A ``UserMessage`` is what the user said during the run, such as input that
                steered a response; it ends the response. Events (models or JSON) pass unchanged, and
                whatever they leave open is closed when the run ends. A TOOL_CALL_RESULT answers its call.
                THINKING_* events of AG-UI 0.x are translated, with one warning.

        Raises:
            LocalProtocolError: The run is not open (``not_running``), the item has another type
                (``not_an_item``), or it is an event of unknown type (``unknown_event``), malformed
                (``malformed_event``) or of the run frame (``frame_event``). Nothing has changed.
        """
        self._require("running", "receive")
        return self._emitter.receive(item)

    def frames(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> bytes:
        """Turn one item into the Server-Sent Events of its events.

        Returns the bytes of `receive` and `SSEEncoder.encode`, faster: text that continues needs no event.

        Raises:
            LocalProtocolError: As in `receive`; or an application event cannot be written (``not_json``).
        """
        if self._state != "running":
            self._require("running", "frames")
        return self._emitter.frames(item)

    def receiving(self, item: Delta | Part | BaseModel | Mapping[str, Any]) -> Settling[list[Event]]:
        """Like `receive`, as a generator for shells that await summaries."""
        self._require("running", "receive")
        return (yield from self._emitter.receiving(item))

    def sends(self, request: ProviderRequest) -> None:
        """Note which of the requests that were built since the last response is sent.

        Providers report by its place in the request what they did with reasoning. If several requests were
        built, a report may belong to any of them, so nothing is remembered of it.
        """
        self._emitter.inputs.sent(request, alone=True)

    def warn_once(self, warnings: Iterable[str]) -> None:
        """Emit warnings, each once per run."""
        for sentence in warnings:
            if sentence not in self._warned:
                self._warned |= {sentence}
                self._emitter.warn(sentence)

    def audit(self, record: AuditRecord) -> None:
        """Pass an audit record to ``on_audit``, with the IDs of thread and run."""
        if self._settings.on_audit is not None:
            self._settings.on_audit(record)

    def finish(self, *, interrupts: Sequence[Interrupt] = (), result: Any = None) -> list[Event]:
        """End the run successfully, or interrupt it.

        Raises:
            LocalProtocolError: The run is not open (``not_running``).
        """
        return self._ended(self._finish(interrupts=interrupts, result=result))

    def _finish(self, *, interrupts: Sequence[Interrupt] = (), result: Any = None) -> list[Written]:
        self._require("running", "finish")
        events = self._emitter._end(interrupts)
        if self.visibility == "full" and self._emitter.shows_nothing:
            self.warn_once([_NOT_SHOWN])
        self._state = "ended"  # set after `close`: if a callback fails in it, `fail` can still end the run
        pending = [call.id for call in self._emitter.pending_calls]
        end = self._ending(interrupts=interrupts, pending=pending, result=result)
        return self._end(events, self._frame.finished(end))

    def cancel(self) -> list[Event]:
        """Cancel the run. Returns no events if it has already ended.

        Clients that declare no protocol version, which do not support cancelled outcomes, get RUN_ERROR with
        the code ``cancelled``. So do all clients if the run was not started.
        """
        if self._state == "ended":
            return []
        begun = self._state == "running"
        events = self._emitter._end(abort=True)
        self._state = "ended"
        return self._ended(self._end(events, self._frame.cancelled(self._ending(), begun=begun)))

    def fail(self, message: str, *, code: str | None = None) -> list[Event]:
        """End the run with RUN_ERROR. Returns no events if it has already ended.

        Before `start`, RUN_ERROR is the only event.

        Args:
            message: The message for the user. Never pass ``str(exception)``, which can quote the prompt.
            code: A stable code for programs.
        """
        return self._ended(self._fail(message, code=code))

    def _fail(self, message: str, *, code: str | None = None) -> list[Written]:
        if self._state == "ended":
            return []
        events = self._emitter._end(abort=True)
        self._state = "ended"
        return self._end(events, self._frame.failed(self._ending(), message, code))

    # -- the frame

    def _audited(self, on_audit: OnAudit | None) -> OnAudit | None:
        """Add thread and run IDs to audit records."""
        if on_audit is None:
            return None
        thread_id, run_id = self.input.thread_id, self.input.run_id
        return lambda record: on_audit(dataclasses.replace(record, thread_id=thread_id, run_id=run_id))

    def _end(self, events: list[Written], terminal: JSONObject) -> list[Written]:
        self._terminal = terminal
        return [*events, terminal]

    def _ended(self, events: list[Written]) -> list[Event]:
        """Return the models of the events that end the run; the last is `terminal`."""
        models = models_of(events)
        if models:
            self._terminal = models[-1]
        return models

    def _require(self, state: str, step: str) -> None:
        if self._state != state:
            raise LocalProtocolError(
                f"`{step}` was called on a run that is {self._state}.",
                code="not_new" if state == "new" else "not_running",
                hint="Call `start` once, then `receive`, then one of `finish`, `cancel` and `fail`.",
                state=self._state,
            )

    def _now(self) -> int | None:
        return self._settings.now_ms() if self._settings.now_ms else None

    def _ending(self, **more: Any) -> Ending:
        emitter = self._emitter
        if emitter.finish_reason and self.visibility != "hidden":
            more |= {"finish_reason": emitter.finish_reason, "finish_details": emitter.finish_details}
        return Ending(self._now(), usage_of(self._counts()), **more)

    def _counts(self) -> list[UsageDelta]:
        """Return the token counts of the run and its subagents."""
        return [*self._emitter.usage, *chain.from_iterable(map(Run._counts, self._subagents))]
