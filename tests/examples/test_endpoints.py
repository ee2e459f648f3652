"""The examples that serve: real uvicorn, the vendor's own SDK, a replayed provider."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agui_reasoning import scripted
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, call

FOLDER = Path(__file__).parents[2] / "examples"
# What each replays when it has no key, and the key that it looks for.
ENDPOINTS = {
    "fastapi_agent.py": ("anthropic-weather-2", "ANTHROPIC_API_KEY"),
    "starlette_agent.py": ("openai-weather-2", "OPENAI_API_KEY"),
}
SECONDS = 30
RUNNING = re.compile(r"Uvicorn running on (http://\S+)")
endpoints = pytest.mark.parametrize("name", ENDPOINTS)


@contextmanager
def serving(name: str) -> Iterator[str]:
    """Run an example without a key; it must end well when it is interrupted, without a word of complaint."""
    keys = {key for _, key in ENDPOINTS.values()}
    env = {key: value for key, value in os.environ.items() if key not in keys} | {"PORT": "0"}
    command = [sys.executable, "-W", "error", str(FOLDER / name)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=env, text=True) as server:
        watchdog = threading.Timer(SECONDS, server.kill)
        watchdog.start()
        try:
            lines = []
            for line in server.stderr or ():
                lines.append(line)
                if found := RUNNING.search(line):
                    yield found[1]
                    break
            else:
                pytest.fail(f"it did not start: {''.join(lines)}")
            server.send_signal(signal.SIGINT)
            _, rest = server.communicate(timeout=SECONDS)
            assert server.returncode == 0, rest
            assert [line for line in [*lines, *rest.splitlines()] if not line.startswith("INFO:")] == []
        finally:
            watchdog.cancel()
            server.kill()


@endpoints
def test_an_example_answers_what_its_sdk_streamed(name: str) -> None:
    with serving(name) as url:
        answers = [call(f"{url}/agent") for _ in range(2)]
    script, _ = ENDPOINTS[name]
    model = scripted.load(script)["model"]
    for answer in answers:
        messages = Client().feed(answer.events).done().messages
        assert [message["role"] for message in messages] == ["reasoning", "assistant"]
        assert all(message["encryptedValue"] for message in messages[:1])
        assert "aincoat" in messages[1]["content"]
        assert answer.events[-1]["usage"][0]["model"] == model


@endpoints
def test_an_example_refuses_what_is_no_run_input(name: str) -> None:
    with serving(name) as url:
        answer = call(f"{url}/agent", INPUT | {"messages": [], "threadId": 1})
        assert call(f"{url}/agent").status == 200
    assert answer.status == 422


@endpoints
def test_an_endpoint_takes_at_most_20_lines(name: str) -> None:
    source = (FOLDER / name).read_text(encoding="utf-8")
    body = [
        node
        for node in ast.parse(source).body[1:]
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.If)
    ]
    counted = sum(
        (node.end_lineno or 0)
        - min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        + 1
        for node in body
    )
    assert 5 < counted <= 20
