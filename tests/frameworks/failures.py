"""What becomes of a provider's failure, whichever SDK or framework reports it: one table for all.

A provider on this machine plays each row to an agent that asks it through a framework, or without one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning import Conversation
from agui_reasoning.aio import run_agent
from agui_reasoning.gateway import local_server
from tests.frameworks.threads import Agent

__all__ = ["FAILURES", "IN_STREAM", "Failure", "check", "name_of"]

WORDS = "a prompt that the provider quotes"


@dataclass(frozen=True)
class Failure:
    """A row.

    Attributes:
        status: The HTTP status; ``None`` for an error inside a stream.
        kind: The provider's type of the error.
        code: The code of RUN_ERROR.
        sentence: What users read.
        named: What the log line says about the provider's error.
    """

    status: int | None
    kind: str
    code: str
    sentence: str
    named: str

    @property
    def body(self) -> dict[str, Any]:
        """The error, in a body that Anthropic's and OpenAI's SDKs read."""
        return {"type": "error", "error": {"type": self.kind, "code": None, "message": WORDS}}


IN_STREAM = Failure(
    None,
    "overloaded_error",
    "overloaded",
    "The model's provider is overloaded. Please try again shortly.",
    "provider type overloaded_error",
)
"""Anthropic's, after the first event of an answer."""

FAILURES = [
    Failure(
        529,
        "overloaded_error",
        "overloaded",
        "The model's provider is overloaded. Please try again shortly.",
        "status 529, provider type overloaded_error",
    ),
    Failure(
        401,
        "authentication_error",
        "credentials_refused",
        "The model's provider refused the credentials. Please tell the operator of this agent.",
        "status 401, provider type authentication_error",
    ),
    Failure(
        400,
        "invalid_request_error",
        "request_refused",
        "The model's provider refused the request.",
        "status 400, provider type invalid_request_error",
    ),
    Failure(
        500,
        "api_error",
        "provider_error",
        "The model's provider reported an error. Please try again shortly.",
        "status 500, provider type api_error",
    ),
]

_STARTED = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}


@contextmanager
def failing(failure: Failure) -> Iterator[str]:
    """Serve a provider that fails, and return its URL."""

    async def answer(request: Request) -> Response:
        if failure.status is not None:
            return JSONResponse(failure.body, failure.status)
        frames = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in (_STARTED, failure.body)]
        return StreamingResponse(iter(frames), media_type="text/event-stream")

    with local_server(Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])])) as url:
        yield url


def check(
    failure: Failure,
    agent_at: Callable[[str], Agent],
    caplog: pytest.LogCaptureFixture,
    **options: Any,
) -> None:
    """Let an agent's provider fail, and compare what users and operators are told.

    Args:
        failure: What happens.
        agent_at: Makes the agent from the URL of the provider. Its SDK asks once.
        caplog: The log.
        **options: Those of `Run`, with the provider.
    """

    async def events(agent: Agent) -> list[Any]:
        return [event async for event in run_agent(run_input, agent, **options)]

    run_input = Conversation("thread-1").run_input("Hello", run_id="run-1")
    with caplog.at_level(logging.DEBUG, "agui_reasoning"), failing(failure) as url:
        last = anyio.run(events, agent_at(url))[-1]
    assert (last.type, last.code, last.message) == ("RUN_ERROR", failure.code, failure.sentence)
    told = [record for record in caplog.records if record.name == "agui_reasoning"]
    assert [(record.levelname, record.getMessage()) for record in told if record.levelname != "DEBUG"] == [
        (
            "ERROR",
            f"The run failed: ProviderError (code {failure.code}, provider {options['provider']}, "
            f"{failure.named}, thread 'thread-1', run 'run-1').",
        )
    ]
    assert all(record.exc_info is None for record in told if record.levelname != "DEBUG")


def name_of(failure: Failure) -> str:
    """Name a row in the ID of a test."""
    return str(failure.status or "in stream")
