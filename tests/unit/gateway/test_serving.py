"""Running an application: a port, a thread, and an end that leaves nothing."""

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
    before = threading.enumerate()
    with pytest.raises(KeyError), local_server(create_app()):
        raise KeyError
    assert threading.enumerate() == before


def test_a_stream_in_progress_ends_when_the_server_stops() -> None:
    upstream = Fake(ReasoningDelta("Hm"), ...)
    with local_server(create_app(upstream)) as url:
        response: Any = opened(f"{url}/agent")
        reader = response.__enter__()
        while b"Hm" not in reader.readline():
            pass
        started = time.monotonic()
    assert upstream.closed.wait(TIMEOUT)
    assert time.monotonic() - started < 5
    response.__exit__(None, None, None)


def test_a_client_that_reads_nothing_does_not_keep_the_server() -> None:
    upstream = Fake(*[ReasoningDelta("x" * 100_000)] * 200)
    with local_server(create_app(upstream)) as url:
        response: Any = opened(f"{url}/agent")
        response.__enter__()
        started = time.monotonic()
    assert upstream.closed.wait(TIMEOUT)
    assert time.monotonic() - started < 5
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
