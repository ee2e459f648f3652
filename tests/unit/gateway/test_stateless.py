"""Each turn of a thread may reach another worker: all that they share are the keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, cycle
from typing import Any

import pytest

from agui_reasoning import Conversation, RunFailedError
from agui_reasoning.client import AgentClient
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.replay import (
    CONVERSATIONS,
    ENCRYPTED_CONTENT,
    REASONING_CONTENT,
    REDACTED,
    SIGNATURE,
    SUMMARY,
    THINKING,
    TOOL,
    TOOL_RESULT,
    Check,
    Exchange,
    read_answer,
    sequence,
)
from tests.internals import demo
from tests.support.effort import mostly_slow

SHARED = bytes(range(32))
OTHER = bytes(32)
APIS = mostly_slow(CONVERSATIONS, quick=["anthropic-messages", "openai-responses", "gemini"])
SECRETS = {ENCRYPTED_CONTENT, REASONING_CONTENT, REDACTED, SIGNATURE, SUMMARY, THINKING}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def workers(exchanges: tuple[Exchange, ...], requests: list[Any], *secrets: bytes) -> Iterator[list[str]]:
    """Serve a gateway per secret, each in front of a provider of its own; yield their endpoints."""
    with ExitStack() as stack:
        urls = []
        for secret in secrets:
            upstream = stack.enter_context(demo.scripted_upstream(exchanges, requests.append))
            app = create_app(upstream, visibility="hidden", keys=KeyRing({"k1": secret}))
            urls.append(f"{stack.enter_context(local_server(app))}/agent")
        yield urls


async def converse(urls: list[str], exchanges: tuple[Exchange, ...]) -> Conversation:
    """Ask, answer the call, and ask again: each turn goes to the next worker."""
    conversation = Conversation("thread-1")
    turns = cycle(urls)

    async def turn(content: str | None = None) -> None:
        async with AgentClient(next(turns)) as client:
            async for _ in client.run(conversation, content, tools=[TOOL]):
                pass

    await turn(exchanges[0]["question"])
    for call in conversation.pending_calls:
        conversation.add_tool_result(call.id, TOOL_RESULT)
    await turn()
    await turn(exchanges[-1]["question"])
    return conversation


async def talk(name: str, *secrets: bytes) -> tuple[list[Check], list[str]]:
    """Return what came back of the provider's values, and which secrets the client could read."""
    exchanges, requests = sequence(name), list[Any]()
    with workers(exchanges, requests, *secrets) as urls:
        conversation = await converse(urls, exchanges)
    assert len(requests) == len(exchanges) == 3
    held = json.dumps([message.model_dump(mode="json") for message in conversation.messages])
    given = chain.from_iterable(map(read_answer, exchanges))
    readable = [entry.value for entry in given if entry.kind in SECRETS and entry.value in held]
    return list(demo.checks(exchanges, requests)), readable


@pytest.mark.anyio
@pytest.mark.parametrize("api", APIS)
async def test_every_value_comes_back_whichever_worker_a_turn_reaches(api: str) -> None:
    checks, readable = await talk(CONVERSATIONS[api], SHARED, SHARED)
    assert checks
    assert [check for check in checks if not check.unchanged] == []
    assert readable == []


@pytest.mark.anyio
async def test_a_worker_with_other_keys_cannot_go_on() -> None:
    with pytest.raises(RunFailedError, match="request_refused"):
        await talk(CONVERSATIONS["anthropic-messages"], SHARED, OTHER)
