"""Serve one exchange to a vendor's SDK on this machine, and remember the requests.

They judge nothing, unlike `agui_reasoning.gateway.provider_app`, and answer on every path.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning.gateway import FRAMINGS, local_server
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.api import HTTPEndpoint

Json = dict[str, Any]


class ReplayServer:
    """What a server plays, and what it was asked.

    Attributes:
        api: What it speaks.
        url: Where it is.
        exchange: A recording or a script, which may be changed at any time; without one it refuses.
        endless: A stream does not end behind its last event.
        asked: The bodies of the requests, as JSON.
        headers: Their metadata, over gRPC.
        status: The HTTP status of a refusal.
        words: What a refusal says.
        refusal: The gRPC status of a refusal.
        left: Set when a client has left an endless stream.
    """

    def __init__(self, api: str) -> None:
        self.api = api
        self.url = ""
        self.exchange: Json | None = None
        self.endless = False
        self.asked: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.status = 400
        self.words = "refused"
        self.refusal = "INVALID_ARGUMENT"
        self.left = threading.Event()


@contextmanager
def replaying(api: str) -> Iterator[ReplayServer]:
    """A server that speaks an API while the block runs."""
    server = ReplayServer(api)
    with _SERVERS.get(api, _http)(server) as server.url:
        yield server


def _http(server: ReplayServer) -> AbstractContextManager[str]:
    http = provider_api(server.api).http or HTTPEndpoint(path="/")
    framing = FRAMINGS[http.framing]

    async def answer(request: Request) -> Response:
        server.asked.append(json.loads((await request.body()).decode()))
        exchange = server.exchange
        if exchange is None:
            return JSONResponse(_refusal(server), server.status)
        if not exchange["stream"]:
            return JSONResponse(exchange["response"])
        frames = [framing.write(http, event) for event in exchange["events"]]
        return StreamingResponse(streamed(frames, request), media_type=framing.media_type)

    async def streamed(frames: list[bytes], request: Request) -> AsyncIterator[bytes]:
        try:
            for frame in frames:
                yield frame
            while server.endless and not await request.is_disconnected():
                await request.receive()
        finally:
            server.left.set()

    return local_server(Starlette(routes=[Route("/{path:path}", answer, methods=["POST"])]))


def _refusal(server: ReplayServer) -> Json:
    """The body of a refusal; some vendors have the message outside of the error."""
    kind = "invalid_request_error" if server.status == 400 else "api_error"
    error = {"code": server.status, "type": kind, "message": server.words}
    return {"error": error, "message": server.words}


@contextmanager
def _grpc(server: ReplayServer) -> Iterator[str]:
    """The service of xAI."""
    grpc, proto = import_module("grpc"), import_module("xai_sdk.proto")
    running = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    proto.chat_pb2_grpc.add_ChatServicer_to_server(_servicer(server, proto.chat_pb2), running)
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.stop(None).wait()


def _servicer(server: ReplayServer, chat: Any) -> Any:
    """The two methods that are played, by the names that gRPC looks up; any other it would not find."""
    json_format = import_module("google.protobuf.json_format")

    def asked(request: Any, context: Any) -> Json:
        server.headers.append(dict(context.invocation_metadata()))
        server.asked.append(json_format.MessageToDict(request, preserving_proto_field_name=True))
        if server.exchange is None:
            context.abort(
                import_module("grpc").StatusCode[server.refusal], f"{server.words} {server.headers[-1]}"
            )
        return server.exchange or {}

    def parsed(data: Json, message: Any) -> Any:
        return json_format.ParseDict(data, message, ignore_unknown_fields=True)

    def whole(request: Any, context: Any) -> Any:
        return parsed(asked(request, context)["response"], chat.GetChatCompletionResponse())

    def stream(request: Any, context: Any) -> Iterator[Any]:
        context.add_callback(server.left.set)
        for event in asked(request, context)["events"]:
            yield parsed(event["data"], chat.GetChatCompletionChunk())
        if server.endless:
            server.left.wait()

    base = import_module("xai_sdk.proto").chat_pb2_grpc.ChatServicer
    return type(
        "Chat", (base,), {"GetCompletion": staticmethod(whole), "GetCompletionChunk": staticmethod(stream)}
    )()


_SERVERS: dict[str, Callable[[ReplayServer], AbstractContextManager[str]]] = {"xai-grpc": _grpc}
"""Those that do not speak HTTP."""
