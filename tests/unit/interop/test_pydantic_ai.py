"""Read the events of Pydantic AI runs."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from agui_reasoning.aio import ModelStream
from agui_reasoning.errors import ProviderError
from agui_reasoning.interop import pydantic_ai
from tests.support.lines import calls, thinks
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
    *thinks(1, "Hm."),
    *calls(3, "look", "{}"),
    "reasoning_encrypted_value 2",
]


def failing(payloads: list[Any]) -> ModelStream:
    """A stream whose tool raises."""

    def source() -> Iterator[Any]:
        yield from payloads
        raise ProviderError(provider_message="The lamp is broken.")

    return pydantic_ai.stream(source())


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
    result = SimpleNamespace(usage=usage, output="Yes.")
    ended = SimpleNamespace(event_kind="agent_run_result", result=result)
    (found,) = shown(pydantic_ai.stream, [*part(0, "text", content="Yes."), ended]).events[-1].usage
    assert (found.input_tokens, found.output_tokens, found.total_tokens) == (10, 5, 15)
    assert (found.reasoning_tokens, found.cached_input_tokens) == (3, 4)
    assert found.cache_write_input_tokens is None
