"""Test the HTTP client against a real server on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import httpx2
import pytest

from agui_reasoning import (
    Conversation,
    LocalProtocolError,
    MissingExtraError,
    RemoteProtocolError,
    RunFailedError,
    TransportError,
    TruncatedRunError,
)
from agui_reasoning.client import AgentClient
from tests.conformance.requirements import requirement

pytestmark = pytest.mark.anyio

RUN = {"threadId": "t", "runId": "r"}
STARTED = {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}
FINISHED = {"type": "RUN_FINISHED", **RUN}
THOUGHT = [
    {"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "Rain"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "? ☔"},
    {"type": "REASONING_MESSAGE_END", "messageId": "r1"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r1", "encryptedValue": "SEAL"},
]
ANSWER = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Take a coat."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
]
SECRET = "the-body-of-the-error"
SECONDS = 120


def sse(events: list[dict[str, Any]]) -> bytes:
    return b"".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events)


class Agent(ThreadingHTTPServer):
    """Answers every request with what `answer` writes, and remembers what it was sent."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[Handler], None] = lambda handler: handler.stream([STARTED, FINISHED])
        self.left = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/agent"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    server: Agent

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(json.loads(body))
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.close_connection = True
        try:
            self.server.answer(self)
        except ConnectionError:
            self.server.left.set()

    def head(self, status: int = 200, kind: str = "text/event-stream; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, events: list[dict[str, Any]]) -> None:
        self.head()
        for event in events:
            self.write(sse([event]))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def agent() -> Iterator[Agent]:
    with Agent() as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        yield server
        server.shutdown()
        serving.join(SECONDS)


def streaming(*events: dict[str, Any]) -> Callable[[Handler], None]:
    return lambda handler: handler.stream(list(events))


async def collect(events: AsyncIterator[Any], into: list[Any]) -> None:
    """Keeps what came also when an error follows."""
    async for event in events:
        into.append(event)  # noqa: PERF401


@requirement("T1", "T2")
async def test_a_run_streams_and_the_conversation_keeps_in_step(agent: Agent) -> None:
    agent.answer = streaming(STARTED, *THOUGHT, *ANSWER, FINISHED)
    conversation = Conversation("t")
    seen = []
    async with AgentClient(agent.url, headers={"x-key": "k"}) as client:
        async for event in client.run(conversation, "Rain?"):
            seen.append(event.type.value)
            if event.type.value == "REASONING_MESSAGE_CONTENT":
                assert conversation.changed == ("r1",)
    assert seen == [event["type"] for event in [STARTED, *THOUGHT, *ANSWER, FINISHED]]
    assert [(m.role, m.content) for m in conversation.messages] == [
        ("user", "Rain?"),
        ("reasoning", "Rain? ☔"),
        ("assistant", "Take a coat."),
    ]
    assert conversation.status == "finished"
    [request], [headers] = agent.requests, agent.headers
    assert (request["threadId"], request["protocolVersion"]) == ("t", "1.0")
    assert [message["content"] for message in request["messages"]] == ["Rain?"]
    assert "resume" not in request
    assert (headers["accept"], headers["content-type"]) == ("text/event-stream", "application/json")
    assert headers["x-key"] == "k"


async def test_the_next_turn_goes_out_with_everything_kept(agent: Agent) -> None:
    agent.answer = streaming(STARTED, *THOUGHT, *ANSWER, FINISHED)
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        for question in ("Rain?", "And tomorrow?"):
            async for _ in client.run(conversation, question):
                pass
    sent = agent.requests[1]["messages"]
    assert [message["role"] for message in sent] == ["user", "reasoning", "assistant", "user"]
    assert sent[1] == {"id": "r1", "role": "reasoning", "content": "Rain? ☔", "encryptedValue": "SEAL"}


@requirement("T3")
async def test_a_run_error_is_delivered_and_then_raised(agent: Agent) -> None:
    agent.answer = streaming(
        STARTED, *THOUGHT[:2], {"type": "RUN_ERROR", "message": "Sorry.", "code": "busy"}
    )
    conversation = Conversation("t")
    seen: list[Any] = []
    async with AgentClient(agent.url) as client:
        with pytest.raises(RunFailedError) as caught:
            await collect(client.run(conversation), seen)
    assert seen[-1].type.value == "RUN_ERROR"
    assert (caught.value.event.message, caught.value.code) == ("Sorry.", "run_failed")
    assert "Sorry" not in str(caught.value)
    assert conversation.status == "failed"
    assert conversation.messages[0].content == "Rain"


async def test_a_run_after_a_failed_one_counts(agent: Agent) -> None:
    agent.answer = streaming(STARTED, {"type": "RUN_ERROR", "message": "Sorry."}, STARTED, FINISHED)
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        seen = [event.type.value async for event in client.run(conversation)]
    assert seen == ["RUN_STARTED", "RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"]
    assert conversation.status == "finished"


def cut_between_frames(handler: Handler) -> None:
    handler.stream([STARTED, *THOUGHT[:2]])


def cut_inside_a_frame(handler: Handler) -> None:
    handler.head()
    handler.write(sse([STARTED, *THOUGHT[:2]]) + b'data: {"type": "REASON')
    handler.wfile.write(b"0\r\n\r\n")


def connection_lost(handler: Handler) -> None:
    handler.head()
    handler.write(sse([STARTED, *THOUGHT[:2]]))


@pytest.mark.parametrize("how", [cut_between_frames, cut_inside_a_frame, connection_lost])
async def test_a_cut_stream_is_always_raised_and_keeps_what_came(
    agent: Agent, how: Callable[[Handler], None]
) -> None:
    agent.answer = how
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        with pytest.raises(TruncatedRunError) as caught:
            await collect(client.run(conversation), [])
    assert caught.value.code == "truncated_run"
    assert conversation.status == "truncated"
    assert conversation.messages[0].content == "Rain"


@requirement("T3")
async def test_an_empty_stream_is_truncated(agent: Agent) -> None:
    agent.answer = streaming()
    async with AgentClient(agent.url) as client:
        with pytest.raises(TruncatedRunError, match="before any run"):
            await collect(client.run(Conversation("t")), [])


async def test_a_violation_is_raised_after_what_came_before_it(agent: Agent) -> None:
    agent.answer = streaming(STARTED, *THOUGHT[:3], {"type": "TEXT_MESSAGE_END", "messageId": "m9"})
    conversation = Conversation("t")
    seen: list[Any] = []
    async with AgentClient(agent.url) as client:
        with pytest.raises(RemoteProtocolError) as caught:
            await collect(client.run(conversation), seen)
        assert (caught.value.code, len(seen), conversation.status) == ("not_open", 4, "failed")
        agent.answer = streaming(STARTED, FINISHED)
        assert len([event async for event in client.run(conversation)]) == 2


@requirement("T2", "T4")
async def test_characters_and_frames_may_be_split_anywhere(agent: Agent) -> None:
    def answer(handler: Handler) -> None:
        handler.head()
        body = b": hello\n\n" + sse([STARTED, *THOUGHT, FINISHED]).replace(b"\n\n", b"\r\nid: 1\r\n\r\n")
        for at in range(0, len(body), 7):
            handler.write(body[at : at + 7])
        handler.wfile.write(b"0\r\n\r\n")

    agent.answer = answer
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        await collect(client.run(conversation), [])
    assert conversation.messages[0].content == "Rain? ☔"


@requirement("T4")
@pytest.mark.parametrize("frame", [b"data: nonsense\n\n", b"data: [1]\n\n", b'data: {"type": ""}\n\n'])
async def test_a_frame_that_is_no_event_fails_the_stream(agent: Agent, frame: bytes) -> None:
    def answer(handler: Handler) -> None:
        handler.head()
        handler.write(sse([STARTED, *THOUGHT[:2]]) + frame)
        handler.write(sse([FINISHED]))
        handler.wfile.write(b"0\r\n\r\n")

    agent.answer = answer
    conversation = Conversation("t")
    seen: list[Any] = []
    async with AgentClient(agent.url) as client:
        with pytest.raises(RemoteProtocolError) as caught:
            await collect(client.run(conversation), seen)
    assert caught.value.code in ("bad_json", "bad_frame")
    assert (len(seen), conversation.messages[0].content) == (3, "Rain")
    assert conversation.status == "truncated"


async def test_a_silent_agent_is_given_up(agent: Agent) -> None:
    silent = threading.Event()

    def answer(handler: Handler) -> None:
        connection_lost(handler)
        silent.wait(SECONDS)

    agent.answer = answer
    async with AgentClient(agent.url, timeout=0.2) as client:
        with pytest.raises(TruncatedRunError):
            await collect(client.run(Conversation("t")), [])
    silent.set()


@requirement("T3")
@pytest.mark.parametrize("status", [401, 404, 422, 500])
async def test_an_http_error_names_the_status_and_not_the_body(agent: Agent, status: int) -> None:
    def answer(handler: Handler) -> None:
        handler.head(status, "text/plain")
        handler.write(SECRET.encode())
        handler.wfile.write(b"0\r\n\r\n")

    agent.answer = answer
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        with pytest.raises(TransportError) as caught:
            await collect(client.run(conversation, "Hi"), [])
    assert (caught.value.status_code, caught.value.code) == (status, "http_status")
    assert SECRET not in str(caught.value)
    assert conversation.status == "idle"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b'{"error": {"code": "bad_input", "message": "Malformed at /x."}}', "bad_input", "Malformed at /x."),
        (b'{"error": {"code": "not a name", "message": 7}}', None, ""),
        (b'{"error": "no"}', None, ""),
        (b"[" * 70_000, None, ""),
        (b"\xff", None, ""),
    ],
)
async def test_the_json_error_of_a_gateway_is_carried(
    agent: Agent, body: bytes, code: str | None, message: str
) -> None:
    def answer(handler: Handler) -> None:
        handler.head(422, "application/json")
        handler.write(body)
        handler.wfile.write(b"0\r\n\r\n")

    agent.answer = answer
    async with AgentClient(agent.url) as client:
        with pytest.raises(TransportError) as caught:
            await collect(client.run(Conversation("t"), "Hi"), [])
    error = caught.value
    assert (error.status_code, error.error_code, error.error_message) == (422, code, message)
    assert ("(bad_input)" in str(error)) == (code is not None)
    assert "Malformed" not in str(error)


@requirement("T2", "T3")
async def test_what_is_no_event_stream_is_refused(agent: Agent) -> None:
    def answer(handler: Handler) -> None:
        handler.head(200, "text/html")
        handler.wfile.write(b"0\r\n\r\n")

    agent.answer = answer
    async with AgentClient(agent.url) as client:
        with pytest.raises(TransportError) as caught:
            await anext(client.run(Conversation("t")))
    assert (caught.value.code, caught.value.status_code) == ("not_an_event_stream", 200)


async def test_an_agent_that_is_not_there() -> None:
    async with AgentClient("http://127.0.0.1:1/agent") as client:
        with pytest.raises(TransportError) as caught:
            await anext(client.run(Conversation("t")))
    assert (caught.value.code, caught.value.status_code) == ("unreachable", None)
    assert caught.value.reason == "refused"
    assert caught.value.__cause__ is caught.value.__context__ is None


async def test_a_host_without_a_name_and_a_port_without_tls_are_told_apart(agent: Agent) -> None:
    def answer(handler: Any) -> None:
        raise AssertionError("no request arrives")

    agent.answer = answer
    wrong = {"dns": "http://agent.invalid/agent", "tls": agent.url.replace("http://", "https://")}
    for reason, url in wrong.items():
        async with AgentClient(url) as client:
            with pytest.raises(TransportError) as caught:
                await anext(client.run(Conversation("t")))
        assert (caught.value.code, caught.value.reason) == ("unreachable", reason)
        assert caught.value.__context__ is None


def test_a_client_shows_its_address_and_no_secret() -> None:
    client = AgentClient("http://user:SECRET@host:1/agent?key=SECRET", headers={"authorization": "SECRET"})
    assert repr(client) == "AgentClient('http://host:1/agent')"


async def until_left(agent: Agent) -> None:
    with anyio.fail_after(SECONDS):
        while not agent.left.is_set():
            await anyio.sleep(0.01)


def chattering(handler: Handler) -> None:
    handler.head()
    handler.write(sse([STARTED, THOUGHT[0]]))
    while True:
        handler.write(sse([THOUGHT[1]]))


async def test_leaving_the_loop_closes_the_response(agent: Agent) -> None:
    agent.answer = chattering
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        async for event in client.run(conversation):
            if event.type.value == "REASONING_MESSAGE_CONTENT":
                break
        assert conversation.status == "truncated"
        await until_left(agent)
        agent.answer = streaming(STARTED, FINISHED)
        assert len([event async for event in client.run(conversation)]) == 2


async def test_a_run_can_be_left_at_a_place_of_ones_choice(agent: Agent) -> None:
    agent.answer = chattering
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client, aclosing(client.run(conversation)) as events:
        await anext(events)
    assert conversation.status == "truncated"
    await until_left(agent)


async def test_a_cancelled_reader_closes_the_response(agent: Agent) -> None:
    agent.answer = chattering
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        with anyio.CancelScope() as scope:
            async for _ in client.run(conversation):
                scope.cancel()
        assert conversation.status == "truncated"
        await until_left(agent)


async def test_nothing_is_sent_while_an_interrupt_is_open(agent: Agent) -> None:
    interrupts = [{"id": "i1", "reason": "approval", "expiresAt": "2001-01-01T00:00:00Z"}]
    agent.answer = streaming(
        STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}}
    )
    conversation = Conversation("t")
    async with AgentClient(agent.url) as client:
        async for _ in client.run(conversation):
            pass
        for resume, code in (
            (None, "open_interrupt"),
            ([{"interruptId": "i1", "status": "resolved"}], "expired_interrupt"),
        ):
            with pytest.raises(LocalProtocolError) as caught:
                await anext(client.run(conversation, resume=resume))
            assert caught.value.code == code
        assert len(agent.requests) == 1
        agent.answer = streaming(STARTED, FINISHED)
        answers = [{"interruptId": "i1", "status": "cancelled"}]
        async for _ in client.run(conversation, resume=answers):
            pass
    assert agent.requests[1]["resume"] == answers
    assert conversation.interrupts == []


async def test_a_client_of_ones_own_stays_open(agent: Agent) -> None:
    async with httpx2.AsyncClient() as http:
        async with AgentClient(agent.url, http=http) as client:
            assert len([event async for event in client.run(Conversation("t"))]) == 2
        assert not http.is_closed


def test_a_client_that_is_not_open_says_so() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        AgentClient("http://127.0.0.1:1/agent").run(Conversation())
    assert caught.value.code == "client_closed"


def test_without_the_extra_the_module_says_which_one_is_missing() -> None:
    script = "import sys; sys.modules['httpx2'] = None\nimport agui_reasoning.client"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert MissingExtraError("x", "client").hint in done.stderr
