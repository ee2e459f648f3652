"""A thread that the user continues, edits and regenerates, while the framework may remember it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from ag_ui.core import UserMessage

from agui_reasoning import Conversation
from agui_reasoning.gateway import local_server
from tests.frameworks.claude import CLAUDE, Blocks, Claude, plain, text, thinking
from tests.frameworks.threads import Agent, answered

__all__ = ["BRANCHES", "check_memory", "talked"]


BRANCHES: dict[str, tuple[int, str | None, list[str]]] = {
    "continued": (3, "The third?", ["The first?", "The second?", "The third?"]),
    "edited": (1, "Another second?", ["The first?", "Another second?"]),
    "edited, the first": (0, "Another first?", ["Another first?"]),
    "regenerated": (2, None, ["The first?", "The second?"]),
}
"""What the user does after two questions: how many of them stay, what is asked, and what there is then."""

ANSWERS: list[Blocks] = [[thinking(f"Thought {one}."), text(f"Answer {one}.")] for one in "123"]


def branched(conversation: Conversation, kept: int, question: str | None) -> tuple[Conversation, Any]:
    """The client's conversation after an edit, with the input of its next run.

    Args:
        conversation: The conversation before.
        kept: How many of the user's messages stay; the last one loses its answer unless there is a question.
        question: What the user asks.
    """
    messages = conversation.messages
    starts = [place for place, one in enumerate(messages) if isinstance(one, UserMessage)] + [len(messages)]
    end = starts[min(kept, len(starts) - 1)] if question else starts[kept - 1] + 1
    client = Conversation(conversation.thread_id, messages=messages[:end], state=conversation.state)
    return client, client.run_input(question)


async def talked(agent: Agent, branch: str, options: dict[str, Any]) -> Conversation:
    """Ask two questions, and then do what the branch says; all runs end well."""
    conversation = Conversation("thread-1", state={})
    for question in ("The first?", "The second?"):
        events = await answered(conversation, conversation.run_input(question), agent, options)
        assert conversation.status == "finished", events[-1]
    kept, asked, _ = BRANCHES[branch]
    client, run_input = branched(conversation, kept, asked)
    events = await answered(client, run_input, agent, options)
    assert client.status == "finished", events[-1]
    return client


def check_memory(
    agent_at: Callable[[str], Agent],
    branch: str,
    *,
    model: str = "first",
    read: Callable[[list[Any]], list[Any]] = plain,
) -> None:
    """Let a strict Claude be asked in a thread that the user changes.

    Args:
        agent_at: Makes the agent from the URL of the provider. It has whatever memory the framework keeps.
        branch: What the user does, of `BRANCHES`.
        model: The name of the model.
        read: Reads the messages of a request.
    """
    claude = Claude({model: list(ANSWERS)})
    with local_server(claude.app) as url:
        anyio.run(talked, agent_at(url), branch, CLAUDE)
    questions = BRANCHES[branch][2]
    expected: list[Any] = []
    for question, answer in zip(questions, ANSWERS, strict=False):
        expected += [{"role": "user", "content": [text(question)]}, {"role": "assistant", "content": answer}]
    assert (claude.refused, read(claude.requests[2]["messages"])) == ([], expected[:-1])
