"""Whole conversations with a strict Claude: tools of both sides in one answer, and thoughts between calls."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import anyio
from ag_ui.core import Tool

from agui_reasoning import Conversation, Run
from agui_reasoning.gateway import local_server
from tests.frameworks.claude import CLAUDE, Blocks, Claude, call, plain, redacted, text, thinking
from tests.frameworks.threads import Agent, answered, asked_once

__all__ = [
    "COLOUR",
    "PAINT",
    "SEEN",
    "broken",
    "check_front_end_tools",
    "check_interleaved",
    "look",
    "paint",
    "result",
]

COLOUR = {"type": "string", "description": "The name of a colour."}
SCHEMA = {"type": "object", "properties": {"colour": COLOUR}, "required": ["colour"]}
PAINT = Tool(name="paint", description="Paint the page.", parameters=SCHEMA)
SEEN = "It is green."

_BOTH: Blocks = [
    thinking("It should be red."),
    text("I look."),
    call("toolu_1", "look", at="page"),
    call("toolu_2", "paint", colour="red"),
]
_ALONE: Blocks = [thinking("Once more."), call("toolu_3", "paint", colour="blue")]
_DONE: Blocks = [text("It is blue.")]


def look(at: str) -> str:
    """Look at something."""
    return SEEN


def broken(at: str) -> str:
    """Look at something."""
    raise RuntimeError("The lamp is broken.")


def check_interleaved(agent_at: Callable[[str], Agent], **origin: str) -> None:
    """Let a strict Claude think between parallel calls, in two rounds.

    Args:
        agent_at: Makes the agent from the URL of the provider. It has the tool `look`.
        **origin: Those options of `Run` that are not as for Anthropic itself.
    """
    options = CLAUDE | origin
    claude = Claude({"first": [*_ROUNDS, _DONE]})
    events, conversation = asked_once(claude, agent_at, options)
    assert conversation.status == "finished", events[-1]
    first, second = _ROUNDS
    assert claude.takes(Run(conversation.run_input("And now?"), **options)) == [
        {"role": "user", "content": [text("Look.")]},
        {"role": "assistant", "content": first},
        {"role": "user", "content": [result("toolu_1", SEEN), result("toolu_2", SEEN)]},
        {"role": "assistant", "content": second},
        {"role": "user", "content": [result("toolu_3", SEEN), result("toolu_4", SEEN)]},
        {"role": "assistant", "content": _DONE},
        {"role": "user", "content": [text("And now?")]},
    ]


_ROUNDS: list[Blocks] = [
    [
        thinking("Is it a?"),
        redacted("secret"),
        text("I look."),
        call("toolu_1", "look", at="a"),
        thinking("Or b?"),
        call("toolu_2", "look", at="b"),
    ],
    [
        thinking("Not yet."),
        call("toolu_3", "look", at="c"),
        thinking("Or d?"),
        call("toolu_4", "look", at="d"),
    ],
]


def check_front_end_tools(
    agent_at: Callable[[str], Agent],
    more: Set[str] = frozenset(),
    *,
    model: str = "first",
    read: Callable[[list[Any]], list[Any]] = plain,
) -> None:
    """Let a strict Claude call both tools at once, then that of the front end alone.

    Args:
        agent_at: Makes the agent from the URL of the provider. It has the tool `look`, and those of the run.
        more: The names of the tools that the framework adds.
        model: The name of the model.
        read: Reads the messages of a request.
    """
    claude, conversation = Claude({model: [_BOTH, _ALONE, _DONE]}), Conversation("thread-1", state={})
    with local_server(claude.app) as url:
        anyio.run(paint, conversation, agent_at(url), CLAUDE, ("toolu_2", "toolu_3"))
    assert claude.refused == []
    offered = {tool["name"]: tool["input_schema"] for tool in claude.requests[0]["tools"]}
    assert ({*offered}, offered["paint"]["properties"]) == ({"look", "paint"} | more, {"colour": COLOUR})
    after = Run(conversation.run_input("And now?"), **CLAUDE)
    results = [result("toolu_1", SEEN), result("toolu_2", "Painted red.")]
    before = [
        {"role": "user", "content": [text("Paint it.")]},
        {"role": "assistant", "content": _BOTH},
        {"role": "user", "content": results},
        {"role": "assistant", "content": _ALONE},
        {"role": "user", "content": [result("toolu_3", "Painted blue.")]},
    ]
    assert read(claude.requests[-1]["messages"]) == plain(before)
    assert claude.takes(after) == [
        *before,
        {"role": "assistant", "content": _DONE},
        {"role": "user", "content": [text("And now?")]},
    ]


async def paint(
    conversation: Conversation, agent: Agent, options: dict[str, Any], calls: tuple[str, str]
) -> None:
    """Answer the calls of two runs as a front end does; the third run ends with the model's words."""
    run_input = conversation.run_input("Paint it.", tools=[PAINT])
    for call_id, colour in zip(calls, ("red", "blue"), strict=True):
        events = await answered(conversation, run_input, agent, options)
        assert conversation.status == "finished", events[-1]
        (pending,) = conversation.pending_calls
        assert (pending.id, pending.function.name) == (call_id, "paint")
        conversation.add_tool_result(call_id, f"Painted {colour}.")
        run_input = conversation.run_input(tools=[PAINT])
    await answered(conversation, run_input, agent, options)
    assert (conversation.status, conversation.pending_calls) == ("finished", [])


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}
