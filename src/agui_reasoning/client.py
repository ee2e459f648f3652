"""An AG-UI client over HTTP that streams runs into a `Conversation` (extra ``client``)."""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import chain
from socket import gaierror
from typing import Any, Final, Literal, Self

from ag_ui.core import Context, Event, ResumeEntry, RunAgentInput, RunErrorEvent, Tool

from agui_reasoning._strict_json import load
from agui_reasoning.consumer import Conversation, UserContent
from agui_reasoning.errors import (
    LocalProtocolError,
    MissingExtraError,
    RemoteProtocolError,
    RunFailedError,
    TransportError,
    TruncatedRunError,
)
from agui_reasoning.wire import MEDIA_TYPE, SSEDecoder

try:
    import httpx2
except ImportError:
    raise MissingExtraError("agui_reasoning.client", "client") from None

__all__ = ["AgentClient", "RunStream"]

_CONNECT_S: Final = 10.0
_REFUSAL_BYTES: Final = 65_536
_CODE: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_ERROR_HINT: Final = "Read the agent's message from `error_message`."
_CLOSING: Final[set[asyncio.Task[None]]] = set()


class AgentClient:
    """Calls an AG-UI endpoint over HTTP. Use it as an async context manager.

    Examples:
        ::

            conversation = Conversation()
            async with AgentClient("http://localhost:8000/agent") as client:
                async for event in client.run(conversation, "How is the weather in Bergen?"):
                    ...
                print(conversation.messages[-1].content)
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """Create a client.

        Args:
            url: The URL of the endpoint.
            headers: Additional headers for every request, such as ``Authorization``.
            timeout: Seconds without data after which a run is abandoned; unlimited by default.
            http: Your own HTTP client, which is not closed; by default, a new one is created.
        """
        self._url = url
        self._headers = {**(headers or {}), "accept": MEDIA_TYPE, "content-type": "application/json"}
        self._timeout = httpx2.Timeout(timeout, connect=timeout or _CONNECT_S)
        self._given_http = http
        self._http = http

    def __repr__(self) -> str:
        url = httpx2.URL(self._url).copy_with(userinfo=b"", query=None, fragment=None)
        return f"AgentClient({str(url)!r})"

    async def __aenter__(self) -> Self:
        if self._http is None:
            self._http = await httpx2.AsyncClient().__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._http is not self._given_http and self._http is not None:
            await self._http.aclose()
        self._http = self._given_http

    def run(
        self,
        conversation: Conversation,
        content: UserContent | None = None,
        *,
        tools: Sequence[Tool | Mapping[str, Any]] = (),
        context: Sequence[Context | Mapping[str, Any]] = (),
        forwarded_props: Any = None,
        resume: Sequence[ResumeEntry | Mapping[str, Any]] | None = None,
    ) -> RunStream:
        """Start a run and iterate over its events.

        The conversation is updated before each event is yielded. Leaving the loop closes the connection and
        marks the run as truncated; use ``async with contextlib.aclosing(...)`` to control when.

        Args:
            conversation: Its messages are sent, and the response is added to it.
            content: The user's message.
            tools: The client's tools.
            context: Context for the agent.
            forwarded_props: Passed to the agent unchanged.
            resume: Answers to the conversation's interrupts.

        Raises:
            LocalProtocolError: The client is not open (``client_closed``), or the input is invalid, see
                `Conversation.run_input`. Nothing was sent.
            TransportError: The agent returned no event stream (``unreachable``, ``http_status``,
                ``not_an_event_stream``).
            RemoteProtocolError: The stream breaks the protocol.
            TruncatedRunError: The stream ends inside a run, or before one.
            RunFailedError: The last run ended with RUN_ERROR, which was yielded before.
        """

        def make_request() -> httpx2.Request:
            run_input = conversation.run_input(
                content,
                tools=tools,
                context=context,
                forwarded_props=forwarded_props,
                resume=resume,
                now=time.time(),
            )
            return self._request(run_input)

        return RunStream(self._opened(), conversation, make_request)

    def connect(self, conversation: Conversation) -> RunStream:
        """Join the newest run of a thread again, and iterate over its events; see `agui_reasoning.durable`.

        The conversation may hold nothing of the run, some, or all. Afterwards it is what a client has that
        was never cut off. Leaving the loop leaves the run going.

        Args:
            conversation: A conversation with a thread ID. A run that it holds as open must have ended.

        Raises:
            LocalProtocolError: The client is not open (``client_closed``), the conversation has no thread ID
                (``no_thread``), or a run is open (``run_open``). Nothing was sent.
            TransportError: As for `run`; the status is 404 if the server has no such thread.
            RemoteProtocolError: As for `run`.
            TruncatedRunError: As for `run`.
            RunFailedError: As for `run`.
        """

        def make_request() -> httpx2.Request:
            if conversation.thread_id is None:
                raise LocalProtocolError(
                    "The conversation has no thread ID.",
                    code="no_thread",
                    hint="Create it with the ID of the thread, or start a run.",
                )
            return self._request(Conversation(conversation.thread_id).run_input(), "/connect")

        return RunStream(self._opened(), conversation, make_request)

    def _opened(self) -> httpx2.AsyncClient:
        if self._http is None:
            raise LocalProtocolError(
                "The client is not open.",
                code="client_closed",
                hint="Use it inside `async with`, or pass your own HTTP client.",
            )
        return self._http

    def _request(self, run_input: RunAgentInput, path: str = "") -> httpx2.Request:
        http, url = self._opened(), httpx2.URL(self._url)
        body = run_input.model_dump_json(by_alias=True).encode()
        if path:
            url = url.copy_with(path=f"{url.path.rstrip('/')}{path}")
        return http.build_request("POST", url, content=body, headers=self._headers, timeout=self._timeout)


class RunStream(AsyncIterator[Event]):
    """The events of a run. Returned by `AgentClient.run`."""

    def __init__(
        self, http: httpx2.AsyncClient, conversation: Conversation, make_request: Callable[[], httpx2.Request]
    ) -> None:
        self._reading = _Reading(conversation)
        # Not a method: a generator that references this object would keep it alive after the loop was left.
        self._events = _events(http, self._reading, make_request)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        try:
            return await anext(self._events)
        except BaseException:
            self._reading.leave()
            raise

    async def aclose(self) -> None:
        """Close the connection, and mark an unfinished run as truncated."""
        self._reading.leave()
        await self._events.aclose()

    def __del__(self) -> None:
        # Python does not report that a loop was left, other than by this call. The generator must not be
        # collected while it holds a connection, so the event loop closes it as soon as possible.
        if self._reading.streaming:
            self._reading.leave()
            _close_soon(self._events)


@dataclass(slots=True)
class _Reading:
    """A conversation that a response is streamed into."""

    conversation: Conversation
    streaming: bool = False

    def leave(self) -> None:
        """Stop reading. An abandoned run is truncated, not cancelled (C57)."""
        if self.streaming:
            self.streaming = False
            with suppress(TruncatedRunError):
                self.conversation.end_of_stream()


async def _events(
    http: httpx2.AsyncClient, reading: _Reading, make_request: Callable[[], httpx2.Request]
) -> AsyncGenerator[Event, None]:
    response = await _send(http, make_request())
    reading.streaming = True
    failure: RunErrorEvent | None = None
    async with aclosing(_reads(response)) as reads:
        async for raw_events in reads:
            for event in chain.from_iterable(map(reading.conversation.receive, raw_events)):
                failure = event if isinstance(event, RunErrorEvent) else None
                yield event
    reading.streaming = False
    reading.conversation.end_of_stream()
    if failure is not None:
        raise RunFailedError(failure)


def _close_soon(events: AsyncGenerator[Event, None]) -> None:
    try:
        task = asyncio.get_running_loop().create_task(_close(events))
    except RuntimeError:
        trio = sys.modules.get("trio")
        if trio is not None:
            with suppress(RuntimeError):
                trio.lowlevel.spawn_system_task(_close, events)
    else:
        _CLOSING.add(task)
        task.add_done_callback(_CLOSING.discard)


async def _close(events: AsyncGenerator[Event, None]) -> None:
    with suppress(Exception):  # in the background, without a caller to raise it to
        await events.aclose()


async def _send(http: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
    """Send the request, and check that the response is an event stream."""
    try:
        response = await http.send(request, stream=True)
    except httpx2.HTTPError as error:
        failure = unreachable(
            "The agent could not be reached", error, "Check the URL, and that the agent is running."
        )
    else:
        fault = await _fault(response)
        if fault is not None:
            await response.aclose()
            raise fault
        return response
    raise failure  # outside the handler: the error has the request as its context, and thus the history


async def _reads(response: httpx2.Response) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield the events of each read of a response, until it ends or breaks off.

    A lost connection raises no error here, because the state of the run shows whether events are missing.
    """
    decoder = SSEDecoder()
    pieces = response.aiter_bytes()
    try:
        async for data in pieces:
            yield decoder.feed(data)
    except httpx2.HTTPError:
        return
    finally:
        await close_response(response, pieces)
    try:
        last_events = decoder.close()
    except RemoteProtocolError:
        return  # cut inside a frame
    yield last_events


async def close_response(response: httpx2.Response, pieces: AsyncIterator[bytes]) -> None:
    """Close a response, then exhaust its reader.

    The reader consists of nested generators that do not close each other, and trio warns about each one that
    is garbage-collected before it is exhausted.
    """
    await response.aclose()
    with suppress(httpx2.HTTPError, httpx2.StreamError):
        async for _ in pieces:
            pass


async def _fault(response: httpx2.Response) -> TransportError | None:
    if response.status_code != httpx2.codes.OK:
        code, message = _error(await _beginning(response))
        return TransportError(
            f"The agent returned HTTP status {response.status_code}{f' ({code})' if code else ''}.",
            code="http_status",
            hint=_ERROR_HINT if message else "The agent rejected the input or failed; see its log.",
            status_code=response.status_code,
            error_code=code,
            error_message=message,
        )
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        return TransportError(
            "The agent did not return an event stream.",
            code="not_an_event_stream",
            hint="Check that the URL points to an AG-UI endpoint.",
            status_code=response.status_code,
        )
    return None


async def _beginning(response: httpx2.Response) -> bytes:
    """Return the beginning of the body of an error response."""
    body = bytearray()
    pieces = response.aiter_bytes()
    try:
        async for piece in pieces:
            body += piece
            if len(body) > _REFUSAL_BYTES:
                break
    except httpx2.HTTPError:
        pass
    finally:
        await close_response(response, pieces)
    return bytes(body[:_REFUSAL_BYTES])


def _error(body: bytes) -> tuple[str | None, str]:
    """Return code and message of a body such as the gateway's ``{"error": {"code": …, "message": …}}``."""
    document = load(body.decode(errors="replace"))
    error = document.get("error") if isinstance(document, dict) else None
    members = error if isinstance(error, dict) else {}
    code, message = members.get("code"), members.get("message")
    is_code = isinstance(code, str) and _CODE.fullmatch(code)
    return code if is_code else None, message if isinstance(message, str) else ""


# -- connections that failed


_MOST: Final = 32
"""The maximum number of errors that are looked at; chains can be circular."""

_REFUSED: Final = "Check the port, and that the server is running."
_TLS: Final = "Check whether the URL wants https, the certificate, and a proxy between."
_WHYS: Final[tuple[tuple[type[BaseException], Literal["dns", "tls", "refused"], str, str], ...]] = (
    (gaierror, "dns", "the host name could not be resolved", "Check the host in the URL, and DNS."),
    (ssl.SSLError, "tls", "the TLS handshake failed", _TLS),
    (ConnectionRefusedError, "refused", "the connection was refused", _REFUSED),
)
"""The kinds of errors: the reason, what it means, and what to do."""


def unreachable(what: str, error: BaseException, hint: str) -> TransportError:
    """Return the error for a connection that failed.

    It neither quotes nor references the other error, which contains the request, and thus the history. The
    hint is for unknown reasons.
    """
    behind = list(_behind(error))
    for kind, reason, told, advice in _WHYS:
        if any(isinstance(one, kind) for one in behind):
            return TransportError(f"{what}: {told}.", code="unreachable", hint=advice, reason=reason)
    return TransportError(f"{what} ({type(error).__name__}).", code="unreachable", hint=hint)


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those behind it, also where the library that raised it suppressed them."""
    waiting = [error]
    for _ in range(_MOST):
        if not waiting:
            return
        found = waiting.pop()
        yield found
        linked = found.__cause__ or found.__context__
        waiting += [*([linked] if linked else ()), *getattr(found, "exceptions", ())]
