"""Test the routes of the gateway's page: what is served, to whom, and with which headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Mount
from starlette.testclient import TestClient

import agui_reasoning
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import HTTPUpstream, ReplayUpstream, create_app
from tests.unit.durable.stores import sqlite_runs

STATIC = Path(agui_reasoning.__file__).parent / "_page" / "static"
FILES = sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file())
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


def client(app: Starlette) -> TestClient:
    return TestClient(app, base_url="http://localhost")


@pytest.fixture(scope="module")
def served() -> Iterator[TestClient]:
    with client(create_app()) as served:
        yield served


def config_of(app: Starlette) -> Any:
    return client(app).get("/_page/config.json").json()


# -- what is served


def test_the_page_is_a_file_of_the_package(served: TestClient) -> None:
    answer = served.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    links = re.compile(r'<link rel="modulepreload" href="_page/[0-9a-f]{16}/(.*)">\n')
    modules = [name for name in FILES if name.endswith(".js") and name != "theme.js"]
    assert links.findall(answer.text) == modules
    page = re.sub(r'"_page/[0-9a-f]{16}/', '"_page/', links.sub("", answer.text))
    assert page == (STATIC / "index.html").read_text(encoding="utf-8")


def test_what_the_page_refers_to_is_kept_by_browsers_and_changes_its_address(served: TestClient) -> None:
    (version,) = set(re.findall(r'"_page/([^/"]*)/', served.get("/").text))
    answer = served.get(f"/_page/{version}/inspector/tabs.js")
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert answer.content == (STATIC / "inspector" / "tabs.js").read_bytes()
    assert served.get(f"/_page/{'0' * 16}/inspector/tabs.js").status_code == 404
    assert served.get(f"/_page/{version}/missing.js").status_code == 404
    assert served.get("/").headers["cache-control"] == "no-cache"


def test_files_are_compressed_for_who_can_read_that(served: TestClient) -> None:
    packed = served.get("/_page/main.js", headers={"accept-encoding": "br, gzip"})
    plain = served.get("/_page/main.js", headers={"accept-encoding": "identity"})
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "accept-encoding")
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content == (STATIC / "main.js").read_bytes()
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])
    assert packed.headers["etag"] != plain.headers["etag"]


@pytest.mark.parametrize("name", FILES)
def test_every_static_file_is_served_with_its_type(served: TestClient, name: str) -> None:
    answer = served.get(f"/_page/{name}")
    types = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == types[Path(name).suffix]
    assert answer.content == (STATIC / name).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/_page/",
        "/_page/missing.js",
        "/_page/inspector",
        "/_page/inspector/../../_config.py",
        "/_page/../_app.py",
        "/_page/..%2f__init__.py",
        "/_page/%2e%2e/_app.py",
    ],
)
def test_nothing_else_is_served(served: TestClient, path: str) -> None:
    assert served.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/_page/main.js", "/_page/config.json"])
def test_the_headers_forbid_everything_but_the_pages_own_files(served: TestClient, path: str) -> None:
    headers = served.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/_page/main.js", "/_page/config.json"])
def test_an_unchanged_file_is_not_sent_again(served: TestClient, path: str) -> None:
    tag = served.get(path).headers["etag"]
    again = served.get(path, headers={"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert served.get(path, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize("name", FILES)
def test_the_files_load_nothing_from_elsewhere_and_contain_no_inline_script(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    assert not any(word in text for word in ('src="http', 'href="http', "@import", "url(http", "innerHTML"))
    assert "<script>" not in text
    assert " style=" not in text


# -- the settings


def test_the_settings_describe_the_gateway() -> None:
    app = create_app(
        ReplayUpstream("openai-weather"),
        path="/v1/agent",
        visibility="summary",
        keys=KeyRing.generate("key-1"),
        allowed_origins=["http://localhost:3000"],
        page_links={"Gemini": "../gemini-weather/", "Others": {"Ollama": "../ollama-weather/"}},
    )
    config = config_of(app)
    assert config["endpoint"] == "v1/agent"
    assert config["capabilities"] == "v1/agent/capabilities"
    assert config["upstream"] == {
        "name": "replay:openai-weather",
        "api": "openai-responses",
        "provider": "openai",
        "model": "gpt-5.6-sol",
        "live": False,
    }
    assert (config["visibility"], config["keyIds"]) == ("summary", ["key-1"])
    assert config["allowedOrigins"] == ["http://localhost:3000"]
    assert config["links"] == [
        {"label": "Gemini", "href": "../gemini-weather/", "group": None},
        {"label": "Ollama", "href": "../ollama-weather/", "group": "Others"},
    ]
    assert [tool["declaration"]["name"] for tool in config["tools"]] == ["get_forecast"]
    assert config["questions"][-1] == "And if I go by bicycle instead?"


@pytest.mark.parametrize(
    ("caller", "options", "joins"),
    [
        ("127.0.0.1", {}, True),
        ("192.0.2.1", {}, False),
        ("192.0.2.1", {"single_tenant": True}, True),
        ("192.0.2.1", {"tenant": lambda request: "alice"}, True),
    ],
)
def test_the_page_joins_runs_where_the_gateway_lets_it(
    tmp_path: Path, caller: str, options: Any, joins: bool
) -> None:
    with sqlite_runs(tmp_path) as runs:
        app = create_app(path="/v1/agent", runs=runs, **options)
        served = TestClient(app, base_url="http://localhost", client=(caller, 1))
        expected = {"connect": "v1/agent/connect", "stop": "v1/agent/stop"} if joins else None
        assert served.get("/_page/config.json").json()["runs"] == expected


def test_a_gateway_that_keeps_no_runs_has_none_to_join() -> None:
    assert config_of(create_app())["runs"] is None


def test_the_key_that_encrypts_is_named_first() -> None:
    ring = KeyRing({"old": bytes(32), "new": bytes(range(32))}, primary="new")
    assert config_of(create_app(keys=ring))["keyIds"] == ["new", "old"]


def test_no_key_is_on_the_page() -> None:
    ring = KeyRing.generate("key-1")
    upstream = HTTPUpstream(
        "anthropic-messages",
        base_url="http://127.0.0.1:9",
        model="claude-sonnet-4-6",
        api_key="sk-secret-of-the-provider",
        headers={"x-other": "another-secret"},
    )
    served = client(create_app(upstream, keys=ring))
    shown = "".join(served.get(path).text for path in ("/", "/_page/config.json", "/agent/capabilities"))
    secrets = ["sk-secret-of-the-provider", "another-secret", ring.to_env().partition(":")[2]]
    assert "key-1" in shown
    assert not [secret for secret in secrets if secret in shown]


def test_a_page_of_a_provider_offers_no_tools() -> None:
    upstream = HTTPUpstream("anthropic-messages", base_url="http://127.0.0.1:9", model="m")
    config = config_of(create_app(upstream))
    assert (config["upstream"]["live"], config["tools"], config["questions"]) == (True, [], [])


def test_the_page_works_below_a_prefix() -> None:
    app = Starlette(routes=[Mount("/gateways/one", create_app())])
    served = client(app)
    assert served.get("/gateways/one/").status_code == 200
    assert served.get("/gateways/one/_page/main.js").status_code == 200
    config = served.get("/gateways/one/_page/config.json").json()
    assert config["endpoint"] == "agent"
    run_input = {"threadId": "t", "runId": "r", "messages": [], "state": {}, "tools": [], "context": []}
    assert served.post("/gateways/one/agent", content=json.dumps(run_input)).status_code == 200


# -- who sees it


@pytest.mark.parametrize("path", ["/", "/_page/main.js", "/_page/config.json", "/agent/capabilities"])
def test_the_tenant_function_guards_the_page(path: str) -> None:
    def tenant(request: Request) -> str:
        if "cookie" not in request.headers:
            raise HTTPException(401, "Sign in first")
        return "alice" if request.headers["cookie"] == "user=alice" else ""

    served = client(create_app(tenant=tenant))
    assert served.get(path).status_code == 401
    assert served.get(path, headers={"cookie": "user=eve"}).json()["error"]["code"] == "no_tenant"
    assert served.get(path, headers={"cookie": "user=alice"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/_page/main.js", "/_page/config.json"])
def test_the_page_can_be_left_out(path: str) -> None:
    served = client(create_app(page=False))
    assert served.get(path).status_code == 404
    assert served.get("/agent/capabilities").status_code == 200


def test_without_a_page_nothing_refers_to_it() -> None:
    answer = client(create_app(page=False)).get("/agent", headers={"accept": "text/html"})
    assert answer.status_code == 405
    assert answer.json()["error"]["message"] == "Method Not Allowed. Send a RunAgentInput with POST."
