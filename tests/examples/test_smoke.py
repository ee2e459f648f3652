"""Run `scripts/smoke.py` against replayed providers, with the keys of none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from agui_reasoning.gateway import local_server, provider_app
from tests.support.effort import mostly_slow

ROOT = Path(__file__).parents[2]
KEY = "a-key-that-nothing-may-print"

# What each replay answers without streaming: (script, path below the base URL, base, response).
WHOLE: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "ANTHROPIC": (
        "anthropic-weather",
        "/v1/messages",
        "",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Ben it is.", "signature": "c2lnbmVk"},
                {"type": "text", "text": "Lima."},
            ],
            "stop_reason": "end_turn",
        },
    ),
    "OPENAI": (
        "openai-weather",
        "/v1/responses",
        "/v1",
        {
            "status": "completed",
            "output": [
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "Ben it is."}],
                    "encrypted_content": "Z0FBQUFB",
                }
            ],
        },
    ),
    "GEMINI": (
        "gemini-weather",
        "/v1beta/models/gemini-3-flash-preview:generateContent",
        "",
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Ben it is.", "thought": True}]}}]},
    ),
    "DEEPSEEK": (
        "chat-weather",
        "/v1/chat/completions",
        "/v1",
        {"choices": [{"message": {"role": "assistant", "content": "Lima.", "reasoning_content": "Ben."}}]},
    ),
}


def provider(name: str, whole: dict[str, Any] | None = None) -> Starlette:
    """Answers a script's requests, and one without streaming."""
    script, path, _, response = WHOLE[name]
    streaming = provider_app(script)

    async def answer(request: Request) -> Response:
        body = await request.body()
        if json.loads(body).get("stream"):
            return _Forwarded(streaming, body)
        return JSONResponse(whole or response)

    return Starlette(routes=[Route(path, answer, methods=["POST"]), Mount("/", streaming)])


class _Forwarded(Response):
    """The response of another application to a request whose body has been read."""

    def __init__(self, app: Starlette, body: bytes) -> None:
        super().__init__()
        self._app, self._unread = app, [{"type": "http.request", "body": body}]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def read_again() -> Any:
            return self._unread.pop() if self._unread else await receive()

        await self._app({**scope, "app": self._app}, read_again, send)


def smoke(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    keyless = {
        name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))
    }
    command = [sys.executable, "-W", "error", str(ROOT / "scripts/smoke.py"), *arguments]
    return subprocess.run(command, env=keyless | variables, capture_output=True, text=True, timeout=120)


def replayed(name: str, app: Starlette) -> subprocess.CompletedProcess[str]:
    with local_server(app) as url:
        ran = smoke(**{f"{name}_API_KEY": KEY, f"{name}_BASE_URL": url + WHOLE[name][2]})
    assert KEY not in ran.stdout + ran.stderr
    return ran


@pytest.mark.parametrize("name", mostly_slow(WHOLE, quick={"OPENAI"}))
def test_a_provider_gets_back_everything_it_sent(name: str) -> None:
    ran = replayed(name, provider(name))
    assert "FAILED" not in ran.stdout, ran.stdout
    assert (ran.returncode, ran.stderr) == (0, "")
    returned = [line.split() for line in ran.stdout.splitlines() if "came back unchanged" in line]
    assert [line[1] for line in returned] == ["2", "3"]
    assert all(line[2] == line[4] != "0" for line in returned)


@pytest.mark.slow
def test_a_response_without_reasoning_fails() -> None:
    silent = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Lima."}]}
    ran = replayed("ANTHROPIC", provider("ANTHROPIC", silent))
    assert ran.returncode == 1
    assert "FAILED    the response without streaming has no reasoning" in ran.stdout


@pytest.mark.slow
def test_a_refused_key_fails_and_is_not_printed() -> None:
    def refuse(request: Request) -> Response:
        return JSONResponse({"type": "error", "error": {"message": f"bad key {KEY}"}}, 401)

    ran = replayed("ANTHROPIC", Starlette(routes=[Route("/v1/messages", refuse, methods=["POST"])]))
    assert ran.returncode == 1
    assert "FAILED    the run failed" in ran.stdout


@pytest.mark.slow
def test_without_a_key_it_names_the_variables() -> None:
    ran = smoke()
    assert ran.returncode == 2
    assert "ANTHROPIC_API_KEY" in ran.stderr
    only = smoke("openai")
    assert only.stderr == "There is no key. Set one or more of OPENAI_API_KEY.\n"


def test_the_cost_is_stated_before_anything_is_spent() -> None:
    assert "at most 16,384 output tokens" in " ".join(smoke("--help").stdout.split())
