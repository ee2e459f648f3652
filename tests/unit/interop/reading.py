"""What an adapter shows of a framework's stream, without the framework: objects of its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agui_reasoning import Conversation, Run, check_events, run_agent
from agui_reasoning.aio import ModelStream
from tests.support.lines import lines

__all__ = ["Shown", "shown"]

CLAUDE = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5"}


class Shown:
    """What a client has of one run.

    Attributes:
        lines: The events, as `lines` writes them.
        events: The events.
        answers: What each response of the model becomes in the next request.
    """

    def __init__(self, events: list[Any], options: dict[str, str]) -> None:
        conversation = Conversation("t")
        for event in events:
            conversation.receive(event)
        assert check_events(events) == []
        self.events, self.lines = events, lines(events)
        body = Run(conversation.run_input("And now?"), **options).request(tools=()).body  # type: ignore[arg-type]
        self.answers = [one["content"] for one in body.get("messages", ()) if one["role"] == "assistant"]


def shown(stream: Callable[[Any], ModelStream], payloads: Sequence[Any], **options: str) -> Shown:
    """Read payloads with an adapter.

    Args:
        stream: The adapter's function.
        payloads: What the framework yields.
        **options: API, provider and model, instead of Anthropic's.
    """
    asked = options or CLAUDE
    run_input = Conversation("t").run_input("Is it so?")
    run = Run(run_input, **asked)  # type: ignore[arg-type]
    return Shown(list(run_agent(run, lambda _: iter([stream(list(payloads))]))), asked)
