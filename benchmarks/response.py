"""The cost of a response per frame, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.responses import Response, StreamingResponse

from agui_reasoning.asgi import AGUIResponse
from benchmarks.harness import Effort, Figure, Path, at_most, ratios

__all__ = ["PATH"]

_FRAME = b'data: {"type":"REASONING_MESSAGE_CONTENT","messageId":"m1","delta":"wind and"}\n\n'


class _Ready:
    """A stream of events whose frames are ready."""

    def __init__(self, count: int) -> None:
        self._frames = [_FRAME] * count

    async def frames(self) -> AsyncIterator[bytes]:
        """Yield the frames."""
        for frame in self._frames:
            yield frame

    async def aclose(self) -> None:
        """Close the stream."""


def _responses(make: Callable[[], Response]) -> Callable[[], None]:
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "asgi": {"spec_version": "2.4"}}

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    return lambda: asyncio.run(make()(scope, receive, send))


def _measure(effort: Effort) -> Iterator[Figure]:
    ready: Any = _Ready(effort.size(20_000))
    ours = _responses(lambda: AGUIResponse(ready))
    theirs = _responses(lambda: StreamingResponse(ready.frames(), media_type="text/event-stream"))
    yield Figure("per frame", "×", ratios(ours, theirs, effort), at_most(4))


PATH = Path("`AGUIResponse` over ready frames: in the time of a bare Starlette `StreamingResponse`", _measure)
