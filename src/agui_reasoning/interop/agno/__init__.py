"""Shows runs of Agno agents, and writes conversations as Agno's messages.

Agno is imported by `messages`, `resume` and `tools` only.
"""

from __future__ import annotations

from typing import Any, Final

from agui_reasoning._driver import ModelStream
from agui_reasoning.interop._client import answered_calls, front_end_tools, history_with, imported
from agui_reasoning.interop.agno._read import TeamReader
from agui_reasoning.interop.agno._write import approved_call, message_dicts, paused_run, settled
from agui_reasoning.run import Run

__all__ = ["messages", "resume", "stream", "tools"]

_FRAMEWORK: Final = ("Agno", "agno")


def stream(source: Any) -> ModelStream:
    """Read the events of an agent or a team inside a run.

    The members of a team are subagents. Calls of an agent that wait for a confirmation or for the user's
    input interrupt the run: see `resume`.

    Args:
        source: What ``arun(…, stream=True, stream_events=True)`` of an ``Agent`` or a ``Team`` returns, or
            ``arun`` without these, which is shown when it is over; or anything else that `ModelStream`
            accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run.

    Raises:
        ProviderError: Agno reports an error as an event.
        ConfigurationError: A call of a team waits for the user (``unsupported_approval``).

    Source:
        agno 3.1.10: the content blocks of Anthropic come again, whole and in order, as the last content; only
        there is redacted thinking told from text, and calls have their places.
    """
    return TeamReader.stream(source)


def messages(run: Run) -> list[Any]:
    """Write the conversation of a run as the input of ``agent.arun``.

    Args:
        run: The run. For APIs other than ``anthropic-messages``, ``bedrock-converse``, ``gemini`` and
            ``openai-chat``, the messages have no reasoning.

    Returns:
        Agno's messages, with the reasoning that the provider accepts.

    Raises:
        ConfigurationError: The run has no API (``no_api``), or Agno is not installed
            (``missing_framework``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    made = imported("agno.models.message", *_FRAMEWORK).Message
    return [made(**message) for message in message_dicts(run)]


async def resume(run: Run, agent: Any, *, run_context: Any = None) -> Any:
    """Return the run from which Agno goes on with the user's answers to the interrupts of the run before.

    It is rebuilt from the client's history, so that no database is needed. Pass it to
    ``agent.acontinue_run``. ``approved`` in an answer decides on a call that needs a confirmation:
    ``editedArgs`` are other arguments for it, ``reason`` tells the model why not, and a cancelled interrupt
    is a refusal. The answer to a request for input is an object with the fields. All other calls that nobody
    answered have a result that says so.

    Args:
        run: The run.
        agent: The agent.
        run_context: Agno's ``RunContext``, if the instructions or tools of the agent need a session state or
            dependencies. Pass it to ``acontinue_run``, too.

    Returns:
        A paused ``RunOutput``; ``None`` if the user answered nothing.

    Raises:
        RemoteProtocolError: An answer has not the form that the interrupt asked for (``bad_answer``).
        ConfigurationError: The run has no API (``no_api``), or Agno is not installed
            (``missing_framework``).
    """
    answers = answered_calls(run)
    if not answers:
        return None
    results = settled(answers)
    message = imported("agno.models.message", *_FRAMEWORK).Message
    execution = imported("agno.models.response", *_FRAMEWORK).ToolExecution
    paused, asking = await paused_run(run, agent, run_context)
    approved = {key: one for key, one in answers.items() if key not in results and one.call.name in asking}
    history = history_with(run, results | dict.fromkeys(approved, ("", False)))
    written = message_dicts(run, history)
    paused.messages += [message(**one) for one in written if one.get("tool_call_id") not in approved]
    paused.tools = [execution(**approved_call(answer)) for answer in approved.values()]
    return paused


def tools(run: Run) -> list[Any]:
    """Return the tools of the front end as Agno's functions, to pass to the agent beside your own.

    They have ``external_execution``: a call of one of them pauses the run of Agno, when all other calls of
    the same answer have their results. The run of the agent then ends, and the front end answers in its next
    input.

    Raises:
        ConfigurationError: Agno is not installed (``missing_framework``).
    """
    made = imported("agno.tools.function", *_FRAMEWORK).Function
    return [made(**tool, external_execution=True) for tool in front_end_tools(run)]
