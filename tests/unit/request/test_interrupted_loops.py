"""Test that every provider gets the same request whether a tool was approved in a later run or run at once.

The first script of each API calls a tool. The body after the interrupt is compared with the one without, so
reasoning, signatures and calls go back whole, and its strict fake takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from ag_ui.core import Interrupt

from agui_reasoning import Conversation, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta, fold
from agui_reasoning.parts import ToolResultPart, Turn
from agui_reasoning.policy import EchoRule
from agui_reasoning.testing import assistant_ui, copilotkit
from tests.support.strict_providers import STRICT, Issued
from tests.unit.request.test_two_turns import SCRIPTS, response

Json = dict[str, Any]

APIS = {
    api: next(name for name, strict in STRICT.items() if strict.target.api == api) for api in sorted(SCRIPTS)
}
KEYS = KeyRing.generate()
OPTIONS: dict[str, Json] = {
    "shown": {},
    "encrypted": {"keys": KEYS},
    "summary": {"keys": KEYS, "visibility": "summary"},
    "hidden": {"keys": KEYS, "visibility": "hidden"},
}
RETURNS: dict[str, Callable[[list[Json]], list[Json]]] = {
    "as it is": lambda messages: messages,
    "copilotkit": copilotkit,
    "assistant-ui": assistant_ui,
}
PAYLOAD = {"approved": False, "reason": "Look out of the window."}


class Thread:
    """A thread with a strict provider."""

    def __init__(self, name: str, returns: str, **options: Any) -> None:
        self.strict, self.name, self.returns, self.options = STRICT[name], name, RETURNS[returns], options
        self.client = Conversation("t", on_warning=lambda text: None)
        self.numbers = count()

    def run(self, question: str | None, **resumed: Any) -> Run:
        """Start a run."""
        asked = self.client.run_input(question, run_id=f"run-{next(self.numbers)}", **resumed)
        sent = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
        target = self.strict.target
        run = Run(
            sent | {"messages": self.returns(sent["messages"])},
            origin=target,
            on_warning=lambda text: None,
            new_id=lambda: f"id-{next(self.numbers)}",
            **self.options,
        )
        self.hears(run.start())
        return run

    def hears(self, events: list[Any]) -> None:
        """Take events."""
        for event in events:
            self.client.receive(event)

    def responds(self, run: Run, number: int) -> list[Delta]:
        """Show the model's response."""
        deltas = response(self.name, self.strict.target, number)
        for delta in deltas:
            self.hears(run.receive(delta))
        return deltas

    def answers(self, run: Run, *calls: str) -> None:
        """Tell the model what became of the calls."""
        for call in calls:
            self.hears(run.receive(ToolResultPart(call, "", error=f"The user refused: {PAYLOAD['reason']}")))


def at_once(name: str, returns: str, **options: Any) -> tuple[Json, list[Delta]]:
    """Return the request after a tool that no one had to approve."""
    thread = Thread(name, returns, **options)
    run = thread.run("Weather in Oslo?")
    run.request()
    deltas = thread.responds(run, 1)
    thread.answers(run, *[call.id for call in run.pending_calls])
    return run.request().body, deltas


def asked_first(name: str, returns: str, **options: Any) -> Json:
    """Return the request after a tool that a person refused in a later run."""
    thread = Thread(name, returns, **options)
    run = thread.run("Weather in Oslo?")
    run.request()
    thread.responds(run, 1)
    waiting = run.pending_calls
    asked = [Interrupt(id=f"ask {call.id}", reason="tool_call", tool_call_id=call.id) for call in waiting]
    thread.hears(run.finish(interrupts=asked))
    resume = [{"interruptId": one.id, "status": "resolved", "payload": PAYLOAD} for one in asked]
    run = thread.run(None, resume=resume)
    opened = run.open_calls
    assert [(call.id, call.args) for call in opened] == [(call.id, call.args) for call in waiting]
    assert [call.interrupt for call in opened] == asked
    assert [call.resume and call.resume.payload for call in opened] == [PAYLOAD] * len(asked)
    thread.answers(run, *[call.id for call in opened])
    return run.request().body


@pytest.mark.parametrize("returns", RETURNS)
@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("api", APIS)
def test_the_request_after_an_interrupt_is_the_one_without(api: str, how: str, returns: str) -> None:
    name, options = APIS[api], OPTIONS[how]
    body, deltas = at_once(name, returns, **options)
    assert asked_first(name, returns, **options) == body
    issued = Issued()
    issued.add(Turn(tuple(fold(deltas)), STRICT[name].target))
    assert STRICT[name].refusals(body, issued) == []


@pytest.mark.parametrize("api", ["anthropic-messages", "gemini", "openai-responses"])
def test_without_reasoning_the_request_is_another(api: str) -> None:
    """So that the test above could fail."""
    forgets = {"policy": [EchoRule(api=api, status="rejected")]}
    assert at_once(APIS[api], "as it is")[0] != asked_first(APIS[api], "as it is", **forgets)
