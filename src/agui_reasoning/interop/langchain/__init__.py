"""Shows runs of LangChain models and LangGraph graphs, and writes conversations as their messages.

LangChain is imported by `resume` and `tools` only: its messages are told apart by their ``type``, and it
accepts dicts as messages.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ag_ui.core import UserMessage

from agui_reasoning._driver import ModelStream
from agui_reasoning.interop._client import client_results, front_end_tools, history_without, imported
from agui_reasoning.interop._messages import request_for
from agui_reasoning.interop.langchain._read import MessageReader
from agui_reasoning.interop.langchain._write import FRAMEWORK, WRITTEN, front_end_tool, message_dicts, resumed
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import History
from agui_reasoning.run import Run

__all__ = ["messages", "resume", "stream", "tools"]


def stream(source: Any) -> ModelStream:
    """Read message chunks inside a run.

    Content blocks are read in every ``output_version``. Tool messages become tool results. The models of
    subgraphs, and those that speak inside a tool, run in subagents. Models that speak at the same time are
    shown one after the other. Beside ``messages``, two stream modes are read: AG-UI events in ``custom``
    pass, and interrupts in ``updates`` interrupt the run: see `resume`.

    Args:
        source: What ``graph.astream(…, stream_mode="messages")`` or ``model.astream(…)`` returns, also with
            several modes, ``subgraphs=True`` or ``version="v2"``, or anything else that `ModelStream`
            accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run.

    Source:
        langchain-core 1.7, langgraph 1.2: the mode yields pairs of a message chunk and its metadata, in which
        only the name of the node tells that a model speaks inside a tool.
    """
    return MessageReader.stream(source)


def messages(run: Run, *, store: bool | None = None) -> list[JSONObject]:
    """Write the conversation of a run as messages for LangChain.

    A graph with a checkpointer has its own history: pass only the last message to it.

    Args:
        run: The run. For APIs other than ``anthropic-messages``, ``bedrock-converse``, ``gemini``,
            ``openai-chat`` and ``openai-responses``, the messages have no reasoning.
        store: For ``openai-responses``: whether the provider stores responses.

    Returns:
        Message dicts, whose content has the provider's own blocks, with the reasoning that it accepts.

    Raises:
        ConfigurationError: The run has no API (``no_api``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    return _written(run, store=store)


def _written(run: Run, history: History | None = None, *, store: bool | None = None) -> list[JSONObject]:
    return list(message_dicts(request_for(run, WRITTEN, "LangChain", history, store=store)))


def resume(run: Run, state: Any) -> Any:
    """Return the command that resumes a graph with the user's answers to the interrupts of the run before.

    LangGraph goes on from its own checkpoint, so the graph needs a checkpointer. ``approved`` in an answer to
    `HumanInTheLoopMiddleware` decides on a call: ``editedArgs`` are other arguments for it, ``reason`` tells
    the model why not, and a cancelled interrupt is a refusal. Any other interrupt gets the answer as it is,
    ``None`` if it is cancelled.

    Args:
        run: The run.
        state: What ``graph.aget_state(config)`` returns.

    Returns:
        A ``Command``; ``None`` if the user answered nothing that the graph waits for.

    Raises:
        RemoteProtocolError: An answer has not the form that the interrupt asked for (``bad_answer``).
        ConfigurationError: LangGraph is not installed (``missing_framework``).
    """
    if not run.resume:
        return None
    values = resumed(run, state.interrupts)
    if not values:
        run.warn_once(["The answers of the input are ignored: the graph does not wait for them."])
        return None
    if isinstance(run.input.messages[-1], UserMessage):
        run.warn_once(["What the user wrote with the answers reaches the model with the next input."])
    return imported("langgraph.types", *FRAMEWORK).Command(resume=values)


def tools(run: Run) -> list[Any]:
    """Return the front end's tools as LangChain's, for ``create_agent`` or a ``ToolNode``, beside your own.

    A call of one of them interrupts the graph, when all other calls of the same answer have their results.
    The run then ends, and the front end answers in its next input. With a checkpointer, the graph can be
    resumed instead: the value of the interrupt has the call (``id``, ``name``, ``args``) as
    ``agui_tool_call``, and the call's result is what it is resumed with. If a graph goes on that called one
    of them beside a call that a person reviewed, the tool returns the result in the input.

    Raises:
        ConfigurationError: LangGraph is not installed (``missing_framework``).

    Source:
        langgraph 1.2: ``interrupt`` needs no checkpointer to end a run; other tasks of the step finish.
    """
    made, result_of = front_end_tool(), partial(_result_of, run)
    return [made(**tool, result_of=result_of) for tool in front_end_tools(run, "args_schema")]


def _result_of(run: Run, call_id: str) -> Any:
    """Return the result that the front end sent; ``None`` if it sent none."""
    if call_id not in client_results(run):
        return None
    written = _written(run, history_without(run, [call.id for call in run.open_calls]))
    return next(one["content"] for one in written if one.get("tool_call_id") == call_id)
