"""Test providers that refuse, break off, stay silent or talk nonsense, and clients that leave.

Neither the key nor the provider's words reach a client, an error or a log, but for the one line that the
documentation names.
"""

from __future__ import annotations

import json
import logging
import threading
from contextlib import aclosing, closing
from traceback import TracebackException
from typing import Any

import anyio
import httpx2
import pytest

from agui_reasoning import DecodeError, ProviderError, Run, TransportError
from agui_reasoning.aio import run_agent
from agui_reasoning.gateway import create_app, listen, local_server, url_of
from tests.support.expected import FAILED
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, TIMEOUT, call, opened
from tests.unit.gateway.provider import (
    APIS,
    CUT,
    KEY,
    MODELS,
    WORDS,
    Json,
    Provider,
    Reply,
    frames,
    gateway,
    upstream,
)
from tests.unit.gateway.test_http import answer

apis = pytest.mark.parametrize("api", APIS)
# Clients of a test's own are used in the server's thread, where nobody could close what they keep.
NOTHING_KEPT = httpx2.Limits(max_keepalive_connections=0)
SOON = 50.0
SENTENCES = {
    "credentials_refused": "The model's provider refused the credentials. Please tell the operator of this "
    "agent.",
    "rate_limited": "The model's provider limits the number of requests. Please try again shortly.",
    "overloaded": "The model's provider is overloaded. Please try again shortly.",
    "provider_error": "The model's provider reported an error. Please try again shortly.",
    "timeout": "The model's provider did not answer in time. Please try again.",
    "unreachable": "The connection to the model's provider failed. Please try again shortly.",
}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the library wait for a connection to close for longer than `SOON`: what closes soon was closed."""
    monkeypatch.setattr("agui_reasoning._driver._sources.CLOSE_WITHIN_S", 2 * SOON)
    monkeypatch.setattr("agui_reasoning.gateway._serving._STOP_S", 2 * SOON)


class Failed:
    """A run that failed: its answer, and the error that its gateway was told."""

    def __init__(self, api: str, reply: Reply, caplog: pytest.LogCaptureFixture, **options: Any) -> None:
        self.errors: list[BaseException] = []
        with (
            caplog.at_level(logging.DEBUG),
            gateway(api, reply, on_error=self.note, **options) as (url, self.provider),
        ):
            self.answer = call(url)
        self.messages = Client().feed(self.answer.events).done().messages
        self.last = self.answer.events[-1]
        (self.error,) = self.errors
        self.seen = "\n".join(record.getMessage() for record in caplog.records if record.name != "asyncio")
        self.log = caplog.text

    def note(self, error: BaseException) -> None:
        self.errors.append(error)

    def assert_quiet(self) -> None:
        """Nobody sees the key, and only the log sees the provider's words."""
        assert (self.last["type"], self.last["message"]) == (
            "RUN_ERROR",
            SENTENCES.get(self.last["code"], FAILED),
        )
        # As a tool would print it that shows the values of local variables.
        shown = TracebackException.from_exception(self.error, capture_locals=True).format()
        told = str(self.error) + repr(self.error) + self.answer.body.decode()
        assert "WORDS" not in told
        assert KEY not in told + "".join(shown) + self.log + repr(vars(self.error))


def refusal(api: str, kind: str, code: str | None, words: str) -> bytes:
    error: Json = {"type": kind, "message": words}
    if api == "anthropic-messages":
        return json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode()
    return json.dumps({"error": error | {"param": None, "code": code}}).encode()


# -- the provider says no


@apis
@pytest.mark.parametrize(
    ("status", "kind", "code", "cause"),
    [
        (401, "authentication_error", "invalid_api_key", "credentials_refused"),
        (429, "rate_limit_error", "rate_limit_exceeded", "rate_limited"),
        (500, "api_error", None, "provider_error"),
    ],
)
def test_a_refusal_tells_its_names_and_nothing_else(
    api: str, status: int, kind: str, code: str | None, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    body = refusal(api, kind, code, f"Incorrect key {KEY}: {WORDS}")
    failed = Failed(api, Reply([body], status, "application/json"), caplog)
    failed.assert_quiet()
    assert failed.last["code"] == cause
    error = failed.error
    assert isinstance(error, ProviderError)
    told = None if api == "anthropic-messages" else code
    assert (error.provider_type, error.provider_code) == (kind, told or str(status))
    assert error.provider_message == f"Incorrect key [hidden]: {WORDS}"
    line, details = [record for record in caplog.records if record.name == "agui_reasoning"]
    named = f"provider code {told}, " if told else ""
    assert (line.levelname, line.getMessage()) == (
        "ERROR",
        f"The run failed: ProviderError (code {cause}, provider {MODELS[api][0]}, status {status}, {named}"
        f"provider type {kind}, thread 't1', run 'r1').",
    )
    assert (details.levelname, details.getMessage().splitlines()[0]) == (
        "DEBUG",
        f"Where the run failed. The provider says: 'Incorrect key [hidden]: {WORDS}'",
    )


@pytest.mark.parametrize(
    ("body", "names", "words"),
    [
        (b'[{"error": {"code": 400, "message": "WORDS", "status": "INVALID"}}]', ("INVALID", "400"), "WORDS"),
        (b'{"error": "WORDS"}', (None, "418"), "WORDS"),
        (
            b'{"object": "error", "type": "BadRequest", "code": 40, "message": "WORDS"}',
            ("BadRequest", "40"),
            "WORDS",
        ),
        (b'{"error": null}', (None, "418"), ""),
        (b'{"error": {"message": ["WORDS"]}}', (None, "418"), "['WORDS']"),
        (
            b'{"error": {"type": "WORDS of a sentence", "code": {"WORDS": 1}, "message": ""}}',
            (None, "418"),
            "",
        ),
        (b"<h1>WORDS\n\tand more</h1>", (None, "418"), "<h1>WORDS and more</h1>"),
        (b'"WORDS"', (None, "418"), '"WORDS"'),
        (b'{"error": {"mess', (None, "418"), '{"error": {"mess'),
        (b"\xff\xfe", (None, "418"), "��"),
        (b"[]", (None, "418"), "[]"),
        (b"", (None, "418"), ""),
        (b"WORDS " * 100_000, (None, "418"), ("WORDS " * 400)[:2000]),
    ],
)
def test_a_refusal_of_any_form_is_one(
    body: bytes, names: tuple[str | None, str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    failed = Failed("openai-chat", Reply([body], 418, "text/html"), caplog)
    failed.assert_quiet()
    assert isinstance(failed.error, ProviderError)
    assert (failed.error.provider_type, failed.error.provider_code) == names
    assert failed.error.provider_message == words


def test_a_refusal_that_breaks_off_is_one(caplog: pytest.LogCaptureFixture) -> None:
    failed = Failed("openai-chat", Reply([b'{"error"', CUT], 503, "application/json"), caplog)
    failed.assert_quiet()
    assert isinstance(failed.error, ProviderError)
    assert failed.error.provider_code == "503"


def test_a_name_that_repeats_the_key_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    body = refusal("openai-chat", KEY, f"bad:{KEY}", "")
    failed = Failed("openai-chat", Reply([body], 401, "application/json"), caplog)
    failed.assert_quiet()
    assert isinstance(failed.error, ProviderError)
    assert (failed.error.provider_type, failed.error.provider_code) == (None, "401")


def test_the_values_of_headers_are_as_secret_as_the_key(caplog: pytest.LogCaptureFixture) -> None:
    body = refusal("openai-chat", "denied", None, f"Who is {KEY[::-1]}?")
    headers = {"authorization": f"Basic {KEY[::-1]}"}
    failed = Failed("openai-chat", Reply([body], 401, "application/json"), caplog, headers=headers)
    failed.assert_quiet()
    assert KEY[::-1] not in failed.log
    assert "Who is [hidden]?" in failed.log


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_does_not_take_the_key_elsewhere(status: int, caplog: pytest.LogCaptureFixture) -> None:
    other = Provider(Reply(frames(answer("anthropic-messages"))))
    with local_server(other) as elsewhere:
        reply = Reply([], status, "text/plain", {"location": f"{elsewhere}/v1/messages"})
        # Also with a client that follows redirects by itself.
        http = httpx2.AsyncClient(follow_redirects=True, limits=NOTHING_KEPT)
        failed = Failed("anthropic-messages", reply, caplog, http=http)
    failed.assert_quiet()
    assert isinstance(failed.error, ProviderError)
    assert failed.error.provider_code == str(status)
    assert other.asked == []


# -- no answer, or none that can be read


def test_a_provider_that_cannot_be_reached_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with listen() as taken:
        nowhere = url_of(taken)
    failed = Failed("openai-chat", Reply(), caplog, base_url=nowhere)
    failed.assert_quiet()
    assert failed.last["code"] == "unreachable"
    assert isinstance(failed.error, TransportError)
    assert (failed.error.status_code, failed.error.reason) == (None, "refused")
    assert failed.error.__context__ is None


@pytest.mark.parametrize("where", ["before the answer", "in the stream", "in a whole response"])
def test_silence_ends_a_run(where: str, caplog: pytest.LogCaptureFixture) -> None:
    api = "anthropic-messages"
    never = threading.Event()
    threading.Timer(1.5, never.set).start()  # lets the provider end
    reply = {
        "before the answer": Reply([never]),
        "in the stream": Reply([*frames(answer(api))[:4], never]),
        "in a whole response": Reply([b"{", never], content_type="application/json"),
    }[where]
    failed = Failed(api, reply, caplog, timeout_s=0.5)
    failed.assert_quiet()
    assert failed.last["code"] == "timeout"
    assert isinstance(failed.error, TransportError)
    assert failed.error.status_code is None
    assert "0.5 seconds" in str(failed.error)
    assert failed.error.__context__ is None
    shown = [message["role"] for message in failed.messages]
    assert shown == (["reasoning"] if where == "in the stream" else [])


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply([b"<h1>WORDS</h1>"], content_type="text/html"), "not_an_event_stream"),
        (Reply([b'{"id": '], content_type="application/json"), "not_an_event_stream"),
        (Reply([], 204, "text/plain"), "not_an_event_stream"),
        (Reply([]), "truncated_stream"),
        (Reply([b": only a comment\n\n"]), "truncated_stream"),
        (Reply([b": only a comment\n\n", CUT]), "truncated_stream"),
        (Reply([CUT]), "truncated_stream"),
        (Reply([b'["WORDS"]'], content_type="application/json"), "bad_payload"),
        (Reply([b"data: WORDS\n\n"]), "bad_payload"),
        (Reply([b'data: ["WORDS"]\n\n']), "bad_payload"),
        (Reply([b"data: \xff\xff\n\n"]), "bad_utf8"),
        (Reply([b'data: {"type": "ping"}\n\ndata: \xff\xff\n\n']), "bad_utf8"),
        (Reply([b'{"WORDS": 1}', CUT], content_type="application/json"), "unreachable"),
    ],
)
def test_nonsense_is_told_by_its_code(reply: Reply, code: str, caplog: pytest.LogCaptureFixture) -> None:
    failed = Failed("anthropic-messages", reply, caplog)
    failed.assert_quiet()
    assert failed.last["code"] == code
    assert "WORDS" not in failed.log


def test_an_endless_frame_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    failed = Failed("openai-chat", Reply([b"data: " + b"x" * 1_000_000] * 12), caplog)
    failed.assert_quiet()
    assert failed.last["code"] == "frame_too_large"


THOUGHT = {
    "anthropic-messages": b"thinking_delta",
    "openai-responses": b"reasoning_summary_text.delta",
    "openai-chat": b'"reasoning_content": "',
}


# -- the stream stops, or says that something went wrong


@apis
@pytest.mark.parametrize("end", [[], [CUT], [b'data: {"ty'], [b'data: {"ty', CUT]])
def test_what_was_thought_before_a_cut_is_kept(
    api: str, end: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    failed = Failed(api, Reply([*thinking(api), *end]), caplog)
    failed.assert_quiet()
    assert failed.last["code"] == "truncated_stream"
    assert isinstance(failed.error, DecodeError)
    assert [message["role"] for message in failed.messages] == ["reasoning"]


@apis
def test_a_break_after_the_end_does_no_harm(api: str) -> None:
    with gateway(api, Reply([*frames(answer(api)), CUT])) as (url, _):
        events = call(url).events
    Client().feed(events).done()
    assert events[-1]["type"] == "RUN_FINISHED"


IN_STREAM: Json = {
    "anthropic-messages": {
        "type": "error",
        "error": {"type": "overloaded_error", "message": f"{KEY} {WORDS}"},
    },
    "openai-responses": {"type": "error", "code": "server_error", "message": f"{KEY} {WORDS}"},
    "openai-chat": {"error": {"code": "server_error", "message": f"{KEY} {WORDS}"}},
}


@apis
@pytest.mark.parametrize("whole", [False, True])
def test_an_error_in_the_answer_is_quiet_too(api: str, whole: bool, caplog: pytest.LogCaptureFixture) -> None:
    error = IN_STREAM[api]
    if whole:
        reply = Reply([json.dumps(error).encode()], content_type="application/json")
    else:
        reply = Reply(frames([*answer(api)[:4], error]))
    failed = Failed(api, reply, caplog)
    failed.assert_quiet()
    assert failed.last["code"] == ("overloaded" if api == "anthropic-messages" else "provider_error")
    assert isinstance(failed.error, ProviderError)
    assert failed.error.provider_message == f"[hidden] {WORDS}"


@apis
def test_what_a_model_says_is_never_touched(api: str) -> None:
    pieces = [piece.replace(b"aincoat", KEY.encode()) for piece in frames(answer(api))]
    with gateway(api, Reply(pieces)) as (url, _):
        messages = Client().feed(call(url).events).done().messages
    assert any(KEY in str(message["content"]) for message in messages if message["role"] == "assistant")


# -- who leaves


@pytest.mark.usefixtures("patient")
@apis
@pytest.mark.parametrize("part", ["", "slow"])
def test_a_client_that_leaves_closes_the_connection_to_the_provider(api: str, part: str) -> None:
    pieces = [threading.Event()] if part else [*thinking(api), ...]
    with gateway(api, Reply(pieces), keep_alive_s=0.05) as (url, provider):
        with opened(url) as response:
            while b": keep-alive" not in response.readline():
                pass
            assert provider.reached.wait(TIMEOUT)
        assert provider.left.wait(SOON)
        if part:
            pieces[0].set()


@pytest.mark.usefixtures("patient")
def test_a_gateway_that_stops_closes_the_connection_to_the_provider() -> None:
    api = "openai-responses"
    provider = Provider(Reply([*thinking(api), ...]))
    with local_server(provider) as url:
        with local_server(create_app(upstream(api, url))) as served:
            response: Any = opened(f"{served}/agent")
            reader = response.__enter__()
            while b"REASONING" not in reader.readline():
                pass
        assert provider.left.wait(SOON)
        response.__exit__(None, None, None)


def test_a_slow_start_is_waited_for_and_the_client_kept() -> None:
    api = "anthropic-messages"
    start = threading.Event()
    reply = Reply([start, *frames(answer(api))])
    with gateway(api, reply, keep_alive_s=0.05) as (url, _), opened(url) as response:
        lines = []
        while b": keep-alive" not in (lines or [b""])[-1]:
            lines.append(response.readline())
        assert b"RUN_STARTED" in lines[0]
        start.set()
        assert b"RUN_FINISHED" in response.read()


@pytest.mark.usefixtures("patient")
@pytest.mark.anyio
@apis
@pytest.mark.parametrize("how", ["cancelled", "left", "slow"])
async def test_a_run_that_is_stopped_closes_the_connection_at_once(api: str, how: str) -> None:
    gate = threading.Event()
    provider = Provider(Reply([gate] if how == "slow" else [*thinking(api), ...]))
    with local_server(provider) as url:
        asking = upstream(api, url)
        name, model = MODELS[api]
        run = Run(INPUT, api=api, provider=name, model=model)
        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as tasks, aclosing(run_agent(run, asking.agent)) as events:
                if how == "slow":
                    tasks.start_soon(_cancel, tasks.cancel_scope, provider.reached)
                async for event in events:
                    if event.type.value == "REASONING_MESSAGE_CONTENT":
                        if how == "left":
                            break
                        tasks.cancel_scope.cancel()
                    stopped = anyio.current_time()
        assert anyio.current_time() - stopped < SOON
        assert await anyio.to_thread.run_sync(provider.left.wait, SOON)
        gate.set()
        await asking.aclose()


def thinking(api: str) -> list[bytes]:
    """A stream up to where the model thinks."""
    pieces = frames(answer(api, ""))
    return pieces[: max(at for at, piece in enumerate(pieces) if THOUGHT[api] in piece) + 1]


async def _cancel(scope: anyio.CancelScope, event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, TIMEOUT)
    scope.cancel()


# -- the HTTP client


class Line:
    """A provider that answers on one connection, as often as it is asked there, and sees it end."""

    def __init__(self, body: bytes) -> None:
        self._listening = listen()
        self._body = body
        self.url = url_of(self._listening)
        self.asked = 0
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        self._listening.close()  # a second connection is refused
        with closing(connection), connection.makefile("rb") as reader:
            connection.settimeout(TIMEOUT)
            while line := reader.readline():
                size = 0
                while line.strip():
                    name, _, value = line.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                    line = reader.readline()
                reader.read(size)
                self.asked += 1
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                    + f"content-length: {len(self._body)}\r\n\r\n".encode()
                    + self._body
                )
        self.ended.set()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *why: object) -> None:
        self._thread.join(TIMEOUT)


def test_requests_share_a_connection_which_ends_with_the_application() -> None:
    api = "openai-chat"
    with Line(b"".join(frames(answer(api)))) as line:
        with local_server(create_app(upstream(api, line.url))) as url:
            for _ in range(3):
                assert call(f"{url}/agent").events[-1]["type"] == "RUN_FINISHED"
            assert not line.ended.is_set()
        assert line.ended.wait(TIMEOUT)
        assert line.asked == 3


def test_a_client_of_yours_stays_open() -> None:
    api = "openai-chat"
    http = httpx2.AsyncClient(headers={"x-mine": "yes"}, limits=NOTHING_KEPT)
    with gateway(api, Reply(frames(answer(api))), http=http) as (url, provider):
        call(url)
    assert provider.asked[0].headers["x-mine"] == "yes"
    assert not http.is_closed


def test_many_runs_at_a_time_do_not_wait_for_one_another() -> None:
    api = "anthropic-messages"
    go = threading.Event()
    count = 110
    with gateway(api, Reply([*frames(answer(api))[:3], go, *frames(answer(api))[3:]])) as (url, provider):
        responses: list[Any] = [opened(url) for _ in range(count)]
        readers = [response.__enter__() for response in responses]
        assert all(provider.arrivals.acquire(timeout=TIMEOUT) for _ in range(count))
        go.set()
        assert all(b"RUN_FINISHED" in reader.read() for reader in readers)
        for response in responses:
            response.__exit__(None, None, None)


# -- what can be printed


@apis
def test_nothing_that_can_be_printed_shows_the_key(api: str) -> None:
    asking = upstream(api, "http://localhost", headers={"x-token": KEY[::-1]}, system=WORDS)
    provider, model = MODELS[api]
    assert repr(asking) == f"HTTPUpstream({api!r}, provider={provider!r}, model={model!r})"
    parts = [value for value in vars(asking).values() if type(value).__module__.startswith("agui_reasoning.")]
    printed = repr(asking) + str(asking) + repr(parts) + asking.name + repr(create_app(asking))
    assert not any(word in printed for word in (KEY, KEY[::-1], WORDS))
