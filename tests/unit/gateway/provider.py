"""Serve what a test says, and remember the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from tests.unit.gateway.http_client import TIMEOUT

KEY = "sk-KEY-0123456789abcdef"
WORDS = "WORDS that quote the prompt"
MODELS = {
    "anthropic-messages": ("anthropic", "claude-sonnet-4-6"),
    "openai-responses": ("openai", "gpt-5.6-sol"),
    "openai-chat": ("deepseek", "deepseek-v4-flash"),
}
APIS = tuple(MODELS)
Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request that reached the provider."""

    path: str
    headers: Mapping[str, str]
    body: Json
    query: str = ""


@dataclass(frozen=True)
class Reply:
    """What the provider answers: pieces of a body, and between them what happens.

    ``...`` waits until the client has left, `CUT` breaks the connection off, an event is waited for.
    """

    pieces: Sequence[Any] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] | None = None


CUT = object()


class Provider:
    """An ASGI application; every request gets the same reply.

    Attributes:
        asked: The requests.
        reached: Set when a request has come.
        arrivals: Released once per request.
        left: Set when a client has left before the end of the reply.
    """

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[Asked] = []
        self.reached = threading.Event()
        self.arrivals = threading.Semaphore(0)
        self.left = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        request = Request(scope, receive)
        query = scope["query_string"].decode()
        self.asked.append(Asked(scope["path"], dict(request.headers), await request.json(), query))
        self.reached.set()
        self.arrivals.release()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, receive, tasks.cancel_scope)
            await self._answer(send)
            tasks.cancel_scope.cancel()

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()
        scope.cancel()

    async def _answer(self, send: Send) -> None:
        pieces = list(self.reply.pieces)
        while pieces and isinstance(pieces[0], threading.Event):  # a slow start: not even a status
            await _wait(pieces.pop(0))
        head = {"content-type": self.reply.content_type, **(self.reply.headers or {})}
        raw = [(name.encode(), value.encode()) for name, value in head.items()]
        await send({"type": "http.response.start", "status": self.reply.status, "headers": raw})
        for piece in pieces:
            if piece is CUT:
                return  # the server closes the connection, for the body is not complete
            if piece is Ellipsis:
                await anyio.sleep_forever()
            elif isinstance(piece, threading.Event):
                await _wait(piece)
            else:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _wait(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, TIMEOUT)


class Changing(Provider):
    """A provider that answers each request differently."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(replies[0])
        self._replies = replies

    async def _answer(self, send: Any) -> None:
        self.reply = self._replies[len(self.asked) - 1]
        await super()._answer(send)


def frames(payloads: Sequence[Any]) -> list[bytes]:
    """Payloads as a provider frames them, one piece each."""
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return [f"data: {text}\n\n".encode() for text in texts]


def upstream(api: str, url: str, **more: Any) -> HTTPUpstream:
    """An upstream that asks the provider at an address, with the key that must not be seen."""
    provider, model = MODELS[api]
    base_url = url if api == "anthropic-messages" else f"{url}/v1"
    options = {
        "base_url": base_url,
        "provider": provider,
        "model": model,
        "api_key": KEY,
        "attempts": 1,
    } | more
    return HTTPUpstream(api, **options)


@contextmanager
def gateway(api: str, reply: Reply, **more: Any) -> Iterator[tuple[str, Provider]]:
    """A gateway in front of a provider of its own; its address, and the provider."""
    app = {name: more.pop(name) for name in ("on_error", "keep_alive_s") if name in more}
    with ExitStack() as stack:
        provider = Provider(reply)
        url = stack.enter_context(local_server(provider))
        served = stack.enter_context(local_server(create_app(upstream(api, url, **more), **app)))
        yield f"{served}/agent", provider
