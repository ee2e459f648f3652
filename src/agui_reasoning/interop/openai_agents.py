"""Shows runs of the OpenAI Agents SDK, and writes conversations as its input items.

The SDK is imported by `tools` only: its events are told apart by their ``type``, and its input items are
dicts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import StepFinishedEvent, StepStartedEvent

from agui_reasoning._shells.driver import AgentItem, ModelStream, PayloadReader, Reading
from agui_reasoning.deltas import CloseDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.interop._content import result_part
from agui_reasoning.interop._front_end import front_end_tools, imported
from agui_reasoning.interop._stream import framework_stream, note_ignored
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.run import Run

__all__ = ["input_items", "stream", "tools"]

_API: Final = "openai-responses"


def stream(result: Any) -> ModelStream:
    """Read a streamed run of the SDK inside a run, and cancel it if the reader leaves.

    The SDK streams the events of the Responses API for every model. Tool outputs become tool results, and a
    handoff becomes a step with the name of the new agent.

    Args:
        result: What ``Runner.run_streamed`` returns, or anything else that `ModelStream` accepts, such as a
            generator of your own that yields the events of ``stream_events``: it cancels the run itself.

    Returns:
        A model stream to yield from an agent. The API is ``openai-responses`` unless the run names another;
        provider and model are those of the run.

    Source:
        openai-agents 0.24: closing ``stream_events()`` does not stop the run, ``cancel()`` does.
    """
    return framework_stream(_Events(result) if hasattr(result, "stream_events") else result, _Reader)


def input_items(run: Run, *, store: bool | None = None) -> list[JSONObject]:
    """Write the conversation of a run as the input of ``Runner.run_streamed``.

    Instructions and tools are those of the SDK's agent.

    Args:
        run: The run.
        store: Whether the provider stores responses, as in ``ModelSettings.store``.

    Returns:
        Input items of the Responses API, with the reasoning that the provider accepts.

    Raises:
        ConfigurationError: The run does not name its API and provider.

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    items: list[JSONObject] = run.request(tools=(), store=store).body["input"]
    return items


def tools(run: Run) -> list[Any]:
    """Return the tools of the front end, to pass to the agent beside your own.

    They need approval, so a call of one of them ends the run of the SDK, when all other calls of the same
    answer have their results. The front end answers in its next input.

    Args:
        run: The run.

    Returns:
        The SDK's function tools.

    Raises:
        ConfigurationError: The SDK is not installed (``missing_framework``).

    Source:
        openai-agents 0.24: a run with calls that wait for approval ends with ``interruptions``.
    """
    made = imported("agents", "The OpenAI Agents SDK", "openai-agents").FunctionTool
    return [
        made(
            name=tool["name"],
            description=tool["description"],
            params_json_schema=tool["parameters"],
            on_invoke_tool=_run_by_the_front_end,
            strict_json_schema=False,
            needs_approval=True,
        )
        for tool in front_end_tools(run)
    ]


async def _run_by_the_front_end(_: Any, arguments: str) -> Any:
    raise NotImplementedError("The front end runs this tool.")


class _Events:
    """The events of a streamed run. Unlike those of ``stream_events``, they stop the run when closed."""

    def __init__(self, result: Any) -> None:
        self._result = result
        self._events = result.stream_events()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def aclose(self) -> None:
        if not self._result.is_complete:
            self._result.cancel()
        await self._events.aclose()


class _Reader:
    """Reads the events of one streamed run."""

    def __init__(self, run: Run) -> None:
        model = ModelStream(None, run.api or _API, run.provider, run.model)
        self._run = run
        self._model: PayloadReader = Reading(run, model)
        self._started = False
        self._step: str | None = None
        self._thought: str | None = None

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read an event; those that repeat what the model streamed give nothing."""
        kind = getattr(payload, "type", type(payload).__name__)
        if kind == "raw_response_event":
            return list(self._ending_thoughts(self._model.receive(payload.data)))
        if kind == "agent_updated_stream_event":
            return self._next_agent(payload.new_agent.name)
        if kind != "run_item_stream_event":
            note_ignored(self._run, f"Events of the type {kind!r}")
            return []
        output = payload.item.raw_item
        call_id = _member(output, "call_id")
        if payload.name in ("tool_output", "handoff_occured") and isinstance(call_id, str):
            return [result_part(call_id, _member(output, "output"))]
        return []

    def _ending_thoughts(self, items: Sequence[AgentItem]) -> Iterator[AgentItem]:
        """End reasoning before what follows it: for chat models, the SDK ends all items with the response."""
        for item in items:
            if isinstance(item, ReasoningDelta):
                self._thought = item.key
            elif self._thought is not None and isinstance(item, TextDelta | ToolCallDelta):
                yield CloseDelta(key=self._thought)
                self._thought = None
            yield item

    def _next_agent(self, name: str) -> Sequence[AgentItem]:
        """The first agent is not announced: it is the run's."""
        if not self._started:
            self._started = True
            return []
        ended = self._end_step()
        self._step = name
        return [*ended, StepStartedEvent(step_name=name)]

    def _end_step(self) -> Sequence[AgentItem]:
        if self._step is None:
            return []
        return [StepFinishedEvent(step_name=self._step)]

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream, as `stream` never gives one."""
        return self._model.whole(response)

    def close(self) -> Sequence[AgentItem]:
        """End the run."""
        return [*self._model.close(), *self._end_step()]


def _member(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
