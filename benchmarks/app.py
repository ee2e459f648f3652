"""The application that `server` measures: one run, served by this library and in the official way.

``GET /cpu`` returns the CPU time that the server has used, in seconds, without that of parsing payloads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

from ag_ui.core import (
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from ag_ui.encoder import EventEncoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from agui_reasoning.aio import stream_run
from agui_reasoning.asgi import AGUIResponse
from benchmarks.harness import cpu_time
from benchmarks.streams import STREAMS, Payload, parsed
from benchmarks.texts import pieces

__all__ = ["app"]

_API = "anthropic-messages"
_STREAM = STREAMS[_API]


@cache
def _payloads(deltas: int) -> Callable[[], Iterator[Payload]]:
    return parsed(_STREAM.payloads(pieces(deltas)))


async def _source(request: Request) -> AsyncIterator[Payload]:
    """Yield payloads that have just been parsed, as many per turn of the event loop as one read brings."""
    deltas, per_read = (int(request.query_params[name]) for name in ("deltas", "per_read"))
    for number, payload in enumerate(_payloads(deltas)()):
        if number % per_read == 0:
            await asyncio.sleep(0)
        yield payload


async def _ours(request: Request) -> AGUIResponse:
    run_input = await request.json()
    return AGUIResponse(stream_run(run_input, _source(request), api=_API, model=_STREAM.model))


async def _official(request: Request) -> StreamingResponse:
    run_input = RunAgentInput.model_validate(await request.json())
    events = _official_events(run_input, _source(request))
    return StreamingResponse(events, media_type="text/event-stream")


async def _official_events(run_input: RunAgentInput, source: AsyncIterator[Any]) -> AsyncIterator[str]:
    """Yield the events as the examples of the official SDK do: construct each, and yield its encoding."""
    encode = EventEncoder().encode
    thread, run = run_input.thread_id, run_input.run_id
    yield encode(RunStartedEvent(thread_id=thread, run_id=run))
    yield encode(ReasoningStartEvent(message_id="s1"))
    yield encode(ReasoningMessageStartEvent(message_id="m1", role="reasoning"))
    answering = False
    async for payload in source:
        delta = payload.get("delta", {})
        if text := delta.get("thinking"):
            yield encode(ReasoningMessageContentEvent(message_id="m1", delta=text))
        elif text := delta.get("text"):
            if not answering:
                answering = True
                yield encode(ReasoningMessageEndEvent(message_id="m1"))
                yield encode(ReasoningEndEvent(message_id="s1"))
                yield encode(TextMessageStartEvent(message_id="m2", role="assistant"))
            yield encode(TextMessageContentEvent(message_id="m2", delta=text))
    yield encode(TextMessageEndEvent(message_id="m2"))
    yield encode(RunFinishedEvent(thread_id=thread, run_id=run))


async def _cpu(request: Request) -> PlainTextResponse:
    return PlainTextResponse(repr(cpu_time()))


app = Starlette(
    routes=[
        Route("/ours", _ours, methods=["POST"]),
        Route("/official", _official, methods=["POST"]),
        Route("/cpu", _cpu),
    ]
)
