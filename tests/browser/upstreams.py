"""Gateways for the page: in front of scripted providers, and of upstreams that do what a test says."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import anyio
import anyio.to_thread

from agui_reasoning.deltas import CloseDelta, Delta, OpaqueDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.gateway import Upstream, create_app, local_server
from agui_reasoning.parts import Opaque
from agui_reasoning.replay import Check, sequence
from agui_reasoning.run import Run
from tests.internals import demo

TIMEOUT_S: Final = 120


class Told(Upstream):
    """Answers each run with the items that a test gives for it; the last ones again when there are no more.

    A delta is sent, an exception raised, an event waited for, and behind `...` nothing comes.

    Attributes:
        inputs: The messages of each run, as JSON.
        closed: Set when a run has ended.
    """

    name = "told"

    def __init__(self, *answers: Sequence[Any]) -> None:
        self.inputs: list[list[dict[str, Any]]] = []
        self.closed = threading.Event()
        self._answers = answers

    async def agent(self, run: Run) -> AsyncIterator[Delta]:
        messages = run.input.model_dump(mode="json", by_alias=True, exclude_none=True)["messages"]
        self.inputs.append(messages)
        items = self._answers[min(len(self.inputs), len(self._answers)) - 1]
        try:
            for item in items:
                if isinstance(item, Exception):
                    raise item
                if item is Ellipsis:
                    await anyio.sleep_forever()
                if isinstance(item, threading.Event):
                    assert await anyio.to_thread.run_sync(item.wait, TIMEOUT_S, abandon_on_cancel=True)
                else:
                    yield item
        finally:
            self.closed.set()


def thought(*texts: str, signature: str = "c2lnbmF0dXJl") -> list[Delta]:
    """A complete unit of reasoning, signed."""
    opaque = OpaqueDelta(Opaque("anthropic.signature", signature), key="0")
    return [*(ReasoningDelta(text, key="0") for text in texts), opaque, CloseDelta(key="0")]


def redacted(value: str = "cmVkYWN0ZWQ=") -> list[Delta]:
    """A unit of reasoning that the provider does not show."""
    return [OpaqueDelta(Opaque("anthropic.redacted_thinking", value), key="r"), CloseDelta(key="r")]


def answered(text: str = "Take the raincoat.") -> list[Delta]:
    """A text."""
    return [TextDelta(text)]


def called(call_id: str, arguments: str = '{"place": "Bergen"}') -> list[Delta]:
    """A call that the page has to answer."""
    return [ToolCallDelta(call_id, "get_forecast", arguments), CloseDelta(key=call_id)]


@contextmanager
def serving(upstream: Upstream | None = None, **options: Any) -> Iterator[str]:
    """A gateway, by its address."""
    with local_server(create_app(upstream, **options)) as url:
        yield url


class Loop:
    """A gateway in front of a provider that plays a script and remembers what it is asked.

    Attributes:
        url: The gateway.
        question: The script's first question.
        follow_up: Its second one.
        requests: What the provider was asked.
    """

    def __init__(self, name: str) -> None:
        self.exchanges = sequence(name)
        self.question = self.exchanges[0]["question"]
        self.follow_up = self.exchanges[-1]["question"]
        self.requests: list[Any] = []
        self.url = ""

    def checks(self) -> list[Check]:
        """What of the answers so far is in the last request: the checks of `agui-reasoning demo`."""
        return list(demo.checks(self.exchanges, self.requests))


@contextmanager
def scripted(name: str, **options: Any) -> Iterator[Loop]:
    """A whole loop while the block runs."""
    loop = Loop(name)
    with (
        demo.scripted_upstream(loop.exchanges, loop.requests.append) as upstream,
        serving(upstream, **options) as loop.url,
    ):
        yield loop
