"""Test objects and names that no API sends, but callers can pass."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from agui_reasoning.errors import ConfigurationError, DecodeError
from agui_reasoning.providers import API_IDS, decoder


def refused(api: str, how: str, payload: Any) -> DecodeError | None:
    try:
        getattr(decoder(api), how)(payload)
    except DecodeError as error:
        return error
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
