"""What servers do per delta: this library, the official encoder, and pydantic-ai's adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from ag_ui.encoder import EventEncoder

from agui_reasoning import stream_run
from benchmarks.harness import UnavailableError, fresh
from benchmarks.streams import Payload, ProviderStream

__all__ = [
    "OFFICIAL",
    "adapt",
    "drive",
    "native_events",
    "official",
    "run_input",
    "serve_payloads",
]


def run_input() -> dict[str, Any]:
    """Return the input of a run without messages."""
    return {
        "threadId": "thread-1",
        "runId": "run-1",
        "state": {},
        "messages": [],
        "tools": [],
        "context": [],
        "forwardedProps": {},
        "protocolVersion": "1.0",
    }


# -- The official way

OFFICIAL: dict[str, Callable[[str], BaseEvent]] = {
    "reasoning": lambda text: ReasoningMessageContentEvent(message_id="m1", delta=text),
    "text": lambda text: TextMessageContentEvent(message_id="m1", delta=text),
    "arguments": lambda text: ToolCallArgsEvent(tool_call_id="c1", delta=text),
}
"""Construct the official event of a piece of content."""


def official(kind: str, texts: Sequence[str]) -> Callable[[], None]:
    """Return the official way to write pieces of content: construct the event, then `EventEncoder.encode`."""
    encode = EventEncoder().encode
    event = OFFICIAL[kind]

    def write() -> None:
        for text in texts:
            encode(event(text))

    return write


# -- pydantic-ai


@cache
def _pydantic_ai() -> Any:
    try:
        from pydantic_ai import messages
        from pydantic_ai.ui.ag_ui import AGUIEventStream
    except ImportError:
        raise UnavailableError("pydantic-ai-slim is not installed") from None
    return messages, AGUIEventStream


def native_events(texts: Sequence[str]) -> Iterator[Any]:
    """Yield the events that pydantic-ai's adapter turns into AG-UI, just made: half reasoning, half text.

    Raises:
        UnavailableError: pydantic-ai is not installed.
    """
    messages, _ = _pydantic_ai()
    half = len(texts) // 2
    thinking = messages.ThinkingPart("")
    answer = messages.TextPart("")

    def thought(text: str) -> Any:
        return messages.PartDeltaEvent(index=0, delta=messages.ThinkingPartDelta(content_delta=text))

    def said(text: str) -> Any:
        return messages.PartDeltaEvent(index=1, delta=messages.TextPartDelta(content_delta=text))

    yield messages.PartStartEvent(index=0, part=thinking)
    yield from fresh(texts[:half], thought)
    yield messages.PartEndEvent(index=0, part=thinking, next_part_kind="text")
    yield messages.PartStartEvent(index=1, part=answer, previous_part_kind="thinking")
    yield from fresh(texts[half:], said)
    yield messages.PartEndEvent(index=1, part=answer)


def adapt(texts: Sequence[str]) -> Callable[[], int]:
    """Return pydantic-ai's adapter alone, on the same deltas: its native events → encoded strings.

    Raises:
        UnavailableError: pydantic-ai is not installed.
    """
    _, stream_type = _pydantic_ai()

    async def source() -> AsyncIterator[Any]:
        for event in native_events(texts):
            yield event

    async def encode() -> int:
        stream = stream_type(ag_ui_version="1.0.0")
        size = 0
        async for text in stream.encode_stream(stream.transform_stream(source())):
            size += len(text)
        return size

    return lambda: drive(encode())


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never waits, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the coroutine waited")


# -- This library


def serve_payloads(api: str, stream: ProviderStream, payloads: Iterable[Payload]) -> int:
    """Serve one run of an API as an application does: payloads → bytes, from RUN_STARTED to RUN_FINISHED."""
    events = stream_run(
        run_input(), payloads, api=api, provider=stream.provider, model=stream.model, on_warning=_ignore
    )
    return sum(map(len, events.frames()))


def _ignore(message: str) -> None:
    """Drop a warning."""
