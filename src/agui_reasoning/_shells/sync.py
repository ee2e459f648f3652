"""Agents and model streams as synchronous event streams, like `agui_reasoning.aio`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeAlias, Unpack

from ag_ui.core import Event, RunAgentInput

from agui_reasoning._options import RunOptions, shows_options
from agui_reasoning._shells.driver import AgentItem, Driver, ModelStream, OnError, bad_agent, reading, run_of
from agui_reasoning._shells.keys import hold_primary_key
from agui_reasoning._shells.recovery import Asking, Recovery
from agui_reasoning._shells.sinks import FRAMES
from agui_reasoning._shells.sources import WholeResponse, discard, open_source_sync
from agui_reasoning.providers.registry import api_of
from agui_reasoning.run import Run
from agui_reasoning.wire._encode import frames_of

__all__ = ["EventStream", "run_agent", "stream_run"]


class EventStream:
    """The events of a run. Iterate over it once, and close it if you stop early."""

    def __init__(self, driver: _SyncDriver, agent: SyncAgent) -> None:
        self._driver = driver
        self._chunks = driver.chunks(agent)
        self._waiting: list[Event] = []
        """The events of the last chunk that were not read, last first."""

    def __repr__(self) -> str:
        return f"EventStream({self._driver.run!r})"

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        while not self._waiting:
            self._waiting = next(self._chunks)[::-1]
        return self._waiting.pop()

    def frames(self) -> Generator[bytes, None, None]:
        """Yield the rest of the stream as Server-Sent Events, in one chunk of bytes per provider payload."""
        waiting, self._waiting = self._waiting[::-1], []
        self._driver.sink = FRAMES
        try:
            if waiting:
                yield frames_of(waiting)
            yield from filter(None, self._chunks)
        finally:
            self.close()

    def close(self) -> None:
        """Stop the run and close its sources. No more events are yielded."""
        self._waiting.clear()
        self._chunks.close()

    def _shut_down(self) -> bytes:
        """Return the frames that fail the closed run because the server stops."""
        return self._driver.shut_down()


SyncAgent: TypeAlias = Callable[[Run], Iterator[AgentItem]]
"""A function of the run that yields the items of the agent."""


@shows_options(RunOptions, Run.__init__)
def run_agent(
    run_input: RunAgentInput | Mapping[str, Any] | Run,
    agent: SyncAgent,
    *,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> EventStream:
    """Run a synchronous agent and yield its events, from RUN_STARTED to the terminal event.

    Arguments and errors are those of `agui_reasoning.aio.run_agent`; the agent is a generator and its model
    streams are synchronous.
    """
    return EventStream(_SyncDriver(run_of(run_input, options), on_error), agent)


@shows_options(RunOptions, Run.__init__)
def stream_run(
    run_input: RunAgentInput | Mapping[str, Any],
    source: Any,
    *,
    stream_id: str | None = None,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> EventStream:
    """Run a single model response; arguments and errors are those of `agui_reasoning.aio.stream_run`."""
    run = run_of(run_input, options)
    api_of(run.origin)

    def agent(run: Run) -> Iterator[AgentItem]:
        yield ModelStream(source, stream_id=stream_id)

    return EventStream(_SyncDriver(run, on_error), agent)


class _SyncDriver(Driver):
    """Drives a run in synchronous code."""

    def __init__(self, run: Run, on_error: OnError | None = None) -> None:
        super().__init__(run, on_error)
        self._recovery = Recovery(run)

    def chunks(self, agent: SyncAgent) -> Generator[Any, None, None]:
        """Yield the chunks of a run of an agent, including the run frame."""
        yield self.sink.write(self.run.start())
        last: list[Event] = []
        failed: Exception | None = None
        try:
            hold_primary_key(self.run)
            with closing(_items(agent(self.run))) as items:
                for item in items:
                    yield from self._show(item)
            last = self.last_events()
        except Exception as error:
            self.report(error)
            failed = error
        try:
            if failed is not None:
                yield self._left_over(failed)
                last = self.failure(failed)
        finally:
            failed = None  # its traceback refers to this frame, and to the reasoning in it
        yield self.sink.write(last)

    def _left_over(self, error: Exception) -> Any:
        chunk, second = self.show_all(self.left_over(error))
        if second is not None:
            self.report(second)
        return chunk

    def _show(self, item: Any) -> Generator[Any, None, None]:
        if not isinstance(item, ModelStream):
            yield self.show(item)
            return
        asking = self._recovery.asking(item)
        with closing(self._read(item) if asking is None else self._ask(asking)) as payloads:
            for items in payloads:
                chunk, failed = self.show_all(items)
                if chunk:
                    yield chunk
                if failed is not None:
                    raise failed

    def _ask(self, asking: Asking) -> Generator[Sequence[AgentItem], None, None]:
        """Read a model stream whose source takes the request; ask once more after a known refusal."""
        while True:
            try:
                with closing(self._read(asking.next_stream())) as payloads:
                    yield from payloads
                return
            except Exception as error:
                if not asking.asks_again(error):
                    raise

    def _read(self, stream: ModelStream) -> Generator[Sequence[AgentItem], None, None]:
        """Open, read and close a model stream; yield the items of each payload."""
        reader = reading(self.run, stream)
        with self.explaining(stream, reader), open_source_sync(stream.source) as payloads:
            if isinstance(payloads, WholeResponse):
                yield reader.whole(payloads.response)
                return
            for payload in payloads:
                yield reader.receive(payload)
        yield reader.close()


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
