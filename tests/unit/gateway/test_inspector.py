"""Test what the page's inspector asks the gateway: when it answers, and what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient

from agui_reasoning import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import TextDelta
from agui_reasoning.gateway import ReplayUpstream, create_app, local_server
from tests.internals.cli.test_demo import KINDS
from tests.unit.gateway.http_client import INPUT, Answer, call
from tests.unit.gateway.test_app import Fake

LIMIT = 65_536
RESULT = '{"rain_mm": 4.2}'
LOCAL = ("127.0.0.1", 50_000)
QUESTION = "Umbrella or raincoat?"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_server(create_app(max_body_bytes=LIMIT)) as url:
        yield url


def check(url: str, body: Any) -> dict[str, Any]:
    answer = call(f"{url}/_page/check", body)
    assert answer.status == 200
    return json.loads(answer.body)


def preview(url: str, conversation: Conversation) -> dict[str, Any]:
    answer = call(f"{url}/_page/request", as_json(conversation))
    assert answer.status == 200
    return json.loads(answer.body)


def as_json(conversation: Conversation, content: str | None = None) -> Any:
    return json.loads(conversation.run_input(content).model_dump_json(by_alias=True, exclude_none=True))


def asked(url: str) -> Conversation:
    """A conversation whose call is answered and not yet sent."""
    conversation = Conversation("t1")
    for event in call(f"{url}/agent", as_json(conversation, QUESTION)).events:
        conversation.receive(event)
    for pending in conversation.pending_calls:
        conversation.add_tool_result(pending.id, RESULT)
    return conversation


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.error["code"]) == (status, code)


# -- findings


def test_a_clean_run_has_no_findings(url: str) -> None:
    events = call(f"{url}/agent").events
    nothing = {"events": len(events), "errors": 0, "warnings": 0, "findings": [], "omitted": 0}
    assert check(url, events) == nothing
    assert check(url, "\n".join(map(json.dumps, events)).encode()) == nothing


def test_findings_name_their_event_and_their_page(url: str) -> None:
    events = [{"type": "RUN_STARTED", "threadId": "t1", "runId": "r1"}, {"type": "LATER"}]
    report = check(url, events)
    assert [report[name] for name in ("events", "errors", "warnings", "omitted")] == [2, 1, 2, 0]
    assert [
        (finding["code"], finding["severity"], finding["index"], finding["page"])
        for finding in report["findings"]
    ] == [
        ("missing_version", "warning", 0, "reference/findings/missing_version"),
        ("unknown_event", "warning", 1, "reference/findings/unknown_event"),
        ("truncated_run", "error", 2, "reference/findings/truncated_run"),
    ]
    assert all(finding["message"] and finding["remedy"] for finding in report["findings"])


def test_a_page_gets_as_many_findings_as_it_can_show(url: str) -> None:
    report = check(url, [{"type": f"UNKNOWN_{number}"} for number in range(700)])
    assert (len(report["findings"]), report["omitted"]) == (500, report["errors"] + report["warnings"] - 500)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad_json"),
        (b"[1]", 400, "bad_frame"),
        (b'[{"type": 1}]', 400, "bad_frame"),
        (b"\xff", 400, "bad_utf8"),
        (b" " * (LIMIT + 1), 413, "body_too_large"),
    ],
)
def test_what_is_not_a_log_is_refused(url: str, body: bytes, status: int, code: str) -> None:
    refused(call(f"{url}/_page/check", body), status, code)


def test_half_an_emoji_is_no_server_error(url: str) -> None:
    body = b'[{"type": "TEXT_MESSAGE_END", "messageId": "\\ud83d"}]'
    assert call(f"{url}/_page/check", body).status < 500


# -- the request


@pytest.mark.parametrize("script", KINDS)
def test_every_value_of_a_provider_is_marked_and_unchanged(script: str) -> None:
    with local_server(create_app(ReplayUpstream(script))) as url:
        report = preview(url, asked(url))
    kinds = [value["kind"] for value in report["values"]]
    assert kinds
    assert sorted(set(kinds)) == sorted(set(KINDS[script][: len(kinds)]))
    assert {value["unchanged"] for value in report["values"]} <= {True, None}
    assert all(value["unchanged"] for value in report["values"] if value["kind"] != "call id")
    assert all(at(report["body"], value["path"]) for value in report["values"])
    assert "echoed" in {group["outcome"] for group in report["outcomes"]}


def test_a_request_says_what_is_sent_and_where(url: str) -> None:
    report = preview(url, asked(url))
    assert (report["api"], report["provider"]) == ("anthropic-messages", "anthropic")
    signature = next(entry for entry in report["values"] if entry["kind"] == "signature")
    assert signature["path"] == "/messages/1/content/0/signature"
    assert signature["bytes"] == len(at(report["body"], signature["path"]))
    (outcome,) = report["outcomes"]
    assert (outcome["outcome"], outcome["answer"], len(outcome["units"])) == ("echoed", 1, 2)
    assert outcome["sentence"].endswith(": 2 units sent unchanged.")


def test_a_changed_text_loses_its_signature_and_the_report_says_why(url: str) -> None:
    body = as_json(asked(url))
    thought = next(message for message in body["messages"] if message["role"] == "reasoning")
    thought["content"] += " Or not."
    report = json.loads(call(f"{url}/_page/request", body).body)
    lost = next(group for group in report["outcomes"] if group["outcome"] == "dropped")
    assert lost["units"] == [thought["id"]]
    assert "left out" in lost["sentence"]
    assert all("Or not" not in json.dumps(entry) for entry in report["values"])


def test_a_foreign_id_is_not_called_unchanged(url: str) -> None:
    conversation = asked(url)
    body = json.loads(as_text(conversation).replace("toolu_demo_01BergenForecast", "toolu_other"))
    report = json.loads(call(f"{url}/_page/request", body).body)
    states = {entry["kind"]: entry["unchanged"] for entry in report["values"]}
    assert states["call id"] is None


def as_text(conversation: Conversation) -> str:
    return json.dumps(as_json(conversation))


def test_a_hidden_thread_is_decrypted_for_the_preview_and_no_key_is_shown() -> None:
    keys = KeyRing.generate()
    app = create_app(visibility="hidden", keys=keys)
    with local_server(app) as url:
        conversation = asked(url)
        answer = call(f"{url}/_page/request", as_json(conversation))
    report = json.loads(answer.body)
    assert "thinking" in {entry["kind"] for entry in report["values"]}
    assert all(secret not in answer.body.decode() for secret in secrets_of(keys))


def secrets_of(keys: KeyRing) -> list[str]:
    return [entry.rpartition(":")[2] for entry in keys.to_env().split(",")]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad_json"),
        ({"messages": 3}, 422, "bad_input"),
        (INPUT | {"messages": [{"id": "1", "role": "user", "content": "x" * LIMIT}]}, 413, "body_too_large"),
    ],
)
def test_what_is_not_an_input_is_refused(url: str, body: Any, status: int, code: str) -> None:
    refused(call(f"{url}/_page/request", body), status, code)


def test_half_a_character_in_an_event_is_a_finding(url: str) -> None:
    answer = call(f"{url}/_page/check", b'[{"type": "\\ud800X"}]')
    assert answer.status == 200
    assert json.loads(answer.body)["findings"]


# -- when it answers


def test_nothing_is_there_in_front_of_a_model() -> None:
    with local_server(create_app(Fake(TextDelta("Yes.")))) as url:
        for name in ("check", "request"):
            refused(call(f"{url}/_page/{name}"), 404, "not_found")
        assert json.loads(call(f"{url}/_page/losses", {}).body) == {"threads": []}


@pytest.mark.parametrize("name", ["check", "losses", "request"])
@pytest.mark.parametrize(
    ("base", "client", "headers", "status", "code"),
    [
        ("http://127.0.0.1", ("192.0.2.1", 50_000), {}, 403, "not_local"),
        ("http://192.0.2.2", LOCAL, {}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"host": "gateway.example.com"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"x-forwarded-for": "192.0.2.1"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"forwarded": "for=192.0.2.1"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"x-forwarded-proto": "https"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"cf-connecting-ip": "192.0.2.1"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"origin": "http://evil.example"}, 403, "origin_not_allowed"),
        # The gateway answers these two pages, and its inspector does not.
        ("http://127.0.0.1", LOCAL, {"origin": "http://localhost:3000"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"origin": "http://127.0.0.1:3000"}, 403, "not_local"),
        ("http://127.0.0.1", LOCAL, {"origin": "http://127.0.0.1"}, 200, None),
        ("http://127.0.0.1", LOCAL, {"content-type": "text/plain"}, 415, "not_declared_json"),
        ("http://127.0.0.1", LOCAL, {}, 200, None),
        pytest.param(
            *("http://[::1]", ("::1", 50_000), {}, 200, None),
            marks=pytest.mark.skipif(
                version("starlette").startswith("0.46."), reason="its test client reads no such address"
            ),
        ),
        ("http://127.0.0.1", LOCAL, {"host": "localhost:3000"}, 200, None),
    ],
)
def test_only_this_machine_is_answered(
    name: str, base: str, client: tuple[str, int], headers: dict[str, str], status: int, code: str | None
) -> None:
    origins = ["http://localhost:3000", "http://127.0.0.1:3000"]
    app = create_app(allowed_hosts=["gateway.example.com"], allowed_origins=origins)
    body = json.dumps({"check": [], "losses": {}, "request": INPUT}[name])
    with TestClient(app, base_url=base, client=client) as http:
        response = http.post(
            f"/_page/{name}", content=body, headers={"content-type": "application/json"} | headers
        )
    found = response.json().get("error", {}).get("code")
    assert (response.status_code, found) == (status, code)


def test_a_name_of_another_site_is_refused(url: str) -> None:
    with TestClient(create_app(), base_url="http://127.0.0.1", client=LOCAL) as http:
        response = http.post("/_page/check", json=[], headers={"host": "evil.example"})
    assert response.status_code == 421


def test_the_tenant_function_guards_it() -> None:
    def tenant(request: Request) -> str:
        if request.headers.get("x-user") != "ada":
            raise HTTPException(401)
        return "ada"

    with local_server(create_app(tenant=tenant)) as url:
        for name in ("check", "losses", "request"):
            assert call(f"{url}/_page/{name}").status == 401
        assert call(f"{url}/_page/check", [], **{"x-user": "ada"}).status == 200


def test_a_request_is_read_with_the_keys_of_its_tenant() -> None:
    """A history of another tenant is not decrypted."""
    keys = KeyRing.generate()
    app = create_app(keys=keys, visibility="hidden", tenant=lambda request: request.headers["x-user"])
    with local_server(app) as url:
        conversation = Conversation("t1")
        for event in call(f"{url}/agent", as_json(conversation, QUESTION), **{"x-user": "ada"}).events:
            conversation.receive(event)
        body = as_json(conversation, "And tomorrow?")
        own, other = (
            json.loads(call(f"{url}/_page/request", body, **{"x-user": user}).body) for user in ("ada", "bob")
        )
    assert "thinking" in {entry["kind"] for entry in own["values"]}
    assert "thinking" not in {entry["kind"] for entry in other["values"]}
    assert {group["reason"] for group in other["outcomes"]} == {"undecryptable"}


def at(value: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        value = value[int(name) if isinstance(value, list) else name]
    return value
