"""Test Google's APIs over HTTP: the REST body, the model in the path, and the address."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from agui_reasoning import stream_run
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.replay import load_script, payloads
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, call
from tests.unit.gateway.provider import KEY, Asked, Json, Provider, Reply, frames

MODEL = "gemini-3-flash-preview"
SCRIPTS = {"gemini": "gemini-weather", "gemini-interactions": "interactions-weather"}
WORDS = INPUT["messages"][-1]["content"]
FORECAST = {"name": "get_forecast", "description": "", "parameters": {"type": "object", "properties": {}}}

apis = pytest.mark.parametrize("api", SCRIPTS)


@contextmanager
def gateway(api: str, reply: Reply | None = None, **options: Any) -> Iterator[tuple[str, Provider]]:
    """A gateway in front of a server that answers in Google's place."""
    answer = frames(list(payloads(load_script(f"{SCRIPTS[api]}-2"))))
    provider = Provider(reply or Reply(answer))
    base = options.pop("base", "")
    with local_server(provider) as url:
        given = {"base_url": url + base, "model": MODEL, "api_key": KEY} | options
        with local_server(create_app(HTTPUpstream(api, **given))) as served:
            yield f"{served}/agent", provider


def asked(api: str, run_input: Mapping[str, Any] = INPUT, **options: Any) -> Asked:
    """The one request that a run causes."""
    with gateway(api, **options) as (url, provider):
        Client().feed(call(url, run_input).events).done()
    (request,) = provider.asked
    return request


def test_the_path_names_the_model_and_asks_for_a_stream() -> None:
    request = asked("gemini")
    assert (request.path, request.query) == (f"/v1beta/models/{MODEL}:streamGenerateContent", "alt=sse")
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.body == {"contents": [{"role": "user", "parts": [{"text": WORDS}]}]}


def test_claude_on_vertex_is_asked_with_the_model_in_the_path_and_the_version_in_the_body() -> None:
    """So Anthropic documents it, and so its SDK for Vertex AI does."""
    base = "/v1/projects/p/locations/global/publishers/anthropic"
    provider = Provider(Reply(frames(list(payloads(load_script("anthropic-weather-2"))))))
    with local_server(provider) as url:
        options: Json = {"base_url": url + base, "model": "claude-sonnet-4-6", "api_key": KEY}
        upstream = HTTPUpstream("anthropic-messages", provider="google-vertex", **options)
        with local_server(create_app(upstream)) as served:
            Client().feed(call(f"{served}/agent").events).done()
    (request,) = provider.asked
    assert request.path == f"{base}/models/claude-sonnet-4-6:streamRawPredict"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert not {"x-api-key", "anthropic-version"} & set(request.headers)
    assert request.body == {
        "anthropic_version": "vertex-2023-10-16",
        "max_tokens": 16_384,
        "stream": True,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "messages": [{"role": "user", "content": [{"type": "text", "text": WORDS}]}],
    }


def test_an_interaction_is_asked_for_with_its_model_in_the_body() -> None:
    options: Json = {
        "system": "Be brief.",
        "parameters": {"store": False, "tools": [{"type": "google_search"}]},
    }
    request = asked("gemini-interactions", INPUT | {"tools": [FORECAST]}, **options)
    assert (request.path, request.query) == ("/v1beta/interactions", "")
    assert request.headers["x-goog-api-key"] == KEY
    assert request.body == {
        "model": MODEL,
        "input": [{"type": "user_input", "content": [{"type": "text", "text": WORDS}]}],
        "system_instruction": "Be brief.",
        "tools": [{"type": "function", **FORECAST}, {"type": "google_search"}],
        "store": False,
        "stream": True,
    }


def test_a_model_cannot_leave_its_place_in_the_path() -> None:
    upstream = HTTPUpstream("gemini", base_url="http://localhost", model="../x?y=1#z")
    assert str(upstream._transport._url) == (
        "http://localhost/v1beta/models/..%2Fx%3Fy%3D1%23z:streamGenerateContent?alt=sse"
    )


def test_vertex_is_asked_below_its_own_base_url_with_a_token() -> None:
    base = "/v1/projects/p/locations/global/publishers/google"
    request = asked("gemini", provider="google-vertex", base=base)
    assert request.path == f"{base}/models/{MODEL}:streamGenerateContent"
    assert request.query == "alt=sse"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "x-goog-api-key" not in request.headers


def test_instructions_tools_and_parameters_stand_where_rest_has_them() -> None:
    parameters = {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "tools": [{"googleSearch": {}}],
    }
    request = asked("gemini", INPUT | {"tools": [FORECAST]}, system="Be brief.", parameters=parameters)
    declared = {"name": "get_forecast", "description": "", "parametersJsonSchema": FORECAST["parameters"]}
    assert request.body == {
        "contents": [{"role": "user", "parts": [{"text": WORDS}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [declared]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    }


def test_a_gateway_knows_that_it_asks_for_thoughts() -> None:
    def reasons(config: Json) -> bool | None:
        parameters = {"generationConfig": {"thinkingConfig": config}}
        upstream = HTTPUpstream("gemini", base_url="http://h", model=MODEL, parameters=parameters)
        return upstream.reasons

    assert [reasons({"includeThoughts": True}), reasons({"includeThoughts": False}), reasons({})] == [
        True,
        None,
        None,
    ]


@apis
def test_a_whole_response_is_shown_like_a_stream(api: str) -> None:
    parts = [{"text": "Hm.", "thought": True}, {"text": "Yes.", "thoughtSignature": "c2ln"}]
    content = {"role": "model", "parts": parts}
    steps = [
        {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Yes."}]},
    ]
    whole: Json = {
        "gemini": {"candidates": [{"content": content, "finishReason": "STOP"}]},
        "gemini-interactions": {"object": "interaction", "status": "completed", "steps": steps},
    }[api]
    reply = Reply([json.dumps(whole).encode()], content_type="application/json; charset=UTF-8")
    with gateway(api, reply) as (url, _):
        messages = Client().feed(call(url).events).done().messages
    shown = [(message["role"], message["content"]) for message in messages]
    assert shown == [("reasoning", "Hm."), ("assistant", "Yes.")]


REFUSED = {"error": {"code": 400, "message": f"API key {KEY} not valid.", "status": "INVALID_ARGUMENT"}}


@apis
@pytest.mark.parametrize("body", [REFUSED, [REFUSED]], ids=["object", "array"])
def test_a_refusal_names_its_status_and_hides_the_key(
    api: str, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reply = Reply([json.dumps(body).encode()], status=400, content_type="application/json")
    with gateway(api, reply) as (url, _):
        events = call(url).events
    assert events[-1]["type"] == "RUN_ERROR"
    assert KEY not in caplog.text + json.dumps(events)
    assert "INVALID_ARGUMENT" in caplog.text


WRONG_KEY = {
    "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "message": "API key not valid."},
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            },
        ],
    }
}


@apis
@pytest.mark.parametrize("listed", [False, True])
def test_a_wrong_key_is_refused_with_the_status_of_a_wrong_request(api: str, listed: bool) -> None:
    body = json.dumps([WRONG_KEY] if listed else WRONG_KEY).encode()
    with gateway(api, Reply([body], 400, "application/json")) as (url, _):
        last = call(url).events[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "credentials_refused")


class GoogleError(Exception):
    """An error with the attributes of google-genai's `APIError`."""

    def __init__(self, details: Json) -> None:
        super().__init__("400 INVALID_ARGUMENT.")
        self.code, self.status, self.details = 400, "INVALID_ARGUMENT", details


@pytest.mark.parametrize(
    ("details", "code"),
    [
        (WRONG_KEY, "credentials_refused"),
        (WRONG_KEY["error"], "credentials_refused"),
        ({"error": WRONG_KEY["error"] | {"details": ["?", {}, {"reason": 1}]}}, "request_refused"),
        ({"error": WRONG_KEY["error"] | {"details": None}}, "request_refused"),
    ],
)
def test_the_sdks_error_tells_a_wrong_key(details: Json, code: str) -> None:
    def ask() -> Any:
        raise GoogleError(details)

    *_, last = stream_run(INPUT, ask, api="gemini", provider="google", model=MODEL)
    assert (last.type.value, last.code) == ("RUN_ERROR", code)  # type: ignore[union-attr]
