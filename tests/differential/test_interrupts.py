"""Answer interrupts with the official client, as the page about them shows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import Interrupt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from agui_reasoning import Run
from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import TextDelta
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import ReasoningPart, ToolResultPart, Turn
from tests.differential.judge import VERSIONS
from tests.differential.node import JS_DIR, find_node, packages_installed
from tests.docs.markdown import ROOT, blocks
from tests.support.dialects import DIALECTS

pytestmark = pytest.mark.skipif(
    find_node() is None or not packages_installed(), reason="the official client is missing: `make judges`"
)

CLAUDE = DIALECTS["anthropic-messages"]
PAGE = ROOT / "docs" / "how-to" / "ask-the-user.md"
BEFORE = """
import { HttpAgent } from "ag-ui-client-VERSION";
const agent = new HttpAgent({ url: process.argv[1], threadId: "thread-1" });
agent.addMessage({ id: "1", role: "user", content: "Weather?" });
await agent.runAgent();
"""
AFTER = "\nconsole.log(JSON.stringify(agent.messages.map(({ role, content }) => [role, content ?? null])));"

thoughts = [CLAUDE.think(1), CLAUDE.think(3), CLAUDE.think(4)]


class Server:
    """An agent that asks about its calls.

    Attributes:
        restored: What the second run restored of the reasoning.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.restored: list[Any] = []

    async def answer(self, request: Request) -> AGUIResponse:
        return AGUIResponse(run_agent(await request.json(), self.agent, **CLAUDE.target, **self.options))

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        for call in run.open_calls:
            assert call.interrupt is not None
            assert call.interrupt.id == "ask"
            decided = call.resume and call.resume.payload
            yield ToolResultPart(call.id, "4C" if decided == {"approved": True} else "", None)
        if run.resume:
            turns = [item for item in run.history.items if isinstance(item, Turn)]
            self.restored = [part for turn in turns for part in turn.parts if isinstance(part, ReasoningPart)]
            yield TextDelta("A coat.")
            return
        for delta in CLAUDE.stream([*thoughts, CLAUDE.call("c1")]):
            yield delta
        (waiting,) = run.pending_calls
        yield Interrupt(id="ask", reason="tool_call", tool_call_id=waiting.id)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_the_lines_of_the_page_answer(version: str, visibility: str) -> None:
    (lines,) = (block.body for block in blocks(PAGE) if block.language == "javascript")
    server = Server(visibility=visibility, keys=KeyRing.generate())
    app = Starlette(routes=[Route("/", server.answer, methods=["POST"])])
    with local_server(app) as url:
        code = BEFORE.replace("VERSION", version) + lines + AFTER
        command = [str(find_node()), "--input-type=module", "--eval", code, f"{url}/"]
        done = subprocess.run(command, cwd=JS_DIR, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said = [entry for entry in json.loads(done.stdout) if entry[0] != "reasoning"]
    assert said == [["user", "Weather?"], ["assistant", None], ["tool", "4C"], ["assistant", "A coat."]]
    assert [(part.text, part.opaque) for part in server.restored] == [
        (part.text, part.opaque) for part in thoughts if isinstance(part, ReasoningPart)
    ]
