"""Shows runs of Pydantic AI agents, and writes conversations as their message history."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any, Final

from agui_reasoning._shells.driver import ModelStream
from agui_reasoning.interop._front_end import front_end_tools, imported
from agui_reasoning.interop._stream import framework_stream
from agui_reasoning.interop.pydantic_ai._read import EventReader
from agui_reasoning.interop.pydantic_ai._write import message_dicts
from agui_reasoning.run import Run

__all__ = ["message_history", "stream", "subagent", "toolset"]

_FRAMEWORK: Final = ("Pydantic AI", "pydantic-ai, or pydantic-ai-slim with the extra of your provider")


def stream(source: Any) -> ModelStream:
    """Read the events of an agent inside a run.

    Thinking parts become reasoning with its signatures, and the results of the agent's tools become tool
    results. Agents that run with a handler of `subagent` become subagents.

    Args:
        source: What ``agent.run_stream_events`` returns, or anything else that `ModelStream` accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run, and must be
        those of the agent's model.

    Source:
        pydantic-ai 2.68: parts arrive as part_start, part_delta and part_end events.
    """
    return framework_stream(source, EventReader)


def message_history(run: Run, *, deferred_tool_results: Any = None) -> list[Any]:
    """Write the conversation of a run, ending with the user's message, as a ``message_history``.

    Run the agent with it and without a prompt. Instructions and tools are those of the agent.

    Args:
        run: The run. Its provider is the name of the agent's provider in Pydantic AI.
        deferred_tool_results: The ``DeferredToolResults`` that you pass to the agent, if any. Their calls
            have no result in the history. All other calls that nobody answered have one that says so: the
            agent would run them otherwise, although the client could have invented them.

    Returns:
        Model messages, with the reasoning that the provider accepts.

    Raises:
        ConfigurationError: The run has no API (``no_api``), or Pydantic AI is not installed
            (``missing_framework``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    adapter = imported("pydantic_ai.messages", *_FRAMEWORK).ModelMessagesTypeAdapter
    deferred = deferred_tool_results and {*deferred_tool_results.calls, *deferred_tool_results.approvals}
    written = message_dicts(run.request(tools=()).conversation, run.warn_once, deferred or ())
    messages: list[Any] = adapter.validate_python(written)
    return messages


def toolset(run: Run) -> Any:
    """Return the tools of the front end as a toolset, for ``toolsets=`` of the agent's run.

    The agent needs ``DeferredToolRequests`` among its output types. It runs its own tools, and then ends with
    the calls that the front end answers in its next input.

    Args:
        run: The run.

    Returns:
        An ``ExternalToolset``; empty if the front end has no tools.

    Raises:
        ConfigurationError: Pydantic AI is not installed (``missing_framework``).
    """
    made = imported("pydantic_ai.toolsets", *_FRAMEWORK).ExternalToolset
    definition = imported("pydantic_ai.tools", *_FRAMEWORK).ToolDefinition
    return made(
        [
            definition(
                name=tool["name"], description=tool["description"], parameters_json_schema=tool["parameters"]
            )
            for tool in front_end_tools(run)
        ]
    )


def subagent(context: Any, name: str) -> Callable[[Any, AsyncIterable[Any]], Awaitable[None]]:
    """Return the ``event_stream_handler`` of an agent that a tool runs, to show it as a subagent.

    `stream` reads the delegate's events in those of the agent that has the tool. The subagent ends with the
    result of the tool.

    Args:
        context: The ``RunContext`` of the tool, which must be ``async``.
        name: The name of the subagent.

    Raises:
        ConfigurationError: Pydantic AI is not installed (``missing_framework``).

    Source:
        pydantic-ai 2.68: ``RunContext.emit`` puts custom events into the stream of the run.
    """
    made = imported("agui_reasoning.interop.pydantic_ai._delegate", *_FRAMEWORK).DelegateEvent

    async def forward(_: Any, events: AsyncIterable[Any]) -> None:
        async for event in events:
            await context.emit(made(delegate=name, event=event))

    return forward
