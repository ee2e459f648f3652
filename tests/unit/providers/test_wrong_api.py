"""Refuse payloads of another API by its name, instead of giving an empty response."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from agui_reasoning import DecodeError, ProviderError
from agui_reasoning.providers import API_IDS, decode_response, decoder, provider_apis
from agui_reasoning.providers.base import matches_api
from tests.support.recordings import load, recordings

OURS = API_IDS


def payloads(recording: dict[str, Any]) -> list[Any]:
    return (
        [event["data"] for event in recording["events"]] if recording["stream"] else [recording["response"]]
    )


def decode(api: str, recording: dict[str, Any]) -> None:
    if not recording["stream"]:
        decoder(api).whole(recording["response"])
        return
    made = decoder(api)
    for payload in payloads(recording):
        made.receive(payload)
    made.close()


NAMED: dict[str, list[Any]] = {
    "anthropic-messages": [
        {"type": "message_start", "message": {"id": "m", "model": "claude", "content": []}},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        {"content": [{"type": "text", "text": "Hi."}], "stop_reason": None},
    ],
    "openai-chat": [
        {"id": "c", "object": "chat.completion.chunk", "choices": []},
        {"choices": [{"index": 0, "message": {"content": "Hi."}}]},
    ],
    "openai-responses": [
        {"type": "response.created", "response": {}},
        {"id": "r", "object": "response", "output": []},
        {"type": "response.some_new_event"},
    ],
    "mistral-chat": [{"id": "c", "object": "chat.completion.chunk", "choices": [], "p": "abc"}],
    "gemini": [{"candidates": [{"content": {"parts": []}}]}, {"promptFeedback": {"blockReason": "SAFETY"}}],
    "gemini-interactions": [
        {"event_type": "interaction.created", "interaction": {}},
        {"id": "i", "object": "interaction", "status": "completed", "steps": []},
    ],
    "bedrock-converse": [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockIndex": 0, "delta": {"text": "Hi."}},
        {"output": {"message": {"content": []}}, "stopReason": "end_turn", "usage": {}},
    ],
    "cohere-chat": [
        {"type": "message-start", "id": "m"},
        {"id": "m", "message": {"role": "assistant", "content": []}, "finish_reason": "COMPLETE"},
    ],
    "ollama": [{"model": "m", "message": {"role": "assistant", "content": "Hi."}, "done": False}],
    "litellm": [{"id": "c", "object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi."}}]}],
    "xai-grpc": [{"id": "x", "outputs": [{"delta": {"content": "Hi."}}]}],
}
FOREIGN = [
    pytest.param(api, named, payload, id=f"{api}-{named}-{number}")
    for api in OURS
    for named, examples in NAMED.items()
    for number, payload in enumerate(examples)
    # LiteLLM's payloads are known as those of the API that they are like.
    if api != named != "litellm" and not matches_api(api, payload)
]


@pytest.mark.parametrize("api", OURS)
def test_the_api_is_named(api: str) -> None:
    for named, payload in [(named, payload) for other, named, payload in FOREIGN if other == api]:
        for read in (decoder(api).receive, decoder(api).whole):
            with pytest.raises(DecodeError) as caught:
                read(payload)
            assert caught.value.code == "wrong_api"
            assert f"The payload is not {api}: it looks like {named}." in str(caught.value)
            assert repr(named) in caught.value.hint


def test_every_api_has_signs() -> None:
    assert {api.id for api in provider_apis() if api.signs} == set(NAMED) == set(API_IDS) >= set(OURS)


@pytest.mark.parametrize("api", OURS)
def test_what_fits_no_api_is_refused_when_nothing_else_came(api: str) -> None:
    made = decoder(api)
    assert made.receive({"foo": "The canary."}) == []
    with pytest.raises(DecodeError) as caught:
        made.close()
    assert caught.value.code == "wrong_api"
    assert "matches no known API" in str(caught.value)
    assert "canary" not in str(caught.value)
    assert made.close() == []
    with pytest.raises(DecodeError) as caught:
        decode_response(api, {"foo": "The canary."})
    assert caught.value.code == "wrong_api"


IGNORED = [{"type": "ping"}, {"type": "keepalive"}, {"cost": "0"}, {"type": "vendor.event", "data": {}}, {}]


@pytest.mark.parametrize("api", OURS)
@pytest.mark.parametrize("payload", IGNORED)
def test_events_that_belong_to_no_api_are_passed_over_beside_those_that_do(api: str, payload: Any) -> None:
    made = decoder(api)
    assert made.receive(payload) == []
    assert made.receive(NAMED[api][0]) != [] or api == "openai-chat"
    assert made.receive(payload) == []
    assert made.receive({"candidates": []}) == []


@pytest.mark.parametrize("api", OURS)
def test_an_error_of_the_provider_is_that_whatever_it_looks_like(api: str) -> None:
    of_gateways = {"error": {"code": 500, "message": "No."}}
    for error in ({"error": {"message": "No."}, "type": "error"}, {"type": "error", "error": {"type": "x"}}):
        for form in (error, of_gateways):
            for read in (decoder(api).receive, decoder(api).whole):
                with pytest.raises(ProviderError):
                    read(form)


def test_an_exception_of_bedrock_may_stand_for_a_whole_response() -> None:
    with pytest.raises(ProviderError) as caught:
        decode_response("bedrock-converse", {"internalServerException": {"message": "No."}})
    assert caught.value.provider_type == "internalServerException"


@pytest.mark.parametrize("api", OURS)
def test_an_object_without_members_is_no_response(api: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_response(api, {})
    assert caught.value.code in ("wrong_api", "bad_payload")


@pytest.mark.parametrize("api", OURS)
def test_an_empty_stream_is_empty(api: str) -> None:
    made = decoder(api)
    assert made.receive("[DONE]") == []
    assert made.close() == []


RECORDED = [
    pytest.param(*param.values, id=f"{own}-{param.id}", marks=param.marks)
    for own in API_IDS
    for param in recordings(own)
]
ALIKE = {"openai-chat", "mistral-chat", "litellm"}


def decode_alike(api: str, recording: dict[str, Any]) -> None:
    """Servers of the one API may leave out the finish reason that the other always sends."""
    try:
        decode(api, recording)
    except DecodeError as error:
        if error.code != "truncated_stream":
            raise


@pytest.mark.parametrize("path", RECORDED)
def test_a_recording_is_refused_by_every_other_api_and_by_no_other(path: Any) -> None:
    recording = load(path)
    own = {path.parent.name}
    if own <= ALIKE:
        own = ALIKE
    for api in own & set(OURS):
        with contextlib.suppress(ProviderError):
            decode_alike(api, recording)
    for api in set(OURS) - own:
        with pytest.raises(DecodeError) as caught:
            decode(api, recording)
        assert caught.value.code == "wrong_api", api
        assert any(f"it looks like {name}." in str(caught.value) for name in own), api
