"""Test a replayed provider API; the vendors' own SDKs read it in `tests/sdk`."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from agui_reasoning import ConfigurationError
from agui_reasoning.gateway import ProviderRules, local_server, provider_app
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import load_script, read_request, script_names, sequence
from tests.support.recordings import load, recordings
from tests.unit.gateway.http_client import call
from tests.unit.gateway.test_replay import WHOLE

PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "bedrock-converse": "/model/us.anthropic.claude-sonnet-4-6/converse-stream",
    "mistral-chat": "/v1/chat/completions",
    "cohere-chat": "/v2/chat",
    "ollama": "/api/chat",
    "gemini-interactions": "/v1beta/interactions",
    "gemini": "/v1beta/models/gemini-3-flash-preview:streamGenerateContent",
}
FRAMED = [
    name
    for name in script_names()
    if (http := provider_api(load_script(name)["api"]).http) and http.framing == "sse"
]


@pytest.mark.parametrize("name", FRAMED)
def test_a_script_is_framed_as_its_provider_does(name: str) -> None:
    script = load_script(name)
    with local_server(provider_app(name)) as url:
        answer = call(url + PATHS[script["api"]], {"stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    frames = answer.body.decode().split("\n\n")
    assert frames.pop() == ""
    for frame, event in zip(frames, script["events"], strict=True):
        *names, data = frame.split("\n")
        http = provider_api(script["api"]).http
        named = http and http.named_events and event["data"] != "[DONE]"
        kind = event["data"].get("type") or event["data"].get("event_type") if named else ""
        assert names == ([f"event: {kind}"] if named else [])
        text = data.removeprefix("data: ")
        assert (text if text == "[DONE]" else json.loads(text)) == event["data"]
    assert (frames[-1] == "data: [DONE]") is (script["events"][-1]["data"] == "[DONE]")


def test_lines_of_json_end_with_the_line() -> None:
    with local_server(provider_app("ollama-weather")) as url:
        answer = call(url + PATHS["ollama"], {"stream": True})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    events = load_script("ollama-weather")["events"]
    lines = answer.body.decode().split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == [event["data"] for event in events]


def test_a_whole_response_is_one_json_object() -> None:
    with local_server(provider_app(WHOLE)) as url:
        answer = call(url + "/v1/messages", {})
        streamed = call(url + "/v1/messages", {"stream": True})
    assert json.loads(answer.body) == WHOLE["response"]
    assert streamed.status == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"stream": false}'])
def test_a_stream_is_given_to_those_alone_who_ask_for_it(body: bytes) -> None:
    with local_server(provider_app("chat-weather")) as url:
        answer = call(url + "/v1/chat/completions", body)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (400, "invalid_request_error")


def test_the_paths_of_other_apis_are_not_there() -> None:
    with local_server(provider_app("chat-weather")) as url:
        assert call(url + "/v1/messages", {"stream": True}).status == 404


# -- a conversation

FIRSTS = ("anthropic-weather", "chat-weather", "openai-weather")


def answered(body: bytes) -> list[Any]:
    """The payloads of an answer."""
    frames = body.decode().removesuffix("\n\n").split("\n\n")
    data = [frame.rpartition("data: ")[2] for frame in frames]
    return [text if text == "[DONE]" else json.loads(text) for text in data]


@pytest.mark.parametrize("first", FIRSTS)
def test_each_request_of_a_script_is_answered_by_its_own_exchange(first: str) -> None:
    requests: list[dict[str, Any]] = []
    exchanges = sequence(first)
    with local_server(provider_app(first, on_request=requests.append)) as url:
        for exchange in exchanges:
            answer = call(url + PATHS[exchange["api"]], exchange["request"])
            assert answered(answer.body) == [event["data"] for event in exchange["events"]]
    assert requests == [exchange["request"] for exchange in exchanges]


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ({"type": "function_result", "call_id": "demo0001", "name": "get_forecast", "result": "Rain."}, 1),
        ({"type": "text", "text": "And if I go by bicycle instead?"}, 2),
    ],
)
def test_a_request_that_goes_on_from_a_stored_response_is_answered(content: Any, answer: int) -> None:
    steps = [{"type": "user_input", "content": [content]}]
    with local_server(provider_app("interactions-weather")) as url:
        body = {"stream": True, "previous_interaction_id": "v1_1", "input": steps}
        got = call(url + PATHS["gemini-interactions"], body)
    assert answered(got.body) == [
        event["data"] for event in sequence("interactions-weather")[answer]["events"]
    ]


def test_what_is_refused_is_remembered_too() -> None:
    requests: list[dict[str, Any]] = []
    with local_server(provider_app("chat-weather", on_request=requests.append)) as url:
        for body in ({"messages": []}, b"[]", {"messages": [], "stream": True}):
            call(url + "/v1/chat/completions", body)
    assert requests == [{"messages": []}, {"messages": [], "stream": True}]


# -- what a provider demands

Change = Callable[[dict[str, Any]], object]


def _block(number: int, place: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: body["messages"][number]["content"][place]


def _set(place: Callable[[dict[str, Any]], dict[str, Any]], field: str, value: str) -> Change:
    return lambda body: place(body).update({field: value})


# The request that brings the tool's result, and what is done to it.
BROKEN: dict[str, tuple[str, Change, str]] = {
    "a result without its call": (
        "anthropic-weather",
        _set(_block(2, 0), "tool_use_id", "toolu_other"),
        "/messages/2/content/0/tool_use_id is a result without a preceding call",
    ),
    "a result before its call": (
        "chat-weather",
        lambda body: body["messages"].insert(1, body["messages"].pop()),
        "/messages/1/tool_call_id is a result without a preceding call",
    ),
    "an output without its call": (
        "openai-weather",
        lambda body: body["input"].pop(2),
        "/input/2/call_id is a result without a preceding call",
    ),
    "a changed signature": (
        "anthropic-weather",
        lambda body: _block(1, 0)(body).update(signature=_block(1, 0)(body)["signature"][:-1]),
        "/messages/1/content/0/signature was not created here",
    ),
    "an empty signature": (
        "anthropic-weather",
        _set(_block(1, 0), "signature", ""),
        "/messages/1/content/0/signature was not created here",
    ),
    "redacted thinking of somebody else": (
        "anthropic-weather",
        _set(_block(1, 1), "data", "c29tZWJvZHk="),
        "/messages/1/content/1/data was not created here",
    ),
    "encrypted content of somebody else": (
        "openai-weather",
        lambda body: body["input"][1].update(encrypted_content="gAAAAA=="),
        "/input/1/encrypted_content was not created here",
    ),
    "a call without its thinking": (
        "anthropic-weather",
        lambda body: body["messages"][1]["content"].pop(0),
        "A call came back without its thinking",
    ),
    "a call without its redacted thinking": (
        "anthropic-weather",
        lambda body: body["messages"][1]["content"].pop(1),
        "A call came back without its redacted thinking",
    ),
    "thinking that was changed": (
        "anthropic-weather",
        _set(_block(1, 0), "thinking", "Umbrella."),
        "A call came back without its thinking",
    ),
    "an item without its reasoning": (
        "openai-weather",
        lambda body: body["input"].pop(1),
        "A call came back without its reasoning id",
    ),
    "a call without its reasoning content": (
        "chat-weather",
        lambda body: body["messages"][1].pop("reasoning_content"),
        "A call came back without its reasoning content",
    ),
}


@pytest.mark.parametrize(("first", "change", "words"), BROKEN.values(), ids=BROKEN)
def test_a_request_that_breaks_what_is_demanded_is_refused(first: str, change: Change, words: str) -> None:
    second = sequence(first)[1]
    body = deepcopy(second["request"])
    change(body)
    with local_server(provider_app(first)) as url:
        answer = call(url + PATHS[second["api"]], body)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"]) == (400, "invalid_request_error")
    assert error["message"].startswith(f"replay: {words}")


ACCEPTED: dict[str, tuple[str, int, Change]] = {
    "thinking of an earlier turn may stay away": (
        "anthropic-weather",
        2,
        lambda body: body["messages"][1]["content"].pop(0),
    ),
    "an item without its id is bound to nothing": (
        "openai-weather",
        1,
        lambda body: (body["input"].pop(1), body["input"][1].pop("id")),
    ),
    "an item is known by each of its values": (
        "openai-weather",
        1,
        lambda body: body["input"][1].update(
            encrypted_content=load_script("openai-weather")["events"][-1]["data"]["response"]["output"][0][
                "encrypted_content"
            ]
        ),
    ),
    "words are the caller's own": (
        "openai-weather",
        2,
        lambda body: body["input"][1]["summary"].clear(),
    ),
}


@pytest.mark.parametrize(("first", "place", "change"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_a_provider_allows_is_answered(first: str, place: int, change: Change) -> None:
    exchange = sequence(first)[place]
    body = deepcopy(exchange["request"])
    change(body)
    with local_server(provider_app(first)) as url:
        answer = call(url + PATHS[exchange["api"]], body)
    assert answered(answer.body) == [event["data"] for event in exchange["events"]]


@pytest.mark.parametrize("api", PATHS)
def test_recorded_requests_keep_the_rules_of_their_own_provider(api: str) -> None:
    """A value that the recording itself holds is genuine, whichever turn gave it out."""
    files = [file.values[0] for file in recordings(api) if file.values[0] is not None]
    if not files:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    broken = {}
    for file in files:
        recording = load(file)
        if isinstance(recording.get("request"), dict):
            asked = recording["request"]
            stored = bool(asked.get(provider_api(api).previous_id))
            fault = ProviderRules([recording]).broken_by(read_request(api, asked), stored=stored)
            broken |= {file.stem: fault} if fault else {}
    assert broken == {}


def test_an_api_without_a_path_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        provider_app({"api": "xai-grpc", "events": []})
    assert caught.value.code == "unknown_api"
