"""Test that requests are repeated before the first byte of an answer, within limits, and not afterwards."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

from agui_reasoning import ConfigurationError, ProviderError, Run, TransportError
from agui_reasoning.aio import run_agent
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.gateway._http import Retries
from tests.support.verifier import plain
from tests.unit.gateway.http_client import INPUT, TIMEOUT, call
from tests.unit.gateway.provider import CUT, Changing, Json, Reply, frames, upstream
from tests.unit.gateway.test_http import answer

API = "anthropic-messages"
ANSWER = Reply(frames(answer(API)))


class Time:
    """A clock that only pauses move."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        await anyio.lowlevel.checkpoint()
        self.pauses.append(seconds)
        self.now += seconds

    def retries(self, **limits: Any) -> Retries:
        return Retries(**limits, sleep=self.sleep, clock=lambda: self.now, jitter=lambda: 1.0)


def limited(status: int = 429, wait: float | None = None, code: str | None = None) -> ProviderError:
    return ProviderError(status_code=status, retry_after=wait, provider_code=code)


def unreachable(code: str = "unreachable") -> TransportError:
    return TransportError("No.", code=code, hint="")  # type: ignore[arg-type, unused-ignore]


def tries(time: Time, *failures: Exception, **limits: Any) -> tuple[int, Exception | None]:
    """The number of requests, and the error of the last one."""
    left, sent = list(failures), 0

    async def send() -> None:
        nonlocal sent
        sent += 1
        if left:
            raise left.pop(0)

    try:
        anyio.run(time.retries(**limits).call, send)
    except (ProviderError, TransportError) as error:
        return sent, error
    return sent, None


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_failures_that_pass_are_repeated(status: int) -> None:
    time = Time()
    assert tries(time, limited(status), limited(status)) == (3, None)
    assert time.pauses == [0.5, 1.0]


@pytest.mark.parametrize(
    "error",
    [
        *(limited(status) for status in (400, 401, 403, 404, 413, 422, 501)),
        limited(429, code="insufficient_quota"),
        unreachable("timeout"),
        unreachable("not_an_event_stream"),
    ],
)
def test_others_are_not(error: Exception) -> None:
    time = Time()
    assert tries(time, error) == (1, error)
    assert time.pauses == []


def test_a_connection_that_fails_is_tried_again() -> None:
    assert tries(Time(), unreachable()) == (2, None)


def test_the_number_of_requests_is_limited() -> None:
    failures = [limited() for _ in range(9)]
    assert tries(Time(), *failures) == (3, failures[2])
    assert tries(Time(), *failures, attempts=1) == (1, failures[0])
    assert tries(Time(), *failures, attempts=5) == (5, failures[4])


def test_pauses_double_up_to_eight_seconds() -> None:
    time = Time()
    tries(time, *(limited() for _ in range(8)), attempts=8, max_wait_s=1000)
    assert time.pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_jitter_takes_half_of_a_pause_at_most() -> None:
    time = Time()
    retries = replace(time.retries(), jitter=lambda: 0.0)

    async def send() -> None:
        if len(time.pauses) < 2:
            raise limited()

    anyio.run(retries.call, send)
    assert time.pauses == [0.25, 0.5]


def test_the_provider_says_how_long_to_wait() -> None:
    time = Time()
    assert tries(time, limited(wait=20), limited(wait=0)) == (3, None)
    assert time.pauses == [20, 1.0]


def test_a_wait_beyond_the_limit_is_not_begun() -> None:
    time, error = Time(), limited(wait=3600)
    assert tries(time, error) == (1, error)
    assert time.pauses == []
    failures = [limited(wait=20), limited(wait=20)]
    assert tries(time, *failures) == (2, failures[1])
    assert time.pauses == [20]


def test_the_time_of_requests_counts() -> None:
    time, error = Time(), limited(504)

    async def send() -> None:
        time.now += 40
        raise error

    with pytest.raises(ProviderError):
        anyio.run(time.retries().call, send)
    assert time.pauses == []


async def _cancelled(retries: Callable[..., Retries]) -> int:
    sent = 0

    async def send() -> None:
        nonlocal sent
        sent += 1
        raise limited()

    with anyio.CancelScope() as scope:

        async def sleep(seconds: float) -> None:
            scope.cancel()
            await anyio.sleep_forever()

        await retries(sleep=sleep).call(send)
    assert scope.cancelled_caught
    return sent


def test_a_pause_can_be_cancelled() -> None:
    assert anyio.run(_cancelled, Retries) == 1


@pytest.mark.parametrize("limits", [{"attempts": 0}, {"max_wait_s": -1}])
def test_limits_are_checked(limits: Json) -> None:
    with pytest.raises(ConfigurationError) as caught:
        upstream(API, "http://localhost", **limits)
    assert caught.value.code == "bad_limit"


# -- at a server


def refusing(status: int, words: str = "WORDS", **headers: str) -> Reply:
    body = {"type": "error", "error": {"type": "api_error", "message": words}}
    return Reply([json.dumps(body).encode()], status, "application/json", headers)


class Asked:
    """A run through a gateway, without waiting."""

    def __init__(self, *replies: Reply, **options: Any) -> None:
        self.time = Time()
        self.provider = Changing(*replies)
        with ExitStack() as stack:
            url = stack.enter_context(local_server(self.provider))
            chosen = upstream(API, url, **({"attempts": 3} | options))
            transport = chosen._transport
            transport._retries = replace(
                transport._retries, sleep=self.time.sleep, clock=lambda: self.time.now, jitter=lambda: 1.0
            )
            served = stack.enter_context(local_server(create_app(chosen)))
            self.events = call(f"{served}/agent").events
        self.last = self.events[-1]


def test_a_limit_that_passes_is_not_seen_by_the_client() -> None:
    asked = Asked(refusing(429, **{"retry-after": "7"}), refusing(503), ANSWER)
    assert asked.last["type"] == "RUN_FINISHED"
    assert asked.time.pauses == [7, 1.0]
    first, second, third = (request.body for request in asked.provider.asked)
    assert first == second == third


def test_a_limit_that_stays_is_told_with_its_delay() -> None:
    asked = Asked(refusing(429, **{"retry-after": "90"}))
    assert len(asked.provider.asked) == 1
    assert (asked.last["code"], asked.last["message"]) == (
        "rate_limited",
        "The model's provider limits the number of requests. Please try again in 90 s.",
    )


@pytest.mark.parametrize("pieces", [[CUT], [*frames(answer(API))[:4], CUT]])
def test_nothing_is_repeated_once_a_response_has_begun(pieces: list[Any]) -> None:
    asked = Asked(Reply(pieces), ANSWER)
    assert len(asked.provider.asked) == 1
    assert asked.last["code"] == "truncated_stream"


@contextmanager
def resetting(times: int) -> Iterator[tuple[str, list[bytes]]]:
    """A server that resets its first connections after the request, and then refuses the credentials."""
    requests: list[bytes] = []
    refused = b"HTTP/1.1 401 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"

    def serve(listening: socket.socket) -> None:
        for number in range(times + 1):
            connection, _ = listening.accept()
            with connection:
                requests.append(connection.recv(65_536))
                if number < times:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                else:
                    connection.sendall(refused)

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(TIMEOUT)
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests
        thread.join(TIMEOUT)


@pytest.mark.parametrize(("times", "code"), [(2, "credentials_refused")])
def test_a_connection_that_is_reset_is_opened_again(times: int, code: str) -> None:
    time = Time()
    errors: list[BaseException] = []

    async def collect(url: str) -> list[Any]:
        chosen = upstream(API, url, attempts=3)
        chosen._transport._retries = time.retries()
        run = Run(INPUT, api=API, provider=chosen.provider, model=chosen.model)
        try:
            return [event async for event in run_agent(run, chosen.agent, on_error=errors.append)]
        finally:
            await chosen.aclose()

    with resetting(times) as (url, requests):
        events = plain(anyio.run(collect, url))
    assert len(requests) == times + 1
    assert events[-1]["code"] == code
    assert time.pauses == [0.5, 1.0]


# -- a poisoned conversation

SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"


def poisoned() -> Json:
    """The second input of a thread whose first answer is signed."""
    from agui_reasoning import Conversation, ModelStream
    from agui_reasoning import run_agent as run_synchronously

    thread = Conversation("t")
    model = {"api": API, "provider": "anthropic", "model": "claude-sonnet-4-6"}
    stream = ModelStream(answer(API))
    for event in run_synchronously(thread.run_input("Umbrella?"), lambda run: iter([stream]), **model):
        thread.receive(event)
    sent: Json = thread.run_input("And tomorrow?").model_dump(mode="json", by_alias=True, exclude_none=True)
    return sent


@pytest.mark.parametrize("retry_without_reasoning", [True, False])
def test_the_gateway_asks_once_more_without_what_was_refused(retry_without_reasoning: bool) -> None:
    provider = Changing(refusing(400, SIGNATURE), ANSWER)
    parameters = {"thinking": {"type": "adaptive"}}
    with ExitStack() as stack:
        url = stack.enter_context(local_server(provider))
        chosen = upstream(API, url, parameters=parameters, retry_without_reasoning=retry_without_reasoning)
        served = stack.enter_context(local_server(create_app(chosen)))
        events = call(f"{served}/agent", poisoned()).events
    signed = [b'"signature"' in json.dumps(asked.body).encode() for asked in provider.asked]
    assert signed == ([True, False] if retry_without_reasoning else [True])
    assert events[-1].get("code") == (None if retry_without_reasoning else "reasoning_refused")


def test_turning_thinking_off_wins_over_the_parameters() -> None:
    missing = "Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    asked = Asked(refusing(400, missing), ANSWER, parameters={"thinking": {"type": "adaptive"}})
    assert [request.body["thinking"]["type"] for request in asked.provider.asked] == ["adaptive", "disabled"]
    assert asked.last["type"] == "RUN_FINISHED"
