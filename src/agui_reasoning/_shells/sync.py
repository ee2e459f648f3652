"""Agents and model streams as synchronous event streams: the same as `agui_reasoning.aio`, without async."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, TypeAlias, Unpack

from ag_ui.core import Event, Interrupt, RunAgentInput

from agui_reasoning._options import RunOptions, StreamRunOptions
from agui_reasoning._shells.driver import (
    Item,
    ModelStream,
    OnError,
    Reading,
    bad_agent,
    failure,
    last_events,
    left_over,
    report,
    run_of,
    show,
)
from agui_reasoning._shells.sources import WholeResponse, discard, open_source_sync
from agui_reasoning.deltas import Delta
from agui_reasoning.run import Run

__all__ = ["run_agent", "stream_run"]

SyncAgent: TypeAlias = Callable[[Run], Iterator[Item]]
"""Called with the run, gives what the agent does, item by item."""


def run_agent(
    run_input: RunAgentInput | Mapping[str, Any] | Run,
    agent: SyncAgent,
    *,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> Generator[Event, None, None]:
    """Run a synchronous agent and give its events, from RUN_STARTED to the terminal event.

    Arguments and errors are those of `agui_reasoning.aio.run_agent`; the agent is a generator and its model
    streams are synchronous.
    """
    return _drive(run_of(run_input, options), agent, on_error)


def stream_run(
    run_input: RunAgentInput | Mapping[str, Any],
    source: Any,
    *,
    on_error: OnError | None = None,
    **options: Unpack[StreamRunOptions],
) -> Generator[Event, None, None]:
    """Run a single model response; arguments and errors are those of `agui_reasoning.aio.stream_run`."""
    run = run_of(run_input, options)

    def agent(run: Run) -> Iterator[Item]:
        yield ModelStream(source)

    return _drive(run, agent, on_error)


def _drive(run: Run, agent: SyncAgent, on_error: OnError | None) -> Generator[Event, None, None]:
    yield from run.start()
    interrupts: list[Interrupt] = []
    ended = False
    last: list[Event] = []
    failed: Exception | None = None
    try:
        with closing(_items(agent(run))) as items:
            for item in items:
                if isinstance(item, Interrupt):
                    interrupts.append(item)
                    continue
                for event in _show(run, item):
                    ended = event is run.terminal
                    yield event
        last = last_events(run, interrupts, ended=ended)
    except Exception as error:
        report(run, error)
        failed = error
    yield from last if failed is None else _failed(run, failed, on_error)


def _failed(run: Run, error: Exception, on_error: OnError | None) -> list[Event]:
    events: list[Event] = []
    try:
        for delta in left_over(run, error):
            events += run.receive(delta)
    except Exception as second:
        report(run, second)
    return events + failure(run, error, on_error)


def _items(agent: Any) -> Generator[Item, None, None]:
    """The agent's items; the agent is closed with this generator, whatever kind of iterator it is."""
    if not hasattr(agent, "__iter__"):
        discard(agent)
        raise bad_agent(agent, "a generator: `def agent(run): … yield …`")
    try:
        yield from agent
    finally:
        if close := getattr(agent, "close", None):
            close()


def _show(run: Run, item: Any) -> Generator[Event, None, None]:
    if not isinstance(item, ModelStream):
        yield from show(run, item)
        return
    with closing(_read(run, item)) as deltas:
        for delta in deltas:
            yield from run.receive(delta)


def _read(run: Run, stream: ModelStream) -> Generator[Delta, None, None]:
    """Open, read and close a model stream."""
    reading = Reading(run, stream)
    with open_source_sync(stream.source) as payloads:
        if isinstance(payloads, WholeResponse):
            yield from reading.whole(payloads.response)
            return
        for payload in payloads:
            yield from reading.receive(payload)
    yield from reading.close()
