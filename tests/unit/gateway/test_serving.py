"""Run an application: a port, a thread, and an end that leaves nothing."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest

from agui_reasoning import ConfigurationError
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.gateway import create_app, listen, local_server, url_of
from tests.unit.gateway.http_client import TIMEOUT, call, opened
from tests.unit.gateway.test_app import Fake


def test_each_server_has_a_port_of_its_own_and_frees_it() -> None:
    with local_server(create_app()) as one, local_server(create_app()) as other:
        assert one != other
        assert call(one + "/", None, "GET").status == call(other + "/", None, "GET").status == 200
    port = int(one.rpartition(":")[2])
    with local_server(create_app(), port=port) as again:
        assert again == one


def test_its_thread_ends_with_the_block_also_after_an_error() -> None:
    before = set(threading.enumerate())  # some of them, other tests' workers, may end meanwhile
    with pytest.raises(KeyError), local_server(create_app()):
        raise KeyError
    assert set(threading.enumerate()) <= before


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> float:
    """How long a server would wait for its clients: so long that no busy machine takes half of it."""
    monkeypatch.setattr("agui_reasoning.gateway._serving._STOP_S", 100.0)
    monkeypatch.setattr("agui_reasoning.asgi._response._LAST_SEND_S", 0.1)
    return 100.0


def test_a_stream_in_progress_ends_when_the_server_stops(patient: float) -> None:
    upstream = Fake(ReasoningDelta("Hm"), ...)
    with local_server(create_app(upstream)) as url:
        response: Any = opened(f"{url}/agent")
        reader = response.__enter__()
        while b"Hm" not in reader.readline():
            pass
        started = time.monotonic()
    assert upstream.closed.wait(TIMEOUT)
    assert time.monotonic() - started < patient / 2
    response.__exit__(None, None, None)


def test_a_client_that_reads_nothing_does_not_keep_the_server(patient: float) -> None:
    upstream = Fake(*[ReasoningDelta("x" * 100_000)] * 200)
    with local_server(create_app(upstream)) as url:
        response: Any = opened(f"{url}/agent")
        response.__enter__()
        started = time.monotonic()
    assert upstream.closed.wait(TIMEOUT)
    assert time.monotonic() - started < patient / 2
    response.__exit__(None, None, None)


def test_a_port_that_is_taken_is_said_at_once() -> None:
    with listen() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"Port {port} of 127.0.0.1 cannot be used: ") as caught:
            listen(port=port)
    assert caught.value.code == "cannot_listen"


def test_a_host_that_does_not_exist_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        listen("nowhere.invalid")
    assert caught.value.code == "cannot_listen"


def test_an_ipv6_address_is_written_in_brackets() -> None:
    try:
        listening = listen("::1")
    except ConfigurationError:
        pytest.skip("there is no IPv6 here")
    with listening:
        assert listening.family == socket.AF_INET6
        assert url_of(listening) == f"http://[::1]:{listening.getsockname()[1]}"


# -- clients that do not go on


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), TIMEOUT)


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD])
def test_a_connection_on_which_no_head_comes_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_reasoning.gateway._serving.HEAD_TIMEOUT_S", 0.05)
    with local_server(create_app()) as url, connected(url) as connection:
        connection.sendall(sent)
        assert connection.recv(1) == b""


def test_so_is_one_whose_second_head_does_not_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_reasoning.gateway._serving.HEAD_TIMEOUT_S", 0.05)
    with local_server(create_app()) as url, connected(url) as connection:
        connection.sendall(HEAD + b"\r\n")
        answer = b""
        while b"</html>" not in answer:
            answer += connection.recv(65536)
        connection.sendall(HEAD)
        assert connection.recv(65536).strip() == b""


def test_an_answer_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_reasoning.gateway._serving.HEAD_TIMEOUT_S", 0.05)
    with (
        local_server(create_app(Fake(ReasoningDelta("Hm"), ...), keep_alive_s=0.05)) as url,
        opened(f"{url}/agent") as response,
    ):
        kept = 0
        while kept < 5:
            kept += response.readline().startswith(b": keep-alive")
