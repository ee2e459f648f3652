from __future__ import annotations

import asyncio
import logging
import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from agui_reasoning import Conversation, RunFailedError
from agui_reasoning.client import AgentClient
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from tests.docs.environment import slow_down
from tests.docs.markdown import ROOT, blocks


async def ask(url: str) -> None:
    async with AgentClient(f"{url}/agent") as client:
        async for _ in client.run(Conversation("t1"), "Umbrella?"):
            pass


def test_the_logged_line_is_the_one_on_the_page(caplog: pytest.LogCaptureFixture) -> None:
    [shown] = [one.body for one in blocks(ROOT / "docs/how-to/gateway.md") if one.language == "log"]
    provider = Starlette(routes=[Route("/v1/messages", lambda request: slow_down(), methods=["POST"])])
    with local_server(provider) as base_url:
        upstream = HTTPUpstream(
            "anthropic-messages", base_url=base_url, model="claude-sonnet-4-6", attempts=1
        )
        with local_server(create_app(upstream)) as url, pytest.raises(RunFailedError):
            asyncio.run(ask(url))
    [line] = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert re.sub("run '.+?'", "run 'r1'", line) == shown.strip()
