"""What the tests of tasks are made of: the blocks below headings of pages, and what surrounds them."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_reasoning import Conversation
from agui_reasoning.client import AgentClient
from agui_reasoning.replay import Check, compare, read_answer, read_request, sequence
from tests.docs.environment import SIGNED_IN
from tests.docs.markdown import ROOT, Block, blocks

_HEADING = re.compile(r"^(#+) (.+)$")


def below(page: str, heading: str) -> list[Block]:
    """The blocks below a heading of a page, up to the next one of its level."""
    path = ROOT / page
    headings = list(_headings(path.read_text(encoding="utf-8")))
    (first, level) = next((line, level) for line, level, title in headings if title == heading)
    last = next((line for line, other, _ in headings if line > first and other <= level), math.inf)
    return [block for block in blocks(path) if first < block.line < last]


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of headings, with their levels and titles; comments in code are none."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        in_code ^= line.startswith("```")
        if not in_code and (found := _HEADING.match(line)):
            yield number, len(found[1]), found[2]


def python_below(page: str, heading: str) -> list[str]:
    """The Python below a heading."""
    return [block.body for block in below(page, heading) if block.language == "python"]


def commands_below(page: str, heading: str) -> list[str]:
    """The commands below a heading, without what they print."""
    shown = (block.body for block in below(page, heading) if block.language == "console")
    return [line.removeprefix("$ ") for body in shown for line in body.splitlines() if line.startswith("$ ")]


def run(*sources: str) -> tuple[dict[str, Any], str]:
    """Run blocks one after the other, as in one file; give the names of the file, and what it prints."""
    names: dict[str, Any] = {"__name__": "__page__"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for source in sources:
            exec(compile(source, "<page>", "exec", dont_inherit=True), names)
    return names, printed.getvalue()


class Recorder:
    """Keeps the requests to the providers that it stands in front of."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.requests: list[dict[str, Any]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""

        async def noting() -> Message:
            nonlocal body
            message = await receive()
            body += message.get("body", b"")
            if body and not message.get("more_body", False):
                self.requests.append(json.loads(body))
                body = b""
            return message

        await self._app(scope, noting if scope["type"] == "http" else receive, send)

    def checks(self, script: str) -> list[Check]:
        """Compare the last request with what the script's answers before it contain."""
        exchanges = sequence(script)
        given = chain.from_iterable(read_answer(one) for one in exchanges[: len(self.requests) - 1])
        return list(compare(given, read_request(exchanges[0]["api"], self.requests[-1])))


async def ask(url: str, conversation: Conversation, question: str | None) -> list[dict[str, Any]]:
    """Ask an endpoint; give the events."""
    async with AgentClient(url, headers=SIGNED_IN) as client:
        stream = client.run(conversation, question)
        return [event.model_dump(mode="json", by_alias=True, exclude_none=True) async for event in stream]


def thoughts_of(script: str) -> list[str]:
    """What the provider thinks in a script."""
    found = (entry for one in sequence(script) for entry in read_answer(one))
    return [entry.value for entry in found if " " in entry.value]
