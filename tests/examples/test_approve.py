"""Run the example that asks before it runs its tool; the provider refuses reasoning that was changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agui_reasoning import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import create_app, local_server, provider_app
from tests.examples.test_endpoints import FOLDER, serving
from tests.unit.gateway.http_client import call

anthropic = pytest.importorskip("anthropic", reason="the example needs anthropic, which is not installed")

NAME = "approve.py"
APPROVED = {"approved": True}


class Thread:
    """A thread with the example.

    Attributes:
        requests: What the provider was asked.
    """

    def __init__(self, url: str, requests: list[dict[str, Any]]) -> None:
        self.url, self.requests = url, requests
        self.conversation = Conversation("thread")

    def run(self, question: str | None = None, **resumed: Any) -> None:
        """Run once, to its end."""
        asked = self.conversation.run_input(question, **resumed)
        answer = call(f"{self.url}/agent", asked.model_dump(mode="json", by_alias=True, exclude_none=True))
        for event in answer.events:
            self.conversation.receive(event)
        self.conversation.end_of_stream()

    def decide(self, status: str = "resolved", **more: Any) -> None:
        """Answer what the agent asks."""
        (asked,) = self.conversation.interrupts
        self.run(resume=[{"interruptId": asked.id, "status": status, **more}])

    @property
    def told(self) -> dict[str, Any]:
        """The result of the tool that the model read last."""
        (result,) = self.requests[-1]["messages"][-1]["content"]
        return {"text": result["content"], "is_error": result.get("is_error", False)}


@pytest.fixture(params=[{}, {"visibility": "hidden"}], ids=["shown", "hidden"])
def thread(request: pytest.FixtureRequest) -> Iterator[Thread]:
    names: dict[str, Any] = {"__name__": "approve"}
    exec(compile((FOLDER / NAME).read_text(encoding="utf-8"), NAME, "exec"), names)
    requests: list[dict[str, Any]] = []
    with local_server(provider_app("anthropic-weather", on_request=requests.append)) as provider:
        upstream = names["Approving"](anthropic.AsyncAnthropic(base_url=provider, api_key="none"))
        with local_server(create_app(upstream, keys=KeyRing.generate(), **request.param)) as url:
            thread = Thread(url, requests)
            thread.run("Umbrella or raincoat?")
            yield thread


def test_the_tool_runs_once_the_user_has_approved(thread: Thread) -> None:
    assert thread.conversation.status == "interrupted"
    assert len(thread.requests) == 1
    thread.decide(payload=APPROVED)
    assert thread.told == {"text": "Bergen: 9 °C, 4.2 mm of rain, gusts of 14 m/s.", "is_error": False}
    thinking, *_ = thread.requests[-1]["messages"][-2]["content"]
    assert (thinking["type"], bool(thinking["signature"])) == ("thinking", True)
    assert thread.conversation.status == "finished"
    assert "raincoat" in str(thread.conversation.messages[-1].content)
    thread.run("And by bicycle?")
    assert thread.conversation.status == "finished"


def test_the_user_may_change_the_arguments(thread: Thread) -> None:
    thread.decide(payload={**APPROVED, "editedArgs": {"place": "Oslo", "hours": 3}})
    assert thread.told["text"].startswith("Oslo: ")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"payload": {"approved": False, "reason": "I am inside."}}, "The user refused: I am inside."),
        ({"payload": {"approved": "yes"}}, "The user refused: no reason."),
        ({"payload": "approved"}, "The user did not decide."),
        ({"status": "cancelled"}, "The user did not decide."),
    ],
    ids=["refused", "not true", "another form", "cancelled"],
)
def test_nothing_else_approves(thread: Thread, answer: dict[str, Any], told: str) -> None:
    thread.decide(**answer)
    assert thread.told == {"text": told, "is_error": True}
    assert thread.conversation.status == "finished"


def test_it_starts_without_a_key() -> None:
    with serving(NAME) as url:
        thread = Thread(url, [])
        thread.run("Umbrella or raincoat?")
        thread.decide(payload=APPROVED)
    assert thread.conversation.status == "finished"
