"""xAI's SDK asks a gRPC server on this machine, and its objects go into the decoder."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import pytest

from agui_reasoning import stream_run
from agui_reasoning.deltas import Delta
from agui_reasoning.providers import decoder
from tests.support.recordings import load, recordings
from tests.support.verifier import Client, plain

xai_sdk: Any = pytest.importorskip("xai_sdk", reason="xAI's SDK is not installed")
grpc: Any = pytest.importorskip("grpc", reason="gRPC is not installed")

from google.protobuf.json_format import ParseDict  # noqa: E402
from xai_sdk.proto import chat_pb2, chat_pb2_grpc  # noqa: E402

API = "xai-grpc"
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
RECORDED = recordings(API)


def parsed(data: dict[str, Any], message: Any) -> Any:
    return ParseDict(data, message, ignore_unknown_fields=True)


class Server(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
    """Plays one recording, and remembers what it was asked."""

    def __init__(self, recording: dict[str, Any]) -> None:
        self.recording = recording

    def GetCompletion(self, request: Any, context: Any) -> Any:  # noqa: N802
        return parsed(self.recording["response"], chat_pb2.GetChatCompletionResponse())

    def GetCompletionChunk(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        for event in self.recording["events"]:
            yield parsed(event["data"], chat_pb2.GetChatCompletionChunk())


@contextmanager
def chatting(recording: dict[str, Any]) -> Iterator[Any]:
    """A chat of the SDK with a server that plays a recording."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    chat_pb2_grpc.add_ChatServicer_to_server(Server(recording), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    client = xai_sdk.Client(api_key="none", api_host=f"127.0.0.1:{port}", use_insecure_channel=True)
    try:
        yield client.chat.create(model="grok-4", messages=[xai_sdk.chat.user("Hi.")])
    finally:
        client.close()
        server.stop(None).wait()


def from_json(recording: dict[str, Any]) -> list[Delta]:
    made = decoder(API)
    if not recording["stream"]:
        return made.whole(recording["response"])
    return [delta for event in recording["events"] for delta in made.receive(event["data"])] + made.close()


@pytest.mark.parametrize("file", RECORDED)
def test_what_the_sdk_gives_is_its_json(file: Any) -> None:
    recording = load(file)
    made = decoder(API)
    with chatting(recording) as chat:
        if recording["stream"]:
            deltas = [delta for item in chat.stream() for delta in made.receive(item)] + made.close()
        else:
            deltas = made.whole(chat.sample())
    assert deltas == from_json(recording)


@pytest.mark.parametrize("file", RECORDED)
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
    recording = {
        "response": {**told, "outputs": [{"message": delta, **ending}]},
        "events": [{"data": {**told, "outputs": [{"delta": delta, **ending}]}}],
    }
    with chatting(recording) as chat:
        held = Client().feed(plain(stream_run(INPUT, getattr(chat, ask), api=API))).done()
    assert [message["content"] for message in held.messages] == ["Hm.", "Yes."]
