"""Test who may call a gateway: attacks by web pages, and welcome front ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from agui_reasoning import ConfigurationError
from agui_reasoning.deltas import TextDelta
from agui_reasoning.gateway import ReplayUpstream, create_app, local_server
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, TIMEOUT, Answer
from tests.unit.gateway.provider import Provider, Reply, frames, upstream
from tests.unit.gateway.test_app import Fake
from tests.unit.gateway.test_http import answer

FRONT_END = "http://localhost:3000"
EVIL = "http://evil.example"
JSON = {"content-type": "application/json"}
BODY = json.dumps(INPUT).encode()


def send(
    url: str, headers: Mapping[str, str], method: str = "POST", path: str = "/agent", body: bytes = BODY
) -> Answer:
    """A request with the headers that a browser would send, which a page cannot choose."""
    parts = urlsplit(url)
    data = body if method == "POST" else b""
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT)) as connection:
        connection.putrequest(method, path, skip_host=True)
        host = {} if "host" in headers else {"host": parts.netloc}
        for name, value in (host | dict(headers) | {"content-length": str(len(data))}).items():
            connection.putheader(name, value)
        connection.endheaders(data)
        with connection.getresponse() as response:
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.error["code"]) == (status, code)
    assert "access-control-allow-origin" not in answer.headers


def fine(answer: Answer) -> Answer:
    assert answer.status == 200
    assert Client().feed(answer.events).done().run == "finished"
    return answer


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_server(create_app()) as url:
        yield url


@pytest.fixture(scope="module")
def open_url() -> Iterator[str]:
    with local_server(create_app(allowed_origins=[f"{FRONT_END}/"], allowed_hosts=["*.Example.com"])) as url:
        yield url


@pytest.fixture(scope="module")
def paid() -> Iterator[tuple[str, Provider]]:
    """A gateway that spends a key, and the provider where it would be spent."""
    api = "openai-chat"
    provider = Provider(Reply(frames(answer(api))))
    with local_server(provider) as asked:
        app = create_app(upstream(api, asked), allowed_origins=[FRONT_END])
        with local_server(app) as url:
            yield url, provider


# -- names


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "0.0.0.0",
        "192.168.1.5",
        "[2001:db8::1]",
        "169.254.169.254:80",
        "user@localhost",
        "x<script>",
        "",
        "evil.com/.localhost",
        "evil.com#.localhost",
        "evil.com?.localhost",
        "evil.com\\.localhost",
        "evil.com@localhost",
        "evil.com .localhost",
        "evil.com%2f.localhost",
        "évil.localhost",
        "[127.0.0.1",
        "[127.0.0.1]",
        "[::1",
        "[::1]x",
        "[::1]:80:80",
        "127.0.0.1]",
        "localhost:80x",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/agent"), ("GET", "/"), ("GET", "/agent/capabilities")]
)
def test_a_name_that_was_made_to_point_here_is_refused(url: str, host: str, method: str, path: str) -> None:
    refused(send(url, {"host": host, **JSON}, method, path), 421, "host_not_allowed")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "app.localhost", "127.0.0.1", "127.1.2.3:99", "[::1]:8000", "::1"]
)
def test_the_names_of_this_machine_are_answered(url: str, host: str) -> None:
    fine(send(url, {"host": host, **JSON}))


def test_the_address_that_was_reached_is_answered() -> None:
    # As a client of the network reaches a server that listens everywhere.
    with TestClient(create_app(Fake(TextDelta("Yes."))), base_url="http://192.168.1.5:8000") as client:
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"host": "192.168.1.6"}).status_code == 421


@pytest.mark.parametrize("host", ["agents.example.com", "a.b.EXAMPLE.com:443"])
def test_a_name_that_is_allowed_is_answered(open_url: str, host: str) -> None:
    fine(send(open_url, {"host": host, **JSON}))


@pytest.mark.parametrize("host", ["example.com", "agents.example.com.evil.example", "evil.example"])
def test_a_name_that_only_looks_allowed_is_refused(open_url: str, host: str) -> None:
    refused(send(open_url, {"host": host, **JSON}), 421, "host_not_allowed")


def test_every_name_can_be_allowed() -> None:
    with local_server(create_app(allowed_hosts=["*"])) as url:
        fine(send(url, {"host": "evil.example", **JSON}))
        refused(send(url, {"host": "evil.example/x", **JSON}), 421, "host_not_allowed")


def test_two_names_are_both_looked_at() -> None:
    app = create_app()
    with TestClient(app, base_url="http://localhost") as client:
        headers = [("host", "localhost"), ("host", "evil.example")]
        assert client.get("/", headers=headers).status_code == 421


# -- origins


@pytest.mark.parametrize(
    "origin",
    [
        EVIL,
        "null",
        "http://localhost:3001",
        "https://localhost.evil.example",
        "http://[::1",
        "file://",
        "chrome-extension://abc",
        "",
    ],
)
@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_a_page_of_another_origin_is_refused(
    open_url: str, paid: tuple[str, Provider], origin: str, content_type: str
) -> None:
    for url in (open_url, paid[0]):
        answer = send(url, {"origin": origin, "content-type": content_type})
        refused(answer, 403, "origin_not_allowed")
    assert paid[1].asked == []


@pytest.mark.parametrize("path", ["/", "/agent/capabilities"])
def test_nor_may_it_look(open_url: str, path: str) -> None:
    refused(send(open_url, {"origin": EVIL}, "GET", path), 403, "origin_not_allowed")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_page_of_the_gateway_itself_is_welcome(url: str, scheme: str) -> None:
    # Behind a proxy that speaks TLS the gateway itself is asked over http.
    fine(send(url, {"origin": f"{scheme}://{urlsplit(url).netloc}", **JSON}))
    fine(send(url, {"origin": "http://LOCALHOST:8000", "host": "localhost:8000", **JSON}))


def test_its_own_origin_does_not_help_a_name_that_was_made_to_point_here(url: str) -> None:
    refused(send(url, {"origin": EVIL, "host": "evil.example", **JSON}), 421, "host_not_allowed")


def preflight(url: str, origin: str, **more: str) -> Answer:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type,x-mine"}
    return send(url, {"origin": origin, **asked, **more}, "OPTIONS")


def test_a_front_end_on_another_port_can_be_allowed(open_url: str) -> None:
    allowed = preflight(open_url, FRONT_END)
    assert allowed.status == 200
    assert allowed.headers["access-control-allow-origin"] == FRONT_END
    assert allowed.headers["access-control-allow-headers"] == "content-type,x-mine"
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in allowed.headers
    answer = fine(send(open_url, {"origin": FRONT_END, **JSON}))
    assert answer.headers["access-control-allow-origin"] == FRONT_END


def test_what_it_did_wrong_can_be_read_by_a_front_end(open_url: str) -> None:
    answer = send(open_url, {"origin": FRONT_END, **JSON}, body=b"{")
    assert (answer.status, answer.error["code"]) == (400, "bad_json")
    assert answer.headers["access-control-allow-origin"] == FRONT_END


def test_a_preflight_of_another_origin_is_refused(url: str, open_url: str) -> None:
    refused(preflight(open_url, EVIL), 403, "origin_not_allowed")
    refused(preflight(url, FRONT_END), 403, "origin_not_allowed")


def test_every_page_can_be_allowed() -> None:
    with local_server(create_app(allowed_origins=["*"])) as url:
        answer = fine(send(url, {"origin": EVIL, **JSON}))
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "origin", ["localhost:3000", "http://localhost/app", "//localhost", "", "null", "http://", "http://[::1"]
)
def test_what_is_no_origin_is_said_at_once(origin: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        create_app(allowed_origins=[origin])
    assert caught.value.code == "bad_origin"


# -- forms


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/jsonp",
    ],
)
def test_where_a_key_is_spent_a_form_starts_no_run(paid: tuple[str, Provider], content_type: str) -> None:
    url, provider = paid
    for headers in ({"content-type": content_type}, {}, {"content-type": content_type, "origin": FRONT_END}):
        answer = send(url, headers)
        assert (answer.status, answer.error["code"]) == (415, "not_declared_json")
    assert provider.asked == []


def test_where_a_key_is_spent_json_is_welcome(paid: tuple[str, Provider]) -> None:
    url, provider = paid
    fine(send(url, {"content-type": "Application/JSON; charset=utf-8", "origin": FRONT_END}))
    fine(send(url, JSON))
    assert len(provider.asked) == 2
    provider.asked.clear()


# -- elsewhere


def test_the_checks_go_with_the_application_where_it_is_mounted() -> None:
    outer = Starlette(routes=[Mount("/ai", create_app(ReplayUpstream()))])
    with local_server(outer) as url:
        refused(send(url, {"host": "evil.example", **JSON}, path="/ai/agent"), 421, "host_not_allowed")
        fine(send(url, JSON, path="/ai/agent"))
