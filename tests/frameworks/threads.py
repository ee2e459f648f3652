"""Plays a thread of two questions through a framework and back, and compares what its provider was asked.

The framework runs the tool of the scripts itself, so its provider is asked three times: with the question,
with the tool's result, and with the second question. The provider refuses what real ones refuse.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import anyio
import anyio.lowlevel

from agui_reasoning import Conversation, Run, check_events
from agui_reasoning.aio import run_agent
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.replay import Check, compare, read_answer, read_request, sequence
from tests.support.strict_providers import STRICT

__all__ = [
    "FORECAST",
    "OPTIONS",
    "PIXEL",
    "QUESTIONS",
    "Thread",
    "abandoned",
    "answered",
    "asked_once",
    "converse",
    "origin_of",
    "played",
    "replayed",
    "shown",
    "talked",
]

Agent = Callable[[Run], AsyncIterator[Any]]

FORECAST = '{"place": "Bergen", "from": "14:00", "temperature_c": 9, "rain_mm": 4.2, "gusts_ms": 14}'
"""What a framework's tool ``get_forecast(place, hours)`` returns."""

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
"""An image that a tool returns: a PNG of one pixel."""

OPTIONS: list[dict[str, Any]] = [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}]
"""What of a run changes the values in the history; ``True`` stands for a new key ring."""

QUESTIONS = ("Do I need an umbrella in Bergen this afternoon?", "And a wind jacket?")


_TALK = {"system", "messages", "input", "contents"}
_RESULTS = {"tool_result", "toolResult", "functionResponse", "output", "tool"}
"""The types, roles and members of results of tools."""


@dataclass
class Thread:
    """What happened.

    Attributes:
        script: The name of the first exchange.
        requests: What the provider was asked, in order.
        runs: The events of each run.
        conversation: What the client holds.
    """

    script: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    runs: list[list[Any]] = field(default_factory=list)
    conversation: Conversation = field(default_factory=lambda: Conversation("thread-1"))

    @property
    def findings(self) -> list[str]:
        """What `check` says about the streams."""
        return [finding.code for run in self.runs for finding in check_events(run)]

    def values(self, request: int) -> list[Check]:
        """Whether each artifact came back in a request, by its number from 1, unchanged and in order."""
        exchanges = sequence(self.script)
        given = chain.from_iterable(read_answer(exchange) for exchange in exchanges[: request - 1])
        return list(compare(given, read_request(exchanges[0]["api"], self.requests[request - 1])))

    @property
    def refusals(self) -> list[str]:
        """What a strict provider has against the conversations in the requests."""
        api = sequence(self.script)[0]["api"]
        strict = next(one for one in STRICT.values() if one.target.api == api)
        talks = ({name: body[name] for name in _TALK & body.keys()} for body in self.requests)
        return [fault for talk in talks for fault in strict.refusals(talk)]

    def results(self, request: int) -> list[Any]:
        """The results of tools in a request, by its number from 1, in the API's own format."""
        body = self.requests[request - 1]
        entries = [*body.get("messages", ()), *body.get("contents", ())] or body["input"]
        inner = [part for entry in entries for part in entry.get("content") or entry.get("parts") or ()]
        blocks = [part for part in inner if isinstance(part, dict) and _RESULTS & {*part, part.get("type")}]
        return blocks or [entry for entry in entries if _RESULTS & {*entry, entry.get("role")}]

    def missing(self, request: int) -> list[str]:
        """The kinds of what did not come back, or not as it was."""
        return [check.kind for check in self.values(request) if not check.unchanged]


def origin_of(script: str) -> dict[str, Any]:
    """The API, provider and model of a script."""
    first = sequence(script)[0]
    return {name: first[name] for name in ("api", "provider", "model")}


def with_keys(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `OPTIONS`, with a new key ring."""
    return options | ({"keys": KeyRing.generate()} if options.get("keys") is True else {})


@contextmanager
def replayed(script: str) -> Iterator[tuple[str, Thread]]:
    """A provider that plays a script: its URL, and what it is asked."""
    thread = Thread(script)
    with local_server(provider_app(script, on_request=thread.requests.append)) as url:
        yield url, thread


def shown(script: str, agent_at: Callable[[str], Agent], **options: Any) -> Thread:
    """Play the first question through a framework's own loop, and build the second one's request.

    That request is the third of the thread, and comes from the client's history.

    Args:
        script: The name of the first exchange.
        agent_at: Makes the agent from the URL of the provider.
        **options: Those of `Run` or `OPTIONS`, besides API, provider and model, which are the script's.
    """
    asked = origin_of(script) | with_keys(options)
    with replayed(script) as (url, thread):
        anyio.run(converse, thread, agent_at(url), asked, QUESTIONS[:1])
    run = Run(thread.conversation.run_input(QUESTIONS[1]), **asked)
    thread.requests.append(run.request(tools=()).body)
    return thread


def played(script: str, agent_at: Callable[[str], Agent], **options: Any) -> Thread:
    """Play the whole thread.

    Args:
        script: The name of the first exchange.
        agent_at: Makes the agent from the URL of the provider.
        **options: Those of `Run` or `OPTIONS`, besides API, provider and model, which are the script's.
    """
    asked = origin_of(script) | with_keys(options)
    with replayed(script) as (url, thread):
        anyio.run(converse, thread, agent_at(url), asked)
    return thread


def abandoned(script: str, agent_at: Callable[[str], Agent]) -> Thread:
    """Ask the first question, and leave while the model thinks; a framework that went on would ask again."""
    options = origin_of(script)

    async def leave() -> None:
        events = run_agent(thread.conversation.run_input(QUESTIONS[0]), agent, **options)
        async for event in events:
            if event.type == "REASONING_MESSAGE_CONTENT":
                break
        await events.aclose()
        await anyio.sleep(0.2)

    with replayed(script) as (url, thread):
        agent = agent_at(url)
        anyio.run(leave)
    return thread


async def converse(
    thread: Thread, agent: Agent, options: dict[str, Any], questions: Sequence[str] = QUESTIONS
) -> None:
    """Ask an agent the questions; `played` does so with a provider that streams."""
    for question in questions:
        thread.runs.append(await _run(thread.conversation, question, agent, options))
    for _ in range(5):
        await anyio.lowlevel.checkpoint()  # a closed connection is gone some rounds of the loop later


async def _run(conversation: Conversation, question: str, agent: Agent, options: dict[str, Any]) -> list[Any]:
    events = await answered(conversation, conversation.run_input(question), agent, options)
    assert conversation.status == "finished", events[-1]
    return events


async def answered(
    conversation: Conversation, run_input: Any, agent: Agent, options: dict[str, Any]
) -> list[Any]:
    """Run the agent once, and give the client what it emits."""
    # What a client keeps is what it sends: JSON.
    sent = json.loads(run_input.model_dump_json(by_alias=True, exclude_none=True))
    events = [event async for event in run_agent(sent, agent, **options)]
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
    return events


def talked(
    provider: Any,
    agent_at: Callable[[str], Agent],
    talk: Callable[[Conversation, Agent], Awaitable[Any]],
    conversation: Conversation | None = None,
) -> Conversation:
    """Let a client talk with an agent in front of a scripted provider, which must refuse nothing.

    Args:
        provider: The provider.
        agent_at: Makes the agent from the URL of the provider.
        talk: What the client does.
        conversation: What the client holds; by default, nothing.
    """
    client = conversation or Conversation("thread-1")

    async def run(url: str) -> None:
        await talk(client, agent_at(url))

    with local_server(provider.app) as url:
        anyio.run(run, url)
    assert provider.refused == []
    return client


def asked_once(
    provider: Any,
    agent_at: Callable[[str], Agent],
    options: dict[str, Any],
    question: str = "Look.",
    **client: Any,
) -> tuple[list[Any], Conversation]:
    """Ask an agent in front of a scripted provider one question.

    Args:
        provider: The provider.
        agent_at: Makes the agent from the URL of the provider.
        options: Those of the run.
        question: The question.
        **client: What the client holds before.

    Returns:
        The events, in which `check_events` finds nothing, and what the client holds.
    """
    events: list[Any] = []

    async def talk(conversation: Conversation, agent: Agent) -> None:
        events.extend(await answered(conversation, conversation.run_input(question), agent, options))

    conversation = talked(provider, agent_at, talk, Conversation("thread-1", **client))
    assert client or check_events(events) == []  # it does not know the state before
    return events, conversation
