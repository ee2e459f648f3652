"""Opening, reading and closing what a `ModelStream` names, asynchronously and synchronously.

Vendor SDKs give streams in many forms: an object to iterate, an awaitable of one, a context manager around
one, each in a synchronous kind too. Whatever it is, it is closed exactly once, also when closing happens
because the reader was cancelled or left.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
import anyio.to_thread
from pydantic import BaseModel

from agui_reasoning.errors import ConfigurationError

__all__ = ["InThreads", "Whole", "discard", "open_source", "open_source_sync"]

CLOSE_WITHIN_S: Final = 5.0
"""How long closing a provider's stream may take, in seconds; then it is left to the garbage collector."""

_log = logging.getLogger("agui_reasoning")
_END: Final = object()


@dataclass(frozen=True, slots=True)
class Whole:
    """The source was a whole response, not a stream."""

    response: Any


def discard(source: Any) -> None:
    """Drop a source that was never opened; a coroutine that nobody awaits would warn."""
    if inspect.iscoroutine(source):
        source.close()


@asynccontextmanager
async def open_source(source: Any) -> AsyncIterator[AsyncIterator[Any] | Whole]:
    """Open a source; it is closed when the block is left, shielded from cancellation.

    Synchronous sources are called, read and closed in worker threads. A thread that waits for a payload
    cannot be interrupted: cancellation takes effect when the payload is there.

    Raises:
        ConfigurationError: It is nothing that can be read (``bad_source``).
    """
    async with AsyncExitStack() as stack:
        opened = source
        if _is_function(source):
            opened = source() if inspect.iscoroutinefunction(source) else await _in_thread(source)
        while inspect.isawaitable(opened):
            opened = await opened
        entered = await _enter(opened, stack)
        payloads = _payloads(entered)
        if payloads is not entered and (close := getattr(payloads, "aclose", None)):
            # Many SDK streams are iterated through a generator of theirs, which must be closed, too.
            stack.push_async_exit(_shielded(lambda *why: close()))
        yield payloads


async def _enter(opened: Any, stack: AsyncExitStack) -> Any:
    """Enter a context manager, or see to it that the source is closed."""
    kind = type(opened)
    if hasattr(kind, "__aenter__"):
        entered = await opened.__aenter__()
        stack.push_async_exit(_shielded(opened.__aexit__))
        return entered
    if hasattr(kind, "__enter__"):
        entered = await _in_thread(opened.__enter__)
        stack.push_async_exit(_shielded(lambda *why: _in_thread(lambda: opened.__exit__(*why))))
        return entered
    close = getattr(opened, "aclose", None) or getattr(opened, "close", None)
    if close is not None:
        stack.push_async_exit(_shielded(lambda *why: _call(close)))
    return opened


async def _call(close: Callable[[], Any]) -> None:
    if inspect.iscoroutinefunction(close) or close.__name__ == "aclose":
        await close()
        return
    result = await _in_thread(close)
    if inspect.isawaitable(result):
        await result


def _shielded(leave: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[bool]]:
    """Close whatever happens, for a limited time; a source that fails to close does not fail the run."""

    async def exit_source(*why: Any) -> bool:
        with anyio.move_on_after(CLOSE_WITHIN_S, shield=True) as scope:
            try:
                await leave(*why)
            except Exception as error:
                # Its words may quote what was read, and what it was raised in the middle of may, too.
                _log.warning("The provider's stream could not be closed (%s).", type(error).__name__)
        if scope.cancelled_caught:
            _log.warning("The provider's stream did not close within %s seconds.", CLOSE_WITHIN_S)
        return False

    return exit_source


@dataclass(frozen=True, slots=True, repr=False)
class _Box:
    """What a thread gives back.

    Trio refuses a function that returns an awaitable, which is what many callables do; and asyncio's debug
    mode logs the ``repr`` of what passes between threads.
    """

    value: Any


async def _in_thread(function: Callable[[], Any]) -> Any:
    return (await anyio.to_thread.run_sync(lambda: _Box(function()))).value


def _payloads(opened: Any) -> AsyncIterator[Any] | Whole:
    if hasattr(type(opened), "__aiter__"):
        stream: AsyncIterator[Any] = opened.__aiter__()
        return stream
    if isinstance(opened, BaseModel | Mapping):
        return Whole(opened)
    if _is_iterable(opened):
        return _Listed(opened) if isinstance(opened, list | tuple) else InThreads(opened)
    raise _bad_source(opened)


# Classes and not generators: a generator that is not exhausted would have to be closed, too.


class _Listed:
    """Payloads that are there already."""

    def __init__(self, payloads: Iterable[Any]) -> None:
        self._iterator = iter(payloads)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        for payload in self._iterator:
            return payload
        raise StopAsyncIteration


class InThreads:
    """A synchronous iterable, read in worker threads."""

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._iterator = iter(iterable)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        item = await _in_thread(lambda: next(self._iterator, _END))
        if item is _END:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close the iterator, shielded from cancellation; a second closing does nothing."""
        if close := getattr(self._iterator, "close", None):
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(close)


@contextmanager
def open_source_sync(source: Any) -> Iterator[Iterator[Any] | Whole]:
    """Open a synchronous source; it is closed when the block is left.

    Raises:
        ConfigurationError: It is asynchronous (``async_source``), or nothing that can be read
            (``bad_source``).
    """
    with ExitStack() as stack:
        opened = source() if _is_function(source) else source
        if _is_async(opened):
            discard(opened)
            raise ConfigurationError(
                f"{type(opened).__name__} is asynchronous, and this run is not.",
                code="async_source",
                hint="Use agui_reasoning.aio, or the SDK's synchronous client.",
            )
        yield _sync_payloads(_enter_sync(opened, stack))


def _enter_sync(opened: Any, stack: ExitStack) -> Any:
    if hasattr(type(opened), "__enter__"):
        return stack.enter_context(opened)
    if close := getattr(opened, "close", None):
        stack.callback(close)
    return opened


def _sync_payloads(opened: Any) -> Iterator[Any] | Whole:
    if isinstance(opened, BaseModel | Mapping):
        return Whole(opened)
    if _is_iterable(opened):
        payloads: Iterator[Any] = iter(opened)
        return payloads
    raise _bad_source(opened)


def _is_function(source: Any) -> bool:
    """Whether to call it: what can be opened or iterated is not called, even if it can be.

    The context managers that `contextlib` makes are callable, because they are decorators too.
    """
    opens = hasattr(type(source), "__enter__") or _is_async(source) or _is_iterable(source)
    return callable(source) and not opens


def _is_async(source: Any) -> bool:
    return inspect.isawaitable(source) or any(
        hasattr(type(source), name) for name in ("__aiter__", "__aenter__")
    )


def _is_iterable(source: Any) -> bool:
    return hasattr(type(source), "__iter__") and not isinstance(source, str | bytes | bytearray)


def _bad_source(opened: Any) -> ConfigurationError:
    return ConfigurationError(
        f"{type(opened).__name__} is neither a stream of payloads nor a response.",
        code="bad_source",
        hint="Pass the SDK's stream, an awaitable or a context manager of it, or a callable that returns it.",
    )
