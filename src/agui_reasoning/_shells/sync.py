"""Agents and model streams as synchronous event streams, like `agui_reasoning.aio`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, TypeAlias, Unpack

from ag_ui.core import Event, RunAgentInput

from agui_reasoning._options import RunOptions, StreamRunOptions
from agui_reasoning._shells.driver import AgentItem, Driver, ModelStream, OnError, bad_agent, reading, run_of
from agui_reasoning._shells.recovery import Asking, Recovery
from agui_reasoning._shells.sources import WholeResponse, discard, open_source_sync
from agui_reasoning.run import Run

__all__ = ["run_agent", "stream_run"]

SyncAgent: TypeAlias = Callable[[Run], Iterator[AgentItem]]
"""A function of the run that yields the items of the agent."""


def run_agent(
    run_input: RunAgentInput | Mapping[str, Any] | Run,
    agent: SyncAgent,
    *,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> Generator[Event, None, None]:
    """Run a synchronous agent and yield its events, from RUN_STARTED to the terminal event.

    Arguments and errors are those of `agui_reasoning.aio.run_agent`; the agent is a generator and its model
    streams are synchronous.
    """
    return _SyncDriver(run_of(run_input, options), on_error).events(agent)


def stream_run(
    run_input: RunAgentInput | Mapping[str, Any],
    source: Any,
    *,
    on_error: OnError | None = None,
    **options: Unpack[StreamRunOptions],
) -> Generator[Event, None, None]:
    """Run a single model response; arguments and errors are those of `agui_reasoning.aio.stream_run`."""
    run = run_of(run_input, options)

    def agent(run: Run) -> Iterator[AgentItem]:
        yield ModelStream(source)

    return _SyncDriver(run, on_error).events(agent)


class _SyncDriver(Driver):
    """Drives a run in synchronous code."""

    def __init__(self, run: Run, on_error: OnError | None = None) -> None:
        super().__init__(run, on_error)
        self._recovery = Recovery(run)

    def events(self, agent: SyncAgent) -> Generator[Event, None, None]:
        """Yield the events of a run of an agent, including the run frame."""
        yield from self.run.start()
        last: list[Event] = []
        failed: Exception | None = None
        try:
            with closing(_items(agent(self.run))) as items:
                for item in items:
                    yield from self._show(item)
            last = self.last_events()
        except Exception as error:
            self.report(error)
            failed = error
        yield from last if failed is None else self._failed(failed)

    def _failed(self, error: Exception) -> list[Event]:
        events: list[Event] = []
        try:
            for delta in self.left_over(error):
                events += self.show(delta)
        except Exception as second:
            self.report(second)
        return events + self.failure(error)

    def _show(self, item: Any) -> Generator[Event, None, None]:
        if not isinstance(item, ModelStream):
            yield from self.show(item)
            return
        asking = self._recovery.asking(item)
        with closing(self._read(item) if asking is None else self._ask(asking)) as items:
            for read in items:
                yield from self.show(read)

    def _ask(self, asking: Asking) -> Generator[AgentItem, None, None]:
        """Read a model stream whose source takes the request; ask once more after a known refusal."""
        while True:
            try:
                with closing(self._read(asking.next_stream())) as items:
                    yield from items
                return
            except Exception as error:
                if not asking.asks_again(error):
                    raise

    def _read(self, stream: ModelStream) -> Generator[AgentItem, None, None]:
        """Open, read and close a model stream."""
        reader = reading(self.run, stream)
        with self.explaining(stream, reader), open_source_sync(stream.source) as payloads:
            if isinstance(payloads, WholeResponse):
                yield from reader.whole(payloads.response)
                return
            for payload in payloads:
                yield from reader.receive(payload)
        yield from reader.close()


def _items(agent: Any) -> Generator[AgentItem, None, None]:
    """Yield the items of the agent; closing this generator closes the agent, if it can be closed."""
    if not hasattr(agent, "__iter__"):
        discard(agent)
        raise bad_agent(agent, "a generator: `def agent(run): … yield …`")
    try:
        yield from agent
    finally:
        if close := getattr(agent, "close", None):
            close()
