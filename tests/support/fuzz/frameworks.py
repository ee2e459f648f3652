"""What agent frameworks yield, as objects of their shapes: the framework itself need not be installed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agui_reasoning import Conversation, Run, run_agent
from agui_reasoning.aio import ModelStream
from agui_reasoning.interop import (
    agno,
    claude_agent,
    langchain,
    litellm,
    openai_agents,
    openhands,
    pydantic_ai,
)
from tests.support.fuzz.inputs import REST, exchanges, ignore
from tests.support.fuzz.mutator import Json, Mutator
from tests.support.fuzz.target import Case, DifferenceError, Target, chosen

__all__ = ["TARGETS"]

CLAUDE: Json = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5"}
LITELLM: Json = {"api": "litellm", "provider": "anthropic", "model": "anthropic/claude-sonnet-4-5"}
OPENAI: Json = {"api": "openai-responses", "provider": "openai", "model": "gpt-5"}
CLASS = "$"
"""The member with the name of the class of what is no dict to the framework."""


def _of(kind: str, **members: Any) -> Json:
    return {CLASS: kind, **members}


def _part(index: int, kind: str, **members: Any) -> list[Json]:
    given = _of("Part", part_kind=kind, id=None, provider_details=None, **members)
    return [_of("Event", event_kind=f"part_{step}", index=index, part=given) for step in ("start", "end")]


def _chunk(content: Any, last: bool = False) -> Json:
    more = {"usage_metadata": None, "response_metadata": {}, "chunk_position": "last" if last else None}
    calls = [{"index": 2, "id": "c1", "name": "look", "args": "{}"}] if last else []
    return _of(
        "AIMessageChunk",
        **{"type": "AIMessageChunk", "id": "lc_run--a", "content": content, "additional_kwargs": {}},
        **{"tool_call_chunks": calls, **more},
    )


def _said(message_id: str, *content: Json) -> Json:
    rest = {"model": "claude-opus-5", "parent_tool_use_id": None, "error": None, "uuid": None}
    return _of("AssistantMessage", message_id=message_id, content=list(content), **rest)


STREAMS: dict[str, tuple[Callable[[Any], ModelStream], Json, list[Json]]] = {
    "agno": (
        agno.stream,
        CLAUDE,
        [
            _of("E", event="ModelRequestStarted"),
            _of("E", event="RunContent", content=None, reasoning_content="Hm.", model_provider_data=None),
            _of(
                "E",
                event="RunContent",
                content=None,
                reasoning_content="",
                model_provider_data={"signature": "AA=="},
            ),
            _of("E", event="RunContent", content="Yes.", reasoning_content="", model_provider_data=None),
            _of(
                "E", event="ToolCallStarted", tool=_of("T", tool_call_id="c1", tool_name="look", tool_args={})
            ),
            _of(
                "E",
                event="ToolCallCompleted",
                tool=_of("T", tool_call_id="c1", result="12", tool_call_error=False),
            ),
            _of("E", event="RunCompleted"),
        ],
    ),
    "langchain": (
        langchain.stream,
        CLAUDE,
        [
            _chunk([{"type": "thinking", "thinking": "Hm.", "index": 0}]),
            _chunk([{"type": "thinking", "signature": "AA==", "index": 0}]),
            _chunk([{"type": "text", "text": "Yes.", "index": 1}]),
            _chunk([], last=True),
            _of("M", type="tool", content="12", tool_call_id="c1", status="success", id="t"),
        ],
    ),
    "claude-agent": (
        claude_agent.stream,
        CLAUDE,
        [
            _of(
                "SystemMessage",
                subtype="init",
                data={"session_id": "s", "tools": ["Read"], "mcp_servers": []},
            ),
            _said("m1", _of("ThinkingBlock", thinking="Hm.", signature="AA==")),
            _said("m1", _of("ToolUseBlock", id="c1", name="look", input={"at": "Bergen"})),
            _of(
                "UserMessage",
                parent_tool_use_id=None,
                content=[_of("ToolResultBlock", tool_use_id="c1", content="12", is_error=False)],
            ),
            _said("m2", _of("TextBlock", text="Yes.")),
        ],
    ),
    "openai-agents": (
        openai_agents.stream,
        OPENAI,
        [
            _of("E", type="agent_updated_stream_event", new_agent=_of("A", name="one")),
            *(
                _of("E", type="raw_response_event", data=payload)
                for exchange in exchanges()
                if exchange.api == "openai-responses"
                for payload in exchange.payloads[:25]
            ),
            _of(
                "E",
                type="run_item_stream_event",
                name="tool_output",
                item=_of("I", raw_item={"call_id": "c1", "output": "12"}),
            ),
        ],
    ),
    "pydantic-ai": (
        pydantic_ai.stream,
        CLAUDE,
        [
            *_part(0, "thinking", content="Hm.", signature="AA=="),
            *_part(1, "text", content="I look."),
            *_part(2, "tool-call", tool_call_id="c1", tool_name="look", args="{}"),
            _of(
                "E",
                event_kind="function_tool_result",
                part=_of(
                    "P", part_kind="tool-return", tool_call_id="c1", content="12", outcome="success", files=()
                ),
            ),
        ],
    ),
    "litellm-sdk": (
        litellm.stream,
        LITELLM,
        [payload for one in exchanges() if one.api == "litellm" for payload in one.payloads[:12]],
    ),
}


def _draw(chance: random.Random, mutator: Mutator, *, name: str) -> Case:
    mutator.is_json = True
    payloads = list(STREAMS[name][2])
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(payloads))
        payloads[at : at + chance.randrange(2)] = [mutator.some(payloads[at])]
    return Case(payloads, 0)


@cache
def _class(name: str) -> type[Any]:
    return type(name, (SimpleNamespace,), {})


def _made(members: Json) -> Any:
    """Make an object of what has a class."""
    kind = members.get(CLASS)
    rest = {name: value for name, value in members.items() if name != CLASS}
    return _class(kind)(**rest) if isinstance(kind, str) and kind.isidentifier() else rest


def _shown(case: Case, *, name: str) -> None:
    """Show a run: whatever the framework yields, its client gets a valid stream with an end."""
    stream, named, _ = STREAMS[name]
    try:
        payloads = json.loads(json.dumps(case.given), object_hook=_made)
    except RecursionError:  # nor can the framework be given it
        return
    run = Run({"threadId": "t", "runId": "r", "messages": [], **REST}, on_warning=ignore, **named)
    conversation = Conversation(on_warning=ignore)
    events = list(run_agent(run, lambda _: iter([stream(payloads)])))
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
    if events[-1].type == "RUN_ERROR":
        if events[-1].code is None:
            raise DifferenceError("the error of the run is none of ours")
    elif events[-1].type != "RUN_FINISHED":
        raise DifferenceError("the run has no end")


# -- OpenHands, whose events are JSON


@cache
def _stored() -> Sequence[list[Json]]:
    folder = Path(__file__).resolve().parents[2] / "fixtures" / "openhands"
    return [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]


MESSAGES: list[Json] = [
    {"role": "user", "content": [{"type": "text", "text": "When?"}]},
    {"role": "assistant", "content": "Noon.", "reasoning_content": "Look.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    ], "thinking_blocks": [{"type": "thinking", "thinking": "Look.", "signature": "AA=="}]},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": [{"type": "text", "text": "12"}]},
]  # fmt: skip


def _draw_openhands(chance: random.Random, mutator: Mutator) -> Case:
    mutator.is_json = True
    events = list(chance.choice((*_stored(), MESSAGES)))
    is_messages = events == MESSAGES
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(events))
        events[at : at + chance.randrange(2)] = [mutator.some(events[at])]
    return Case(events, 2 if is_messages else chance.randrange(2))


def _openhands(case: Case) -> None:
    """Read events or messages, and write them again."""
    chosen(
        case,
        lambda: openhands.read_events(case.given, on_warning=ignore, **LITELLM),
        lambda: openhands.write_events(openhands.read_events(case.given, on_warning=ignore, **LITELLM)),
        lambda: openhands.read_messages(case.given, provider="anthropic", model="m"),
    )


TARGETS: tuple[Target, ...] = (
    *(
        Target(f"interop-{name}", partial(_draw, name=name), partial(_shown, name=name), pace=8)
        for name in STREAMS
    ),
    Target("interop-openhands", _draw_openhands, _openhands, pace=8),
)
