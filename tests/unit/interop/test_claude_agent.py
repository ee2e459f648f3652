"""What goes to a session of the Claude Agent SDK."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agui_reasoning import RemoteProtocolError, Run
from agui_reasoning.interop import claude_agent

IMAGE = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}
SENT = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
OLD = [
    {"id": "1", "role": "user", "content": "Before."},
    {"id": "2", "role": "assistant", "content": "Yes."},
]


def asked(*messages: dict[str, Any], **options: Any) -> Run:
    return Run({"threadId": "t", "runId": "r", "messages": [*OLD, *messages]}, **options)


@pytest.mark.parametrize("options", [{}, {"api": "anthropic-messages", "provider": "anthropic"}], ids=str)
def test_the_prompt_is_what_the_user_said_since_the_last_answer(options: dict[str, str]) -> None:
    first, second = ({"id": text, "role": "user", "content": text} for text in ("Look.", "Now!"))
    assert claude_agent.prompt(asked(first, second, **options)) == "Look.\n\nNow!"


def test_the_prompt_with_an_image_is_a_message_of_the_sdk() -> None:
    content = [{"type": "text", "text": "What is it?"}, IMAGE]

    async def written() -> list[Any]:
        prompt: Any = claude_agent.prompt(asked({"id": "3", "role": "user", "content": content}))
        return [message async for message in prompt]

    (message,) = anyio.run(written)
    told = [{"type": "text", "text": "What is it?"}, SENT]
    assert message == {
        "type": "user",
        "message": {"role": "user", "content": told},
        "parent_tool_use_id": None,
    }


def test_an_input_that_ends_otherwise_has_no_prompt() -> None:
    with pytest.raises(RemoteProtocolError) as raised:
        claude_agent.prompt(asked())
    assert raised.value.code == "bad_input"
