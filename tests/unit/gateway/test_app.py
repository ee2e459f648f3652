"""Test the gateway's application over real HTTP."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import anyio
import pytest

from agui_reasoning import Limits, MissingExtraError, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.emitter.stages import Coalesce, Steps
from agui_reasoning.gateway import HTTPUpstream, Upstream, create_app, local_server, provider_app
from tests.support.expected import FAILED
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, TIMEOUT, Answer, call, opened

SMALL = 4096


class Fake(Upstream):
    """An upstream that does what a test says."""

    name = "<fake>"

    def __init__(self, *items: Any) -> None:
        self.items = items
        self.closed = threading.Event()

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        try:
            for item in self.items:
                if isinstance(item, Exception):
                    raise item
                if item is Ellipsis:
                    await anyio.sleep_forever()
                yield item
        finally:
            self.closed.set()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_server(create_app(max_body_bytes=SMALL)) as url:
        yield url


def run(answer: Answer) -> Client:
    assert answer.status == 200
    return Client().feed(answer.events).done()


# -- runs


def test_a_question_is_answered_with_a_call_that_is_pending(url: str) -> None:
    answer = call(f"{url}/agent")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [message["role"] for message in run(answer).messages] == ["reasoning", "assistant"]
    (called,) = (event["toolCallId"] for event in answer.events if event["type"] == "TOOL_CALL_START")
    assert called.startswith("toolu_demo_01BergenForecast_")
    assert answer.events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [called]}


def test_without_a_version_the_outcome_is_left_out(url: str) -> None:
    answer = call(f"{url}/agent", {name: value for name, value in INPUT.items() if name != "protocolVersion"})
    run(answer)
    assert (answer.events[-1]["type"], "outcome" in answer.events[-1]) == ("RUN_FINISHED", False)


@pytest.mark.parametrize("content_type", ["text/plain", None, "application/json; charset=utf-8"])
def test_the_content_type_does_not_matter(url: str, content_type: str | None) -> None:
    run(call(f"{url}/agent", content_type=content_type))


def test_ids_can_be_chosen_and_the_path_too() -> None:
    ids = map("id-{}".format, count(1))
    with local_server(create_app(Fake(TextDelta("Yes.")), path="/runs", new_id=ids.__next__)) as url:
        answer = call(f"{url}/runs")
    assert [message["id"] for message in run(answer).messages] == ["id-2"]


def test_each_run_has_stages_of_its_own() -> None:
    """Runs do not share the state of stages."""
    upstream = Fake(ReasoningDelta("Hm"), TextDelta("Yes."))
    with local_server(create_app(upstream, stages=[Steps(), Coalesce(100)])) as url:
        first, second = (call(f"{url}/agent").events for _ in range(2))
    assert [event["type"] for event in first] == [event["type"] for event in second]
    assert [event["type"] for event in first].count("STEP_STARTED") == 1


def test_the_ids_of_a_script_are_new_in_each_run(url: str) -> None:
    """Front ends do not answer a call whose id they have seen."""
    calls = [
        event["toolCallId"]
        for _ in range(2)
        for event in call(f"{url}/agent").events
        if event["type"] == "TOOL_CALL_START"
    ]
    assert len(set(calls)) == 2
    assert all(name.startswith("toolu_demo_01BergenForecast_") for name in calls)


def test_silence_is_filled_with_comments() -> None:
    upstream = Fake(ReasoningDelta("Hm"), ...)
    with (
        local_server(create_app(upstream, keep_alive_s=0.05)) as url,
        opened(f"{url}/agent") as response,
    ):
        while b": keep-alive" not in response.readline():
            pass
    assert upstream.closed.wait(TIMEOUT)


def test_a_client_that_leaves_ends_its_run() -> None:
    upstream = Fake(ReasoningDelta("Hm"), ...)
    with local_server(create_app(upstream)) as url:
        with opened(f"{url}/agent") as response:
            while b"Hm" not in response.readline():
                pass
        assert upstream.closed.wait(TIMEOUT)


@pytest.mark.parametrize(("on_error", "sentence"), [(None, FAILED), (lambda error: "Sorry.", "Sorry.")])
def test_a_failure_is_a_fixed_sentence_and_a_line_in_the_log(
    on_error: Any, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    upstream = Fake(ReasoningDelta("Hm"), ConnectionError("secret words"))
    with caplog.at_level(logging.DEBUG), local_server(create_app(upstream, on_error=on_error)) as url:
        answer = call(f"{url}/agent")
    run(answer)
    assert (answer.events[-1]["type"], answer.events[-1]["message"]) == ("RUN_ERROR", sentence)
    assert b"secret" not in answer.body
    line, details = (record for record in caplog.records if record.name == "agui_reasoning")
    assert (line.levelname, line.exc_info, line.getMessage()) == (
        "ERROR",
        None,
        "The run failed: ConnectionError (thread 't1', run 'r1'). secret words",
    )
    assert (details.levelname, bool(details.exc_info)) == ("DEBUG", True)


def test_warnings_of_a_run_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def summarize(part: Any) -> str:
        raise ValueError

    upstream = Fake(ReasoningDelta("Hm"), TextDelta("Yes."))
    app = create_app(upstream, visibility="summary", keys=KeyRing.generate(), summarize=summarize)
    with local_server(app) as url:
        run(call(f"{url}/agent"))
    assert [record.name for record in caplog.records] == ["agui_reasoning"]
    assert caplog.records[0].levelname == "WARNING"


# -- one client does not hold up another


class Gate:
    """What a thread waits at until another request has been answered."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        assert self.opened.wait(TIMEOUT)


def assert_another_is_served(app: Any, gate: Gate, body: Any) -> Answer:
    """While one request is at the gate, another is answered; then the first one goes on."""
    with local_server(app) as url, ThreadPoolExecutor() as threads:
        first = threads.submit(call, f"{url}/agent", body)
        assert gate.reached.wait(TIMEOUT)
        assert call(f"{url}/", None, "GET").status == 200
        assert not first.done()
        gate.opened.set()
        return first.result(TIMEOUT)


def test_another_request_is_served_while_a_history_is_restored() -> None:
    gate = Gate()

    def fetch(kid: str) -> bytes:
        gate.wait()
        return bytes(32)

    with local_server(create_app(keys=KeyRing({"k": bytes(32)}))) as url:
        kept = run(call(f"{url}/agent")).messages
    app = create_app(keys=KeyRing(fetch, primary="k"))
    run(assert_another_is_served(app, gate, INPUT | {"messages": [*INPUT["messages"], *kept]}))


def test_another_request_is_served_while_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    begin = Run.__init__

    def slow(self: Run, *args: Any, **options: Any) -> None:
        gate.wait()
        begin(self, *args, **options)

    monkeypatch.setattr(Run, "__init__", slow)
    run(assert_another_is_served(create_app(), gate, INPUT))


def test_another_request_is_served_while_the_providers_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    build = Run.request

    def slow(self: Run, **options: Any) -> Any:
        gate.wait()
        return build(self, **options)

    monkeypatch.setattr(Run, "request", slow)
    with local_server(provider_app("chat-weather")) as provider:
        upstream = HTTPUpstream("openai-chat", base_url=f"{provider}/v1", provider="deepseek", model="m")
        run(assert_another_is_served(create_app(upstream), gate, INPUT))


# -- requests that are refused


def refused(answer: Answer) -> tuple[int, str]:
    assert "SECRET" not in answer.body.decode()
    return answer.status, answer.error["code"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"SECRET"', b"\xff\xfe", b"NaN", b"[" * 3000, b"{} {}"])
def test_what_is_not_json_is_400(url: str, body: bytes) -> None:
    assert refused(call(f"{url}/agent", body)) == (400, "bad_json")


@pytest.mark.parametrize(
    "body",
    [
        [],
        "SECRET",
        None,
        {},
        INPUT | {"threadId": {"SECRET": 1}},
        INPUT | {"messages": [{"id": "u1", "role": "SECRET", "content": ""}]},
        INPUT | {"messages": [{"id": "u1", "role": "user", "content": ["SECRET"]}]},
    ],
)
def test_what_is_no_run_input_is_422(url: str, body: Any) -> None:
    assert refused(call(f"{url}/agent", json.dumps(body).encode())) == (422, "bad_input")


def test_a_body_that_is_too_large_is_413(url: str) -> None:
    answer = call(f"{url}/agent", b'"' + b"SECRET" * SMALL + b'"')
    assert refused(answer) == (413, "body_too_large")
    assert str(SMALL) in answer.error["message"]


def test_a_body_that_does_not_come_is_408() -> None:
    with local_server(create_app(body_timeout_s=0.05)) as url:
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname, parts.port), TIMEOUT) as connection:
            connection.sendall(b"POST /agent HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            answer = b""
            while b"body_timeout" not in answer:
                answer += connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408 ")


IMAGE = {"type": "image", "source": {"type": "file", "value": "file-of-somebody-else"}}


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_file_at_the_provider_is_asked_for_only_where_that_is_allowed(kind: str, role: str) -> None:
    message = {"id": "m2", "role": role, "content": [IMAGE | {"type": kind}], "toolCallId": "c"}
    if role == "user":
        del message["toolCallId"]
    body = INPUT | {"messages": [*INPUT["messages"], message]}
    with local_server(create_app(Fake(TextDelta("Yes.")))) as url:
        answer = call(f"{url}/agent", body)
    assert (answer.status, answer.error["code"]) == (422, "file_not_allowed")
    assert "somebody" not in answer.body.decode()
    with local_server(create_app(Fake(TextDelta("Yes.")), allow_file_ids=True)) as url:
        run(call(f"{url}/agent", body))


def test_a_history_that_is_larger_than_its_limits_is_413() -> None:
    with local_server(create_app(limits=Limits(messages=1))) as url:
        answer = call(f"{url}/agent", INPUT | {"messages": INPUT["messages"] * 2})
        run(call(f"{url}/agent"))
    assert (answer.status, answer.error["code"]) == (413, "too_large")


def test_a_body_as_large_as_the_limit_is_read(url: str) -> None:
    body = json.dumps(INPUT).encode()
    run(call(f"{url}/agent", body + b" " * (SMALL - len(body))))


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_another_method_is_405(url: str, method: str) -> None:
    answer = call(f"{url}/agent", None, method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    if method != "HEAD":
        assert answer.error == {
            "code": "method_not_allowed",
            "message": f"Method Not Allowed. Send a RunAgentInput with POST; see {url}/.",
        }


def test_somebody_who_opens_the_endpoint_in_a_browser_is_told_what_it_is(url: str) -> None:
    with local_server(create_app(path="/x<b>")) as odd:
        for where, path in ((url, "/agent"), (odd, "/x%3Cb%3E")):
            answer = call(f"{where}{path}", None, "GET", accept="text/html,application/xhtml+xml")
            page = answer.body.decode()
            assert (answer.status, answer.headers["allow"]) == (405, "POST")
            assert f'<a href="{where}/">' in page
            assert "<b>" not in page
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_browser_gets_an_icon(url: str) -> None:
    answer = call(f"{url}/favicon.ico", None, "GET")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert ElementTree.fromstring(answer.body).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("path", ["/agents", "/agent/x"])
def test_another_path_is_404(url: str, path: str) -> None:
    assert refused(call(f"{url}{path}")) == (404, "not_found")


def test_a_client_that_leaves_in_its_request_is_no_error(url: str, caplog: pytest.LogCaptureFixture) -> None:
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), TIMEOUT) as connection:
        connection.sendall(b"POST /agent HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    run(call(f"{url}/agent"))
    assert caplog.records == []


# -- what is told when it starts


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ("deepseek", []),
        (
            "deepsek",
            [
                "The echo policy has no row for 'deepsek' of openai-chat and the model 'm': no reasoning is "
                "sent back. Did you mean 'deepseek'? `agui-reasoning providers` lists all rows."
            ],
        ),
        (
            None,
            [
                "No provider was given for openai-chat: no reasoning is sent back. "
                "`agui-reasoning providers` lists all rows."
            ],
        ),
    ],
)
def test_a_provider_that_no_row_knows_is_told_at_once(
    provider: str | None, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    create_app(HTTPUpstream("openai-chat", base_url="http://localhost", provider=provider, model="m"))
    assert [record.getMessage() for record in caplog.records] == told


# -- the extra


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_the_extra_is_named_when_it_is_missing(package: str) -> None:
    script = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from agui_reasoning import MissingExtraError\n"
        "try:\n    import agui_reasoning.gateway\n"
        "except MissingExtraError as error:\n    print(error.code, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (
        f"missing_extra {MissingExtraError('agui_reasoning.gateway', 'server')}\n",
        "",
    )
