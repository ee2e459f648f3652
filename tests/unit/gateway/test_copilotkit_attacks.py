"""Bodies, methods, paths and pages of others against the routes of a CopilotKit runtime."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.testclient import TestClient

from agui_reasoning.copilotkit import routes
from tests.unit.durable.stores import sqlite_runs
from tests.unit.gateway.test_copilotkit import INPUT, PATH, agent

JSON = {"content-type": "application/json"}
ODD = (None, 5, [], "x", {}, {"agentId": "default"}, {"agentId": 5, "threadId": [], "runId": {}})
ENVELOPES = [
    json.dumps({"method": method, "params": params, "body": body}).encode()
    for method, params, body in product(
        ("agent/run", "agent/connect", "agent/stop", "info", "agent/delete", None, 5, [], {}), ODD, ODD
    )
]
BODIES = [
    b"",
    b"null",
    b"5",
    b'"x"',
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"\xff\xfe",
    b"NaN",
    b'{"threadId":NaN}',
    b'{"threadId":{},"runId":[]}',
    b'{"threadId":"t","runId":"r","messages":5}',
    b'{"threadId":"t","runId":"r","messages":[[]]}',
    b'{"threadId":"t","runId":"r","messages":[],"state":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"threadId":"","runId":"","messages":[]}',
    b'{"threadId":"t","runId":"r","messages":[],"lastSeenEventId":' + b"9" * 4000 + b"}",
    b'{"threadId":"t\\u0000","runId":"\\ud800","messages":[]}',
    b'{"threadId":"t2","runId":"r","messages":[],"resume":5}',
    b'{"threadId":"t3","runId":"r","messages":[],"resume":[{"interruptId":1}]}',
    b'{"threadId":"t4","runId":"r","messages":[],"tools":[{"name":1}],"forwardedProps":5}',
    *ENVELOPES,
]
POSTS = ["", "/", "/agent/default/run", "/agent/default/connect", "/agent/default/stop/thread-1"]
PATHS = [
    "/agent//run",
    "/agent/%2e%2e/run",
    "/agent/default%2Frun",
    "/agent/default/stop/",
    "/agent/default/stop/a/../../b",
    "/threads/%2f/state",
    "/threads//messages",
    "/threads/..%2f..%2f/messages",
    "/threads?agentId=%00%0d%0aX:1",
    "/agent/%3Cscript%3E/run",
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with sqlite_runs(tmp_path) as runs:
        app = Starlette(routes=routes({"default": agent}, runs=runs, single_tenant=True, api="openai-chat"))
        with TestClient(app) as client:
            yield client


@pytest.mark.parametrize("path", POSTS)
def test_no_body_breaks_a_route(
    client: TestClient, path: str, record_property: Callable[[str, object], None]
) -> None:
    for body in BODIES:
        answer = client.post(PATH + path, content=body, headers=JSON)
        assert answer.status_code in {200, 400, 404, 413}, body[:80]
        if answer.status_code != 200:
            assert set(answer.json()) == {"error", "message"}
    record_property("times", len(BODIES))


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_elsewhere(client: TestClient, path: str) -> None:
    for answer in (client.get(PATH + path), client.post(PATH + path, content=b"{}", headers=JSON)):
        assert answer.status_code in {200, 400, 404, 405}
        assert "text/html" not in answer.headers.get("content-type", "")
        assert "x" not in answer.headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
@pytest.mark.parametrize("path", [*POSTS, "/info", "/threads", "/threads/thread-1/messages"])
def test_other_methods_do_nothing(client: TestClient, method: str, path: str) -> None:
    assert client.request(method, PATH + path).status_code in {404, 405}


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "multipart/form-data", "text/plain; application/json"]
)
def test_what_pages_may_send_without_asking_does_nothing(
    client: TestClient, path: str, content_type: str
) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = client.post(PATH + path, content=json.dumps(INPUT), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (415, "not_declared_json")


def test_a_body_that_is_too_long_is_refused(client: TestClient) -> None:
    body = b'{"a":"' + b"x" * 17_000_000 + b'"}'
    for path in POSTS:
        assert client.post(PATH + path, content=body, headers=JSON).status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "evil.example/.localhost"},
        {"host": "[127.0.0.1"},
        {"host": ""},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
        {"x-forwarded-for": "127.0.0.1"},
        {"forwarded": "for=127.0.0.1"},
        {"via": "1.1 proxy"},
    ],
    ids=str,
)
def test_without_tenants_neither_pages_nor_proxies_are_answered(
    headers: dict[str, str], tmp_path: Path
) -> None:
    with (
        sqlite_runs(tmp_path) as runs,
        TestClient(
            Starlette(routes=routes({"default": agent}, runs=runs, api="openai-chat")),
            base_url="http://127.0.0.1:8000",
            client=("127.0.0.1", 5000),
        ) as client,
    ):
        ours = client.post(f"{PATH}/agent/default/run", json=INPUT)
        assert ours.status_code == 200
        for answer in (
            client.get(f"{PATH}/threads", headers=headers),
            client.get(f"{PATH}/threads/thread-1/messages", headers=headers),
            *(client.post(PATH + path, json=INPUT, headers=headers) for path in POSTS),
        ):
            assert (answer.status_code, answer.json()["error"]) == (403, "not_local")


@pytest.mark.parametrize("tenant", ["", None, 5, ["ada"]], ids=str)
def test_what_is_no_tenant_is_refused(tenant: Any, tmp_path: Path) -> None:
    def find(request: Request) -> Any:
        return tenant

    with (
        sqlite_runs(tmp_path) as runs,
        TestClient(
            Starlette(routes=routes({"default": agent}, runs=runs, tenant=find, api="openai-chat"))
        ) as client,
    ):
        for path in POSTS:
            assert client.post(PATH + path, json=INPUT).status_code == 401
        assert client.get(f"{PATH}/threads").status_code == 401
