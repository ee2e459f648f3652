"""Agents and model streams as asynchronous event streams, on asyncio and trio.

The driver owns what it reads: a model stream is opened inside the run, read in the task that reads the
events, and closed on the end, on an error, on cancellation, and when the reader leaves. Nothing is yielded
while the generator is being closed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from ag_ui.core import Event, Interrupt, RunAgentInput

from agui_reasoning.driver import (
    Item,
    ModelStream,
    OnError,
    Reading,
    failure,
    last_events,
    now_in_ms,
    report,
    show,
)
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.emitter.writer import Anchors
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError
from agui_reasoning.providers import decoder
from agui_reasoning.run import Run
from agui_reasoning.sources import Whole, discard, open_source

__all__ = ["EventStream", "ModelStream", "run_agent", "stream_run"]

Agent: TypeAlias = Callable[[Run], AsyncIterator[Item]]
"""Called with the run, gives what the agent does, item by item."""


class EventStream:
    """The events of a run: iterate it once, in one task, and close it if you stop early."""

    def __init__(self, events: AsyncGenerator[Event, None], source: Any = None) -> None:
        self._events = events
        self._source = source

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        return await self._events.__anext__()

    async def aclose(self) -> None:
        """Stop: what the run has opened is closed, and nothing more is given."""
        await self._events.aclose()
        discard(self._source)

    def __del__(self) -> None:
        # A stream that nobody began to read has not awaited what it was given.
        discard(self._source)


def run_agent(
    run_input: RunAgentInput | Mapping[str, Any] | Run,
    agent: Agent,
    *,
    on_error: OnError | None = None,
    api: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    anchors: Anchors = "required",
    stages: Sequence[Stage] = (),
    new_id: Callable[[], str] | None = None,
    now_ms: Callable[[], int] | None = now_in_ms,
    on_warning: Callable[[str], None] | None = None,
) -> EventStream:
    """Run an agent and give its events, from RUN_STARTED to the terminal event.

    Args:
        run_input: What the client sent, or a `Run` that is made already (then the options are the run's own).
        agent: Called with the run; an async generator of items: `ModelStream`, deltas, parts, events of the
            application's own, and ``Interrupt``.
        on_error: Chooses the sentence a user reads when the run fails. The exception itself goes to the
            logger ``agui_reasoning``.
        api: See `Run`, as all that follow.
        provider: Provider id.
        model: The model's name.
        anchors: See `Emitter`.
        stages: See `Emitter`.
        new_id: Makes ids.
        now_ms: Unix time in milliseconds; default is the clock.
        on_warning: Called with each warning.

    Raises:
        RemoteProtocolError: The input is malformed (``bad_input``): answer with an HTTP error, no stream.
    """
    run = run_input
    if not isinstance(run, Run):
        run = Run(
            run,
            api=api,
            provider=provider,
            model=model,
            anchors=anchors,
            stages=stages,
            new_id=new_id,
            now_ms=now_ms,
            on_warning=on_warning,
        )
    return EventStream(_drive(run, agent, on_error))


def stream_run(
    run_input: RunAgentInput | Mapping[str, Any],
    source: Any,
    *,
    api: str,
    provider: str | None = None,
    model: str | None = None,
    on_error: OnError | None = None,
    anchors: Anchors = "required",
    stages: Sequence[Stage] = (),
    new_id: Callable[[], str] | None = None,
    now_ms: Callable[[], int] | None = now_in_ms,
    on_warning: Callable[[str], None] | None = None,
) -> EventStream:
    """Run a single model response: the shortest way from an SDK's stream to AG-UI events.

    Args:
        run_input: What the client sent.
        source: See `ModelStream`.
        api: The API id of the stream.
        provider: Provider id.
        model: The model's name.
        on_error: See `run_agent`, as all that follow.
        anchors: See `Emitter`.
        stages: See `Emitter`.
        new_id: Makes ids.
        now_ms: Unix time in milliseconds; default is the clock.
        on_warning: Called with each warning.

    Raises:
        ConfigurationError: The API id is unknown (``unknown_api``).
        RemoteProtocolError: The input is malformed (``bad_input``): answer with an HTTP error, no stream.
    """
    try:
        decoder(api)  # an API that does not exist is told now, and not in every run
        run = Run(
            run_input,
            api=api,
            provider=provider,
            model=model,
            anchors=anchors,
            stages=stages,
            new_id=new_id,
            now_ms=now_ms,
            on_warning=on_warning,
        )
    except AGUIReasoningError:
        discard(source)
        raise

    async def agent(run: Run) -> AsyncIterator[Item]:
        yield ModelStream(source)

    return EventStream(_drive(run, agent, on_error), source)


async def _drive(run: Run, agent: Agent, on_error: OnError | None) -> AsyncGenerator[Event, None]:
    for event in run.start():
        yield event
    interrupts: list[Interrupt] = []
    ended = False
    try:
        async with aclosing(_items(agent(run))) as items:
            async for item in items:
                if isinstance(item, Interrupt):
                    interrupts.append(item)
                    continue
                async with aclosing(_show(run, item)) as events:
                    async for event in events:
                        ended = event is run.terminal
                        yield event
        last = last_events(run, interrupts, ended=ended)
    except Exception as error:
        # Cancellation and the closing of this generator are no Exceptions: nothing is yielded for them.
        report(error)
        last = failure(run, error, on_error)
    for event in last:
        yield event


async def _items(agent: Any) -> AsyncGenerator[Item, None]:
    """The agent's items; the agent is closed with this generator, whatever kind of iterator it is."""
    if not hasattr(agent, "__aiter__"):
        discard(agent)
        raise ConfigurationError(
            f"The agent gave {type(agent).__name__}, which is no async iterator.",
            code="bad_agent",
            hint="Write it as an async generator: `async def agent(run): … yield …`.",
        )
    try:
        async for item in agent:
            yield item
    finally:
        if close := getattr(agent, "aclose", None):
            await close()


async def _show(run: Run, item: Any) -> AsyncGenerator[Event, None]:
    if not isinstance(item, ModelStream):
        for event in show(run, item):
            yield event
        return
    reading = Reading(run, item)
    async with open_source(item.source) as payloads:
        if isinstance(payloads, Whole):
            for event in reading.whole(payloads.response):
                yield event
            return
        async for payload in payloads:
            for event in reading.receive(payload):
                yield event
    for event in reading.close():
        yield event
