"""Shows runs of LangChain models and LangGraph graphs, and writes conversations as their messages.

LangChain is imported by `tools` only: its messages are told apart by their ``type``, and it accepts dicts as
messages.
"""

from __future__ import annotations

from typing import Any

from agui_reasoning._shells.driver import ModelStream
from agui_reasoning.interop._front_end import front_end_tools, imported
from agui_reasoning.interop._plain import plain_request
from agui_reasoning.interop._stream import framework_stream
from agui_reasoning.interop.langchain._read import MessageReader
from agui_reasoning.interop.langchain._write import WRITERS
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.run import Run

__all__ = ["messages", "stream", "tools"]


def stream(source: Any) -> ModelStream:
    """Read message chunks inside a run.

    Content blocks are read in every ``output_version``. Tool messages become tool results. The models of
    subgraphs, and those that speak inside a tool, run in subagents. Models that speak at the same time are
    shown one after the other. Beside ``messages``, two stream modes are read: AG-UI events in ``custom``
    pass, and interrupts in ``updates`` interrupt the run.

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
    return framework_stream(source, MessageReader)


def messages(run: Run, *, store: bool | None = None) -> list[JSONObject]:
    """Write the conversation of a run as messages for LangChain.

    A graph with a checkpointer has its own history: pass only the last message to it.

    Args:
        run: The run. For APIs other than ``anthropic-messages``, ``openai-responses`` and ``openai-chat``,
            the messages have no reasoning.
        store: For ``openai-responses``: whether the provider stores responses.

    Returns:
        Message dicts, whose content has the provider's own blocks, with the reasoning that it accepts.

    Raises:
        ConfigurationError: The run has no API (``no_api``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    known = run.api is None or run.api in WRITERS
    request = run.request(tools=(), store=store) if known else plain_request(run, "LangChain")
    return list(WRITERS[request.target.api or ""](request.body))


def tools(run: Run) -> list[Any]:
    """Return the tools of the front end, to pass to ``create_agent`` or to a ``ToolNode`` beside your own.

    A call of one of them interrupts the graph, when all other calls of the same answer have their results.
    The run then ends, and the front end answers in its next input. With a checkpointer, the graph can be
    resumed instead: the value of the interrupt has the call (``id``, ``name``, ``args``) as
    ``agui_tool_call``, and the call's result is what it is resumed with.

    Args:
        run: The run.

    Returns:
        LangChain's tools.

    Raises:
        ConfigurationError: LangGraph is not installed (``missing_framework``).

    Source:
        langgraph 1.2: ``interrupt`` needs no checkpointer to end a run; other tasks of the step finish.
    """
    made = imported(
        "agui_reasoning.interop.langchain._tools", "LangGraph", "langgraph, or langchain"
    ).FrontEndTool
    return [
        made(name=tool["name"], description=tool["description"], args_schema=tool["parameters"])
        for tool in front_end_tools(run)
    ]
