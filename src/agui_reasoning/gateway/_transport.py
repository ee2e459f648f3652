"""Requests to a provider over HTTP, and the payloads of its responses (extra ``client``).

Independent of the API, except for the common forms of error responses.
"""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.request import getproxies

import anyio

from agui_reasoning._driver import google_reason, retry_after, spawn
from agui_reasoning._strict_json import Malformed, dump, load
from agui_reasoning.asgi import media_type
from agui_reasoning.errors import (
    ConfigurationError,
    DecodeError,
    MissingExtraError,
    ProviderError,
    RemoteProtocolError,
    TransportError,
)
from agui_reasoning.gateway._framing import FrameReader, StreamFraming, decode_utf8
from agui_reasoning.wire import MAX_FRAME_BYTES

if TYPE_CHECKING:
    from agui_reasoning.gateway._http import Retries

try:
    import httpx2
except ImportError:
    raise MissingExtraError("agui_reasoning.gateway.HTTPUpstream", "client") from None

from agui_reasoning.client import close_response, unreachable

ProviderAnswer: TypeAlias = AsyncIterator[Any] | Any
"""The payloads of a stream, or a whole response."""

_Write: TypeAlias = Callable[[httpx2.AsyncClient], httpx2.Request]
"""Creates a request with the defaults of a client."""

IDLE_S: Final = 5.0
"""The time before idle connections are closed, in seconds."""

AFTER_END_S: Final = 5.0
"""How long a stream may stay open after the last payload of its response, in seconds; then it is closed."""

_LAST: Final = (
    "message_stop",
    "response.completed",
    "response.incomplete",
    "message-end",
    "interaction.completed",
)
"""The types of the last payload of a response."""

_MAY_BE_LAST: Final = tuple(f'"{one}"' for one in (*_LAST, "messageStop", "metadata", "finishReason", "done"))
"""What the text of a last payload holds. Calls and schemas of tools may hold it, too: the payload decides."""

_MARKS_OF_ERRORS: Final = ('"error"', '"response.failed"')
_SLICE_BYTES: Final = 16_384
_RECEIVING: Final = socket.SOL_SOCKET, socket.SO_RCVBUF, 32_768
_REFUSAL_BYTES: Final = 65_536
_WORDS_CHARS: Final = 2_000
_HIDDEN: Final = "[hidden]"
# AWS quotes the expected value in its errors.
_SIGNATURE: Final = re.compile(r"(?<=Signature=)[0-9a-f]{64}", re.IGNORECASE)
_AWS_ERROR: Final = "x-amzn-errortype"
# The name of an error, as opposed to a message. Only names are shown to clients.
_NAME: Final = re.compile(r"[\w.:/-]{1,64}", re.ASCII)


class Transport:
    """Sends requests to one URL with one HTTP client."""

    def __init__(
        self,
        url: httpx2.URL,
        secrets: Callable[[], Iterable[str]],
        timeout_s: float | None,
        http: httpx2.AsyncClient | None,
        framing: StreamFraming,
        retries: Retries,
    ) -> None:
        """Create a transport. The client is opened for the first request."""
        self._retries = retries
        self._framing = framing
        self._url = url
        self._secrets = secrets
        self._timeout_s = timeout_s
        self._timeout = httpx2.Timeout(timeout_s)
        self._given_http = http
        self._http = http
        self._answering = 0
        self._answers = 0
        self._watched = False

    async def aclose(self) -> None:
        """Close the client, unless the caller passed it."""
        opened, self._http = self._http, self._given_http
        if opened is not None and opened is not self._given_http:
            await opened.aclose()

    async def _close_idle(self) -> None:
        """Close the client after it has been idle for a while.

        The connection pool closes idle connections only at the next request.
        """
        last = -1
        while self._answering or last != self._answers:
            last = self._answers
            await anyio.sleep(IDLE_S)
        self._watched = False
        with suppress(Exception):  # in the background, without a caller to raise it to
            await self.aclose()

    def ask(self, headers: Mapping[str, str], content: bytes) -> AbstractAsyncContextManager[ProviderAnswer]:
        """Return a context that sends a request on entry, and closes the response on exit.

        Until the response begins, the request is repeated after failures that can pass. Entering raises
        `ProviderError` if the provider returns an error, and `TransportError` if there is no response, or one
        that is neither a stream nor JSON.
        """

        def write(http: httpx2.AsyncClient) -> httpx2.Request:
            return http.build_request(
                "POST", self._url, content=content, headers=dict(headers), timeout=self._timeout
            )

        return self._answer(write)

    def _client(self) -> httpx2.AsyncClient:
        if self._http is None:
            self._http = _client()
        if not (self._given_http or self._watched):
            self._watched = True
            spawn(self._close_idle)
        return self._http

    @asynccontextmanager
    async def _answer(self, write: _Write) -> AsyncIterator[ProviderAnswer]:
        self._answers += 1
        self._answering += 1
        try:
            http = self._client()
            response = await self._retries.call(lambda: self._opened(http, write(http)))
            async with _pieces(response) as pieces:
                if self._framing.has_type(media_type(response.headers)):
                    _bound(response)
                    async with aclosing(self._payloads(pieces)) as payloads:
                        yield payloads
                else:
                    yield self._whole(response.status_code, await self._read(pieces, MAX_FRAME_BYTES))
        finally:
            self._answering -= 1

    async def _opened(self, http: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
        """Send a request, and return the open response unless it is an error."""
        response = await self._send(http, request)
        if response.is_success:
            return response
        async with _pieces(response) as pieces:
            raise await self._refusal(response, pieces)

    async def _send(self, http: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
        try:
            # A redirect would send the key to another URL.
            return await http.send(request, stream=True, follow_redirects=False)
        except httpx2.HTTPError as cause:
            error = self._failed(cause)
        raise error  # outside the handler: the cause contains the request, and thus the key

    async def _payloads(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Any, None]:
        """Yield the payloads of a stream until it ends or breaks off.

        The decoder detects incomplete responses, except for an empty stream.
        """
        empty = True
        async with aclosing(self._texts(pieces)) as texts:
            async for text in texts:
                empty = False
                yield self._payload(text)
        if empty:
            raise DecodeError(
                "The provider's stream is empty.",
                code="truncated_stream",
                hint="Try again; the provider, or a proxy in front of it, closed the connection.",
            )

    async def _texts(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
        frames = self._framing.reader()
        error: TransportError | None = None
        text = ""
        try:
            while (data := await _after(text, pieces)) is not None:
                # In slices, because a client that reads slowly would keep all payloads of a read in memory.
                for start in range(0, len(data), _SLICE_BYTES):
                    for text in frames.feed(data[start : start + _SLICE_BYTES]):
                        yield text
            frames.feed(b"")  # raises the error of a bad frame after the last good one
            for text in _last_frames(frames):
                yield text
        except httpx2.TimeoutException:
            error = None if _is_last(text) else self._silent()
        except httpx2.HTTPError:
            return
        if error is not None:
            raise error

    def _payload(self, text: str) -> Any:
        """Return the text of a payload, which the decoder parses; or an error, without its secrets."""
        if not any(mark in text for mark in _MARKS_OF_ERRORS):
            return text
        payload = load(text)
        if isinstance(payload, Malformed):
            raise DecodeError(
                "A frame of the provider's stream is not JSON.",
                code="bad_payload",
                hint="Check that the base URL is that of the API itself.",
            )
        return self._hide_in_error(payload)

    def _whole(self, status_code: int, body: bytes) -> Any:
        response = load(decode_utf8(body, "The provider's response"))
        if isinstance(response, Malformed):
            raise TransportError(
                "The provider's response is neither an event stream nor JSON.",
                code="not_an_event_stream",
                hint="Check that the base URL is that of the API itself.",
                status_code=status_code,
            )
        return self._hide_in_error(response)

    async def _read(self, pieces: AsyncIterator[bytes], limit: int) -> bytes:
        """Return the beginning of a body, up to a limit."""
        body = bytearray()
        try:
            async for data in pieces:
                body += data
                if len(body) > limit:
                    break
            return bytes(body[:limit])
        except httpx2.HTTPError as cause:
            error = self._failed(cause)
        raise error

    async def _refusal(self, response: httpx2.Response, pieces: AsyncIterator[bytes]) -> ProviderError:
        """Return the error for an error response, with its names, and its message for the log."""
        text = ""
        with suppress(TransportError):  # the status is known already
            text = (await self._read(pieces, _REFUSAL_BYTES)).decode(errors="replace")
        body = load(text)
        error = _error(body)
        words = _words(error) if error else text
        status_code, headers = response.status_code, response.headers
        kind = error.get("type") or error.get("status") or headers.get(_AWS_ERROR, "").partition(":")[0]
        return ProviderError(
            provider_code=self._name(google_reason(body) or error.get("code")) or str(status_code),
            provider_type=self._name(kind),
            provider_message=self._hide(" ".join(str(words or "").split()))[:_WORDS_CHARS],
            status_code=status_code,
            retry_after=retry_after(headers, body),
        )

    def _failed(self, cause: httpx2.HTTPError) -> TransportError:
        connected = not isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout)
        if connected and isinstance(cause, httpx2.TimeoutException):
            return self._silent()
        hint = "Check the base URL, and that this machine can connect to it."
        return unreachable("The connection to the provider failed", cause, hint)

    def _silent(self) -> TransportError:
        return TransportError(
            f"The provider sent no data for {self._timeout_s} seconds.",
            code="timeout",
            hint="Raise `timeout_s` if the model thinks longer without sending data.",
        )

    def _name(self, value: Any) -> str | None:
        name = str(value) if isinstance(value, str | int) else ""
        return name if _NAME.fullmatch(name) and self._hide(name) == name else None

    def _hide(self, text: str) -> str:
        """Replace secrets that the provider repeats."""
        for secret in self._secrets():
            text = text.replace(secret, _HIDDEN)
        return _SIGNATURE.sub(_HIDDEN, text)

    def _hide_in_error(self, payload: Any) -> Any:
        """Replace secrets in an error payload. Model output is not changed."""
        if not isinstance(payload, dict):
            return payload
        is_error = payload.get("error") or payload.get("type") in ("error", "response.failed")
        return load(self._hide(dump(payload))) if is_error else payload


def address(base_url: str, path: str, query: str = "") -> httpx2.URL:
    """Return the URL of an API. User info, query and fragment are rejected, because URLs are logged.

    Raises:
        ConfigurationError: The URL is invalid, or not a plain one (``bad_url``).
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
            hint="Pass a URL such as https://api.example.com/v1, without user, password and query.",
        )
    return url.copy_with(query=query.encode()) if query else url


@asynccontextmanager
async def _pieces(response: httpx2.Response) -> AsyncIterator[AsyncIterator[bytes]]:
    """Yield the bytes of a response; close it on exit."""
    pieces = response.aiter_bytes()
    try:
        yield pieces
    finally:
        await close_response(response, pieces)


async def _after(last: str, pieces: AsyncIterator[bytes]) -> bytes | None:
    """Return the next bytes; ``None`` at the end, which is not waited for for long after a whole response."""
    with anyio.move_on_after(AFTER_END_S) if _is_last(last) else nullcontext():
        return await anext(pieces, None)
    return None


def _is_last(text: str) -> bool:
    """Whether a response is whole with a payload: silence after it is no thinking."""
    if text == "[DONE]" or not any(mark in text for mark in _MAY_BE_LAST):
        return text == "[DONE]"
    payload = load(text)
    if not isinstance(payload, dict):
        return False
    candidates = payload.get("candidates")
    found = candidates if isinstance(candidates, list) else []
    return (
        payload.get("type", payload.get("event_type")) in _LAST
        or payload.get("done") is True
        or [*payload] in (["messageStop"], ["metadata"])
        or any(isinstance(one, dict) and one.get("finishReason") for one in found)
    )


def _last_frames(frames: FrameReader) -> list[str]:
    """Return the last frame of a stream if only its end is missing; an incomplete frame is dropped."""
    with suppress(RemoteProtocolError):
        return [text for text in frames.close() if not isinstance(load(text), Malformed)]
    return []


def _client() -> httpx2.AsyncClient:
    """Create a client whose connections receive only so much ahead of their reader."""
    # Each run uses a connection for its whole duration, so a limit would make runs wait.
    limits = httpx2.Limits(max_connections=None)
    if getproxies():  # a transport of ours would not use them
        return httpx2.AsyncClient(limits=limits)
    return httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(limits=limits, socket_options=[_RECEIVING]))


def _bound(response: httpx2.Response) -> None:
    """Limit how much of a stream the system receives ahead of its reader, on a connection of any client."""
    network = response.extensions.get("network_stream")
    connection = network.get_extra_info("socket") if network is not None else None
    if connection is not None:
        connection.setsockopt(*_RECEIVING)


def _error(body: Any) -> Mapping[str, Any]:
    """Return the error object of a body: its ``error``, the body itself, or its first item."""
    if isinstance(body, list) and body:
        return _error(body[0])
    if not isinstance(body, Mapping):
        return {}
    error = body.get("error", body)
    return error if isinstance(error, Mapping) else {"message": error}


def _words(error: Mapping[str, Any]) -> str:
    """Return the message of an error and, from gateways such as OpenRouter, that of the upstream."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return " ".join(str(part) for part in (error.get("message"), raw) if part)
