"""The loop of an agent with tools: ask the model, run its calls, ask again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias

import anyio.to_thread

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning._strict_json import dump
from agui_reasoning.parts import ToolCallPart, ToolResultPart
from agui_reasoning.run import Run

__all__ = ["tool_loop"]

Turn: TypeAlias = Callable[[Run], AsyncGenerator[AgentItem, None]]
"""Asks the model once: an async generator of items, like an agent."""


def tool_loop(
    turn: Turn, tools: Mapping[str, Callable[..., Any]]
) -> Callable[[Run], AsyncIterator[AgentItem]]:
    """Return an agent that asks a model, runs the tools that it calls, and asks again until it calls none.

    Calls of other tools are the front end's: the run ends with them, when the agent's own have their results.

    Args:
        turn: Asks the model once: an async generator that takes the run and yields a `ModelStream`.
        tools: The functions by the names of the tools. They take the arguments of a call by name, and return
            text or AG-UI content parts; anything else is told as JSON. Those that are not ``async`` run in a
            worker thread. An exception ends the run.
    """

    async def agent(run: Run) -> AsyncIterator[AgentItem]:
        while True:
            async with aclosing(turn(run)) as items:
                async for item in items:
                    yield item
            called = [call for call in run.pending_calls if call.name in tools]
            for call in called:
                yield await _result(tools[call.name], call)
            if not called or run.pending_calls:
                return

    return agent


async def _result(tool: Callable[..., Any], call: ToolCallPart) -> ToolResultPart:
    arguments = call.args
    if iscoroutinefunction(tool):
        told = await tool(**arguments)
    else:
        told = await anyio.to_thread.run_sync(lambda: tool(**arguments))
        told = await told if isawaitable(told) else told
    return ToolResultPart(call.id, told if isinstance(told, str | list) else dump(told))
