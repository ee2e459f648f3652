"""AG-UI bytes to messages, every stage of the consumer on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from agui_reasoning import Conversation
from agui_reasoning.wire import SSEDecoder
from benchmarks.harness import Effort, Figure, Path, at_most, ratios
from benchmarks.thread import chunks_of_run, reads

__all__ = ["PATH", "consume"]


def consume(chunks: Iterable[bytes]) -> int:
    """Read a run into messages, and return the length of their text."""
    decoder = SSEDecoder()
    conversation = Conversation("thread-1")
    receive = conversation.receive
    for chunk in chunks:
        for event in decoder.feed(chunk):
            receive(event)
    conversation.end_of_stream()
    return sum(len(str(message.content)) for message in conversation.messages)


def _parse(lines: Sequence[bytes]) -> None:
    loads = json.loads
    for line in lines:
        loads(line)


def _measure(effort: Effort) -> Iterator[Figure]:
    for full in (20_000, 100_000):
        count = effort.size(full)
        blocks = reads(chunks_of_run(count))
        lines = [line.removeprefix(b"data: ") for line in b"".join(blocks).split(b"\n\n") if line]
        samples = ratios(lambda: consume(blocks), lambda: _parse(lines), effort)  # noqa: B023
        yield Figure(f"{count:,} deltas", "×", samples, at_most(0.8))


PATH = Path(
    "AG-UI SSE bytes → `Conversation` → messages: in the time of `json.loads` of the same data", _measure
)
