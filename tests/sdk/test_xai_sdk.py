"""Decode two more forms of xAI's SDK: bare protocol buffers, and a chat used as a source."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import stream_run
from agui_reasoning.deltas import Delta
from agui_reasoning.providers import decoder
from tests.support.recordings import load, recordings
from tests.support.replay_server import replaying
from tests.support.vendor_sdks import SDKS
from tests.support.verifier import Client, plain

xai_sdk: Any = pytest.importorskip("xai_sdk", reason="xAI's SDK is not installed")

from google.protobuf.json_format import ParseDict  # noqa: E402
from xai_sdk.proto import chat_pb2  # noqa: E402

API = "xai-grpc"
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


def parsed(data: dict[str, Any], message: Any) -> Any:
    return ParseDict(data, message, ignore_unknown_fields=True)


def from_json(recording: dict[str, Any]) -> list[Delta]:
    made = decoder(API)
    if not recording["stream"]:
        return made.whole(recording["response"])
    return [delta for event in recording["events"] for delta in made.receive(event["data"])] + made.close()


@pytest.mark.parametrize("file", recordings(API))
def test_messages_of_protocol_buffers_are_taken_as_well(file: Any) -> None:
    recording = load(file)
    made = decoder(API)
    if recording["stream"]:
        chunks = [parsed(event["data"], chat_pb2.GetChatCompletionChunk()) for event in recording["events"]]
        deltas = [delta for item in chunks for delta in made.receive(item)] + made.close()
    else:
        deltas = made.whole(parsed(recording["response"], chat_pb2.GetChatCompletionResponse()))
    assert deltas == from_json(recording)


@pytest.mark.parametrize("ask", ["sample", "stream"])
def test_a_chat_is_a_source_of_a_run(ask: str) -> None:
    delta = {"role": "ROLE_ASSISTANT", "reasoning_content": "Hm.", "content": "Yes."}
    told = {"id": "r1", "model": "grok-4"}
    ending = {"finish_reason": "REASON_STOP"}
    with replaying(API) as server, SDKS[API].client(server.url) as client:
        server.exchange = {
            "response": {**told, "outputs": [{"message": delta, **ending}]},
            "events": [{"data": {**told, "outputs": [{"delta": delta, **ending}]}}],
        }
        chat = client.chat.create(model="grok-4", messages=[xai_sdk.chat.user("Hi.")])
        held = Client().feed(plain(stream_run(INPUT, getattr(chat, ask), api=API))).done()
    assert [message["content"] for message in held.messages] == ["Hm.", "Yes."]
