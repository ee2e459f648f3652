"""A gateway that keeps runs: they go on whatever happens to the page, and the page joins them again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.types import Message, Receive, Scope, Send

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta, ReasoningDelta
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import create_app, local_server
from tests.browser.chat import Chat
from tests.browser.upstreams import TIMEOUT_S, Told, answered, called, thought
from tests.support.browser import Faults, OpenTab

WORDS = "Clouds over Bergen."


class Thinker(Told):
    """Thinks in two halves, the second when it may go on, and answers; then answers at once."""

    def __init__(self, *rest: Delta) -> None:
        self.go_on = threading.Event()
        first, *others = thought("Clouds ", "over Bergen.")
        super().__init__([first, self.go_on, *others, *(rest or answered("Yes."))], answered("Indeed."))


class Gateway:
    """A gateway that keeps runs.

    Attributes:
        asked: The paths of the requests of pages.
        cut_at: The next stream in which this comes breaks off behind it.
    """

    def __init__(self, upstream: Told, path: Path, **options: Any) -> None:
        runs = Runs(SQLiteRuns(path / "runs.db"), keys=options.get("keys"), drain_s=0.1)
        self.app = create_app(upstream, runs=runs, **options)
        self.asked: list[str] = []
        self.cut_at: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("method") == "POST":
            self.asked.append(scope["path"])

        async def cutting(message: Message) -> None:
            await send(message)
            if self.cut_at is not None and self.cut_at in message.get("body", b""):
                self.cut_at = None
                raise ConnectionResetError("the network is gone")

        await self.app(scope, receive, cutting)


@contextmanager
def kept(upstream: Told, path: Path, **options: Any) -> Iterator[tuple[str, Gateway]]:
    gateway = Gateway(upstream, path, **options)
    with local_server(gateway) as url:
        yield url, gateway


def roles(chat: Chat) -> list[str]:
    return [message["role"] for message in chat.thread()["messages"]]


def duplicate(chat: Chat, url: str) -> Chat:
    """A second tab, with a copy of what the first one stores, as browsers duplicate tabs."""
    with chat.page.expect_popup() as opened:
        chat.page.evaluate("() => void open()")
    return Chat(opened.value, url)


def paths(gateway: Gateway) -> list[str]:
    """The endpoints of runs that were asked."""
    return [path for path in gateway.asked if path.startswith("/agent")]


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_a_reload_in_the_middle_of_a_thought(
    open_tab: OpenTab, faults: Faults, tmp_path: Path, visibility: str
) -> None:
    faults.expect("ERR_ABORTED")
    upstream = Thinker()
    with kept(upstream, tmp_path, visibility=visibility, keys=KeyRing.generate("k1")) as (url, gateway):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        told = chat.page.locator(".visually-hidden[aria-live=polite]")
        expect(told).to_have_text("Thinking")
        chat.page.reload()
        expect(told).to_have_text("Thinking")
        expect(chat.button("Stop")).to_be_visible()
        upstream.go_on.set()
        expect(chat.answers).to_have_text(["Yes."])
        chat.expect_rest()
        expect(chat.turns).to_have_count(1)
        assert roles(chat) == ["user", "reasoning", "assistant"]
        assert chat.thread()["messages"][1]["content"] == (WORDS if visibility == "full" else "")
        assert paths(gateway) == ["/agent", "/agent/connect"]

        chat.ask("Really?")
        expect(chat.answers).to_have_text(["Yes.", "Indeed."])
        chat.expect_rest()
        # The signature of the thought goes back to the provider: nothing was lost on the way.
        assert [one["role"] for one in upstream.inputs[1]] == ["user", "reasoning", "assistant", "user"]
        assert upstream.inputs[1][1]["encryptedValue"]


def test_the_log_of_a_run_that_was_joined_is_one_run(
    open_tab: OpenTab, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("ERR_ABORTED")
    upstream = Thinker()
    with kept(upstream, tmp_path) as (url, _):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.thoughts).to_contain_text(["Thinking"])
        chat.page.reload()
        expect(chat.button("Stop")).to_be_visible()
        upstream.go_on.set()
        chat.expect_rest()
        kinds = [json.loads(raw)["type"] for _, raw in chat.log()]
        assert kinds[:2] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
        assert (kinds.count("RUN_STARTED"), kinds[-1]) == (1, "RUN_FINISHED")


def test_a_page_that_comes_back_after_the_end_of_the_run(
    open_tab: OpenTab, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("ERR_ABORTED")
    upstream = Thinker(*called("c1"))
    with kept(upstream, tmp_path) as (url, _):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.thoughts).to_contain_text(["Thinking"])
        chat.page.goto("about:blank")
        upstream.go_on.set()
        assert upstream.closed.wait(TIMEOUT_S)
        chat.page.go_back()
        chat.answer_call("rain")
        expect(chat.answers).to_have_text(["Indeed."])
        chat.expect_rest()
        assert roles(chat) == ["user", "reasoning", "assistant", "tool", "assistant"]


def test_a_second_tab_sees_the_run_and_stops_it(open_tab: OpenTab, tmp_path: Path) -> None:
    upstream = Thinker()
    with kept(upstream, tmp_path) as (url, gateway):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.thoughts).to_contain_text(["Thinking"])
        second = duplicate(chat, url)
        expect(second.thoughts).to_contain_text(["Thinking"])
        second.button("Stop").click()
        for tab in (second, chat):
            expect(tab.page.locator(".outcome")).to_contain_text("Stopped")
            tab.expect_rest()
        assert upstream.closed.wait(TIMEOUT_S)
        assert second.thread()["messages"] == chat.thread()["messages"]
        assert "/agent/stop" in paths(gateway)


def test_a_second_tab_reads_the_run_to_its_end(open_tab: OpenTab, tmp_path: Path) -> None:
    upstream = Thinker()
    with kept(upstream, tmp_path) as (url, _):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.thoughts).to_contain_text(["Thinking"])
        second = duplicate(chat, url)
        expect(second.thoughts).to_contain_text(["Thinking"])
        upstream.go_on.set()
        for tab in (chat, second):
            expect(tab.answers).to_have_text(["Yes."])
            tab.expect_rest()
        assert second.thread()["messages"] == chat.thread()["messages"]


def test_a_tab_at_rest_notices_the_run_of_another_one(open_tab: OpenTab, tmp_path: Path) -> None:
    upstream = Thinker()
    with kept(upstream, tmp_path) as (url, gateway):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        upstream.go_on.set()
        expect(chat.answers).to_have_text(["Yes."])
        chat.expect_rest()
        second = duplicate(chat, url)
        second.field.fill("half a sen")
        chat.ask("Really?")
        for tab in (chat, second):
            expect(tab.answers).to_have_text(["Yes.", "Indeed."])
            tab.expect_rest()
        assert second.thread()["messages"] == chat.thread()["messages"]
        expect(second.questions.locator(".bubble")).to_have_text(["Umbrella?", "Really?"])
        expect(second.field).to_have_value("half a sen")
        assert paths(gateway) == ["/agent", "/agent", "/agent/connect"]


def test_stop_ends_the_run_and_not_only_the_connection(open_tab: OpenTab, tmp_path: Path) -> None:
    upstream = Told([ReasoningDelta("Half a thou", key="0"), ...], answered("Yes."))
    with kept(upstream, tmp_path) as (url, gateway):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.thoughts).to_contain_text(["Half a thou"])
        chat.page.keyboard.press("Escape")
        expect(chat.page.locator(".outcome")).to_contain_text("Stopped")
        assert upstream.closed.wait(TIMEOUT_S)
        assert paths(gateway) == ["/agent", "/agent/stop"]
        chat.button("Try again").click()  # the thread is free again
        expect(chat.answers).to_have_text(["Yes."])
        chat.expect_rest()


def test_a_new_chat_stops_the_run_of_the_one_before(
    open_tab: OpenTab, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("ERR_ABORTED")
    upstream = Told([ReasoningDelta("Half a thou", key="0"), ...])
    with kept(upstream, tmp_path) as (url, _):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.thoughts).to_contain_text(["Half a thou"])
        chat.button("New chat").click()
        assert upstream.closed.wait(TIMEOUT_S)
        expect(chat.turns).to_have_count(0)


def test_a_connection_that_breaks_is_joined_again(open_tab: OpenTab, faults: Faults, tmp_path: Path) -> None:
    faults.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
    upstream = Thinker()
    with kept(upstream, tmp_path) as (url, gateway):
        gateway.cut_at = b"Clouds "
        chat = Chat(open_tab(), url)
        with chat.page.expect_request("**/agent/connect"):
            chat.ask("Umbrella?")
        upstream.go_on.set()
        expect(chat.answers).to_have_text(["Yes."])
        chat.expect_rest()
        assert (roles(chat), chat.failure.count()) == (["user", "reasoning", "assistant"], 0)
        assert chat.thread()["messages"][1]["content"] == WORDS


def test_a_gateway_that_stays_away_is_asked_again_by_retry(
    open_tab: OpenTab, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_FAILED")
    upstream = Thinker()
    with kept(upstream, tmp_path) as (url, gateway):
        gateway.cut_at = b"Clouds "
        chat = Chat(open_tab(), url)
        chat.page.route("**/agent/connect", lambda route: route.abort())
        chat.ask("Umbrella?")
        expect(chat.failure).to_contain_text("The gateway cannot be reached, or the connection was lost.")
        chat.expect_rest()
        chat.page.unroute("**/agent/connect")
        chat.button("Retry").click()  # the run is going on: it is joined, not repeated
        upstream.go_on.set()
        expect(chat.answers).to_have_text(["Yes."])
        chat.expect_rest()
        assert len(upstream.inputs) == 1


def test_a_question_that_never_arrived_is_not_lost_to_an_older_run(
    open_tab: OpenTab, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("ERR_FAILED|agent/connect net::ERR_ABORTED")
    upstream = Told(answered("Yes."), answered("Indeed."))
    with kept(upstream, tmp_path) as (url, _):
        chat = Chat(open_tab(), url)
        chat.ask("Umbrella?")
        expect(chat.answers).to_have_text(["Yes."])
        chat.expect_rest()
        chat.page.route("**/agent", lambda route: route.abort())
        chat.ask("Really?")
        expect(chat.failure).to_be_visible()
        assert roles(chat) == ["user", "assistant", "user"]
        chat.page.unroute("**/agent")
        chat.page.reload()
        expect(chat.questions).to_have_count(2)
        chat.button("Try again").click()
        expect(chat.answers).to_have_text(["Yes.", "Indeed."])
        chat.expect_rest()
