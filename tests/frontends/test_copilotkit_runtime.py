"""CopilotKit's React package with the gateway as its runtime: nothing of its own runs on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import create_app, local_server
from tests.differential.node import find_node
from tests.frontends.front_ends import CopilotKit
from tests.frontends.harness import Thread, Visibility, recorded, upstream
from tests.frontends.provider import Break, Provider, playing

if TYPE_CHECKING:
    from tests.support.browser import Faults

UMBRELLA, BICYCLE, SCOOTER = "Umbrella or raincoat?", "And if I go by bicycle?", "And by scooter?"
PATH = "/api/copilotkit"
THOUGHTS: Final = {
    "anthropic-weather": ("that depends on", "gusts decide it"),
    "openai-weather": ("Rain alone does", "decides whether an"),
    "gemini-weather": ("any use depends on", "call get_forecast for Bergen"),
}
"""Something of the first thought, and of what follows a pause after three pieces of it. A call follows."""

Transport: TypeAlias = Literal["auto", "rest", "single"]

both = pytest.mark.parametrize("transport", ["rest", "single"])
each_api = pytest.mark.parametrize(
    ("script", "transport"),
    [("anthropic-weather", "rest"), ("openai-weather", "single"), ("gemini-weather", "rest")],
)

COPILOTKIT = CopilotKit("copilotkit")


class Runtime:
    """A page whose runtime is the gateway, which can be started again.

    Attributes:
        thread: The conversation in the page.
    """

    def __init__(
        self,
        page: Page,
        pages: str,
        database: Path,
        provider: Provider,
        provider_url: str,
        transport: Transport,
        visibility: Visibility,
    ) -> None:
        self.thread = Thread(COPILOTKIT, page, provider, [])
        self._pages, self._database, self._provider_url = pages, database, provider_url
        self._transport, self._visibility = transport, visibility
        self._keys = None if visibility == "full" else KeyRing.generate()
        self._server = ExitStack()

    def start(self) -> None:
        """Start the server, again if it runs, and open the page."""
        self.close()
        app = create_app(
            upstream(self.thread.provider, self._provider_url),
            allowed_origins=[self._pages],
            visibility=self._visibility,
            keys=self._keys,
            runs=Runs(SQLiteRuns(self._database), keys=self._keys, drain_s=0.1),
            copilotkit=PATH,
            single_tenant=True,  # the page has another origin
        )
        self._url = self._server.enter_context(local_server(recorded(app, self.thread.runs)))

    def open(self, page: Page, thread_id: str = "thread-1") -> None:
        """Open the page with a thread."""
        query = {"runtime": self._url + PATH, "transport": self._transport, "thread": thread_id}
        page.goto(f"{self._pages}/{COPILOTKIT.name}/runtime.html?{urlencode(query)}")

    def close(self) -> None:
        """Stop the server."""
        self._server.close()


Start = Callable[..., Runtime]


@pytest.fixture
def start(tab: Page, faults: Faults, pages: str, tmp_path: Path) -> Iterator[Start]:
    """Opens the page with a script."""
    with ExitStack() as stack:

        def started(script: str, transport: Transport = "rest", visibility: Visibility = "full") -> Runtime:
            if not (COPILOTKIT.folder / "runtime.html").is_file():
                assert find_node() is None, "run scripts/install_frontends.py"
                pytest.skip("Node has no build for this platform")
            # CopilotKit connects twice, and leaves the first connection; and pages are loaded again.
            faults.expect("ERR_ABORTED")
            url, provider = stack.enter_context(playing(script))
            runtime = Runtime(tab, pages, tmp_path / "runs.db", provider, url, transport, visibility)
            stack.callback(runtime.close)
            runtime.start()
            runtime.open(tab)
            return runtime

        yield started


@pytest.mark.parametrize(
    ("script", "transport", "visibility"),
    [
        ("anthropic-weather", "rest", "full"),
        ("anthropic-weather", "single", "hidden"),
        ("openai-weather", "rest", "hidden"),
        ("openai-weather", "single", "full"),
        ("gemini-weather", "rest", "hidden"),
    ],
)
def test_two_turns_with_a_tool_call(
    start: Start, script: str, transport: Transport, visibility: Visibility
) -> None:
    thread = start(script, transport, visibility).thread
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    assert [thread.missing(number) for number in (1, 2, 3)] == [[], [], []]
    assert len(thread.values(3)) > len(thread.values(2)) > 0
    assert thread.exposed() == []
    assert (thread.revealed() == []) is (visibility != "full")


@each_api
def test_a_reloaded_page_goes_on_in_the_middle_of_a_thought(
    start: Start, script: str, transport: Transport
) -> None:
    thread = start(script, transport).thread
    _think(thread, script)
    thread.page.reload()
    first, rest = THOUGHTS[script]
    expect(thread.page.get_by_text(first)).to_be_visible()
    expect(COPILOTKIT.busy(thread.page)).to_have_count(1)
    thread.provider.resume()
    expect(thread.page.get_by_text(rest)).to_be_visible()
    # CopilotKit runs a tool of the page only in the page that asked: the call stays without a result.
    thread.ask(BICYCLE)
    assert thread.missing(2) == []


@pytest.mark.parametrize(
    ("script", "visibility"), [("anthropic-weather", "full"), ("openai-weather", "hidden")]
)
def test_an_answer_is_regenerated_and_a_question_edited(
    start: Start, script: str, visibility: Visibility
) -> None:
    """By default, CopilotKit finds out about the transport by itself."""
    thread = start(script, "auto", visibility).thread
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    thread.regenerate()
    thread.reload()
    thread.edit(1, SCOOTER)
    assert [thread.missing(number, answers=[1, 2]) for number in (3, 4, 5)] == [[], [], []]
    thread.edit(0, "Umbrella or poncho?", requests=2)
    thread.reload()
    thread.ask(BICYCLE)
    assert [thread.missing(6, answers=[]), thread.missing(7, answers=[6])] == [[], []]
    assert thread.missing(8, answers=[6, 7]) == []
    assert (thread.exposed(), thread.revealed() == []) == ([], visibility == "hidden")


def _think(thread: Thread, script: str) -> None:
    """Ask, and wait until the page shows something of a thought that pauses."""
    thread.provider.break_next(Break(ReasoningDelta, after=3, resumes=True))
    COPILOTKIT.ask(thread.page, UMBRELLA)
    expect(thread.page.get_by_text(THOUGHTS[script][0])).to_be_visible()


@both
@pytest.mark.parametrize("reloaded", [False, True], ids=["", "reloaded"])
def test_a_run_is_stopped(start: Start, transport: Transport, reloaded: bool) -> None:
    thread = start("anthropic-weather", transport).thread
    thread.provider.break_next(Break(ReasoningDelta, after=3, stays=True))
    COPILOTKIT.ask(thread.page, UMBRELLA)
    expect(thread.page.get_by_text("that depends on")).to_be_visible()
    if reloaded:
        thread.page.reload()
        expect(thread.page.get_by_text("that depends on")).to_be_visible()
    COPILOTKIT.stop(thread.page)
    thread.provider.wait_until_left()
    COPILOTKIT.wait_until_idle(thread.page)
    expect(thread.page.get_by_role("alert")).to_have_count(0)
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    assert [thread.missing(number, range(2, number)) for number in (2, 3, 4)] == [[], [], []]


@both
def test_a_provider_fails(start: Start, faults: Faults, transport: Transport) -> None:
    faults.expect("agent_run_error_event")  # it logs what the runtime says
    thread = start("anthropic-weather", transport).thread
    thread.provider.break_next(Break(ReasoningDelta))
    thread.ask(UMBRELLA)
    expect(thread.page.get_by_role("alert")).to_have_text(
        "The agent could not finish its answer. Please try again."
    )
    thread.reload()
    expect(thread.page.get_by_text(UMBRELLA)).to_be_visible()
    expect(thread.page.get_by_role("alert")).to_be_visible()
    thread.ask(UMBRELLA, requests=2)
    expect(thread.page.get_by_role("alert")).to_have_count(0)
    assert [thread.missing(number, range(2, number)) for number in (2, 3)] == [[], []]


@each_api
def test_a_second_tab_follows_and_asks(start: Start, script: str, transport: Transport) -> None:
    runtime = start(script, transport)
    thread = runtime.thread
    _think(thread, script)
    second = replace(thread, page=thread.page.context.new_page())
    runtime.open(second.page)
    first, rest = THOUGHTS[script]
    expect(second.page.get_by_text(first)).to_be_visible()
    thread.provider.resume()
    expect(second.page.get_by_text(rest)).to_be_visible()
    thread.wait_for(2)
    second.page.reload()
    expect(second.page.get_by_text("Answer 2:")).to_be_visible()
    second.ask(BICYCLE)
    assert [second.missing(number) for number in (1, 2, 3)] == [[], [], []]


@pytest.mark.parametrize(
    ("script", "transport", "visibility"),
    [
        ("anthropic-weather", "single", "full"),
        ("openai-weather", "rest", "hidden"),
        ("gemini-weather", "single", "hidden"),
    ],
)
def test_threads_are_there_after_the_server_was_started_again(
    start: Start, script: str, transport: Transport, visibility: Visibility
) -> None:
    runtime = start(script, transport, visibility)
    thread = runtime.thread
    thread.ask(UMBRELLA, requests=2)
    runtime.start()
    runtime.open(thread.page, "thread-2")
    thread.page.get_by_role("button", name="thread-1").click()
    expect(thread.page.get_by_text("Answer 2:")).to_be_visible()
    thread.ask(BICYCLE)
    assert [thread.missing(number) for number in (1, 2, 3)] == [[], [], []]
    assert (thread.revealed() == []) is (visibility == "hidden")
    assert thread.exposed() == []


@both
def test_hidden_reasoning_stays_hidden_in_a_reloaded_page(start: Start, transport: Transport) -> None:
    thread = start("anthropic-weather", transport, "hidden").thread
    thread.provider.break_next(Break(ReasoningDelta, after=3, resumes=True), after=1)
    COPILOTKIT.ask(thread.page, UMBRELLA)
    thread.provider.wait_for(2)
    thread.page.reload()
    expect(thread.page.get_by_text(UMBRELLA)).to_be_visible()
    expect(COPILOTKIT.busy(thread.page)).to_have_count(1)
    thread.provider.resume()
    thread.wait_for(2)
    thread.ask(BICYCLE)
    assert [thread.missing(number) for number in (1, 2, 3)] == [[], [], []]
    assert (thread.exposed(), thread.revealed()) == ([], [])
