"""Test the gateway with keys over real HTTP: what leaves it, what comes back, and whose it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from agui_reasoning import ConfigurationError, Conversation
from agui_reasoning.audit import AuditRecord
from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from agui_reasoning.deltas import Delta, fold
from agui_reasoning.gateway import create_app, local_server, provider_app
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, payloads
from agui_reasoning.wire import read_events
from tests.support.canary import Canary, strings
from tests.unit.gateway.http_client import TIMEOUT
from tests.unit.gateway.provider import APIS, upstream
from tests.unit.gateway.test_http import SCRIPTS

KEYS = KeyRing({"k": bytes(range(32))})
apis = pytest.mark.parametrize("api", APIS)
hidings = pytest.mark.parametrize("visibility", ["summary", "hidden"])


def who(request: Request) -> str:
    """Authentication of a kind."""
    name = request.headers.get("authorization")
    if name is None:
        raise HTTPException(401, "Who are you?")
    return name


async def who_in_time(request: Request) -> str:
    return who(request)


@contextmanager
def gateway(api: str, **options: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A gateway in front of a replayed provider; its endpoint, and the requests that reach the provider."""
    asked: list[dict[str, Any]] = []
    with ExitStack() as stack:
        url = stack.enter_context(local_server(provider_app(SCRIPTS[api], on_request=asked.append)))
        app = create_app(upstream(api, url), **({"keys": KEYS, "tenant": who} | options))
        yield f"{stack.enter_context(local_server(app))}/agent", asked


def ask(url: str, conversation: Conversation, content: str | None, user: str | None = "alice") -> bytes:
    """Run once, as a front end would; the bytes that came."""
    body = conversation.run_input(content).model_dump_json(by_alias=True, exclude_none=True).encode()
    headers = {"content-type": "application/json"} | ({} if user is None else {"authorization": user})
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT)
    try:
        connection.request("POST", parts.path, body, headers)
        response = connection.getresponse()
        came: bytes = response.read()
    finally:
        connection.close()
    if response.status == 200:
        for event in read_events(came):
            conversation.receive(event)
    return came


def thoughts(api: str, part: str) -> list[Delta]:
    machine = decoder(api)
    return [d for payload in payloads(load_script(SCRIPTS[api] + part)) for d in machine.receive(payload)]


def answer_call(conversation: Conversation) -> None:
    (call,) = conversation.pending_calls
    conversation.add_tool_result(call.id, '{"rain": true}')


@apis
@hidings
@pytest.mark.parametrize("tenant", [who, who_in_time])
def test_nothing_hidden_leaves_and_everything_returns_to_the_provider(
    api: str, visibility: Any, tenant: Any
) -> None:
    with gateway(api, visibility=visibility, tenant=tenant) as (url, asked):
        conversation = Conversation("thread")
        came = [ask(url, conversation, "Umbrella or raincoat?")]
        answer_call(conversation)
        came.append(ask(url, conversation, None))
        came.append(ask(url, conversation, "And tomorrow?"))
    assert len(asked) == 3, came[-1]
    canary = Canary([part for n in ("", "-2", "-3") for part in fold(thoughts(api, n))], visibility)
    assert canary.secrets or visibility == "summary"
    for body in came:
        canary.look("the gateway", "\0".join(strings(read_events(body))))
    sent = json.dumps(asked[-1])
    for part in fold(thoughts(api, "")) + fold(thoughts(api, "-2")):
        for opaque in getattr(part, "opaque", ()):
            assert json.dumps(opaque.value)[1:-1] in sent


@apis
def test_everything_the_client_keeps_is_encrypted_for_its_tenant_and_thread(api: str) -> None:
    with gateway(api) as (url, _):
        conversation = Conversation("thread")
        ask(url, conversation, "Umbrella or raincoat?")
    values = [value for m in conversation.messages if (value := getattr(m, "encrypted_value", None))]
    assert values
    assert all(looks_like_token(value) for value in values)
    for value in values:
        assert KEYS.decrypt(value, Binding("thread", tenant="alice"))


def test_another_tenant_gets_nothing_out_of_a_stolen_history() -> None:
    with gateway("anthropic-messages", visibility="hidden") as (url, asked):
        conversation = Conversation("thread")
        ask(url, conversation, "Umbrella or raincoat?", "alice")
        answer_call(conversation)
        ask(url, conversation, None, "mallory")
    assert "thinking" not in json.dumps(asked[-1]["messages"])


def test_a_gateway_may_refuse_what_does_not_open() -> None:
    with gateway("anthropic-messages", on_undecryptable="raise") as (url, asked):
        conversation = Conversation("thread")
        ask(url, conversation, "Umbrella or raincoat?", "alice")
        answer_call(conversation)
        came = read_events(ask(url, conversation, None, "mallory"))
    assert (came[-1]["type"], came[-1]["code"]) == ("RUN_ERROR", "undecryptable")
    assert len(asked) == 1


def test_nobody_is_served_whom_authentication_refuses() -> None:
    with gateway("anthropic-messages") as (url, asked):
        refused = json.loads(ask(url, Conversation("thread"), "Umbrella or raincoat?", None))
    assert refused["error"]["message"] == "Who are you?."
    assert asked == []


def test_an_auditor_hears_of_every_run() -> None:
    heard: list[AuditRecord] = []
    with gateway("anthropic-messages", on_audit=heard.append, visibility="hidden") as (url, _):
        conversation = Conversation("thread")
        ask(url, conversation, "Umbrella or raincoat?")
        answer_call(conversation)
        ask(url, conversation, None)
    assert {(r.action, r.outcome) for r in heard} == {("emitted", "encrypted"), ("restored", "restored")}
    assert {r.thread_id for r in heard} == {"thread"}
    assert len({r.run_id for r in heard}) == 2


def test_a_visibility_that_does_not_exist_is_told_when_the_application_is_made() -> None:
    with pytest.raises(ConfigurationError):
        create_app(visibility="hiden")  # type: ignore[arg-type]


def test_capabilities_tell_what_is_shown() -> None:
    with local_server(create_app(keys=KEYS, visibility="hidden")) as url:
        connection = HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
        connection.request("GET", "/agent/capabilities")
        told = json.loads(connection.getresponse().read())
        connection.close()
    assert told["reasoning"] == {"supported": False, "streaming": False, "encrypted": True}


@pytest.mark.parametrize("tenant", ["", None])
def test_a_request_that_belongs_to_nobody_is_refused(tenant: Any) -> None:
    with gateway("anthropic-messages", tenant=lambda request: tenant) as (url, asked):
        refused = json.loads(ask(url, Conversation("thread"), "Umbrella or raincoat?"))
        connection = HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
        connection.request("GET", "/agent/capabilities")
        status = connection.getresponse().status
        connection.close()
    assert refused["error"]["code"] == "no_tenant"
    assert status == 401
    assert asked == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"visibility": "hidden"}, "visibility_without_keys"),
        ({"keys": "secret"}, "bad_keys"),
        ({"keys": KEYS, "ttl_s": -1}, "bad_ttl"),
        ({"keys": KEYS, "pad_to": -1}, "bad_padding"),
        ({"on_undecryptable": "fail"}, "wrong_option"),
        ({"tenant": "alice"}, "wrong_option"),
    ],
)
def test_what_cannot_work_is_told_when_the_application_is_made(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        create_app(**options)
    assert caught.value.code == code
