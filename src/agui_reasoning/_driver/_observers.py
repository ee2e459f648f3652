"""What may watch all runs of a process from outside: see `agui_reasoning.telemetry`.

A watch steps a generator of the run itself, so that it can note the time, and set the context in which each
step runs. Without one, nothing of it is called.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from agui_reasoning.parts import Origin, ToolCallPart

if TYPE_CHECKING:
    from agui_reasoning._driver._driver import Driver

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


def watch_of(driver: Driver) -> RunWatch | None:
    """Return what watches a run."""
    return None if _observer is None else _observer.run(driver)


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
