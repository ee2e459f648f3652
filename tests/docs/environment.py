"""What surrounds a page: providers that its SDKs reach, and a front end that calls its servers.

The pages run as they are shown, and import nothing from here. The SDKs are the vendors' own; environment
variables point them at this machine.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_reasoning import Conversation
from agui_reasoning.client import AgentClient
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.replay import load_script

SCRIPTS = (
    *("anthropic-weather", "openai-weather", "chat-weather", "gemini-weather"),
    *("bedrock-weather", "ollama-weather"),
)
"""What the providers answer, by their APIs: a question with a tool call, its result with an answer."""

TURNS = ("Umbrella or raincoat?", "And by bicycle?")
SIGNED_IN = {"authorization": "Bearer 1234"}
"""What the front end sends to the applications that ask who is there."""


def refusal(status: int, kind: str, message: str, **headers: str) -> JSONResponse:
    """An error in the form of Anthropic."""
    return JSONResponse({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


def slow_down() -> JSONResponse:
    return refusal(429, "rate_limit_error", "Slow down.", **{"retry-after": "20"})


def invalid_signature() -> JSONResponse:
    message = "messages.1.content.0: Invalid `signature` in `thinking` block"
    return refusal(400, "invalid_request_error", message)


def answers_only() -> Starlette:
    """An answer to every request, with reasoning and without a call."""
    return provider_app(load_script("anthropic-weather-2"))


ANSWERS: dict[str, list[Callable[[], ASGIApp]]] = {
    "docs/how-to/retries-and-errors.md": [
        *(slow_down, slow_down, answers_only, invalid_signature, answers_only)
    ],
}
"""What the provider answers, in order, on pages about its failures."""


ENVIRONMENT: dict[str, dict[str, str]] = {
    "docs/security.md": {"AGUI_REASONING_KEYS": KeyRing.generate("2026-11").to_env()}
}
"""What the operator has set, on pages that say so."""


class Providers:
    """An ASGI application that answers for every provider, or with what is set."""

    def __init__(self) -> None:
        routes = [route for name in SCRIPTS for route in provider_app(name).routes]
        self._scripts = Starlette(routes=[Mount("/mistral", provider_app("mistral-weather")), *routes])
        self.answers: list[Callable[[], ASGIApp]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A page's client is used in several event loops, and its connections belong to one.
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        app = self.answers.pop(0)() if self.answers else self._scripts
        await app(scope, receive, closing)


@contextmanager
def surroundings(page: str, providers: Providers, url: str) -> Iterator[None]:
    """Let the SDKs of a page reach the providers."""
    providers.answers[:] = ANSWERS.get(page, [])
    with pytest.MonkeyPatch.context() as patch:
        for name, base in (("ANTHROPIC", url), ("OPENAI", f"{url}/v1"), ("GOOGLE_GEMINI", url)):
            patch.setenv(f"{name}_BASE_URL", base)
        for name in ("ANTHROPIC", "GEMINI", "MISTRAL", "OPENAI"):
            patch.setenv(f"{name}_API_KEY", "none")
        for name, value in ENVIRONMENT.get(page, {}).items():
            patch.setenv(name, value)
        patch.setenv("OLLAMA_HOST", url)
        patch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "none")
        if find_spec("mistralai") is not None:  # its SDK reads no address from the environment
            from mistralai.client import sdkconfiguration

            for region in sdkconfiguration.SERVERS:
                patch.setitem(sdkconfiguration.SERVERS, region, f"{url}/mistral")
        if find_spec("litellm") is None:
            # `tests/frameworks` runs the real one, in an environment of its own.
            patch.setitem(sys.modules, "litellm", _litellm())
        yield
    assert providers.answers == []


def _litellm() -> ModuleType:
    def completion(**fields: Any) -> list[dict[str, Any]]:
        thought = {"role": "assistant", "reasoning_content": "It is about Oslo.", "content": None}
        answer = {"role": "assistant", "content": "4 degrees."}
        choices = [(thought, None), (answer, "stop")]
        return [
            {"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in choices
        ]

    async def acompletion(**fields: Any) -> AsyncIterator[dict[str, Any]]:
        async def stream() -> AsyncIterator[dict[str, Any]]:
            for chunk in completion(**fields):
                yield chunk

        return stream()

    module = ModuleType("litellm")
    vars(module).update(completion=completion, acompletion=acompletion)
    return module


# -- the front end


def talk(app: Starlette) -> None:
    """Hold a conversation of two turns with what serves `/agent`, and answer its tool calls."""
    if all(getattr(route, "path", None) != "/agent" for route in app.routes):
        return
    with local_server(app) as url:
        conversation = asyncio.run(_talk(url))
    assert conversation.messages[-1].role == "assistant"


async def _talk(url: str) -> Conversation:
    conversation = Conversation("thread-1")
    async with AgentClient(f"{url}/agent", headers=SIGNED_IN) as client:
        for question in TURNS:
            await _run(client, conversation, question)
            if conversation.pending_calls:
                for call in conversation.pending_calls:
                    conversation.add_tool_result(call.id, "Rain.")
                await _run(client, conversation, None)
    return conversation


async def _run(client: AgentClient, conversation: Conversation, question: str | None) -> None:
    async for _ in client.run(conversation, question):
        pass
    assert conversation.status == "finished"


def talk_wsgi(application: Callable[..., Any]) -> None:
    """Ask a WSGI application once."""
    body = Conversation("thread-1").run_input(TURNS[0]).model_dump_json(by_alias=True).encode()
    environ = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    assert b"RUN_FINISHED" in list(application(environ, lambda status, headers: None))[-1]
