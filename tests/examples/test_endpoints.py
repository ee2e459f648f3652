"""Run the examples that serve: real uvicorn, the vendor's own SDK, a replayed provider."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import Conversation
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.replay import RESULT, VALUE_KINDS, Entry, load_script, read_answer, read_request, sequence
from tests.support.effort import mostly_slow
from tests.support.endpoint import post
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, call

FOLDER = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Endpoint:
    """An example: what it replays when it has no key, and where its SDK looks for key and address.

    google-genai warns about the class of its own HTTP client, so its warnings are no errors.
    """

    script: str
    key: str
    address: str
    base: str
    warnings: str = "error"


for _module in ("anthropic", "openai", "fastapi"):
    pytest.importorskip(_module, reason=f"the examples need {_module}, which is not installed")

ENDPOINTS = {
    "fastapi_anthropic.py": Endpoint("anthropic-weather", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "starlette_openai_responses.py": Endpoint("openai-weather", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "gemini_tools.py": Endpoint("gemini-weather", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "", "ignore"),
}
SECONDS = 120
RUNNING = re.compile(r"Uvicorn running on (http://\S+)")
NAMES = mostly_slow(ENDPOINTS, quick={"fastapi_anthropic.py"})
endpoints = pytest.mark.parametrize("name", NAMES)
served = pytest.mark.parametrize("url", NAMES, indirect=True, scope="module")


@contextmanager
def serving(name: str, **more: str) -> Iterator[str]:
    """Run an example without a key; it must end well when it is interrupted, without a word of complaint."""
    theirs = {variable for one in ENDPOINTS.values() for variable in (one.key, one.address)}
    env = {key: value for key, value in os.environ.items() if key not in theirs} | {"PORT": "0"} | more
    warnings = ENDPOINTS[name].warnings if name in ENDPOINTS else "error"
    command = [sys.executable, "-W", warnings, str(FOLDER / name)]
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


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an example that serves several tests."""
    with serving(request.param) as address:
        yield address


def ask(url: str, conversation: Conversation, question: str) -> list[dict[str, Any]]:
    """One turn of a client that keeps what it is given: the events of its run."""
    run_input = conversation.run_input(question).model_dump(mode="json", by_alias=True, exclude_none=True)
    events = list(post(f"{url}/agent", run_input))
    for event in events:
        conversation.receive(event)
    conversation.end_of_stream()
    return events


def artefacts(entries: list[Entry]) -> list[tuple[str, bytes]]:
    return [(entry.kind, entry.value.encode()) for entry in entries if entry.kind in VALUE_KINDS]


@served
def test_an_example_holds_a_conversation_without_a_key(url: str, request: pytest.FixtureRequest) -> None:
    """Answers prove the request: the replayed provider refuses a changed one."""
    name = request.node.callspec.params["url"]
    conversation, runs = Conversation("thread"), []
    for question in ("Umbrella or raincoat?", "And by bicycle?", "Are you sure?"):
        runs.append(ask(url, conversation, question))
        assert conversation.status == "finished"
    first, second, third = (Client().feed(run).done().messages for run in runs)
    assert [message["role"] for message in first if message["role"] != "reasoning"] == [
        "assistant",
        "tool",
        "assistant",
    ]
    assert "aincoat" in first[-1]["content"]
    assert [message["role"] for message in second][-2:] == ["reasoning", "assistant"]
    assert second[-1]["content"] == third[-1]["content"] != first[-1]["content"]
    model = load_script(ENDPOINTS[name].script)["model"]
    assert runs[1][-1]["usage"][0]["model"] == model


@endpoints
def test_the_second_turn_returns_every_artefact_byte_for_byte(name: str) -> None:
    endpoint, conversation = ENDPOINTS[name], Conversation("thread")
    exchanges = sequence(endpoint.script)
    requests: list[dict[str, Any]] = []
    with local_server(provider_app(endpoint.script, on_request=requests.append)) as provider:
        env = {endpoint.key: "none", endpoint.address: provider + endpoint.base}
        with serving(name, **env) as url:
            ask(url, conversation, "Umbrella or raincoat?")
            ask(url, conversation, "And by bicycle?")
    api = exchanges[0]["api"]
    said = [read_request(api, request) for request in requests]
    given = [artefacts(read_answer(exchange)) for exchange in exchanges]
    assert [artefacts(entries) for entries in said] == [[], given[0], given[0] + given[1]]
    assert len(given[0]) > 1
    assert given[1]
    # The result of the tool, which the example itself answers, stands behind its call.
    assert [entry.kind for entry in said[1] if entry.speaker == "tool"] == [RESULT]
    assert [entry.speaker for entry in said[2]][-1] == "user"


@served
def test_an_example_refuses_what_is_no_run_input(url: str) -> None:
    answer = call(f"{url}/agent", INPUT | {"messages": [], "threadId": 1})
    assert answer.status == 422
    assert call(f"{url}/agent").status == 200


@served
@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("http://localhost:3000", True),
        ("http://127.0.0.1:5173", True),
        ("https://elsewhere.example", False),
        ("http://localhost.elsewhere.example:80", False),
    ],
)
def test_a_page_on_another_port_may_use_an_example(url: str, origin: str, welcome: bool) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    preflight = call(f"{url}/agent", None, "OPTIONS", None, origin=origin, **asked)
    answer = call(f"{url}/agent", origin=origin)
    allowed = {reply.headers.get("access-control-allow-origin") for reply in (preflight, answer)}
    assert allowed == ({origin} if welcome else {None})
    assert (preflight.status == 200) == welcome


@endpoints
def test_an_agent_and_its_endpoint_take_at_most_25_lines(name: str) -> None:
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
    assert 5 < counted <= 25
