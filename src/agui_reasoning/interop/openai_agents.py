"""Shows runs of the OpenAI Agents SDK, and writes conversations as its input items.

The SDK is imported by `tools` and `resume` only: its events are told apart by their ``type``, and its input
items are dicts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from ag_ui.core import Interrupt, StepFinishedEvent, StepStartedEvent

from agui_reasoning._driver import AgentItem, ModelStream, PayloadReader, Reading
from agui_reasoning.deltas import CloseDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.interop._client import (
    answered_calls,
    approval,
    decision,
    front_end_names,
    front_end_tools,
    history_without,
    imported,
)
from agui_reasoning.interop._messages import responses_in, result_part
from agui_reasoning.interop._stream import FrameworkReader
from agui_reasoning.providers.payload import JSONObject, plain
from agui_reasoning.request import History
from agui_reasoning.run import Run

__all__ = ["input_items", "resume", "stream", "tools"]

_FRAMEWORK: Final = ("agents", "The OpenAI Agents SDK", "openai-agents")

_API: Final = "openai-responses"
"""The API of the SDK's events and items, whichever API its model calls."""


def stream(result: Any) -> ModelStream:
    """Read a streamed run of the SDK inside a run, and cancel it if the reader leaves.

    The SDK streams the events of the Responses API for every model. Tool outputs become tool results, and a
    handoff becomes a step with the name of the new agent. Calls that wait for an approval interrupt the run:
    see `resume`.

    Args:
        result: What ``Runner.run_streamed`` returns, or ``Runner.run``, which is shown when it is over; or
            anything else that `ModelStream` accepts, such as a generator of your own that yields the events
            of ``stream_events`` and last the result itself: it cancels the run itself.

    Returns:
        A model stream to yield from an agent. The API is ``openai-responses``, whatever the run names;
        provider and model are those of the run.

    Raises:
        ConfigurationError: A call needs an approval that no later run can give, because it is not the call of
            a function tool of the run's own agent (``unsupported_approval``).

    Source:
        openai-agents 0.24: closing ``stream_events()`` does not stop the run, ``cancel()`` does.
    """
    return _ResultReader.stream(_Events(result) if hasattr(result, "stream_events") else result)


def input_items(run: Run, *, store: bool | None = None) -> list[JSONObject]:
    """Write the conversation of a run as the input of ``Runner.run_streamed``.

    Instructions and tools are those of the SDK's agent.

    Args:
        run: The run.
        store: Whether the provider stores responses, as in ``ModelSettings.store``.

    Returns:
        Input items of the Responses API, with the reasoning that the provider accepts.

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    return _items(run, store)


def _items(run: Run, store: bool | None, history: History | None = None) -> list[JSONObject]:
    request = run.request(api=_API, provider=run.provider or "openai", tools=(), store=store, history=history)
    return request.body["input"]  # type: ignore[no-any-return]


async def resume(run: Run, agent: Any, *, store: bool | None = None, max_turns: int | None = 10) -> Any:
    """Return the state from which the SDK goes on, with the user's answers to the run before.

    It is rebuilt from the client's history, so that the server keeps nothing. Pass it to
    ``Runner.run_streamed`` in place of the input. ``approved`` in an answer decides on a call, ``reason``
    tells the model why not, and a cancelled interrupt is a refusal. All other calls that nobody answered have
    a result that says so.

    Args:
        run: The run.
        agent: The agent that has the tools; after a handoff, the one that was handed to.
        store: Whether the provider stores responses, as in ``ModelSettings.store``.
        max_turns: How often the model may be asked; the SDK takes it from the state.

    Returns:
        A ``RunState``; ``None`` if the user answered nothing.

    Raises:
        RemoteProtocolError: An answer has not the form that the interrupt asked for (``bad_answer``).
        ConfigurationError: The SDK is not installed (``missing_framework``).

    Source:
        openai-agents 0.24: states of every version that was released stay readable; tools that need no
        approval are run only if the state tells so.
    """
    free = {tool.name for tool in agent.tools if getattr(tool, "needs_approval", None) is False}
    answers = {key: one for key, one in answered_calls(run).items() if one.call.name not in free}
    if not answers:
        return None
    decisions = {call_id: decision(answer.entry, editable=False) for call_id, answer in answers.items()}
    items = _items(run, store, history_without(run, decisions))
    written = _waiting_state(items, decisions, agent.name, max_turns)
    state = await imported(*_FRAMEWORK).RunState.from_json(agent, written)
    for item in state.get_interruptions():
        decided = decisions[item.call_id]
        if decided.approved:
            state.approve(item)
        else:
            state.reject(item, rejection_message=decided.reason)
    return state


def tools(run: Run) -> list[Any]:
    """Return the tools of the front end as the SDK's function tools, to pass to the agent beside your own.

    They need approval, so a call of one of them ends the run of the SDK, when all other calls of the same
    answer have their results. The front end answers in its next input.

    Raises:
        ConfigurationError: The SDK is not installed (``missing_framework``).

    Source:
        openai-agents 0.24: a run with calls that wait for approval ends with ``interruptions``.
    """
    made = imported(*_FRAMEWORK).FunctionTool
    return [
        made(
            **tool,
            on_invoke_tool=_run_by_the_front_end,
            strict_json_schema=False,
            needs_approval=True,
        )
        for tool in front_end_tools(run, "params_json_schema")
    ]


async def _run_by_the_front_end(_: Any, arguments: str) -> Any:
    raise NotImplementedError("The front end runs this tool.")


# -- reading a run


class _Events:
    """The events of a streamed run, and its result if it waits. Closing them stops the run."""

    def __init__(self, result: Any) -> None:
        self._result = result
        self._events = result.stream_events()
        self._over = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        event = None if self._over else await anext(self._events, None)
        if event is not None:
            return event
        if self._over or not getattr(self._result, "interruptions", None):
            raise StopAsyncIteration
        self._over = True
        return self._result

    async def aclose(self) -> None:
        if not self._result.is_complete:
            self._result.cancel()
        await self._events.aclose()


class _ResultReader(FrameworkReader):
    """Reads the events of one streamed run."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._model: PayloadReader = Reading(run, ModelStream(None, _API, run.provider, run.model))
        self._started = False
        self._step: str | None = None
        self._thought: str | None = None

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        if hasattr(payload, "interruptions"):
            pending = {call.id for call in self._run.pending_calls}
            return list(self._interrupts(payload.interruptions, pending))
        kind = getattr(payload, "type", type(payload).__name__)
        if kind == "raw_response_event":
            return list(self._ending_thoughts(self._model.receive(payload.data)))
        if kind == "agent_updated_stream_event":
            return self._next_agent(payload.new_agent.name)
        if kind != "run_item_stream_event":
            return self._ignored(f"Events of the type {kind!r}")
        output = payload.item.raw_item
        call_id = _member(output, "call_id")
        if payload.name in ("tool_output", "handoff_occured") and isinstance(call_id, str):
            return [result_part(call_id, _member(output, "output"))]
        return []

    def _interrupts(self, items: Iterable[Any], pending: Set[str]) -> Iterator[Interrupt]:
        """Return the calls that wait for an approval, without those that wait for the front end."""
        front_end = front_end_names(self._run)
        for item in items:
            if item.call_id not in pending or _member(item.raw_item, "type") != "function_call":
                raise ConfigurationError(
                    f"The call of {item.tool_name!r} needs an approval that no later run can give.",
                    code="unsupported_approval",
                    hint="Ask for calls of the agent's function tools; for those of an agent that is a tool, "
                    "with `as_tool(needs_approval=True)`.",
                )
            if item.tool_name not in front_end:
                yield approval(item.call_id, item.tool_name, editable=False)

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
        ended, self._step = self._end_step(), name
        return [*ended, StepStartedEvent(step_name=name)]

    def _end_step(self) -> Sequence[AgentItem]:
        return [] if self._step is None else [StepFinishedEvent(step_name=self._step)]

    def whole(self, response: Any) -> Sequence[AgentItem]:
        if not hasattr(response, "raw_responses"):
            return self._model.whole(response)
        return list(self._result(response))

    def _result(self, result: Any) -> Iterator[AgentItem]:
        """Read the responses of a run, each with the outputs of its calls."""
        outputs = {
            _member(item.raw_item, "call_id"): item for item in result.new_items if item.type in _OUTPUTS
        }
        pending: set[str] = set()
        for response in result.raw_responses:
            yield from self._model.whole(_whole(response))
            calls = [call_id for one in response.output if (call_id := _member(one, "call_id"))]
            pending.update(calls)
            for item in (outputs[call_id] for call_id in calls if call_id in outputs):
                yield result_part(_member(item.raw_item, "call_id"), _member(item.raw_item, "output"))
                if (agent := getattr(item, "target_agent", None)) is not None:
                    self._started = True
                    yield from self._next_agent(agent.name)
        yield from self._interrupts(result.interruptions, pending)

    def close(self) -> Sequence[AgentItem]:
        return [*self._model.close(), *self._end_step()]


_OUTPUTS: Final = frozenset({"tool_call_output_item", "handoff_output_item"})


def _whole(response: Any) -> JSONObject:
    """Write a response of the SDK as the API's."""
    usage = response.usage
    counts = {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "total_tokens")}
    details = {
        "input_tokens_details": {"cached_tokens": usage.input_tokens_details.cached_tokens},
        "output_tokens_details": {"reasoning_tokens": usage.output_tokens_details.reasoning_tokens},
    }
    output = [item if isinstance(item, Mapping) else plain(item) for item in response.output]
    usage_told = {"usage": {**counts, **details}} if usage.total_tokens else {}
    return {"id": response.response_id, "output": output, "status": "completed", **usage_told}


def _member(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


# -- the state of a run that waits for approvals

_SCHEMA: Final = "1.15"
"""The version of the state's form: the first with input items, which the SDK sends as they are."""

_RESPONSE: Final[JSONObject] = {"usage": {}, "output": [], "response_id": None}
"""The model's response, whose items stand elsewhere."""


def _waiting_state(
    items: list[JSONObject], waiting: Collection[str], agent: str, max_turns: int | None
) -> JSONObject:
    """Write the state, as ``RunState.from_json`` reads it.

    The conversation ends with the results of a response's calls. Those of the calls that wait are left out.

    Source:
        openai-agents 0.24: only the calls among ``functions`` are run; outputs that are missing come last.
    """
    *before, (_, response), (_, results) = responses_in(items)
    known = [item for item in results if item["call_id"] not in waiting]
    who = {"name": agent}
    calls = [item for item in response if item.get("call_id") in waiting]
    asked = [_item("tool_approval_item", call, who) for call in calls]
    return {
        "$schemaVersion": _SCHEMA,
        "current_agent": who,
        "original_input": [item for _, group in before for item in group],
        "generated_items": [_item("input_item", item, who) for item in (*response, *known)],
        "context": {"context": None},
        "current_turn": 0,
        "max_turns": max_turns,
        "model_responses": [_RESPONSE],
        "last_model_response": _RESPONSE,
        "current_step": {"type": "next_step_interruption", "data": {"interruptions": asked}},
        "last_processed_response": {
            "new_items": [],
            "tools_used": [],
            "functions": [{"tool_call": call, "tool": {"name": call["name"]}} for call in calls],
            "interruptions": asked,
        },
    }


def _item(kind: str, item: JSONObject, who: JSONObject) -> JSONObject:
    return {"type": kind, "raw_item": item, "agent": who}
