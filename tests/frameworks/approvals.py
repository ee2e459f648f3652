"""Whole conversations in which the user decides on calls, with a strict Claude."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from agui_reasoning import Conversation, Run, check_events
from agui_reasoning.gateway import local_server
from tests.frameworks.claude import CLAUDE, Blocks, Claude, call, redacted, text, thinking
from tests.frameworks.front_end_tools import PAINT, SEEN
from tests.frameworks.threads import Agent, answered, talked, with_keys

__all__ = [
    "CANCELLED",
    "DECISIONS",
    "Asked",
    "check_approvals",
    "check_words_beside",
    "check_wrong_answer",
    "decide",
    "schema_of",
]


_CALLS: Blocks = [
    thinking("To whom?"),
    redacted("secret"),
    text("I send them."),
    call("toolu_1", "send", text="a"),
    call("toolu_2", "look", at="page"),
    thinking("And the others?"),
    call("toolu_3", "send", text="b"),
    call("toolu_4", "send", text="c"),
    call("toolu_5", "send", text="d"),
    call("toolu_6", "paint", colour="red"),
]
_DONE: Blocks = [thinking("That is all."), text("Done.")]

DECISIONS: dict[str, dict[str, Any] | None] = {
    "toolu_1": {"approved": True},
    "toolu_3": {"approved": False, "reason": "Not that one."},
    "toolu_4": {"approved": True, "editedArgs": {"text": "C"}},
    "toolu_5": None,
}
"""What the user says about each call: the payload, or nothing at all."""

CANCELLED = "The user did not decide."


def schema_of(*, editable: bool) -> dict[str, Any]:
    """The schema of an answer."""
    properties: dict[str, Any] = {
        "approved": {"type": "boolean"},
        "reason": {"type": "string", "description": "Why not, for the model."},
    }
    if editable:
        told = "All arguments, in place of those of the model."
        properties["editedArgs"] = {"type": "object", "description": told}
    return {"type": "object", "properties": properties, "required": ["approved"]}


class Asked:
    """The tool that needs an approval, and what it was called with.

    Attributes:
        sent: The texts.
    """

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, text: str) -> str:
        """Send a letter."""
        self.sent.append(text)
        return f"Sent {text}."


async def decide(
    conversation: Conversation,
    agent: Agent,
    options: dict[str, Any],
    decisions: Mapping[str, Any],
    content: str | None = None,
) -> list[Any]:
    """Answer the interrupts of the last run, and run the agent again."""
    resume = []
    for interrupt in conversation.interrupts:
        given = decisions[interrupt.tool_call_id or interrupt.id]
        answer = {"status": "cancelled"} if given is None else {"status": "resolved", "payload": given}
        resume.append({"interruptId": interrupt.id, **answer})
    run_input = conversation.run_input(content, resume=resume, tools=[PAINT])
    return await answered(conversation, run_input, agent, options)


def check_approvals(
    agent_at: Callable[[str, Asked], Agent],
    options: dict[str, Any],
    *,
    refused: str = "Not that one.",
    edited: str = "Sent C.",
    cancelled: str = CANCELLED,
    editable: bool = True,
    waits_for_all: bool = False,
) -> list[dict[str, Any]]:
    """Let a strict Claude call a tool that needs approval four times, beside two that do not.

    Args:
        agent_at: Makes the agent from the URL of the provider and the tool to ask for. It has the tool
            `look`, too, and those of the run.
        options: Those of the run, from `threads.OPTIONS`.
        refused: What the model is told of the call that the user refused.
        edited: What the model is told of the call that the user changed.
        cancelled: What the model is told of the call on which the user did not decide.
        editable: Whether the framework lets the user change arguments.
        waits_for_all: Whether no tool of the answer runs before the user decides.

    Returns:
        What the provider was asked.
    """
    claude, conversation, tool = Claude({"first": [_CALLS, _DONE]}), Conversation("thread-1"), Asked()
    warnings: list[str] = []
    options = CLAUDE | with_keys(options) | {"on_warning": warnings.append}
    runs: list[list[Any]] = []

    async def talk(agent: Agent) -> None:
        run_input = conversation.run_input("Send them.", tools=[PAINT])
        runs.append(await answered(conversation, run_input, agent, options))
        assert (conversation.status, tool.sent) == ("interrupted", []), runs[-1][-1]
        asked = {
            one.tool_call_id: (one.id, one.reason, one.response_schema) for one in conversation.interrupts
        }
        schema = schema_of(editable=editable)
        assert asked == {call_id: (call_id, "tool_call", schema) for call_id in DECISIONS}
        conversation.add_tool_result("toolu_6", "Painted red.")
        runs.append(await decide(conversation, agent, options, DECISIONS))
        assert conversation.status == "finished", runs[-1][-1]

    with local_server(claude.app) as url:
        anyio.run(talk, agent_at(url, tool))
    assert sorted(tool.sent) == sorted(["a", "C" if editable else "c"])  # frameworks run them at once
    told = {
        "toolu_1": "Sent a.",
        "toolu_2": SEEN,
        "toolu_3": refused,
        "toolu_4": edited,
        "toolu_5": cancelled,
        "toolu_6": "Painted red.",
    }
    assert (claude.refused, warnings, [check_events(run) for run in runs]) == ([], [], [[], []])
    _, said, results = claude.requests[1]["messages"]
    assert said == {"role": "assistant", "content": _CALLS}
    assert _results(results) == told
    shown = {event.tool_call_id: event.content for event in runs[1] if event.type == "TOOL_CALL_RESULT"}
    ran_late = {*DECISIONS, "toolu_2"} if waits_for_all else {*DECISIONS}
    assert shown == {call_id: told[call_id] for call_id in ran_late}
    assert {event.type for event in runs[1]}.isdisjoint({"TOOL_CALL_START"})
    question, said, results, done, _ = claude.takes(Run(conversation.run_input("And now?"), **options))
    assert (question["content"], said["content"], done["content"]) == ([text("Send them.")], _CALLS, _DONE)
    assert _results(results) == told
    return claude.requests


LETTER: Blocks = [thinking("I write."), call("toolu_1", "send", text="a")]


def check_wrong_answer(
    agent_at: Callable[[str, Asked], Agent],
    payload: Any,
    options: dict[str, Any] = CLAUDE,
    provider: Any = None,
) -> None:
    """Answer an approval in a form that was not asked for: the run fails, and no tool runs.

    Args:
        agent_at: As in `check_approvals`.
        payload: The answer.
        options: Those of the run.
        provider: The scripted provider, which calls `send` first; by default, Claude.
    """
    tool = Asked()

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Send it."), agent, options)
        (asked,) = conversation.interrupts
        shown = await decide(conversation, agent, options, {asked.tool_call_id: payload})
        assert (shown[-1].type, shown[-1].code) == ("RUN_ERROR", "bad_answer")

    talked(provider or Claude({"first": [LETTER]}), lambda url: agent_at(url, tool), talk)
    assert tool.sent == []


def check_words_beside(agent_at: Callable[[str, Asked], Agent]) -> None:
    """Approve a call with words for the model: they stand before the call.

    Args:
        agent_at: As in `check_approvals`.
    """
    claude, tool = Claude({"first": [LETTER, [text("Done.")]]}), Asked()

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Send it."), agent, CLAUDE)
        await decide(conversation, agent, CLAUDE, {"toolu_1": {"approved": True}}, content="Hurry.")

    conversation = talked(claude, lambda url: agent_at(url, tool), talk)
    assert (conversation.status, tool.sent) == ("finished", ["a"])
    before, said, results = claude.requests[1]["messages"]
    assert [block["text"] for block in before["content"]] == ["Send it.", "Hurry."]
    assert (said["content"], [block["tool_use_id"] for block in results["content"]]) == (LETTER, ["toolu_1"])


def _results(message: Any) -> dict[str, str]:
    return {block["tool_use_id"]: _text(block["content"]) for block in message["content"]}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
