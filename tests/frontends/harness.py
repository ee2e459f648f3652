"""A page in Chromium, the gateway, and a provider, and what passes between them.

`Thread` asks questions through the page as its user would, and knows what must be in each request that
reaches the provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Condition
from typing import Any, Final, Literal
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import CALL_ID, Check, Entry, compare, read_answer, read_request
from agui_reasoning.wire import read_events
from tests.frontends.provider import PATIENCE_S, Provider, playing

__all__ = [
    "FOLDER",
    "FRAGMENT",
    "FrontEnd",
    "Run",
    "Thread",
    "Visibility",
    "address",
    "opened",
    "recorded",
    "upstream",
]

FOLDER: Final = Path(__file__).parent

FRAGMENT: Final = 24
"""How many characters of a value must not be seen in the page."""

_STREAM: Final = b"text/event-stream"

Visibility = Literal["full", "summary", "hidden"]


class FrontEnd:
    """How a user does things in a page.

    These methods find what a page shows by its role and name, as people with a screen reader do. A front end
    whose page differs overrides them.

    Attributes:
        name: The name of its folder here.
        folder: The folder that is served, with an ``index.html``, which takes the URL of the agent and the ID
            of the thread from its query: ``?agent=…&thread=…``.
        stages: Those that its users must add to the gateway.
        faults: Regular expressions of what it logs that is no fault; see `tests.support.browser.Faults`.
    """

    faults: tuple[str, ...] = ()

    def __init__(self, name: str, folder: Path | None = None, *, stages: Sequence[Stage] = ()) -> None:
        self.name = name
        self.stages = stages
        self.folder = folder or FOLDER / name / "build"

    def __repr__(self) -> str:
        return self.name

    def ask(self, page: Page, text: str) -> None:
        """Ask a question."""
        box = page.get_by_role("textbox").last
        box.fill(text)
        box.press("Enter")

    def stop(self, page: Page) -> None:
        """Stop the run."""
        page.get_by_role("button", name="Stop").click()

    def regenerate(self, page: Page) -> None:
        """Ask for another answer to the last question."""
        page.get_by_role("button", name="Regenerate").last.click()

    def edit(self, page: Page, number: int, text: str) -> None:
        """Ask an earlier question, by its number from 0, in other words."""
        page.get_by_role("button", name="Edit").nth(number).click()
        box = page.get_by_role("textbox", name="Edit")
        box.fill(text)
        box.press("Enter")

    def busy(self, page: Page) -> Locator:
        """What is there while a run is on."""
        return page.get_by_role("button", name="Stop")

    def wait_until_idle(self, page: Page) -> None:
        """Wait until the next question can be asked."""
        expect(self.busy(page)).to_have_count(0)


@dataclass
class Run:
    """A request to the gateway, and what it answered."""

    input: dict[str, Any]
    output: bytearray = field(default_factory=bytearray)
    grown: Condition = field(default_factory=Condition)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events, as far as they were sent."""
        return read_events(bytes(self.output))

    def add(self, output: bytes) -> None:
        """Note what was sent."""
        with self.grown:
            self.output.extend(output)
            self.grown.notify_all()

    def wait_for(self, kind: str) -> None:
        """Wait until an event of a type was sent."""
        with self.grown:
            assert self.grown.wait_for(lambda: kind.encode() in self.output, PATIENCE_S), kind


@dataclass
class Thread:
    """A conversation in a page.

    Attributes:
        front_end: How to use the page.
        page: The page.
        provider: The provider behind the gateway.
        runs: What the page sent to the gateway, and what came back.
    """

    front_end: FrontEnd
    page: Page
    provider: Provider
    runs: list[Run]

    def ask(self, text: str, *, requests: int = 1) -> None:
        """Ask a question, and wait for the answer.

        Args:
            text: The question.
            requests: How many requests reach the provider: one, and another for each tool call.
        """
        before = self._idle()
        self.front_end.ask(self.page, text)
        self.wait_for(before + requests)

    def regenerate(self, *, requests: int = 1) -> None:
        """Ask for another answer to the last question, and wait for it."""
        before = self._idle()
        self.front_end.regenerate(self.page)
        self.wait_for(before + requests)

    def edit(self, number: int, text: str, *, requests: int = 1) -> None:
        """Ask an earlier question, by its number from 0, in other words, and wait for the answer."""
        before = self._idle()
        self.front_end.edit(self.page, number, text)
        self.wait_for(before + requests)

    def stop(self) -> None:
        """Stop the run once the page shows it, and wait until the page and the gateway have left it."""
        expect(self.front_end.busy(self.page)).to_have_count(1)
        with self.page.expect_event("requestfailed"):
            self.front_end.stop(self.page)
        self.provider.wait_until_left()
        # TanStack takes what a stopped run leaves in its queue for a part of the next run, if that begins in
        # the same moment.
        self.page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 100))")
        self.front_end.wait_until_idle(self.page)

    def reload(self) -> None:
        """Load the page again."""
        self.page.reload()
        self.front_end.wait_until_idle(self.page)

    def _idle(self) -> int:
        """Wait until the page is idle, and return the number of answers so far."""
        self.front_end.wait_until_idle(self.page)
        return len(self.provider.answers)

    def wait_for(self, answers: int) -> None:
        """Wait until the page shows so many answers."""
        self.provider.wait_for(answers)
        last = self.provider.answers[answers - 1]
        if last is not None and last.whole and last.text:
            expect(self.page.get_by_text(f"Answer {last.number}:").last).to_be_visible()
        self.front_end.wait_until_idle(self.page)

    # -- what reached the provider

    def values(
        self, request: int, answers: Sequence[int] | None = None, partly: Sequence[int] = ()
    ) -> list[Check]:
        """Whether each artifact of earlier answers came back in a request, unchanged and in order.

        Args:
            request: The number of the request, from 1.
            answers: The numbers of the answers that the request repeats; default is all whole ones before it.
            partly: The numbers of broken answers whose reasoning may come back too, but not their calls.
        """
        returned = read_request(self.provider.api, self.provider.requests[request - 1])
        broken = (entry for entry in self._given(request, partly) if entry.kind != CALL_ID)
        allowed = {(entry.kind, entry.value) for entry in broken}
        kept = [entry for entry in returned if (entry.kind, entry.value) not in allowed]
        return list(compare(self._given(request, answers), kept))

    def missing(
        self, request: int, answers: Sequence[int] | None = None, partly: Sequence[int] = ()
    ) -> list[str]:
        """The kinds of what did not come back, or not as it was, or should not have come."""
        return [check.kind for check in self.values(request, answers, partly) if not check.unchanged]

    def _given(self, request: int, numbers: Sequence[int] | None) -> Iterator[Entry]:
        for answer in self.provider.answers[: request - 1]:
            if answer is not None and (answer.number in numbers if numbers is not None else answer.whole):
                yield from read_answer(answer.exchange)

    # -- what people see

    def exposed(self) -> list[str]:
        """The opaque values of which the page shows something: of the provider, and of the gateway."""
        shown = _bare(self.page.inner_text("body"))
        return [value for value in self._opaque() if _bare(value)[:FRAGMENT] in shown]

    def revealed(self) -> list[str]:
        """The reasoning of which the page shows something, open or collapsed."""
        shown = _bare(self.page.text_content("body") or "")
        units = chain.from_iterable(answer.reasoning for answer in self.provider.answers if answer)
        return [text for text in units if _bare(text)[:FRAGMENT] in shown]

    def _opaque(self) -> Iterator[str]:
        for answer in self.provider.answers:
            yield from answer.opaque if answer is not None else ()
        for event in chain.from_iterable(run.events for run in self.runs):
            if value := event.get("encryptedValue"):
                yield value

    @property
    def thread_ids(self) -> set[str]:
        """The threads that the page said it continues."""
        return {run.input["threadId"] for run in self.runs}


def _bare(text: str) -> str:
    """The text without white space and Markdown, which front ends change."""
    return "".join(char for char in text if char.isalnum())


@contextmanager
def opened(
    front_end: FrontEnd,
    page: Page,
    pages: str,
    script: str,
    *,
    visibility: Visibility = "full",
    thread_id: str = "thread-1",
    between: Callable[[str], Any] | None = None,
) -> Iterator[Thread]:
    """Open a front end whose gateway asks a provider that plays a script.

    Args:
        front_end: The front end.
        page: A blank page of the browser.
        pages: The URL under which the front ends' folders are served by their names.
        script: The name of the first exchange.
        visibility: That of the gateway; it encrypts what it does not show.
        thread_id: The ID of the thread.
        between: A context manager that makes the URL for the page from that of the agent, for a server of the
            front end's own between the two.
    """
    runs: list[Run] = []
    with playing(script) as (provider_url, provider):
        keys = None if visibility == "full" else KeyRing.generate()
        app = create_app(
            upstream(provider, provider_url),
            allowed_origins=[pages],
            visibility=visibility,
            keys=keys,
            stages=front_end.stages,
        )
        with local_server(recorded(app, runs)) as gateway:
            agent = f"{gateway}/agent"
            thread = Thread(front_end, page, provider, runs)
            if between is None:
                page.goto(address(pages, front_end, agent, thread_id))
                yield thread
            else:
                with between(agent) as server:
                    page.goto(address(pages, front_end, server, thread_id))
                    yield thread


def address(pages: str, front_end: FrontEnd, agent: str, thread_id: str) -> str:
    """The URL of a page that continues a thread with an agent."""
    return f"{pages}/{front_end.name}/?{urlencode({'agent': agent, 'thread': thread_id})}"


def upstream(provider: Provider, url: str) -> HTTPUpstream:
    """The upstream of a gateway in front of a provider."""
    first = provider.script[0]
    api = provider_api(provider.api)
    assert api.http is not None
    excluded = {"model", "stream", "tools", *api.conversation_fields}
    return HTTPUpstream(
        provider.api,
        base_url=url + api.http.base,
        provider=first["provider"],
        model=first["model"],
        api_key="none",
        parameters={field: value for field, value in first["request"].items() if field not in excluded},
        timeout_s=PATIENCE_S,
        attempts=1,
        retry_without_reasoning=False,  # what is lost must be seen
    )


def recorded(app: Any, runs: list[Run]) -> Any:
    """Note the bodies of the requests and responses of an application."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        body = bytearray()
        run = Run({})

        async def heard() -> Any:
            message = await receive()
            if message["type"] == "http.request" and not run.input:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    run.input = json.loads(body or b"{}")
                    runs.append(run)
            return message

        streams = False

        async def said(message: Any) -> None:
            nonlocal streams
            await send(message)
            if message["type"] == "http.response.start":
                streams = dict(message["headers"]).get(b"content-type", b"").startswith(_STREAM)
            elif streams:
                run.add(message.get("body", b""))

        await app(scope, heard, said)

    return answer
