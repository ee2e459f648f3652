"""The AG-UI stream of a run, as the bytes that a client reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.texts import pieces

__all__ = ["READ_BYTES", "chunks_of_run", "reads"]

READ_BYTES: Final = 16 * 1024
"""The size of a read from a connection."""

_PERIOD: Final = 1_000


def chunks_of_run(deltas: int) -> Iterator[bytes]:
    """Yield the stream of a run with this many deltas, half reasoning and half text, in chunks of frames."""
    texts = pieces(_PERIOD)
    frame = {"threadId": "thread-1", "runId": "run-1"}
    yield _frames({"type": "RUN_STARTED", **frame, "protocolVersion": "1.0"})
    yield _frames(
        {"type": "REASONING_START", "messageId": "span-1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "m1", "role": "reasoning"},
    )
    yield from _contents("REASONING_MESSAGE_CONTENT", "m1", texts, deltas // 2)
    yield _frames(
        {"type": "REASONING_MESSAGE_END", "messageId": "m1"},
        {"type": "REASONING_END", "messageId": "span-1"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m2", "role": "assistant"},
    )
    yield from _contents("TEXT_MESSAGE_CONTENT", "m2", texts, deltas - deltas // 2)
    yield _frames({"type": "TEXT_MESSAGE_END", "messageId": "m2"}, {"type": "RUN_FINISHED", **frame})


def reads(chunks: Iterator[bytes]) -> list[bytes]:
    """Cut a stream into reads."""
    data = b"".join(chunks)
    return [data[start : start + READ_BYTES] for start in range(0, len(data), READ_BYTES)]


def _contents(kind: str, message: str, texts: Sequence[str], count: int) -> Iterator[bytes]:
    period = [_frames({"type": kind, "messageId": message, "delta": text}) for text in texts]
    joined = b"".join(period)
    for _ in range(count // len(texts)):
        yield joined
    yield b"".join(period[: count % len(texts)])


def _frames(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(event, separators=(",", ":")).encode() for event in events)
