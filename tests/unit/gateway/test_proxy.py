"""Test the proxy in front of a real server that speaks THINKING_*, over real HTTP."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, IncompleteRead
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from agui_reasoning.errors import ConfigurationError, MissingExtraError
from agui_reasoning.gateway import create_proxy, local_server
from tests.support.play import FINISHED, STARTED
from tests.unit.compat.test_downgrade import old, phase
from tests.unit.driver.test_thinking_middleware import body_of
from tests.unit.gateway.http_client import TIMEOUT, call, opened

EVENTS = [STARTED, *phase(*old("Hm")), FINISHED]
UPGRADED = ["REASONING_START", *(f"REASONING_MESSAGE_{part}" for part in ("START", "CONTENT", "END"))]
TYPES = ["RUN_STARTED", *UPGRADED, "REASONING_END", "RUN_FINISHED"]


async def agent(scope: Scope, receive: Receive, send: Send) -> None:
    """An old agent, and an echo of what it was sent."""
    if scope["type"] != "http":
        return
    request = Request(scope, receive)
    handlers = {"/agent": think, "/broken": break_off, "/base/agent": think}
    response = await handlers.get(request.url.path, echo)(request)
    await response(scope, receive, send)


async def think(request: Request) -> Response:
    return StreamingResponse(_pieces(body_of(EVENTS)), media_type="text/event-stream")


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 11):
        yield body[at : at + 11]


async def break_off(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield body_of(EVENTS[:1])
        raise OSError

    return StreamingResponse(pieces(), media_type="text/event-stream")


async def echo(request: Request) -> Response:
    body = await request.body()
    told = {
        "method": request.method,
        "path": request.scope["raw_path"].decode(),
        "query": request.scope["query_string"].decode(),
        "headers": [[name.decode(), value.decode()] for name, value in request.headers.raw],
        "body": body.decode(errors="replace"),
    }
    response = JSONResponse(told, 207)
    response.headers["X-Answer"] = "yes"
    response.headers["Connection"] = "X-Hop"
    response.headers["X-Hop"] = "no"
    return response


@contextmanager
def proxied(path: str = "", **options: Any) -> Iterator[str]:
    with local_server(agent) as upstream, local_server(create_proxy(upstream + path, **options)) as url:
        yield url


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with proxied() as url:
        yield url


def test_the_agents_thinking_arrives_as_reasoning(url: str) -> None:
    answer = call(f"{url}/agent")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert [event["type"] for event in answer.events] == TYPES


def test_method_path_query_headers_and_body_arrive_and_so_does_the_answer(url: str) -> None:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT)
    headers = {
        "X-One": "1",
        "Authorization": "Bearer abc",
        "Connection": "X-Local",
        "X-Local": "no",
        "TE": "trailers",
        "Accept-Encoding": "gzip",
    }
    connection.request("PATCH", "/a%2Fb?x=%20&y", b"body \xc3\xa9", headers)
    response = connection.getresponse()
    told = json.loads(response.read())
    connection.close()
    sent = dict(told.pop("headers"))
    assert told == {"method": "PATCH", "path": "/a%2Fb", "query": "x=%20&y", "body": "body é"}
    assert (sent["x-one"], sent["authorization"], sent["accept-encoding"]) == ("1", "Bearer abc", "identity")
    assert not {"x-local", "te", "connection"} & set(sent) - {"connection"}
    assert (response.status, response.headers["X-Answer"], response.headers["X-Hop"]) == (207, "yes", None)
    assert len(response.headers.get_all("date") or []) == 1


def test_a_path_of_the_upstream_comes_before_that_of_the_request() -> None:
    with proxied("/base/") as url:
        assert [event["type"] for event in call(f"{url}/agent").events] == TYPES
    with proxied("/agent") as url:
        assert [event["type"] for event in call(f"{url}/").events] == TYPES


def test_an_upstream_that_is_down_is_a_502_that_says_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with local_server(create_proxy(f"http://user:secret@127.0.0.1:{port}")) as url:
        answer = call(f"{url}/agent")
    assert (answer.status, answer.headers["content-type"]) == (502, "application/json")
    assert answer.error["code"] == "upstream_unreachable"
    assert "ConnectError" in answer.error["message"]
    assert "secret" not in answer.error["message"] + caplog.text


def test_an_answer_that_breaks_off_does_not_look_like_an_end(caplog: pytest.LogCaptureFixture) -> None:
    with proxied() as url, caplog.at_level(logging.CRITICAL), opened(f"{url}/broken") as response:
        with pytest.raises(IncompleteRead) as caught:
            response.read()
        assert caught.value.partial == body_of(EVENTS[:1])


@pytest.mark.parametrize("target", ["@other.example/", "http://other.example/", "*"])
def test_a_target_that_is_no_path_names_no_other_host(url: str, target: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), TIMEOUT) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 4")
    assert b"502" not in answer.partition(b"\r\n")[0]


def test_a_name_that_is_not_its_own_is_not_answered(url: str) -> None:
    def status(base: str) -> int:
        return httpx2.get(f"{base}/x", headers={"host": "rebound.example"}, trust_env=False).status_code

    assert status(url) == 421
    with proxied(allowed_hosts=["rebound.example"]) as other:
        assert status(other) == 207


def test_pages_of_any_origin_are_the_agents_to_judge(url: str) -> None:
    answer = httpx2.get(f"{url}/x", headers={"origin": "https://page.example"}, trust_env=False)
    assert answer.status_code == 207
    assert "access-control-allow-origin" not in answer.headers


HISTORY = {
    "messages": [
        {"id": "u", "role": "user", "content": "\ud83d"},
        {"id": "r", "role": "reasoning", "content": ""},
    ]
}


def test_bodies_pass_as_they_are_unless_the_agent_is_known_to_refuse_reasoning_messages(url: str) -> None:
    bodies = [json.dumps(HISTORY), '{"messages": [ ]}', "{", "[5]", '{"messages": 5}']
    with proxied(agent_version="0.1.10") as old_one, proxied(agent_version="0.1.13") as newer:
        for body in bodies:
            for base in (url, newer):
                assert json.loads(call(f"{base}/x", body.encode()).body)["body"] == body
        told = [json.loads(call(f"{old_one}/x", body.encode()).body)["body"] for body in bodies]
        told.append(json.loads(call(f"{old_one}/x", b"\xff").body)["body"])
    assert json.loads(told[0]) == {"messages": HISTORY["messages"][:1]}
    assert told[1:] == [*bodies[1:], "\ufffd"]


def test_a_body_that_is_too_large_is_refused() -> None:
    with proxied(max_body_bytes=10) as url:
        answer = call(f"{url}/x", b"x" * 11)
    assert (answer.status, answer.error["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    "upstream", ["localhost:8000", "ftp://a", "http://", "http://a:port", "http://a?x=1", "http://secret@"]
)
def test_an_upstream_that_is_no_url_is_refused_without_being_quoted(upstream: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        create_proxy(upstream)
    assert caught.value.code == "bad_url"
    assert "secret" not in str(caught.value)


@pytest.mark.anyio
async def test_a_client_that_leaves_ends_the_request_at_the_agent() -> None:
    left = anyio.Event()
    closed = anyio.Event()
    asked = anyio.Event()

    class Thinking(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            asked.set()
            try:
                await anyio.sleep_forever()
            finally:
                closed.set()
            raise AssertionError

    async def receive() -> dict[str, Any]:
        if not asked.is_set():
            return {"type": "http.request", "body": b"{}", "more_body": False}
        left.set()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    proxy = create_proxy("http://agent.example", transport=Thinking())
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/agent",
        "raw_path": b"/agent",
        "query_string": b"",
        "headers": [],
    }
    with anyio.fail_after(60):
        await proxy(scope, _first_then(receive, asked), send)
    assert left.is_set()
    assert closed.is_set()


@pytest.mark.anyio
async def test_a_client_that_leaves_before_its_body_is_whole_asks_nothing() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    await create_proxy("http://agent.example")(
        {"type": "http", "method": "POST", "headers": []}, receive, send
    )


def test_without_the_extra_the_module_names_it() -> None:
    program = (
        "import sys; sys.modules['httpx2'] = None\n"
        "try:\n    from agui_reasoning.gateway import create_proxy\n"
        "except ImportError as error: print(error.code, error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"missing_extra {MissingExtraError('x', 'client').hint}\n"


def _first_then(receive: Any, asked: anyio.Event) -> Any:
    """The body at once, and the disconnect when the agent has been asked."""
    calls: list[int] = []

    async def staged() -> Any:
        calls.append(1)
        if len(calls) > 1:
            await asked.wait()
        return await receive()

    return staged
