"""Agents and model streams as synchronous event streams, like `agui_reasoning.aio`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeAlias, Unpack

from ag_ui.core import Event, RunAgentInput

from agui_reasoning._driver import (
    END,
    FRAMES,
    AgentItem,
    Asking,
    Driver,
    Group,
    Growth,
    ModelStream,
    OnError,
    PayloadReader,
    RefusedRequests,
    WholeResponse,
    bad_agent,
    discard,
    hold_primary_key,
    open_source_sync,
    reading,
    run_of,
)
from agui_reasoning._wire_events import Written
from agui_reasoning.providers.registry import api_of
from agui_reasoning.run import Run, RunOptions, RunSettings, shows_options
from agui_reasoning.wire import frames_of


class SyncEventStream:
    """The events of a run. Iterate over it once, and close it if you stop early."""

    def __init__(self, driver: _SyncDriver, agent: SyncAgent) -> None:
        self._driver = driver
        self._chunks = driver.watched_run(driver.chunks(agent))
        self._waiting: list[Event] = []
        """The events of the last chunk that were not read, last first."""

    def __repr__(self) -> str:
        return f"SyncEventStream({self._driver.run!r})"

    def __iter__(self) -> SyncEventStream:
        return self

    def __next__(self) -> Event:
        while not self._waiting:
            self._waiting = next(self._chunks)[::-1]
        return self._waiting.pop()

    def frames(self) -> Generator[bytes, None, None]:
        """Return the rest of the stream as Server-Sent Events, in one chunk of bytes per provider payload."""
        waiting, self._waiting = self._waiting[::-1], []
        self._driver.sink = FRAMES
        # Not a generator of its own, because it would run for every token.
        return _led(frames_of(waiting), self._chunks) if waiting else self._chunks

    def close(self) -> None:
        """Stop the run and close its sources. No more events are yielded."""
        self._waiting.clear()
        self._chunks.close()

    def _stop_with_server(self) -> None:
        """Note that what closes the run is the server, which stops."""
        self._driver.stopped_by = "shutdown"

    def _shut_down(self) -> bytes:
        """Return the frames that fail the closed run because the server stops."""
        return self._driver.shut_down()


SyncAgent: TypeAlias = Callable[[Run], Iterator[AgentItem]]
"""A function of the run that yields the items of the agent."""


@shows_options(RunOptions, RunSettings)
def run_agent(
    run_input: RunAgentInput | Mapping[str, Any] | Run,
    agent: SyncAgent,
    *,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> SyncEventStream:
    """Run a synchronous agent and yield its events, from RUN_STARTED to the terminal event.

    Arguments and errors are those of `agui_reasoning.aio.run_agent`; the agent is a generator and its model
    streams are synchronous.
    """
    return SyncEventStream(_SyncDriver(run_of(run_input, options), on_error), agent)


@shows_options(RunOptions, RunSettings)
def stream_run(
    run_input: RunAgentInput | Mapping[str, Any],
    source: Any,
    *,
    stream_id: str | None = None,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> SyncEventStream:
    """Run a single model response; arguments and errors are those of `agui_reasoning.aio.stream_run`."""
    run = run_of(run_input, options)
    api_of(run.origin)

    def agent(run: Run) -> Iterator[AgentItem]:
        yield ModelStream(source, stream_id=stream_id)

    return SyncEventStream(_SyncDriver(run, on_error), agent)


class _SyncDriver(Driver):
    """Drives a run in synchronous code, with the methods of the driver of `agui_reasoning.aio`."""

    def __init__(self, run: Run, on_error: OnError | None = None) -> None:
        super().__init__(run, on_error)
        self._refused = RefusedRequests(run)

    def chunks(self, agent: SyncAgent) -> Generator[Any, None, None]:
        yield self.sink.write(self.run._start())
        last: list[Written] = []
        failed: Exception | None = None
        try:
            hold_primary_key(self.run)
            with closing(self.watched_agent(_items(agent(self.run)))) as items:
                for item in items:
                    with closing(self._groups(item)) as groups:
                        for group in groups:
                            if isinstance(group, Growth):
                                yield from group.frames
                                continue
                            chunk, failed = self.show_all(group)
                            if chunk:
                                yield chunk
                            if failed is not None:
                                raise failed
            last = self.last_events()
        except Exception as error:
            self.report(error)
            failed = error
        try:
            if failed is not None:
                if chunk := self._left_over(failed):
                    yield chunk
                last = self.failure(failed)
        finally:
            failed = None  # its traceback refers to this frame, and to the reasoning in it
        if last:
            yield self.sink.write(last)

    def _left_over(self, error: Exception) -> Any:
        chunk, second = self.show_all(self.left_over(error))
        if second is not None:
            self.report(second)
        return chunk

    def _groups(self, item: Any) -> Generator[Group, None, None]:
        if not isinstance(item, ModelStream):
            return _one([item])
        asking = self._refused.asking(item)
        return self._read(item) if asking is None else self._ask(asking)

    def _ask(self, asking: Asking) -> Generator[Group, None, None]:
        while True:
            try:
                with closing(self._read(asking.next_stream())) as payloads:
                    yield from payloads
                return
            except Exception as error:
                if not asking.asks_again(error):
                    raise

    def _read(self, stream: ModelStream) -> Generator[Group, None, None]:
        reader = reading(self.run, stream)
        return self.watched_request(stream, reader, self._payloads(stream, reader))

    def _payloads(self, stream: ModelStream, reader: PayloadReader) -> Generator[Group, None, None]:
        with self.explaining(stream, reader), open_source_sync(stream.source) as payloads:
            if isinstance(payloads, WholeResponse):
                yield reader.whole(payloads.response)
                return
            payload = next(payloads, END)
            while payload is not END:
                yield reader.receive(payload)
                if (growth := self.growth(reader, payloads)) is None:
                    payload = next(payloads, END)
                else:
                    yield growth
                    payload = growth.left()
        yield reader.close()


def _one(items: Sequence[AgentItem]) -> Generator[Group, None, None]:
    yield items


def _led(first: bytes, chunks: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    """Yield one chunk and then the others; closing this generator closes theirs."""
    try:
        yield first
        yield from chunks
    finally:
        chunks.close()


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
