"""Opens, reads and closes the source of a `ModelStream`, asynchronously or synchronously.

Vendor SDKs return streams in many forms: an iterable, an awaitable of one, a context manager around one, a
mapping that contains one, each also in a synchronous form. Every source is closed exactly once, even if its
reader was cancelled or stopped early.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, is_dataclass
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread
from pydantic import BaseModel

from agui_reasoning.errors import ConfigurationError

CLOSE_WITHIN_S: Final = 5.0
"""How long closing a provider's stream may take, in seconds; then it is left to the garbage collector."""

_log = logging.getLogger("agui_reasoning")
END: Final = object()
"""What stands for a payload if there are no more."""
_NO_LOOP: Final = re.compile("event loop|async (context|library)")
"""The errors of asyncio, trio and sniffio in a thread without an event loop."""


@dataclass(frozen=True, slots=True)
class WholeResponse:
    """A source that is a whole response, not a stream."""

    response: Any


def takes_request(source: Any) -> bool:
    """Return whether a source is a callable with exactly one required positional argument, the request."""
    if not _is_function(source):
        return False
    required = _required(source, follow_wrapped=True)
    return sum(parameter.kind is not parameter.KEYWORD_ONLY for parameter in required) == 1


def _required(source: Callable[..., Any], *, follow_wrapped: bool) -> list[inspect.Parameter]:
    """Return the required parameters of a callable, as far as it tells them."""
    try:
        parameters = inspect.signature(source, follow_wrapped=follow_wrapped).parameters.values()
    except (TypeError, ValueError):  # some callables of extension modules have none
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [given for given in parameters if given.default is given.empty and given.kind not in variadic]


def _check_callable(source: Callable[..., Any]) -> None:
    """Refuse a callable that requires more than the request, which is bound already.

    A decorator may pass arguments of its own, so its function counts, not the one that it wraps.
    """
    required = _required(source, follow_wrapped=False)
    if required:
        names = ", ".join(parameter.name for parameter in required)
        raise ConfigurationError(
            f"The source requires the arguments {names}, but it is called without any, or with the request "
            "as its only required positional argument.",
            code="bad_source",
            hint="Bind other arguments with `functools.partial`, or give them defaults.",
        )


def discard(source: Any) -> None:
    """Discard a source that was never opened; coroutines are closed, because they would otherwise warn."""
    if inspect.iscoroutine(source):
        source.close()


@asynccontextmanager
async def open_source(source: Any) -> AsyncIterator[AsyncIterator[Any] | WholeResponse]:
    """Open a source, and close it at the end of the block, shielded from cancellation.

    Synchronous sources are called, read and closed in worker threads. A thread that waits for a payload
    cannot be interrupted: cancellation takes effect when the payload arrives. A source that was not read to
    its end is also cancelled, if it has ``cancel`` but not ``aclose``.

    Raises:
        ConfigurationError: The source cannot be read or requires arguments (``bad_source``), or is a callable
            that needs the event loop, which worker threads do not have (``needs_event_loop``).
    """
    async with AsyncExitStack() as stack:
        opened = await _called(source) if _is_function(source) else source
        while inspect.isawaitable(opened):
            opened = await opened
        opened = _stream_of(opened)
        entered = await _enter(opened, stack)
        payloads = _payloads(entered)
        if payloads is not entered and (close := getattr(payloads, "aclose", None)):
            # Many SDK streams are iterated by an inner generator, which must be closed as well.
            stack.push_async_exit(_shielded(lambda *why: close()))
        if cancel := _cancel_of(opened):
            stack.push_async_exit(_shielded(lambda *why: _stop(opened, cancel, *why)))
        yield payloads


async def _called(source: Callable[[], Any]) -> Any:
    """Call a source; one that is not ``async`` may block, so it is called in a thread."""
    _check_callable(source)
    if inspect.iscoroutinefunction(source):
        return source()
    try:
        return await in_thread(source)
    except RuntimeError as error:
        if _NO_LOOP.search(str(error)) is None:
            raise
        raise ConfigurationError(
            "The source needs the event loop, but plain callables are called in worker threads.",
            code="needs_event_loop",
            hint="Write it as `async def source(): return …`, which is called in the event loop.",
        ) from error


async def _enter(opened: Any, stack: AsyncExitStack) -> Any:
    """Enter a context manager, or register the closing of another source."""
    kind = type(opened)
    if hasattr(kind, "__aenter__"):
        entered = await opened.__aenter__()
        stack.push_async_exit(_shielded(opened.__aexit__))
        return entered
    if hasattr(kind, "__enter__"):
        entered = await in_thread(opened.__enter__)
        stack.push_async_exit(_shielded(lambda *why: in_thread(lambda: opened.__exit__(*why))))
        return entered
    close = getattr(opened, "aclose", None) or getattr(opened, "close", None)
    if close is not None:
        stack.push_async_exit(_shielded(partial(_leave, opened, close), opened))
    return opened


async def _leave(opened: Any, leave: Callable[[], Any], *_: Any) -> None:
    """Close an asynchronous source on the event loop, and a synchronous one in a thread."""
    result = leave() if hasattr(type(opened), "__aiter__") else await in_thread(leave)
    if inspect.isawaitable(result):
        await result


async def _stop(opened: Any, cancel: Callable[[], Any], why: type[BaseException] | None, *_: Any) -> None:
    if why is not None:
        await _leave(opened, cancel)


def _cancel_of(opened: Any) -> Callable[[], Any] | None:
    """Return the ``cancel`` of a source that would continue without its reader.

    Examples are the run of an agent framework and a gRPC call. Sources with ``aclose`` and context managers
    stop when they are closed.
    """
    if _has(opened, "aclose", "__aenter__", "__enter__"):
        return None
    cancel: Callable[[], Any] | None = getattr(opened, "cancel", None)
    return cancel if callable(cancel) else None


def _shielded(leave: Callable[..., Awaitable[Any]], source: object = None) -> Callable[..., Awaitable[bool]]:
    """Wrap a closing function: limit its time, shield it from cancellation, and only log its failure.

    It is not called for a generator that has ended: nothing is left to close.
    """

    async def exit_source(*why: Any) -> bool:
        if inspect.isasyncgen(source) and source.ag_frame is None:
            return False
        with anyio.move_on_after(CLOSE_WITHIN_S, shield=True) as scope:
            try:
                await leave(*why)
            except Exception as error:
                # The message and the context of the error may contain payloads.
                _log.warning("The provider's stream could not be closed (%s).", type(error).__name__)
        if scope.cancelled_caught:
            _log.warning("The provider's stream did not close within %s seconds.", CLOSE_WITHIN_S)
        return False

    return exit_source


@dataclass(slots=True, repr=False)
class _Box:
    """The result of a function in a thread, or its error.

    Trio rejects functions that return an awaitable, as many callables do, and asyncio's debug mode logs the
    ``repr`` of values passed between threads. Frames that the traceback of an error refers to keep what a
    thread returned or raised: so an error is taken out, or it would stay until a garbage collection.
    """

    value: Any = None
    error: Exception | None = None


def _boxed(function: Callable[[], Any]) -> _Box:
    try:
        return _Box(function())
    except Exception as error:
        return _Box(error=error)


async def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a worker thread; it may return an awaitable.

    The error of a function that fails is raised here: in the thread, asyncio would keep it in a cycle.
    """
    box = await anyio.to_thread.run_sync(_boxed, function)
    if box.error is None:
        return box.value
    error, box.error = box.error, None
    try:
        raise error
    finally:
        del error


def _stream_of(opened: Any) -> Any:
    """Return the stream in a mapping of boto3; a whole response does not contain one."""
    if not isinstance(opened, Mapping):
        return opened
    stream = opened.get("stream")
    holds_one = _is_iterable(stream) or hasattr(type(stream), "__aiter__")
    return stream if holds_one and not isinstance(stream, Mapping) else opened


def _is_whole(opened: Any) -> bool:
    """Return whether this is a response: JSON, a model of an SDK, or a wrapped protocol buffer.

    The results of agent frameworks are dataclasses.
    """
    if isinstance(opened, BaseModel | Mapping) or hasattr(opened, "proto"):
        return True
    return is_dataclass(opened) and not _is_iterable(opened)


def _payloads(opened: Any) -> AsyncIterator[Any] | WholeResponse:
    if hasattr(type(opened), "__aiter__"):
        stream: AsyncIterator[Any] = opened.__aiter__()
        return stream
    if _is_whole(opened):
        return WholeResponse(opened)
    if _is_iterable(opened):
        return _Listed(opened) if isinstance(opened, list | tuple) else InThreads(opened)
    raise _bad_source(opened)


# Classes, not generators: an unfinished generator would have to be closed as well.


class _Listed:
    """Iterates over payloads that are already available."""

    def __init__(self, payloads: Iterable[Any]) -> None:
        self._iterator = iter(payloads)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        for payload in self._iterator:
            return payload
        raise StopAsyncIteration


class InThreads:
    """Iterates over a synchronous iterable in worker threads."""

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._iterator = iter(iterable)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        item = await in_thread(lambda: next(self._iterator, END))
        if item is END:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close the iterator, shielded from cancellation; further calls do nothing."""
        if close := getattr(self._iterator, "close", None):
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(close)


@contextmanager
def open_source_sync(source: Any) -> Iterator[Iterator[Any] | WholeResponse]:
    """Open a synchronous source, and close it at the end of the block.

    Raises:
        ConfigurationError: The source is asynchronous (``async_source``), or cannot be read or requires
            arguments (``bad_source``).
    """
    with ExitStack() as stack:
        if _is_function(source):
            _check_callable(source)
            source = source()
        opened = _stream_of(source)
        if _is_async(opened):
            discard(opened)
            raise ConfigurationError(
                f"{type(opened).__name__} is asynchronous, but the run is synchronous.",
                code="async_source",
                hint="Use agui_reasoning.aio, or the SDK's synchronous client.",
            )
        yield _sync_payloads(_enter_sync(opened, stack))


def _enter_sync(opened: Any, stack: ExitStack) -> Any:
    if hasattr(type(opened), "__enter__"):
        return stack.enter_context(opened)
    if close := getattr(opened, "close", None):
        stack.callback(close)
    if cancel := _cancel_of(opened):
        stack.push(lambda why, *_: _stop_sync(cancel, why))
    return opened


def _stop_sync(cancel: Callable[[], Any], why: type[BaseException] | None) -> None:
    """Cancel a source that was not read to its end, ignoring the result, which could suppress exceptions."""
    if why is not None:
        cancel()


def _sync_payloads(opened: Any) -> Iterator[Any] | WholeResponse:
    if _is_whole(opened):
        return WholeResponse(opened)
    if _is_iterable(opened):
        payloads: Iterator[Any] = iter(opened)
        return payloads
    raise _bad_source(opened)


_SYNC: Final = ("__enter__", "__iter__")
_ASYNC: Final = ("__aenter__", "__aiter__")


def _is_function(source: Any) -> bool:
    """Return whether to call a source; one that can be opened or iterated is not called.

    The context managers of `contextlib` are callable, because they are also decorators.
    """
    return callable(source) and not (inspect.isawaitable(source) or _has(source, *_SYNC, *_ASYNC))


def _is_async(source: Any) -> bool:
    """Return whether a source can only be read asynchronously; LiteLLM's streams can be read either way."""
    return inspect.isawaitable(source) or (_has(source, *_ASYNC) and not _has(source, *_SYNC))


def _has(source: Any, *names: str) -> bool:
    return any(hasattr(type(source), name) for name in names)


def _is_iterable(source: Any) -> bool:
    return hasattr(type(source), "__iter__") and not isinstance(source, str | bytes | bytearray)


def _bad_source(opened: Any) -> ConfigurationError:
    return ConfigurationError(
        f"{type(opened).__name__} is not a stream of payloads or a response.",
        code="bad_source",
        hint="Pass the SDK's stream, an awaitable or a context manager of it, or a callable that returns it.",
    )
