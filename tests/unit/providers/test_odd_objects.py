"""Test objects and names that no API sends, but callers can pass."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from agui_reasoning.deltas import TextDelta
from agui_reasoning.errors import ConfigurationError, DecodeError, ProviderError
from agui_reasoning.providers import API_IDS, decoder
from agui_reasoning.replay import CONVERSATIONS, load_script
from tests.support.recordings import payloads


def refused(api: str, how: str, payload: Any) -> DecodeError | None:
    try:
        getattr(decoder(api), how)(payload)
    except DecodeError as error:
        return error
    except ProviderError:
        pass
    return None


@pytest.mark.parametrize("how", ["receive", "whole"])
@pytest.mark.parametrize("api", API_IDS)
def test_names_that_are_no_strings_give_only_errors_of_ours(api: str, how: str) -> None:
    part = {1: 2, "content": {"parts": [{1: 2}]}}
    named = ({"messageStart": {1: 2}}, {"output": {1: 2}, 1: 2}, {"candidates": [part]})
    for payload in ({1: {}}, {None: 1}, {("a",): {}}, *named):
        refused(api, how, payload)  # anything but a DecodeError would be raised


def test_bedrocks_events_need_names() -> None:
    found = refused("bedrock-converse", "receive", {1: {}})
    assert found is not None
    assert found.code == "bad_payload"


def test_messages_of_protocol_buffers_without_their_library_name_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Message:
        DESCRIPTOR = SimpleNamespace(full_name="xai_api.GetChatCompletionChunk")

    monkeypatch.setitem(sys.modules, "google.protobuf.json_format", None)
    with pytest.raises(ConfigurationError, match="Install the packages of the extra 'xai'") as caught:
        decoder("xai-grpc").receive(Message())
    assert caught.value.code == "missing_extra"


@pytest.mark.parametrize("how", ["receive", "whole"])
@pytest.mark.parametrize("api", API_IDS)
def test_lone_surrogates_in_names_and_out_of_place_give_only_errors_of_ours(api: str, how: str) -> None:
    script = load_script(CONVERSATIONS[api])
    for payload in payloads(script):
        if isinstance(payload, dict):
            refused(api, how, {**payload, "\ud83d": 1})  # anything but a DecodeError would be raised
            refused(api, how, dict.fromkeys(payload, "\ud83d") | {"type": payload.get("type")})


def test_a_name_that_is_a_lone_surrogate_is_skipped_as_unknown_ones_are() -> None:
    decode = decoder("xai-grpc")
    chunk = {"id": "x", "outputs": [{"delta": {"content": "Hm"}}]}
    assert len(decode.receive(chunk)) == 2
    assert decode.receive({**chunk, "\ud83d": 1}) == [TextDelta("Hm", key="text:0")]
    with pytest.raises(DecodeError) as caught:
        decode.receive({"id": "x", "outputs": "\ud83d"})
    assert (caught.value.code, caught.value.path) == ("bad_payload", "/outputs")


@pytest.mark.parametrize("kind", [[], {}, 5, True])
def test_the_type_of_an_event_is_a_string(kind: Any) -> None:
    decode = decoder("anthropic-messages")
    decode.receive({"type": "message_start", "message": {}})
    with pytest.raises(DecodeError) as caught:
        decode.receive({"type": kind})
    assert (caught.value.code, caught.value.path) == ("bad_payload", "/type")
