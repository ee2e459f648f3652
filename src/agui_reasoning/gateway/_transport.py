"""A provider's answer over HTTP: sent for, judged, cut into payloads and closed (extra ``client``).

Nothing here knows an API, but for the forms in which they all say no.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import anyio

from agui_reasoning._strict_json import Malformed, dump, load
from agui_reasoning.errors import (
    ConfigurationError,
    DecodeError,
    MissingExtraError,
    ProviderError,
    RemoteProtocolError,
    TransportError,
)
from agui_reasoning.gateway._framing import FrameReader, StreamFraming
from agui_reasoning.wire import MAX_FRAME_BYTES

try:
    import httpx2
except ImportError:
    raise MissingExtraError("agui_reasoning.gateway.HTTPUpstream", "client") from None

__all__ = ["ProviderAnswer", "Transport", "address"]

ProviderAnswer: TypeAlias = AsyncIterator[Any] | Any
"""The payloads of a stream, or a whole response."""

_Write: TypeAlias = Callable[[httpx2.AsyncClient], httpx2.Request]
"""Writes a request with the defaults of a client."""

IDLE_S: Final = 5.0
"""How long connections are kept that serve nobody, in seconds."""

_CONNECT_S: Final = 10.0
_JOBS: Final[set[asyncio.Task[None]]] = set()
_DONE: Final = "[DONE]"
_REFUSAL_BYTES: Final = 65_536
_WORDS_CHARS: Final = 2_000
_HIDDEN: Final = "[hidden]"
# A name of an error, not a sentence about it: only this goes where a provider's own words must not.
_NAME: Final = re.compile(r"[\w.:/-]{1,64}", re.ASCII)


class Transport:
    """One address, and one HTTP client for all requests to it."""

    def __init__(
        self,
        url: httpx2.URL,
        secrets: Sequence[str],
        timeout_s: float | None,
        http: httpx2.AsyncClient | None,
        framing: StreamFraming,
    ) -> None:
        """Prepare; the client is opened for the first request."""
        self._framing = framing
        self._url = url
        self._secrets = tuple(secrets)
        self._timeout_s = timeout_s
        self._timeout = httpx2.Timeout(timeout_s, connect=min(timeout_s or _CONNECT_S, _CONNECT_S))
        self._theirs = http
        self._http = http
        self._answering = 0
        self._answers = 0
        self._watched = False

    async def aclose(self) -> None:
        """Close the client, unless it is the caller's."""
        opened, self._http = self._http, self._theirs
        if opened is not None and opened is not self._theirs:
            await opened.aclose()

    async def _close_idle(self) -> None:
        """Close the connections that were kept, if they have served nobody for a while.

        The pool closes idle connections only when the next request comes, which may be never.
        """
        last = -1
        while self._answering or last != self._answers:
            last = self._answers
            await anyio.sleep(IDLE_S)
        self._watched = False
        with suppress(Exception):  # there is nobody to tell
            await self.aclose()

    def ask(self, headers: Mapping[str, str], content: bytes) -> AbstractAsyncContextManager[ProviderAnswer]:
        """Make a request; it is sent when the context is entered, and its answer closed when it is left.

        Entering raises `ProviderError` when the provider says no, and `TransportError` when there is no
        answer, or one that is neither a stream nor JSON.
        """

        def write(http: httpx2.AsyncClient) -> httpx2.Request:
            return http.build_request(
                "POST", self._url, content=content, headers=dict(headers), timeout=self._timeout
            )

        return self._answer(write)

    @asynccontextmanager
    async def _answer(self, write: _Write) -> AsyncIterator[ProviderAnswer]:
        self._answers += 1
        self._answering += 1
        try:
            async with self._judged(write) as answer:
                yield answer
        finally:
            self._answering -= 1

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            # Every run holds a connection for as long as it lasts: a limit would make runs wait in line.
            self._http = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None))
        if not (self._theirs or self._watched):
            self._watched = True
            _spawn(self._close_idle)
        return self._http

    @asynccontextmanager
    async def _judged(self, write: _Write) -> AsyncIterator[ProviderAnswer]:
        http = self._client()
        response = await self._send(http, write(http))
        async with _pieces(response) as pieces:
            if not response.is_success:
                raise await self._refusal(response.status_code, pieces)
            if _media_type(response) == self._framing.media_type:
                async with aclosing(self._payloads(pieces)) as payloads:
                    yield payloads
            else:
                yield self._whole(response.status_code, await self._read(pieces, MAX_FRAME_BYTES))

    async def _send(self, http: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
        try:
            # A redirect would take the key to another address.
            return await http.send(request, stream=True, follow_redirects=False)
        except httpx2.TimeoutException:
            error = self._silent()
        except httpx2.HTTPError as cause:
            error = _unreachable(cause)
        raise error  # outside: the cause holds the request, and so the key

    async def _payloads(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Any, None]:
        """Cut a stream into payloads, to its end or to where it breaks off.

        Whether anything is missing then is for the decoder to say, which knows where an answer ends. Only of
        a stream of nothing it knows nothing.
        """
        empty = True
        async with aclosing(self._texts(pieces)) as texts:
            async for text in texts:
                empty = False
                yield self._payload(text)
        if empty:
            raise DecodeError(
                "The provider's stream ended before it began.",
                code="truncated_stream",
                hint="Ask again; the provider, or something before it, closed the connection.",
            )

    async def _texts(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
        frames = self._framing.reader()
        error: TransportError | None = None
        try:
            async for data in pieces:
                for text in frames.feed(data):
                    yield text
            for text in _last_frames(frames):
                yield text
        except httpx2.TimeoutException:
            error = self._silent()
        except httpx2.HTTPError:
            return
        if error is not None:
            raise error

    def _payload(self, text: str) -> Any:
        if text.strip() == _DONE:
            return _DONE
        payload = load(text)
        if isinstance(payload, Malformed):
            raise DecodeError(
                "A frame of the provider's stream is not JSON.",
                code="bad_payload",
                hint="Check that the base URL is that of the API itself.",
            )
        return self._hide_in_error(payload)

    def _whole(self, status_code: int, body: bytes) -> Any:
        response = load(body.decode(errors="replace"))
        if isinstance(response, Malformed):
            raise TransportError(
                "The provider answered with something else than an event stream or JSON.",
                code="not_an_event_stream",
                hint="Check that the base URL is that of the API itself.",
                status_code=status_code,
            )
        return self._hide_in_error(response)

    async def _read(self, pieces: AsyncIterator[bytes], limit: int) -> bytes:
        """The first bytes of a body."""
        body = bytearray()
        try:
            async for data in pieces:
                body += data
                if len(body) > limit:
                    break
            return bytes(body[:limit])
        except httpx2.TimeoutException:
            error = self._silent()
        except httpx2.HTTPError as cause:
            error = _unreachable(cause)
        raise error

    async def _refusal(self, status_code: int, pieces: AsyncIterator[bytes]) -> ProviderError:
        """What an answer means that is no success: its names, and the provider's words for the log."""
        text = ""
        with suppress(TransportError):  # that it said no is known already
            text = (await self._read(pieces, _REFUSAL_BYTES)).decode(errors="replace")
        error = _error(load(text))
        words = error.get("message") if error else text
        return ProviderError(
            provider_code=self._name(error.get("code")) or str(status_code),
            provider_type=self._name(error.get("type") or error.get("status")),
            provider_message=self._hide(" ".join(str(words or "").split()))[:_WORDS_CHARS],
            status_code=status_code,
        )

    def _silent(self) -> TransportError:
        return TransportError(
            f"The provider was silent for {self._timeout_s} seconds.",
            code="timeout",
            hint="Raise `timeout_s` if the model thinks longer than that without a word.",
        )

    def _name(self, value: Any) -> str | None:
        name = str(value) if isinstance(value, str | int) else ""
        return name if _NAME.fullmatch(name) and self._hide(name) == name else None

    def _hide(self, text: str) -> str:
        """Take the secrets out of what a provider repeats."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text

    def _hide_in_error(self, payload: Any) -> Any:
        """The same for an error in place of an answer; what a model says is never touched."""
        if not isinstance(payload, dict) or not _is_error(payload):
            return payload
        return load(self._hide(dump(payload)))


def address(base_url: str, path: str, query: str = "") -> httpx2.URL:
    """The address of an API. What else an address can hold may be secret, and addresses are logged.

    Raises:
        ConfigurationError: It is no plain one (``bad_url``).
    """
    try:
        url = httpx2.URL(base_url.rstrip("/") + path)
        good = url.scheme in ("http", "https") and url.host != "" and (url.port or 0) < 65_536
    except httpx2.InvalidURL:
        good = False
    if not good or url.userinfo or url.query or url.fragment:
        raise ConfigurationError(
            "The base URL is not a plain http or https URL.",
            code="bad_url",
            hint="Write it like https://api.example.com/v1: no user, no password, no query.",
        )
    return url.copy_with(query=query.encode()) if query else url


@asynccontextmanager
async def _pieces(response: httpx2.Response) -> AsyncIterator[AsyncIterator[bytes]]:
    """The bytes of a response, which is closed when the block is left.

    Its reader then runs against the closed end: it is made of generators inside generators, which do not
    close one another, and trio complains of each that is collected before it has come to its end.
    """
    pieces = response.aiter_bytes()
    try:
        yield pieces
    finally:
        await response.aclose()
        with suppress(httpx2.HTTPError, httpx2.StreamError):
            async for _ in pieces:
                pass


def _last_frames(frames: FrameReader) -> list[str]:
    """What stands behind the last whole frame of a stream: one that lacks only its end, or a piece of one."""
    with suppress(RemoteProtocolError):
        return [text for text in frames.close() if not isinstance(load(text), Malformed)]
    return []


def _unreachable(cause: httpx2.HTTPError) -> TransportError:
    return TransportError(
        f"The connection to the provider failed ({type(cause).__name__}).",
        code="unreachable",
        hint="Check the base URL, and that this machine can connect to it.",
    )


def _spawn(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Begin something that outlives the run that begins it; whoever runs the loop cancels it."""
    try:
        task = asyncio.get_running_loop().create_task(job())
    except RuntimeError:
        sys.modules["trio"].lowlevel.spawn_system_task(job)
    else:
        _JOBS.add(task)
        task.add_done_callback(_JOBS.discard)


def _media_type(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _error(body: Any) -> Mapping[str, Any]:
    """The object that says what is wrong: under ``error`` by rule, or the body itself, or its first item."""
    if isinstance(body, list) and body:
        return _error(body[0])
    if not isinstance(body, Mapping):
        return {}
    error = body.get("error", body)
    return error if isinstance(error, Mapping) else {"message": error}


def _is_error(payload: Mapping[str, Any]) -> bool:
    return bool(payload.get("error")) or payload.get("type") in ("error", "response.failed")
