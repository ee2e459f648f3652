"""A provider's API, replayed; the vendors' own SDKs read it in `tests/sdk`."""

from __future__ import annotations

import json

import pytest

from agui_reasoning import ConfigurationError, scripted
from agui_reasoning.gateway import local_server, provider_app
from tests.unit.gateway.http_client import call
from tests.unit.gateway.test_replay import WHOLE

PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}


@pytest.mark.parametrize("name", scripted.names())
def test_a_script_is_framed_as_its_provider_does(name: str) -> None:
    script = scripted.load(name)
    with local_server(provider_app(name)) as url:
        answer = call(url + PATHS[script["api"]], {"stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    frames = answer.body.decode().split("\n\n")
    assert frames.pop() == ""
    chat = script["api"] == "openai-chat"
    for frame, event in zip(frames, script["events"], strict=True):
        *names, data = frame.split("\n")
        assert names == ([] if chat else [f"event: {event['data']['type']}"])
        text = data.removeprefix("data: ")
        assert (text if text == "[DONE]" else json.loads(text)) == event["data"]
    assert (frames[-1] == "data: [DONE]") is chat


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


def test_an_api_without_a_path_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        provider_app({"api": "xai-grpc", "events": []})
    assert caught.value.code == "unknown_api"
