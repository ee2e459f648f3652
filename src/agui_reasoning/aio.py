"""Agents and model streams as asynchronous event streams, on asyncio and trio.

The driver owns model streams: it opens them inside the run, reads them in the task that reads the events, and
closes them at their end, on errors, on cancellation and when the reader stops. Nothing is yielded while the
generator is being closed.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

import anyio.to_thread
from ag_ui.core import Event, Interrupt, RunAgentInput

from agui_reasoning._driver import (
    END,
    FRAMES,
    AgentItem,
    Asking,
    Driver,
    FailureLog,
    Group,
    Growth,
    ModelStream,
    OnError,
    PayloadReader,
    RefusedRequests,
    WholeResponse,
    bad_agent,
    discard,
    hold_keys,
    open_source,
    reading,
    run_of,
    watching_tool,
)
from agui_reasoning._strict_json import dump
from agui_reasoning._wire_events import Written
from agui_reasoning.deltas import CloseDelta
from agui_reasoning.emitter import Settling
from agui_reasoning.errors import AGUIReasoningError
from agui_reasoning.parts import ToolCallPart, ToolResultPart
from agui_reasoning.providers.registry import api_of
from agui_reasoning.run import RequestOptions, RequestSettings, Run, RunOptions, RunSettings, shows_options
from agui_reasoning.wire import frames_of

if TYPE_CHECKING:  # imported with the first request
    from agui_reasoning.request import ProviderRequest

__all__ = [
    "EventStream",
    "FrameStream",
    "ModelStream",
    "PayloadReader",
    "request",
    "run_agent",
    "stream_run",
    "tool_loop",
]

_T = TypeVar("_T")

Agent: TypeAlias = Callable[[Run], AsyncIterator[AgentItem]]
"""Takes the run, and yields the agent's items."""


class EventStream:
    """The events of a run. Iterate over it once, in one task, and close it if you stop early."""

    def __init__(
        self, driver: _AsyncDriver, items: AsyncGenerator[AgentItem, None], source: Any = None
    ) -> None:
        self._driver = driver
        self._chunks = driver.watched_run(driver.chunks(items))
        self._waiting: list[Event] = []
        """The events of the last chunk that were not read, last first."""
        self._source = source

    def __repr__(self) -> str:
        return f"EventStream({self._driver.run!r})"

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            self._waiting = (await self._chunks.__anext__())[::-1]
        return self._waiting.pop()

    def frames(self) -> FrameStream:
        """Iterate over the rest of the stream as Server-Sent Events, in one chunk of bytes per payload."""
        waiting, self._waiting = self._waiting[::-1], []
        self._driver.sink = FRAMES
        return FrameStream(self, self._chunks, frames_of(waiting))

    async def aclose(self) -> None:
        """Stop the run and close its sources. No more events are yielded."""
        self._waiting.clear()
        await self._chunks.aclose()
        discard(self._source)

    def _stop_with_server(self) -> None:
        """Note that what closes the run is the server, which stops."""
        self._driver.stopped_by = "shutdown"

    def _shut_down(self) -> bytes:
        """Return the frames that fail the closed run because the server stops."""
        return self._driver.shut_down()

    def _cancelled(self) -> bytes:
        """Return the frames that cancel the closed run."""
        return self._driver.cancelled()

    def __del__(self) -> None:
        # A stream that was never read has not awaited its source.
        discard(self._source)


class FrameStream:
    """The bytes of an event stream, in chunks. Closing it closes the event stream."""

    def __init__(self, stream: EventStream, chunks: AsyncGenerator[bytes, None], first: bytes) -> None:
        self._stream = stream
        self._chunks = chunks
        self._first = first

    def __aiter__(self) -> FrameStream:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        # Not a coroutine of its own, because it is called for every token.
        return self._take_first() if self._first else self._chunks.__anext__()

    async def _take_first(self) -> bytes:
        first, self._first = self._first, b""
        return first

    async def aclose(self) -> None:
        """Stop the run and close its sources. No more bytes are yielded."""
        self._first = b""
        await self._stream.aclose()


@shows_options(RunOptions, RunSettings)
def run_agent(
    run_input: RunAgentInput | Mapping[str, Any] | Run,
    agent: Agent,
    *,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> EventStream:
    """Run an agent and yield its events, from RUN_STARTED to the terminal event.

    Args:
        run_input: The client's input, or a `Run` created from it; then pass the options to `Run`.
        agent: Takes the run; an async generator of items: `ModelStream`, deltas, parts, application events
            and ``Interrupt``.
        on_error: Returns the message that the user sees when the run fails. The exception itself is logged to
            ``agui_reasoning``.
        **options: The options of `Run`. ``now_ms`` defaults to the clock.

    Raises:
        RemoteProtocolError: The input is malformed (``bad_input``) or exceeds the limits (``too_large``):
            respond with an HTTP error instead of a stream.
    """
    return agent_events(run_of(run_input, options), agent, on_error)


def agent_events(
    run: Run, agent: Agent, on_error: OnError | None, log: type[FailureLog] = FailureLog
) -> EventStream:
    """Return the events of an agent, and log its failures to ``log``."""
    driver = _AsyncDriver(run, on_error, log)
    return EventStream(driver, driver.items(agent))


@shows_options(RequestOptions, RequestSettings)
async def request(run: Run, **options: Unpack[RequestOptions]) -> ProviderRequest:
    """Build the provider's next request in a worker thread, so that long histories do not block other runs.

    Args:
        run: The run; arguments and errors are those of `Run.request`.
        **options: The options of `Run.request`.
    """
    await hold_keys(run)
    return await anyio.to_thread.run_sync(partial(run.request, **options))


@shows_options(RunOptions, RunSettings)
def stream_run(
    run_input: RunAgentInput | Mapping[str, Any],
    source: Any,
    *,
    stream_id: str | None = None,
    on_error: OnError | None = None,
    **options: Unpack[RunOptions],
) -> EventStream:
    """Run a single model response and yield its events.

    Args:
        run_input: The client's input.
        source: See `ModelStream`.
        stream_id: See `ModelStream`.
        on_error: See `run_agent`.
        **options: The options of `Run`; ``api`` or ``origin`` is required.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``) or missing (``no_api``).
        RemoteProtocolError: The input is malformed (``bad_input``) or exceeds the limits (``too_large``):
            respond with an HTTP error instead of a stream.
    """
    try:
        run = run_of(run_input, options)
        api_of(run.origin)
    except (AGUIReasoningError, TypeError):
        discard(source)
        raise

    driver = _AsyncDriver(run, on_error)
    return EventStream(driver, driver.items_of(ModelStream(source, stream_id=stream_id)), source)


class _AsyncDriver(Driver):
    """Drives a run in asynchronous code, and awaits its summaries."""

    def __init__(self, run: Run, on_error: OnError | None = None, log: type[FailureLog] = FailureLog) -> None:
        super().__init__(run, on_error, log)
        self._refused = RefusedRequests(run)
        self._settling: Settling[list[Event]] | None = None

    async def chunks(self, items: AsyncGenerator[AgentItem, None]) -> AsyncGenerator[Any, None]:
        """Yield the chunks of a run, from first to last, for an agent's items."""
        yield self.sink.write(self.run._start())
        last: list[Written] = []
        failed: Exception | None = None
        try:
            async with aclosing(self._all_groups(self.watched_agent(items))) as groups:
                async for group in groups:
                    if isinstance(group, Growth):
                        with group:
                            async for payload in group.payloads:  # here, because each generator takes time
                                yield group.frame(payload)
                        continue
                    chunk, failed = await self._take_all(group) if self.summarizes else self.show_all(group)
                    if chunk:
                        yield chunk
                    if failed is not None:
                        raise failed
            last = self.last_events()
        except Exception as error:
            # Cancellation and the closing of this generator are not Exceptions: nothing is yielded then.
            self.report(error)
            failed = error
        try:
            if failed is not None:
                if chunk := await self._left_over(failed):
                    yield chunk
                last = self.failure(failed)
        finally:
            failed = None  # its traceback refers to this frame, and to the reasoning in it
        if last:
            yield self.sink.write(last)

    async def _all_groups(self, items: AsyncGenerator[AgentItem, None]) -> AsyncGenerator[Group, None]:
        async with aclosing(items):
            async for item in items:
                async with aclosing(self._groups(item)) as groups:
                    async for group in groups:
                        yield group
        if self.summarizes and self.run.terminal is None:
            yield [CloseDelta()]

    async def items(self, agent: Agent) -> AsyncGenerator[AgentItem, None]:
        """Yield the agent's items, and close the agent with this generator.

        Keys are fetched and the client's input is restored first, in worker threads, so that slow services
        and large inputs do not block other runs.
        """
        await hold_keys(self.run)
        with suppress(Exception):  # raised again when the agent reads the history
            await anyio.to_thread.run_sync(lambda: self.run.history)
        items: Any = agent(self.run)
        if not hasattr(items, "__aiter__"):
            discard(items)
            raise bad_agent(items, "an async generator: `async def agent(run): … yield …`")
        try:
            async for item in items:
                yield item
        finally:
            if close := getattr(items, "aclose", None):
                await close()

    async def items_of(self, stream: ModelStream) -> AsyncGenerator[AgentItem, None]:
        """Yield a model stream, once the keys are there."""
        try:
            await hold_keys(self.run)
            yield stream
        finally:
            discard(stream.source)

    async def _left_over(self, error: Exception) -> Any:
        chunk, second = await self._take_all(self.left_over(error))
        if second is not None:
            self.report(second)
        return chunk

    def _groups(self, item: Any) -> AsyncGenerator[Group, None]:
        """Return the items of an item, in groups that give one chunk each: those of one payload."""
        if not isinstance(item, ModelStream):
            return _one([item])
        asking = self._refused.asking(item)
        groups = self._read(item) if asking is None else self._ask(asking)
        # A summary that is awaited must not delay the events before it.
        return _singly(groups) if self.summarizes else groups

    async def _ask(self, asking: Asking) -> AsyncGenerator[Group, None]:
        """Read a model stream whose source takes the request; ask once more after a known refusal."""
        while True:
            try:
                stream = await anyio.to_thread.run_sync(asking.next_stream)
                async with aclosing(self._read(stream)) as payloads:
                    async for items in payloads:
                        yield items
                return
            except Exception as error:
                # It builds the request once more, which takes time for long histories.
                if not await anyio.to_thread.run_sync(asking.asks_again, error):
                    raise

    def _read(self, stream: ModelStream) -> AsyncGenerator[Group, None]:
        """Open, read and close a model stream; yield the items of each payload, or frames."""
        reader = reading(self.run, stream)
        return self.watched_request(stream, reader, self._payloads(stream, reader))

    async def _payloads(self, stream: ModelStream, reader: PayloadReader) -> AsyncGenerator[Group, None]:
        with self.explaining(stream, reader):
            async with open_source(stream.source) as payloads:
                if isinstance(payloads, WholeResponse):
                    yield reader.whole(payloads.response)
                    return
                payload = await anext(payloads, END)
                while payload is not END:
                    yield reader.receive(payload)
                    if (growth := self.growth(reader, payloads)) is None:
                        payload = await anext(payloads, END)
                    else:
                        yield growth
                        payload = growth.left()
        yield reader.close()

    async def _take_all(self, items: Sequence[Any]) -> tuple[Any, Exception | None]:
        """Like `show_all`, but awaits summaries."""
        chunks: list[Any] = []
        try:
            for item in items:
                chunks.append(await self._take(item))  # noqa: PERF401 -- keep those before an error
        except Exception as error:
            return self.sink.join(chunks), error
        return self.sink.join(chunks), None

    async def _take(self, item: Any) -> Any:
        """Return the chunk of an item other than a model stream; awaits its summaries."""
        if isinstance(item, Interrupt) or not self.summarizes or self.run.terminal is not None:
            return self.show(item)
        self._settling = self.run.receiving(item)
        events = await _settled(self._settling)
        self._settling = None
        return self.sink.write(events)

    def _unshown(self) -> list[Event]:
        """Return the events after a summary that was not made, because the run was closed meanwhile."""
        settling, self._settling = self._settling, None
        return [] if settling is None else _settled_without(settling)


async def _settled(settling: Settling[list[Event]]) -> list[Event]:
    """Run a generator to its end, and await what it yields."""
    try:
        awaited = next(settling)
        while True:
            try:
                made = await awaited
            except Exception as error:
                awaited = settling.throw(error)
            else:
                awaited = settling.send(made)
    except StopIteration as done:
        events: list[Event] = done.value
        return events


def _settled_without(settling: Settling[list[Event]]) -> list[Event]:
    """Run a generator that waits for a summary to its end, as if each had failed."""
    if inspect.getgeneratorstate(settling) != inspect.GEN_SUSPENDED:
        return []  # it failed
    try:
        while True:
            settling.throw(InterruptedError())
    except StopIteration as done:
        events: list[Event] = done.value
        return events


async def _one(item: _T) -> AsyncGenerator[_T, None]:
    yield item


async def _singly(groups: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    async with aclosing(groups):
        async for group in groups:
            for one in group:
                yield [one]


# -- the loop of an agent with tools: ask the model, run its calls, ask again


Turn: TypeAlias = Callable[[Run], AsyncGenerator[AgentItem, None]]
"""Asks the model once: an async generator of items, like an agent."""


def tool_loop(
    turn: Turn, tools: Mapping[str, Callable[..., Any]]
) -> Callable[[Run], AsyncIterator[AgentItem]]:
    """Return an agent that asks a model, runs the tools that it calls, and asks again until it calls none.

    Calls of other tools are the front end's: the run ends with them, when the agent's own have their results.

    Args:
        turn: Asks the model once: an async generator that takes the run and yields a `ModelStream`.
        tools: The functions by the names of the tools. They take the arguments of a call by name, and return
            text or AG-UI content parts; anything else is told as JSON. Those that are not ``async`` run in a
            worker thread. An exception ends the run.
    """

    async def agent(run: Run) -> AsyncIterator[AgentItem]:
        while True:
            async with aclosing(turn(run)) as items:
                async for item in items:
                    yield item
            called = [call for call in run.pending_calls if call.name in tools]
            for call in called:
                with watching_tool(call):
                    result = await _result(tools[call.name], call)
                yield result
            if not called or run.pending_calls:
                return

    return agent


async def _result(tool: Callable[..., Any], call: ToolCallPart) -> ToolResultPart:
    arguments = call.args
    if iscoroutinefunction(tool):
        told = await tool(**arguments)
    else:
        told = await anyio.to_thread.run_sync(lambda: tool(**arguments))
        told = await told if isawaitable(told) else told
    return ToolResultPart(call.id, told if isinstance(told, str | list) else dump(told))
