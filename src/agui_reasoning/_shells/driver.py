"""Shared by the shells: model streams, the clock, and the course of a run.

Agents yield a `ModelStream` to show a model's answer, `Reading` decodes its payloads, and `Driver` drives the
run from its first event to its last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Protocol, TypeAlias, cast

from ag_ui.core import BaseEvent, Event, Interrupt, RunAgentInput, Tool
from pydantic import BaseModel

from agui_reasoning._options import api_id
from agui_reasoning._shells.agents import ModelAgents
from agui_reasoning._shells.failures import FailureLog, is_own_error
from agui_reasoning._shells.provider_failures import Explanation, explain, explain_elsewhere
from agui_reasoning._shells.sinks import EVENTS
from agui_reasoning._shells.sources import takes_request
from agui_reasoning.deltas import Delta
from agui_reasoning.deltas._operations import DELTA_TYPES
from agui_reasoning.errors import ConfigurationError, DecodeError, ProviderError, TransportError
from agui_reasoning.parts import Origin, Part
from agui_reasoning.providers import decoder
from agui_reasoning.providers.api import ProviderAPI
from agui_reasoning.providers.registry import named_origin
from agui_reasoning.request import History
from agui_reasoning.request._refused_turns import RefusedTurns
from agui_reasoning.run import Run
from agui_reasoning.wire._encode import frames_of

__all__ = [
    "FAILED",
    "REQUEST_FIELDS",
    "SHUT_DOWN",
    "AgentItem",
    "Driver",
    "ModelStream",
    "OnError",
    "PayloadReader",
    "bad_agent",
    "now_in_ms",
    "reading",
    "run_of",
    "target_of",
]

FAILED: Final = "The agent could not finish its answer. Please try again."
"""The message that users see if a run fails and `on_error` returns none."""

_DELTAS: Final = frozenset(DELTA_TYPES)

SHUT_DOWN: Final = "The server of this agent is restarting. Please try again shortly."
"""The message that users see if the server stops during a run."""

OnError: TypeAlias = Callable[[BaseException], str | None]
"""Returns the message that users see; ``None`` for the default."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelStream:
    """A model's answer for a run to open, read and close.

    A source that takes the request is called with a `ProviderRequest`, built from the history of the run. If
    the provider refuses it because of reasoning in it, before the first payload, the source is called once
    more, with a request without what was refused.

    Attributes:
        source: The SDK's stream, an awaitable of it, a context manager that returns it, or a callable that
            returns any of these; also an iterable of payloads, and a whole response. The callable takes no
            argument or the request. One that is not ``async`` is called in a worker thread by asynchronous
            runs.
        api: The API ID, or a `ProviderAPI` of your own; default is the run's.
        provider: The provider; default is the run's.
        model: The model's name; default is the run's.
        reader: A function of the run that creates a payload reader; default is the decoder of the API. The
            modules of `agui_reasoning.interop` set it for the events of agent frameworks.
        system: System instructions of the request. This and the next eight fields are arguments of
            `Run.request`, for sources that take the request.
        tools: The tools of the request; default is the input's.
        store: Whether the provider stores the response, if it can.
        previous_response_id: The turn that the provider has stored, with everything before it. If it no
            longer has it, the source is called once more, with the whole conversation.
        conversation: The ID of the provider's conversation that stores it: see `build_request`.
        apply_flags: Add the fields that the policy recommends.
        history: The conversation to send; default is that of the run.
        keep_turns: Send only the newest part of it.
        refused_turns: Whether turns that the provider refused are left out.
        origin: API, provider and model, instead of ``api``, ``provider`` and ``model``.
        stream_id: The stream to read, if the payloads are those of a WebSocket connection that carries
            several (``openai-responses``); events of others are skipped.
        tags: Opening to closing tags of reasoning inside the answer; default is the run's.
        starts_in_reasoning: Whether the answer starts inside reasoning; default is what the run says.

    Raises:
        ConfigurationError: A field of the request is set, but the source takes no request, or there is an
            origin beside ``api``, ``provider`` or ``model`` (``wrong_option``).
    """

    source: Any
    api: str | ProviderAPI | None = None
    provider: str | None = None
    model: str | None = None
    reader: Callable[[Run], PayloadReader] | None = None
    _: KW_ONLY
    system: str | None = None
    tools: Sequence[Tool | Mapping[str, Any]] | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    conversation: str | None = None
    apply_flags: bool = False
    history: History | None = None
    keep_turns: int | None = None
    refused_turns: RefusedTurns = "drop"
    origin: Origin | None = None
    stream_id: str | None = None
    tags: Mapping[str, str] | None = None
    starts_in_reasoning: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "api", api_id(self.api))
        self._named()
        given = [name for name in REQUEST_FIELDS if getattr(self, name) != REQUEST_FIELDS[name]]
        if given and not takes_request(self.source):
            raise ConfigurationError(
                f"The model stream has {', '.join(given)}, but its source takes no request.",
                code="wrong_option",
                hint="Pass a function of the request, or pass these arguments to `Run.request`.",
            )

    def __repr__(self) -> str:
        return f"ModelStream({type(self.source).__name__}, api={self._named().api!r})"

    def _named(self) -> Origin:
        return named_origin(self.origin, api=self.api, provider=self.provider, model=self.model)


REQUEST_FIELDS: Final[dict[str, Any]] = {
    "system": None,
    "tools": None,
    "store": None,
    "previous_response_id": None,
    "conversation": None,
    "apply_flags": False,
    "history": None,
    "keep_turns": None,
    "refused_turns": "drop",
}
"""The fields of a model stream that are arguments of `Run.request`, and their defaults."""

AgentItem: TypeAlias = ModelStream | Delta | Part | BaseModel | Mapping[str, Any]
"""An item that an agent yields. Mappings, and models but ``Interrupt`` and ``UserMessage``, are events."""


class PayloadReader(Protocol):
    """Turns what a source yields into items for the run."""

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read one payload of a stream."""

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream."""

    def close(self) -> Sequence[AgentItem]:
        """End the stream."""


def reading(run: Run, stream: ModelStream) -> PayloadReader:
    """Choose what reads a model stream.

    Raises:
        ConfigurationError: Neither the stream nor the run names an API (``no_api``), or there is no such API
            (``unknown_api``).
    """
    return Reading(run, stream) if stream.reader is None else stream.reader(run)


def target_of(run: Run, stream: ModelStream) -> Origin:
    """Return the API, provider and model of a stream.

    Raises:
        ConfigurationError: Neither the stream nor the run names an API (``no_api``).
    """
    named, default = stream._named(), run.origin
    api = named.api or default.api
    if api is None:
        raise ConfigurationError(
            "Neither the model stream nor its run names an API.",
            code="no_api",
            hint='Pass api=, for example ModelStream(source, api="openai-responses").',
        )
    return named.completed(default if api == default.api else Origin(api=api))


class Reading:
    """Decodes the payloads of a model stream for a run.

    Attributes:
        of_provider: Whether errors of the stream are those of the provider, not of an agent framework.
    """

    of_provider = True

    def __init__(self, run: Run, stream: ModelStream) -> None:
        """Choose the decoder.

        Raises:
            ConfigurationError: Neither the stream nor the run names an API (``no_api``), there is no such
                API (``unknown_api``), or it does not support an option of the stream (``wrong_option``).
        """
        target = target_of(run, stream)
        same = target.api == run.api
        starts = stream.starts_in_reasoning
        if starts is None:
            starts = same and run.starts_in_reasoning
        self._decoder = decoder(
            origin=target,
            stream_id=stream.stream_id,
            tags=stream.tags or (run.tags if same else None),
            starts_in_reasoning=starts,
        )
        self._decoder.splits_agents = True
        self._agents = ModelAgents(run)
        self._run = run

    def receive(self, payload: Any) -> Sequence[Delta | BaseEvent]:
        """Decode one payload of the stream."""
        try:
            return self._agents.shown(
                self._decoder.receive(_unwrapped(payload) if isinstance(payload, tuple) else payload)
            )
        finally:
            if self._decoder.warnings:
                self._pass_on_warnings()

    def whole(self, response: Any) -> Sequence[Delta | BaseEvent]:
        """Decode a whole response."""
        try:
            return self._agents.shown(self._decoder.whole(response))
        finally:
            self._pass_on_warnings()

    def close(self) -> list[Delta]:
        """End the stream.

        Raises:
            DecodeError: The stream ended inside a response (``truncated_stream``).
        """
        try:
            return self._decoder.close()
        finally:
            self._pass_on_warnings()

    def _pass_on_warnings(self) -> None:
        if self._decoder.warnings:
            self._run.warn_once(self._decoder.warnings)


def _unwrapped(payload: Any) -> Any:
    """Take the payload out of a pair: ``(chunk, metadata)`` of LangGraph, ``(response, chunk)`` of xAI."""
    while isinstance(payload, tuple) and len(payload) == 2:
        payload = payload[0] if isinstance(payload[1], Mapping) else payload[1]
    return payload


class Driver:
    """Drives a run from its first event to its last; the shells add the iteration."""

    def __init__(self, run: Run, on_error: OnError | None = None, log: type[FailureLog] = FailureLog) -> None:
        self.run = run
        self._on_error = on_error
        self._log = log(run)
        self._explained: tuple[BaseException, Explanation] | None = None
        self._interrupts: list[Interrupt] = []
        self._ended = False
        self.sink = EVENTS
        """Makes the chunks of the run; may be changed between two of them."""

    def show_all(self, items: Sequence[Any]) -> tuple[Any, Exception | None]:
        """Return the chunk of several items, up to the first that fails, and the error of that one."""
        receive, run = self.sink.receive, self.run
        chunks: list[Any] = []
        try:
            for item in items:
                chunk = receive(run, item) if type(item) in _DELTAS else self.show(item)
                chunks.append(chunk)
        except Exception as error:
            return self.sink.join(chunks), error
        return chunks[0] if len(chunks) == 1 else self.sink.join(chunks), None

    def show(self, item: Any) -> Any:
        """Return the chunk of an item other than a model stream; interrupts are kept for the end.

        Agents may end the run themselves: the events of `Run.cancel` and `Run.fail` pass unchanged.
        """
        if isinstance(item, Interrupt):
            self._interrupts.append(item)
            return self.sink.write([])
        if self.run.terminal is not None and isinstance(item, BaseEvent):
            self._ended = item is self.run.terminal
            return self.sink.write([cast("Event", item)])
        return self.sink.receive(self.run, item)

    def last_events(self) -> list[Event]:
        """Return the events that end a run after its agent, unless the agent ended it."""
        ended, self._ended = self._ended, True
        if self.run.terminal is None:
            return self.run.finish(interrupts=self._interrupts)
        return [] if ended else [self.run.terminal]

    @contextmanager
    def explaining(self, stream: ModelStream, reader: PayloadReader) -> Iterator[None]:
        """Explain an error in the block, which opens and reads a stream, if the provider is its cause."""
        try:
            yield
        except Exception as error:
            if getattr(reader, "of_provider", False):
                found = explain(error, target_of(self.run, stream))
                self._explained = None if found is None else (error, found)
            raise

    def _explanation(self, error: BaseException) -> Explanation | None:
        explained = self._explained
        if explained is not None and explained[0] is error:
            return explained[1]
        return explain_elsewhere(error, self.run.origin)

    def report(self, error: Exception) -> None:
        """Log an error."""
        self._log.report(error, self._explanation(error))

    def left_over(self, error: BaseException) -> Sequence[Delta]:
        """Return the deltas of an error, which the run receives before it ends."""
        if isinstance(error, DecodeError | ProviderError) and self.run.terminal is None:
            return error.deltas
        return ()

    def failure(self, error: BaseException) -> list[Event]:
        """Return the events that fail the run: those that end what is open, then RUN_ERROR.

        The error's own text never reaches the client; its ``code`` does if the error is one of ours. Call
        this after the error has been handled: otherwise an error raised here would have it as context.
        """
        if self.run.terminal is not None:
            return []
        self._ended = True
        explanation = self._explanation(error)
        code = getattr(error, "code", None) if is_own_error(error) else None
        self._explained = None  # the error's traceback refers to this driver
        code = code if explanation is None else explanation.code
        default = SHUT_DOWN if code == "shutdown" else FAILED
        sentence = self._sentence(error, default if explanation is None else explanation.sentence)
        try:
            return self.run.fail(sentence, code=code)
        except Exception as second:
            self.report(second)
        # A callback failed while things were being closed. That must not keep the run from ending.
        return self.run.fail(sentence, code=code)

    def shut_down(self) -> bytes:
        """Return the frames that fail the run because the server stops. Call this after closing the run."""
        if self.run.terminal is not None:
            return b"" if self._ended else frames_of([self.run.terminal])
        error = TransportError(
            "The server stopped before the run was over.",
            code="shutdown",
            hint="Nothing has to be done; the user can ask again.",
        )
        self.report(error)
        return frames_of([*self._unshown(), *self.failure(error)])

    def _unshown(self) -> list[Event]:
        """Return the events that the run made, but that closing it has kept back."""
        return []

    def _sentence(self, error: BaseException, default: str) -> str:
        try:
            return (self._on_error(error) if self._on_error else None) or default
        except Exception as second:
            self._log.note("`on_error` failed; the default sentence is used.")
            self.report(second)
            return default


def run_of(run_input: RunAgentInput | Mapping[str, Any] | Run, options: Mapping[str, Any]) -> Run:
    """Return the run that a shell drives: the caller's, or a new one with these options and the clock.

    Raises:
        ConfigurationError: There are options in addition to an existing run (``wrong_option``).
        TypeError: An option is unknown.
    """
    if not isinstance(run_input, Run):
        return Run(run_input, **{"now_ms": now_in_ms, **options})
    if options:
        raise ConfigurationError(
            f"Options were passed with an existing run: {', '.join(sorted(options))}.",
            code="wrong_option",
            hint="Pass them to `Run`.",
        )
    return run_input


def now_in_ms() -> int:
    """Return the Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def bad_agent(given: Any, wanted: str) -> ConfigurationError:
    """Build the error for an agent that a shell cannot iterate over."""
    kind = type(given).__name__
    return ConfigurationError(
        f"The agent returned {'nothing' if given is None else f'a {kind}'}.",
        code="bad_agent",
        hint=f"Write it as {wanted}.",
    )
