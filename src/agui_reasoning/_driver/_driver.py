"""Drives a run from its first event to its last: what `agui_reasoning.aio` and the synchronous code share."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

import anyio
from ag_ui.core import BaseEvent, Event, Interrupt, RunAgentInput

from agui_reasoning._driver._failures import Explanation, FailureLog, explain, explain_elsewhere, is_own_error
from agui_reasoning._driver._sources import in_thread
from agui_reasoning._driver._streams import (
    AgentItem,
    Growth,
    ModelStream,
    PayloadReader,
    origin_of,
    target_of,
)
from agui_reasoning._wire_events import Written, models_of
from agui_reasoning.deltas import DELTA_TYPES, Delta
from agui_reasoning.errors import ConfigurationError, DecodeError, ProviderError, TransportError
from agui_reasoning.parts import Origin, ToolCallPart
from agui_reasoning.run import Run
from agui_reasoning.wire import frames_of

if TYPE_CHECKING:  # imported with the first key ring
    from agui_reasoning.crypto import Fetching, KeyRing


_FAILED: Final = "The agent could not finish its answer. Please try again."
"""The message that users see if a run fails and `on_error` returns none."""

FETCH_WITHIN_S: Final = 30.0
"""How long an asynchronous key service may take for a key, in seconds; what blocks cannot be interrupted."""

_DELTAS: Final = frozenset(DELTA_TYPES)

SHUT_DOWN: Final = "The server of this agent is restarting. Please try again shortly."
"""The message that users see if the server stops during a run."""

OnError: TypeAlias = Callable[[BaseException], str | None]
"""Returns the message that users see; ``None`` for the default."""


Group: TypeAlias = Sequence[AgentItem] | Growth
"""Items that give one chunk, those of a payload, or the chunks of several payloads."""


class Driver:
    """Drives a run from its first event to its last; the shells add the iteration."""

    def __init__(self, run: Run, on_error: OnError | None = None, log: type[FailureLog] = FailureLog) -> None:
        self.run = run
        self._on_error = on_error
        self._log = log(run)
        self._explained: tuple[BaseException, Explanation] | None = None
        self._interrupts: tuple[Interrupt, ...] = ()
        self._ended = False
        self.stopped_by = "abort"
        """Who closes the run before its end, for telemetry: ``shutdown`` if it is the server."""
        self.sink = EVENTS
        """Makes the chunks of the run; may be changed between two of them."""
        self.watch = None if _observer is None else _observer.run(self)
        self.summarizes = run.summarizes

    def growth(self, reader: PayloadReader, payloads: Any) -> Growth | None:
        """Return the frames of payloads that only add text, after one that was read in full.

        Summaries and what watches a run need the items.
        """
        if self.sink is not FRAMES or self.watch is not None or self.summarizes:
            return None
        find: Callable[..., Growth | None] | None = getattr(reader, "growth", None)
        return None if find is None else find(payloads)

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
            self._interrupts += (item,)
            return self.sink.write([])
        if self.run.terminal is not None and isinstance(item, BaseEvent):
            self._ended = item is self.run.terminal
            return self.sink.write([cast("Event", item)])
        return self.sink.receive(self.run, item)

    def last_events(self) -> list[Written]:
        """Return the events that end a run after its agent, unless the agent ended it."""
        ended, self._ended = self._ended, True
        if self.run.terminal is None:
            return self.run._finish(interrupts=self._interrupts)
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

    def code_of(self, error: BaseException) -> str | None:
        """Return the code by which clients know an error, if it has one."""
        explanation = self._explanation(error)
        if explanation is not None:
            return explanation.code
        return getattr(error, "code", None) if is_own_error(error) else None

    def watched_run(self, chunks: StepsT) -> StepsT:
        """Return the chunks of the run, watched."""
        return chunks if self.watch is None else watched(self.watch, chunks)

    def watched_agent(self, items: StepsT) -> StepsT:
        """Return the items of the agent, watched."""
        return items if self.watch is None else watched(self.watch.agent(), items)

    def watched_request(self, stream: ModelStream, reader: PayloadReader, payloads: StepsT) -> StepsT:
        """Return the payloads of a model stream, watched."""
        if self.watch is None:
            return payloads
        target = None if getattr(reader, "of_framework", False) else origin_of(self.run, stream)
        return watched(self.watch.request(target), payloads)

    def report(self, error: Exception) -> None:
        """Log an error."""
        self._log.report(error, self._explanation(error))

    def left_over(self, error: BaseException) -> Sequence[Delta]:
        """Return the deltas of an error, which the run receives before it ends."""
        if isinstance(error, DecodeError | ProviderError) and self.run.terminal is None:
            return error.deltas
        return ()

    def failure(self, error: BaseException) -> list[Written]:
        """Return the events that fail the run: those that end what is open, then RUN_ERROR.

        The error's own text never reaches the client; its ``code`` does if the error is one of ours. Call
        this after the error has been handled: otherwise an error raised here would have it as context.
        """
        if self.run.terminal is not None:
            return []
        self._ended = True
        explanation, code = self._explanation(error), self.code_of(error)
        self._explained = None  # the error's traceback refers to this driver
        default = SHUT_DOWN if code == "shutdown" else _FAILED
        sentence = self._sentence(error, default if explanation is None else explanation.sentence)
        try:
            return self.run._fail(sentence, code=code)
        except Exception as second:
            self.report(second)
        # A callback failed while things were being closed. That must not keep the run from ending.
        return self.run._fail(sentence, code=code)

    def shut_down(self) -> bytes:
        """Return the frames that fail the run because the server stops. Call this after closing the run."""
        if self.run.terminal is not None:
            return frames_of(self.last_events())
        error = TransportError(
            "The server stopped before the run was over.",
            code="shutdown",
            hint="Nothing has to be done; the user can ask again.",
        )
        self.report(error)
        return frames_of([*self._unshown(), *self.failure(error)])

    def cancelled(self) -> bytes:
        """Return the frames that cancel the run. Call this after closing the run."""
        if self.run.terminal is not None:
            return frames_of(self.last_events())
        return frames_of([*self._unshown(), *self.run.cancel()])

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
    returned = "nothing" if given is None else f"an object of the type {type(given).__name__}"
    return ConfigurationError(
        f"The agent returned {returned}.", code="bad_agent", hint=f"Write it as {wanted}."
    )


@dataclass(frozen=True, slots=True)
class Sink:
    """Makes chunks: lists of events, or bytes.

    Attributes:
        receive: Returns the chunk of an item.
        write: Returns the chunk of events.
        join: Joins chunks.
    """

    receive: Callable[[Run, Any], Any]
    write: Callable[[Sequence[Written]], Any]
    join: Callable[[list[Any]], Any]


EVENTS: Final = Sink(Run.receive, models_of, lambda chunks: list(chain.from_iterable(chunks)))
FRAMES: Final = Sink(Run.frames, frames_of, b"".join)


async def hold_keys(run: Run) -> None:
    """Fetch the primary key of a run, and those that its input names; the run keeps them.

    Raises:
        TransportError: The primary key cannot be fetched (``key_unavailable``).
        ConfigurationError: It is unknown (``unknown_key``) or invalid (``bad_key``).
    """
    if run.keys is not None:
        from agui_reasoning.crypto import key_ids

        await _fetch(run.keys, key_ids(_values(run.input)))


async def fetch_keys(keys: KeyRing, kids: Iterable[str] = ()) -> KeyRing:
    """Return a ring that holds its primary key and those with these IDs; raises what `hold_keys` raises."""
    held = keys._for_run()
    await _fetch(held, kids)
    return held


async def _fetch(keys: KeyRing, kids: Iterable[str]) -> None:
    fetching = keys._fetching(kids)
    if fetching is None:
        return
    with closing(fetching):
        awaited = await in_thread(lambda: next(fetching, None))
        while awaited is not None:
            # A callable that is asynchronous does not block, so that this goes on in the event loop.
            awaited = await _next(fetching, awaited)


def hold_primary_key(run: Run) -> None:
    """Fetch the primary key of a run in synchronous code; other keys are fetched as they are needed.

    Raises what `hold_keys` raises; also ``async_keys``, if the callable is asynchronous.
    """
    fetching = None if run.keys is None else run.keys._fetching(())
    if fetching is not None:
        from agui_reasoning.crypto import at_once

        at_once(fetching)


async def _next(fetching: Fetching[None], awaited: Awaitable[Any]) -> Awaitable[Any] | None:
    from agui_reasoning.crypto import Secret

    try:
        try:
            with anyio.fail_after(FETCH_WITHIN_S):
                key = Secret(await awaited)  # no variable holds the key, because tracebacks may show it
        except Exception as error:
            return fetching.throw(error)
        return fetching.send(key)
    except StopIteration:
        return None


def _values(run_input: RunAgentInput) -> Iterator[str]:
    """Yield what may be tokens in an input, in the messages and at the top of the shared state."""
    for message in run_input.messages:
        for entity in (message, *(getattr(message, "tool_calls", None) or ())):
            if isinstance(value := getattr(entity, "encrypted_value", None), str):
                yield value
    state = run_input.state if isinstance(run_input.state, dict) else {}
    yield from (value for value in state.values() if isinstance(value, str))


# -- tasks that outlive their caller

_RUNNING: Final[set[asyncio.Task[None]]] = set()
"""The tasks of asyncio, which keeps only weak references."""


def spawn(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run an asynchronous function in a task that nobody waits for, on asyncio or trio. It must not raise."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        sys.modules["trio"].lowlevel.spawn_system_task(work)
        return
    task = loop.create_task(work())
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)


# -- what may watch all runs of a process from outside: see `agui_reasoning.telemetry`
#
# A watch steps a generator of the run itself, so that it can note the time, and set the context in which each
# step runs. Without one, nothing of it is called.

StepsT = TypeVar("StepsT")
"""A generator, synchronous or asynchronous."""


class Watch(Protocol):
    """Watches a generator. Each step runs inside of it, as in a ``with`` block."""

    def __enter__(self) -> object:
        """Begin a step."""

    def __exit__(self, *raised: object) -> None:
        """End a step."""

    def begin(self) -> None:
        """Note that the first step begins."""

    def saw(self, step: Any) -> None:
        """Note what a step returned."""

    def end(self, error: BaseException | None = None) -> None:
        """Note that there are no more steps."""


class RunWatch(Watch, Protocol):
    """Watches a run, by its chunks."""

    def agent(self) -> Watch:
        """Watch the agent, by the items that it yields."""

    def request(self, target: Origin | None) -> Watch:
        """Watch one request, by the items of each payload.

        ``target`` is ``None`` if the stream is that of an agent framework, which may ask models many times.
        """


class Observer(Protocol):
    """Watches all runs."""

    def run(self, driver: Driver) -> RunWatch:
        """Watch a run, which has not started."""

    def tool(self, call: ToolCallPart) -> AbstractContextManager[None]:
        """Watch a tool of the current run, while the block runs."""


_observer: Observer | None = None


def observe(observer: Observer | None) -> None:
    """Have all runs that are created from now on watched; ``None`` for not any more."""
    global _observer
    _observer = observer


def watching_tool(call: ToolCallPart) -> AbstractContextManager[None]:
    """Watch a tool while the block runs."""
    return nullcontext() if _observer is None else _observer.tool(call)


def watched(watch: Watch, steps: StepsT) -> StepsT:
    """Return the steps of a generator, watched."""
    each = _each_async if hasattr(steps, "__anext__") else _each
    return cast("StepsT", each(watch, cast("Any", steps)))


async def _each_async(watch: Watch, steps: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    watch.begin()
    try:
        while True:
            with watch:
                step = await steps.__anext__()
            watch.saw(step)
            yield step
    except StopAsyncIteration:
        watch.end()
    except BaseException as error:
        with watch:
            await steps.aclose()
        watch.end(error)
        raise


def _each(watch: Watch, steps: Generator[Any, None, None]) -> Generator[Any, None, None]:
    watch.begin()
    try:
        while True:
            with watch:
                step = next(steps)
            watch.saw(step)
            yield step
    except StopIteration:
        watch.end()
    except BaseException as error:
        with watch:
            steps.close()
        watch.end(error)
        raise
