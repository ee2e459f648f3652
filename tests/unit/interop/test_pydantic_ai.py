"""Read the events of Pydantic AI runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning.aio import ModelStream
from agui_reasoning.errors import ProviderError
from agui_reasoning.interop import pydantic_ai
from agui_reasoning.interop.pydantic_ai._read import EventReader
from agui_reasoning.interop.pydantic_ai._write import message_dicts
from agui_reasoning.parts import Origin, Turn
from agui_reasoning.providers import decode_response
from agui_reasoning.request import History, build_request
from tests.unit.interop.reading import shown


def part(index: int, kind: str, **members: Any) -> list[Any]:
    """The start and the end of a part that is streamed at once."""
    given = SimpleNamespace(part_kind=kind, **{"id": None, "provider_details": None, **members})
    return [SimpleNamespace(event_kind=f"part_{step}", index=index, part=given) for step in ("start", "end")]


ASKS = [
    *part(0, "thinking", content="Hm.", signature="AA=="),
    *part(1, "tool-call", tool_call_id="call_1", tool_name="look", args="{}"),
]
RUNS = SimpleNamespace(event_kind="function_tool_call", part=ASKS[-1].part)
SHOWN = [
    "reasoning_start 1",
    "reasoning_message_start 2",
    "reasoning_message_content 2 | Hm.",
    "reasoning_message_end 2",
    "reasoning_encrypted_value 2",
    "reasoning_end 1",
    "tool_call_start 3 | look",
    "tool_call_args 3 | {}",
    "tool_call_end 3",
    "reasoning_encrypted_value 2",
]


def failing(payloads: list[Any]) -> ModelStream:
    """A stream whose tool raises."""

    class Reader(EventReader):
        def receive(self, payload: Any) -> Any:
            if payload is None:
                raise ProviderError(provider_message="The lamp is broken.")
            return super().receive(payload)

    return ModelStream([*payloads, None], reader=lambda run: Reader(run))


def test_a_response_is_over_when_its_tools_begin() -> None:
    found = shown(failing, [*ASKS, RUNS])
    assert (found.lines, found.events[-1].type) == (SHOWN, "RUN_ERROR")
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "AA=="}
    assert found.answers == [[thought, {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}]]


def test_a_response_that_broke_off_before_is_not() -> None:
    found = shown(failing, ASKS)
    assert found.events[-1].type == "RUN_ERROR"
    assert found.answers == []


def test_the_counts_of_a_run_come_with_its_end() -> None:
    counts = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    usage = SimpleNamespace(
        **counts, cache_read_tokens=4, cache_write_tokens=0, details={"reasoning_tokens": 3}
    )
    ended = SimpleNamespace(event_kind="agent_run_result", result=SimpleNamespace(usage=usage))
    (found,) = shown(pydantic_ai.stream, [*part(0, "text", content="Yes."), ended]).events[-1].usage
    assert (found.input_tokens, found.output_tokens, found.total_tokens) == (10, 5, 15)
    assert (found.reasoning_tokens, found.cached_input_tokens) == (3, 4)
    assert found.cache_write_input_tokens is None


BLOCKS: dict[str, list[Any]] = {
    "anthropic-messages": [
        {"type": "thinking", "thinking": "Hm.", "signature": "AA=="},
        {"type": "redacted_thinking", "data": "BB=="},
        {"type": "text", "text": "Yes."},
    ],
    "bedrock-converse": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "AA=="}}},
        {"reasoningContent": {"redactedContent": b"opaque"}},
        {"text": "Yes."},
    ],
}


PROVIDERS = {"anthropic-messages": "anthropic", "bedrock-converse": "bedrock"}


@pytest.mark.parametrize("api", PROVIDERS)
def test_what_is_written_for_the_framework_is_read_as_it_was(api: str) -> None:
    content, provider = BLOCKS[api], PROVIDERS[api]
    message = {"role": "assistant", "content": content}
    whole: dict[str, Any] = {"type": "message", **message}
    if provider == "bedrock":
        whole = {"output": {"message": message}, "stopReason": "end_turn"}
    options = {"api": api, "provider": provider, "model": "claude-opus-5"}
    parts = decode_response(api, whole, provider=provider)
    turn = Turn(tuple(parts), Origin(provider, api, "claude-opus-5"))
    asked = UserMessage(id="u", content="Is it so?")
    request = build_request(history_or_messages=History((asked, turn, asked)), **options)  # type: ignore[arg-type]
    _, written, _ = message_dicts(request.conversation, pytest.fail)
    events: list[Any] = []
    for number, fields in enumerate(written["parts"]):
        members = {name: value for name, value in fields.items() if name != "part_kind"}
        events += part(number, fields["part_kind"], **members)
    assert shown(pydantic_ai.stream, events, **options).answers == [content]
