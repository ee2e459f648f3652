"""Agents that think for as long as a test wants."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio

from agui_reasoning import Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta

QUESTION = {"id": "u1", "role": "user", "content": "Umbrella in Bergen?"}
THOUGHT = "Clouds over Bergen, "
ORIGIN: Any = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}


def run_input(thread: str = "thread-1", *, run: str = "run-1", messages: Any = (QUESTION,)) -> dict[str, Any]:
    return {
        "threadId": thread,
        "runId": run,
        "messages": list(messages),
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        "protocolVersion": "1.0",
    }


def new_run(given: dict[str, Any] | None = None, *, tenant: str = "", keys: KeyRing | None = None) -> Run:
    return Run(given or run_input(), tenant=tenant, keys=keys, **ORIGIN)


class Thinker:
    """An agent that thinks until it is told to answer."""

    def __init__(self, ending: str = "so yes.") -> None:
        self.ending = ending
        self.thinking = anyio.Event()
        self.answer = anyio.Event()
        self.closed = anyio.Event()

    async def __call__(self, run: Run) -> AsyncIterator[Any]:
        try:
            yield ReasoningDelta(THOUGHT, key="0")
            self.thinking.set()
            await self.answer.wait()
            yield ReasoningDelta(self.ending, key="0")
            yield TextDelta("Take one.", key="1")
            yield FinishDelta("end_turn")
        finally:
            self.closed.set()


async def quick(run: Run) -> AsyncIterator[Any]:
    """Think and answer at once."""
    yield ReasoningDelta(THOUGHT, key="0")
    yield TextDelta("Take one.", key="1")
    yield FinishDelta("end_turn")
