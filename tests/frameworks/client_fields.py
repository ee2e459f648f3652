"""What a client sends beside its messages, and what of that reaches the model through a framework."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
from ag_ui.core import Context, SystemMessage

from agui_reasoning import Conversation
from agui_reasoning.gateway import local_server
from tests.frameworks.claude import CLAUDE, Claude, text
from tests.frameworks.threads import Agent, answered

__all__ = ["check_client_fields"]


def check_client_fields(
    agent_at: Callable[[str], Agent],
    *,
    provider: Any = None,
    options: dict[str, Any] = CLAUDE,
    keeps_instructions: bool = True,
) -> None:
    """Send instructions, context, state and forwarded properties with a question.

    Args:
        agent_at: Makes the agent from the URL of the provider.
        provider: The scripted provider; by default, Claude.
        options: Those of the run.
        keeps_instructions: Whether the client's instructions reach the model, unless they are dropped.
    """
    for kept in ("keep", "drop"):
        scripted = provider() if provider else Claude({"first": [[text("Hello.")]]})
        told = [SystemMessage(id="s", content="the client's instructions")]
        conversation = Conversation("thread-1", messages=told, state={"draft": "the client's state"})
        asked = conversation.run_input(
            "Hello?",
            context=[Context(description="The page", value="the client's context")],
            forwarded_props={"wish": "the client's properties"},
        )
        with local_server(scripted.app) as url:
            chosen = {**options, "client_instructions": kept}
            anyio.run(answered, conversation, asked, agent_at(url), chosen)
        assert (conversation.status, scripted.refused) == ("finished", [])
        sent = json.dumps(scripted.requests[0])
        found = {
            word for word in ("instructions", "context", "state", "properties") if f"client's {word}" in sent
        }
        assert found == ({"instructions"} if keeps_instructions and kept == "keep" else set())
