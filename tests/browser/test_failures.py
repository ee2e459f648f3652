"""Whatever fails, the page says it in a sentence, keeps what came, and can go on."""

from __future__ import annotations

import threading
from typing import Any

import anyio.to_thread
import pytest
from playwright.sync_api import expect
from starlette.types import Receive, Scope, Send

from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.errors import ProviderError
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.replay import load_script
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import TIMEOUT_S, Told, answered, called, serving, thought
from tests.support.browser import Faults, OpenTab
from tests.unit.gateway.provider import CUT, Reply, frames, gateway, upstream

API = "anthropic-messages"
UNREACHABLE = "The connection to the model's provider failed. Please try again shortly."
CUT_OFF = "The agent could not finish its answer. Please try again."
SENTENCES = {
    401: "The model's provider refused the credentials. Please tell the operator of this agent.",
    429: "The model's provider limits the number of requests. Please try again shortly.",
    500: "The model's provider reported an error. Please try again shortly.",
}


def payloads(until: int) -> list[Any]:
    return [event["data"] for event in load_script("anthropic-weather-2")["events"][:until]]


def expect_failure(chat: Chat, sentence: str) -> None:
    expect(chat.failure).to_contain_text(sentence)
    expect(chat.button("Retry")).to_be_visible()
    chat.expect_rest()


def test_a_provider_that_breaks_off(open_tab: OpenTab) -> None:
    with gateway(API, Reply([*frames(payloads(6)), CUT])) as (url, provider):
        chat = Chat(open_tab(), url.removesuffix("agent"))
        chat.ask("Umbrella?")
        expect_failure(chat, CUT_OFF)
        expect(chat.thoughts).to_have_count(1)  # what came is kept
        kept = chat.thoughts.inner_text()
        chat.button("Retry").click()
        expect(chat.thoughts).to_have_count(1)  # it is asked anew, not continued
        expect_failure(chat, CUT_OFF)
        expect(chat.thoughts).to_have_count(1)
        assert chat.thoughts.inner_text() == kept
        assert provider.asked[1] == provider.asked[0]


@pytest.mark.parametrize("status", SENTENCES)
def test_a_provider_that_refuses(open_tab: OpenTab, status: int) -> None:
    reply = Reply([b'{"error": {"message": "WORDS of the provider"}}'], status, "application/json")
    with gateway(API, reply) as (url, _):
        chat = Chat(open_tab(), url.removesuffix("agent"))
        chat.ask("Umbrella?")
        expect_failure(chat, SENTENCES[status])
        assert "WORDS" not in chat.everything()


def test_a_provider_that_cannot_be_reached(open_chat: OpenChat) -> None:
    chat = open_chat(upstream(API, "http://127.0.0.1:9"))
    chat.ask("Umbrella?")
    expect_failure(chat, UNREACHABLE)


def test_a_failure_after_some_of_the_answer_and_another_try(open_chat: OpenChat) -> None:
    failure = ProviderError(provider_code="overloaded")
    told = Told([*thought("Hm."), *answered("Half"), failure], [*thought("Hm."), *answered("Whole.")])
    chat = open_chat(told)
    chat.ask("Umbrella?")
    expect(chat.failure).to_be_visible()
    expect(chat.answers).to_have_text(["Half"])
    chat.button("Retry").click()
    expect(chat.answers).to_have_text(["Whole."])  # what came before is replaced
    assert [message["role"] for message in told.inputs[1]] == ["user"]
    expect(chat.failure).to_have_count(0)
    chat.expect_rest()


def test_a_call_of_a_run_that_failed_is_not_to_be_answered(open_chat: OpenChat) -> None:
    failure = ProviderError(provider_code="overloaded")
    chat = open_chat(Told([*thought("Hm."), *called("c1", '{"place": "Ber')[:1], failure]))
    chat.ask("Umbrella?")
    expect(chat.failure).to_be_visible()
    expect(chat.calls).to_have_count(1)
    expect(chat.page.locator("form.tool-answer")).to_have_count(0)


def test_a_failure_is_still_told_after_a_reload(open_chat: OpenChat) -> None:
    chat = open_chat(upstream(API, "http://127.0.0.1:9"))
    chat.ask("Umbrella?")
    expect_failure(chat, UNREACHABLE)
    chat.page.reload()
    expect_failure(chat, UNREACHABLE)


def test_a_gateway_that_refuses_says_why(open_chat: OpenChat, faults: Faults) -> None:
    faults.expect("status of 413")
    chat = open_chat(Told(answered()), max_body_bytes=10)
    chat.ask("Umbrella?")
    expect_failure(chat, "body_too_large")
    expect(chat.questions).to_have_count(1)


def test_a_gateway_that_has_gone(open_tab: OpenTab, faults: Faults) -> None:
    faults.expect("ERR_CONNECTION_REFUSED")
    with serving(Told(answered())) as url:
        chat = Chat(open_tab(), url)
    chat.ask("Umbrella?")
    expect_failure(chat, "The gateway cannot be reached, or the connection was lost.")


class Cutting:
    """A gateway whose answers stop behind what is sent; if they do not end, the connection breaks off."""

    def __init__(self, sent: bytes, *, ends: bool) -> None:
        self.app = create_app(Told(answered()))
        self.sent = sent
        self.ends = ends
        self.stop = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("method") != "POST":
            await self.app(scope, receive, send)
            return
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": self.sent, "more_body": True})
        await anyio.to_thread.run_sync(self.stop.wait, TIMEOUT_S)
        if self.ends:
            await send({"type": "http.response.body", "body": b""})


_STARTED = b'data: {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}\n\n'
_TEXT = b"".join(
    b"data: %s\n\n" % data
    for data in (
        b'{"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"}',
        b'{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Half"}',
    )
)


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        (True, "The connection ended before the answer was complete. What arrived is kept."),
        (False, "The gateway cannot be reached, or the connection was lost."),
    ],
)
def test_a_stream_that_just_stops(open_tab: OpenTab, faults: Faults, ends: bool, sentence: str) -> None:
    faults.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
    gateway = Cutting(_STARTED + _TEXT + b'data: {"type": "TEXT_ME', ends=ends)
    with local_server(gateway) as url:
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.answers).to_have_text(["Half"])
        gateway.stop.set()
        expect_failure(chat, sentence)
        expect(chat.answers).to_have_text(["Half"])


def test_an_answer_that_is_no_stream_of_events(open_tab: OpenTab, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")  # the page reads no further
    gateway = Cutting(b"data: {]\n\n", ends=True)
    with local_server(gateway) as url:
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect_failure(chat, "The response is not a stream of AG-UI events")
        gateway.stop.set()


def test_a_slow_provider_is_waited_for(open_chat: OpenChat, faults: Faults) -> None:
    """The page says that it waits, then that the model thinks; keep-alives disturb nothing."""
    faults.expect("ERR_ABORTED")  # the page is closed meanwhile
    start = threading.Event()
    chat = open_chat(Told([start, ReasoningDelta("Hm.", key="0"), ...]), keep_alive_s=0.05)
    chat.ask("Umbrella?")
    expect(chat.page.locator(".outcome")).to_have_text("Waiting for the model…")
    start.set()
    expect(chat.thoughts).to_contain_text(["Thinking…"])
    expect(chat.button("Stop")).to_be_visible()
    assert chat.page.locator(".turns").get_attribute("aria-busy") == "true"
