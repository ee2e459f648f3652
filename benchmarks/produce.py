"""What servers do per delta: this library, the official encoder, and pydantic-ai's adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from functools import cache
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from ag_ui.encoder import EventEncoder

from agui_reasoning import Run
from agui_reasoning.deltas import Delta
from agui_reasoning.providers import decoder
from agui_reasoning.wire import SSEEncoder
from benchmarks.harness import UnavailableError
from benchmarks.streams import Payload, ProviderStream

__all__ = [
    "OFFICIAL",
    "adapt",
    "drive",
    "frames_of",
    "native_events",
    "official",
    "run_input",
    "serve_deltas",
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


def native_events(texts: Sequence[str]) -> list[Any]:
    """Return the events that pydantic-ai's adapter turns into AG-UI: half reasoning, half text.

    Raises:
        UnavailableError: pydantic-ai is not installed.
    """
    messages, _ = _pydantic_ai()
    half = len(texts) // 2
    thinking = messages.ThinkingPart("")
    answer = messages.TextPart("")
    return [
        messages.PartStartEvent(index=0, part=thinking),
        *(
            messages.PartDeltaEvent(index=0, delta=messages.ThinkingPartDelta(content_delta=text))
            for text in texts[:half]
        ),
        messages.PartEndEvent(index=0, part=thinking, next_part_kind="text"),
        messages.PartStartEvent(index=1, part=answer, previous_part_kind="thinking"),
        *(
            messages.PartDeltaEvent(index=1, delta=messages.TextPartDelta(content_delta=text))
            for text in texts[half:]
        ),
        messages.PartEndEvent(index=1, part=answer),
    ]


def adapt(texts: Sequence[str]) -> Callable[[], int]:
    """Return pydantic-ai's adapter alone, on the same deltas: its native events → encoded strings.

    Raises:
        UnavailableError: pydantic-ai is not installed.
    """
    _, stream_type = _pydantic_ai()
    events = native_events(texts)

    async def source() -> AsyncIterator[Any]:
        for event in events:
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


def frames_of(machine: Any) -> Callable[[Delta], bytes]:
    """Return how a run or an emitter turns a delta into bytes: `frames` where it exists."""
    frames = getattr(machine, "frames", None)
    if frames is not None:
        return frames  # type: ignore[no-any-return]
    encode = SSEEncoder().encode
    return lambda delta: b"".join(map(encode, machine.receive(delta)))


def serve_deltas(machine: Any, deltas: Iterable[Delta]) -> int:
    """Turn deltas into bytes, and return how many."""
    frames = frames_of(machine)
    return sum(len(frames(delta)) for delta in deltas)


def serve_payloads(api: str, stream: ProviderStream, payloads: Iterable[Payload]) -> int:
    """Serve one run of an API: payloads → deltas → bytes, from RUN_STARTED to RUN_FINISHED."""
    encode = SSEEncoder().encode
    run = Run(run_input(), api=api, provider=stream.provider, model=stream.model, on_warning=_ignore)
    decode = decoder(api, provider=stream.provider, model=stream.model)
    frames = frames_of(run)
    receive = decode.receive
    size = sum(len(encode(event)) for event in run.start())
    for payload in payloads:
        for delta in receive(payload):
            size += len(frames(delta))
    for delta in decode.close():
        size += len(frames(delta))
    return size + sum(len(encode(event)) for event in run.finish())


def _ignore(message: str) -> None:
    """Drop a warning."""
