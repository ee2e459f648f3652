"""Joins the chunks of a stream that are ready together, without waiting and without a task of its own.

An awaitable is stepped by hand: what it does before it first waits is ready. While a step waits, its task
awaits nothing else, because the task is inside of what the step has entered, such as a cancel scope.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from contextlib import suppress
from typing import Any, Final

_MAX_JOINED_BYTES: Final = 65_536
_MAX_PATIENCE: Final = 15


class Rest:
    """The rest of an awaitable that was started by hand, and waits."""

    __slots__ = ("_steps", "_waits_for")

    def __init__(self, steps: Any, waits_for: Any) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            while True:
                try:
                    sent = yield self._waits_for
                except BaseException as error:
                    self._waits_for = self._steps.throw(error)
                else:
                    self._waits_for = self._steps.send(sent)
        except StopIteration as done:
            return done.value

    async def aclose(self) -> None:
        """Close what waits, as a generator is closed."""
        with suppress(GeneratorExit, StopIteration, StopAsyncIteration):
            self._waits_for = self._steps.throw(GeneratorExit())
            await self


def started(awaitable: Awaitable[Any]) -> Any:
    """Start an awaitable; return its result, or its `Rest` if it waits."""
    steps: Any = awaitable.__await__()
    try:
        waits_for = steps.send(None)
    except StopIteration as done:
        return done.value
    return Rest(steps, waits_for)


class ReadyChunks:
    """The chunks of a stream, each with those that are ready after it.

    To look for a chunk when there is one to send costs more than to wait for it, so that is done only after a
    chunk that was ready together with another. To find out which are costs a little, too: it is done seldom
    where each chunk comes alone.

    Attributes:
        rest: The next chunk, while it is waited for.
    """

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks
        self._end: Exception | None = None
        self._together = 0
        """How many chunks came since one was waited for, with that one."""
        self._looks = False
        self._skipped = self._patience = 0
        """How many chunks were just waited for, and how many have to be until the next is started by hand."""
        self.rest: Rest | None = None

    @property
    def starts_next(self) -> bool:
        """Whether to call `next_or_ready`. Do not call that on trio.

        There, what a task waits for is noted in the task before the step says that it waits.
        """
        if self._skipped >= self._patience or self._looks:
            self._skipped = 0
            return True
        self._skipped += 1
        return False

    def next(self) -> Awaitable[bytes]:
        """Return what returns the next chunk, and raises ``StopAsyncIteration`` at the end."""
        end, self._end = self._end, None
        if end is not None:
            try:
                raise end
            finally:
                del end  # its traceback refers to this frame
        rest, self.rest = self.rest, None
        return self._chunks.__anext__() if rest is None else self._waited(rest)

    def next_or_ready(self) -> Awaitable[bytes] | bytes:
        """Like `next`, but return the chunk itself if it is ready."""
        if self.rest is not None or self._end is not None:
            return self.next()
        chunk = started(self._chunks.__anext__())
        if isinstance(chunk, Rest):
            return self._waited(chunk)
        self._looks = self._together > 0
        self._together += 1
        return chunk  # type: ignore[no-any-return]

    def _waited(self, rest: Rest) -> Rest:
        self._looks = self._together != 1
        self._together = 1
        self._patience = 0 if self._looks else min(2 * self._patience + 1, _MAX_PATIENCE)
        return rest

    def joined(self, chunk: bytes) -> bytes:
        """Return a chunk with those that are ready after it, if there may be any."""
        if not self._looks:
            return chunk
        chunks, size = [chunk], len(chunk)
        while size < _MAX_JOINED_BYTES and (ready := self._ready()) is not None:
            chunks.append(ready)
            size += len(ready)
        self._together += len(chunks) - 1
        return b"".join(chunks)

    def _ready(self) -> bytes | None:
        try:
            chunk = started(self._chunks.__anext__())
        except StopAsyncIteration:
            self._end = StopAsyncIteration()
        except Exception as error:
            self._end = error  # raised when the chunks before it have been sent
        else:
            if not isinstance(chunk, Rest):
                return chunk  # type: ignore[no-any-return]
            self.rest = chunk
        return None

    async def aclose(self) -> None:
        """Close the stream, even while its next chunk is waited for."""
        rest, self.rest = self.rest, None
        if rest is not None:
            await rest.aclose()
        await close(self._chunks)


async def close(stream: Any) -> None:
    """Close a stream, if it can be closed."""
    if aclose := getattr(stream, "aclose", None):
        await aclose()
