"""Test the middleware: it upgrades event streams, and neither touches nor delays anything else."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from agui_reasoning.asgi import ThinkingUpgradeMiddleware
from agui_reasoning.consumer import reduce_events
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.wire import read_events
from tests.support.play import FINISHED, STARTED, Json, ev, thought
from tests.unit.compat.test_downgrade import old, phase

STREAM = {"content-type": "text/event-stream; charset=utf-8"}
EVENTS = [STARTED, *phase(*old("Hm")), FINISHED]


def body_of(events: list[Json], end: bytes = b"\n") -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + end + end for event in events)


BODY = b": hello\r\n\r\n" + body_of(EVENTS, b"\r\n") + b"retry: 9\r\n\r\n"


class App:
    """An ASGI application that sends one response, and the client of it."""

    def __init__(
        self, *pieces: bytes, headers: dict[str, str] | None = None, status: int = 200, **options: Any
    ) -> None:
        self.pieces = pieces
        self.head = [(name.encode(), value.encode()) for name, value in (headers or STREAM).items()]
        self.status = status
        self.sent: list[Message] = []
        self.warnings: list[str] = []
        numbers = iter(range(1, 99))
        settings = {"on_warning": self.warnings.append, "new_id": lambda: f"id-{next(numbers)}", **options}
        self.middleware = ThinkingUpgradeMiddleware(self.answer, **settings)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.head})
        for piece in self.pieces[:-1]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": self.pieces[-1]})

    def get(self, headers: dict[str, str] | None = None) -> bytes:
        head = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {"type": "http", "method": "POST", "path": "/", "headers": head}

        async def run() -> None:
            await self.middleware(scope, _nothing, self._send)

        anyio.run(run)
        return b"".join(message.get("body", b"") for message in self.sent)

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def upgraded(*pieces: bytes, **options: Any) -> bytes:
    return App(*pieces, **options).get()


def test_thinking_is_upgraded_and_every_other_byte_passes() -> None:
    out = upgraded(BODY)
    assert read_events(out) == [
        STARTED,
        ev("REASONING_START", messageId="id-1"),
        *thought("id-2", "Hm"),
        ev("REASONING_END", messageId="id-1"),
        FINISHED,
    ]
    lines = [(ours, theirs) for ours, theirs in zip(out.split(b"\r\n"), BODY.split(b"\r\n"), strict=True)]
    assert [ours for ours, theirs in lines if b"THINKING" not in theirs] == [
        theirs for _, theirs in lines if b"THINKING" not in theirs
    ]


@given(st.lists(st.integers(0, len(BODY)), max_size=8))
def test_however_the_body_is_cut_the_same_bytes_come_out(cuts: list[int]) -> None:
    marks = [0, *sorted(cuts), len(BODY)]
    pieces = [BODY[start:end] for start, end in pairwise(marks)]
    assert upgraded(*pieces) == upgraded(BODY)


def test_a_frame_goes_on_with_the_message_that_completes_it() -> None:
    start = body_of([ev("THINKING_START")])
    app = App(b": hi\n\n" + start[:9], start[9:-1], start[-1:], b"")
    app.get()
    assert [message["body"][:15] for message in app.sent[1:]] == [b": hi\n\n", b'data: {"type":"', b""]
    assert [message.get("more_body", False) for message in app.sent[1:]] == [True, True, False]


@pytest.mark.parametrize(
    "headers", [{"content-type": "application/json"}, {"content-type": "text/event-streams"}, {"x-a": "b"}]
)
def test_other_responses_are_not_touched(headers: dict[str, str]) -> None:
    app = App(BODY, b"", headers={**headers, "content-length": str(len(BODY))})
    assert app.get() == BODY
    assert app.headers == {**headers, "content-length": str(len(BODY))}
    assert len(app.sent) == 3


def test_the_length_stays_where_nothing_changes_and_goes_where_something_does() -> None:
    plain = body_of([STARTED, FINISHED])
    length = {"content-length": str(len(plain))}
    kept = App(plain, headers={**STREAM, **length})
    assert kept.get() == plain
    assert kept.headers == {**STREAM, **length}
    changed = App(BODY, headers={**STREAM, "content-length": str(len(BODY))})
    changed.get()
    assert changed.headers == STREAM
    streamed = App(plain[:5], plain[5:], headers={**STREAM, **length})
    assert streamed.get() == plain
    assert streamed.headers == STREAM


def test_a_head_without_a_body_keeps_its_length() -> None:
    head = App(b"", headers={**STREAM, "content-length": "5"})
    assert head.get() == b""
    assert head.headers["content-length"] == "5"


def test_a_compressed_stream_is_left_alone_and_told() -> None:
    packed = gzip.compress(BODY)
    app = App(packed, headers={**STREAM, "content-encoding": "gzip"})
    assert app.get() == packed
    assert "compressed" in app.warnings[0]


def test_what_an_agent_leaves_open_is_closed_when_its_run_ends() -> None:
    begun = [STARTED, *phase(*old("Hm"))[:3], FINISHED]
    assert [message.role for message in reduce_events(read_events(upgraded(body_of(begun))))] == ["reasoning"]
    out = upgraded(body_of(begun), repair=False)
    assert [event["type"] for event in read_events(out)][-2:] == ["REASONING_MESSAGE_CONTENT", "RUN_FINISHED"]


def test_a_title_is_kept_on_request() -> None:
    body = body_of([ev("THINKING_START", title="Plan")])
    assert b"Plan" not in upgraded(body)
    assert read_events(upgraded(body, keep_title=True))[0]["metadata"] == {
        "agui-reasoning": {"title": "Plan"}
    }


def test_a_frame_that_is_no_event_passes_and_is_told_without_its_text() -> None:
    app = App(b"data: secret\n\n" + BODY)
    assert app.get().startswith(b"data: secret\n\n")
    assert any("bad_json" in warning for warning in app.warnings)
    assert not any("secret" in warning for warning in app.warnings)


# -- downgrading

REASONING = [STARTED, ev("REASONING_START", messageId="s"), ev("REASONING_END", messageId="s"), FINISHED]
DOWNGRADED = [STARTED, *phase(), FINISHED]


def types(body: bytes) -> list[str]:
    return [event["type"] for event in read_events(body)]


def test_nobody_is_downgraded_by_what_he_does_not_say() -> None:
    assert upgraded(body_of(REASONING)) == body_of(REASONING)
    app = App(body_of(REASONING), downgrade_header="x-agui-peer")
    assert app.get() == body_of(REASONING)


@pytest.mark.parametrize("peer", ["thinking", "0.1.10"])
def test_everyone_is_downgraded_by_configuration(peer: str) -> None:
    assert read_events(upgraded(body_of(REASONING), downgrade=peer)) == DOWNGRADED


def test_a_header_chooses_and_a_peer_that_nobody_knows_is_a_current_one() -> None:
    for peer, expected in (
        ("thinking", DOWNGRADED),
        ("0.1.10", DOWNGRADED),
        ("1.0.0", REASONING),
        ("x", REASONING),
    ):
        app = App(body_of(REASONING), downgrade_header="X-AGUI-Peer")
        assert read_events(app.get({"x-agui-peer": peer})) == expected


def test_a_predicate_chooses_and_goes_before_the_header() -> None:
    def old_path(scope: Scope) -> str | None:
        return "thinking" if scope["path"] == "/" else None

    assert types(upgraded(body_of(REASONING), downgrade=old_path)) == types(body_of(DOWNGRADED))
    app = App(body_of(REASONING), downgrade=lambda scope: None, downgrade_header="x-peer")
    assert types(app.get({"x-peer": "thinking"})) == types(body_of(DOWNGRADED))


def test_a_peer_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        App(BODY, downgrade="0.0.1")
    assert caught.value.code == "unknown_peer"


# -- in a server


def test_warnings_are_logged_once_and_hold_no_text(caplog: pytest.LogCaptureFixture) -> None:
    app = App(body_of([ev("THINKING_START", title="secret"), *old("secret")]) * 2, on_warning=None)
    with caplog.at_level(logging.WARNING, "agui_reasoning"):
        app.get()
        app.get()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(set(messages)) == 2  # the title, and the phase that is opened again
    assert "secret" not in caplog.text


async def _stream() -> AsyncIterator[bytes]:
    for at in range(0, len(BODY), 7):
        yield BODY[at : at + 7]


def _agent(request: Request) -> Response:
    return StreamingResponse(_stream(), media_type="text/event-stream")


def _other(request: Request) -> Response:
    return JSONResponse({"type": "THINKING_START"})


def test_it_works_in_an_application_inside_the_middleware_that_compresses() -> None:
    routes = [Route("/agent", _agent, methods=["POST"]), Route("/other", _other)]
    middleware = [Middleware(GZipMiddleware, minimum_size=1), Middleware(ThinkingUpgradeMiddleware)]
    with TestClient(Starlette(routes=routes, middleware=middleware)) as client:
        assert "REASONING_MESSAGE_CONTENT" in types(client.post("/agent").content)
        assert client.get("/other").json() == {"type": "THINKING_START"}


@pytest.mark.anyio
async def test_lifespan_and_other_scopes_pass() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await send({"type": "lifespan.startup.complete"})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await ThinkingUpgradeMiddleware(app)({"type": "lifespan"}, _nothing, send)
    assert (seen, sent) == ([{"type": "lifespan"}], [{"type": "lifespan.startup.complete"}])


@pytest.mark.anyio
async def test_a_slow_client_slows_the_application_down() -> None:
    made: list[int] = []
    asked = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        for number in range(3):
            made.append(number)
            await send({"type": "http.response.body", "body": b": hi\n\n", "more_body": True})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            asked.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        middleware = ThinkingUpgradeMiddleware(app)
        tasks.start_soon(middleware, {"type": "http", "headers": []}, _nothing, send)
        with anyio.fail_after(60):
            await asked.wait()
        assert made == [0]
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_what_the_client_and_the_application_raise_passes() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def gone(message: Message) -> None:
        raise OSError("the peer is gone")

    with pytest.raises(OSError, match="the peer is gone"):
        await ThinkingUpgradeMiddleware(app)({"type": "http", "headers": []}, _nothing, gone)
