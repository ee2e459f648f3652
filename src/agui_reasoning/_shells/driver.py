"""Shared by the shells: model streams, the clock, and the course of a run.

Agents yield a `ModelStream` to show a model's answer, `Reading` decodes its payloads, and `Driver` drives the
run from its first event to its last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, cast

from ag_ui.core import BaseEvent, Event, Interrupt, RunAgentInput

from agui_reasoning._shells.failures import FailureLog, is_own_error
from agui_reasoning.deltas import Delta
from agui_reasoning.errors import ConfigurationError, DecodeError, ProviderError
from agui_reasoning.parts import Part
from agui_reasoning.providers import decoder
from agui_reasoning.run import Run

__all__ = [
    "FAILED",
    "AgentItem",
    "Driver",
    "ModelStream",
    "OnError",
    "PayloadReader",
    "bad_agent",
    "now_in_ms",
    "reading",
    "run_of",
]

FAILED: Final = "The agent could not finish its answer. Please try again."
"""The message that users see if a run fails and `on_error` returns none."""

OnError: TypeAlias = Callable[[BaseException], str | None]
"""Returns the message that users see; ``None`` for the default."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelStream:
    """A model's answer for a run to open, read and close.

    Attributes:
        source: The SDK's stream, an awaitable of it, a context manager that returns it, or a callable without
            arguments that returns any of these; also an iterable of payloads, and a whole response. A
            callable that is not ``async`` is called in a worker thread by asynchronous runs.
        api: The API ID; default is the run's.
        provider: The provider; default is the run's.
        model: The model's name; default is the run's.
        reader: A function of the run that creates a payload reader; default is the decoder of the API. The
            modules of `agui_reasoning.interop` set it for the events of agent frameworks.
    """

    source: Any
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    reader: Callable[[Run], PayloadReader] | None = None

    def __repr__(self) -> str:
        return f"ModelStream({type(self.source).__name__}, api={self.api!r})"


AgentItem: TypeAlias = ModelStream | Delta | Part | BaseEvent | Interrupt
"""An item that an agent yields."""


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


class Reading:
    """Decodes the payloads of a model stream for a run."""

    def __init__(self, run: Run, stream: ModelStream) -> None:
        """Choose the decoder.

        Raises:
            ConfigurationError: Neither the stream nor the run names an API (``no_api``), or there is no such
                API (``unknown_api``).
        """
        api = stream.api or run.api
        if api is None:
            raise ConfigurationError(
                "Neither the model stream nor its run names an API.",
                code="no_api",
                hint='Pass api=, for example ModelStream(source, api="openai-responses").',
            )
        same = api == run.api
        provider = stream.provider or (run.provider if same else None)
        model = stream.model or (run.model if same else None)
        self._decoder = decoder(api, provider=provider, model=model)
        self._run = run

    def receive(self, payload: Any) -> list[Delta]:
        """Decode one payload of the stream."""
        try:
            return self._decoder.receive(_unwrapped(payload))
        finally:
            self._pass_on_warnings()

    def whole(self, response: Any) -> list[Delta]:
        """Decode a whole response."""
        try:
            return self._decoder.whole(response)
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
        self._interrupts: list[Interrupt] = []
        self._ended = False

    def show(self, item: Any) -> list[Event]:
        """Return the events of an item other than a model stream; interrupts are kept for the end.

        Agents may end the run themselves: the events of `Run.cancel` and `Run.fail` pass unchanged.
        """
        if isinstance(item, Interrupt):
            self._interrupts.append(item)
            return []
        if self.run.terminal is not None and isinstance(item, BaseEvent):
            self._ended = item is self.run.terminal
            return [cast("Event", item)]
        return self.run.receive(item)

    def last_events(self) -> list[Event]:
        """Return the events that end a run after its agent, unless the agent ended it."""
        if self.run.terminal is None:
            return self.run.finish(interrupts=self._interrupts)
        return [] if self._ended else [self.run.terminal]

    def report(self, error: Exception) -> None:
        """Log an error."""
        self._log.report(error)

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
        code = getattr(error, "code", None) if is_own_error(error) else None
        sentence = self._sentence(error)
        try:
            return self.run.fail(sentence, code=code)
        except Exception as second:
            self.report(second)
        # A callback failed while things were being closed. That must not keep the run from ending.
        return self.run.fail(sentence, code=code)

    def _sentence(self, error: BaseException) -> str:
        try:
            return (self._on_error(error) if self._on_error else None) or FAILED
        except Exception as second:
            self._log.note("`on_error` failed; the default sentence is used.")
            self.report(second)
            return FAILED


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
