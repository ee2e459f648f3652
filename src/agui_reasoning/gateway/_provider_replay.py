"""A replay of a provider's HTTP API, for use with the vendor's SDK, locally and without a key.

Pass its URL to the SDK as ``base_url``: the server's URL for ``anthropic``, and the URL with ``/v1`` for
``openai``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning._scripted._exchange import Exchange, is_whole
from agui_reasoning._scripted._sequence import choose, sequence
from agui_reasoning._scripted._transcript import read_request
from agui_reasoning._strict_json import load
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.gateway._framing import FRAMINGS, StreamFraming
from agui_reasoning.gateway._provider_rules import Rules
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.providers.api import HTTPEndpoint, ProviderAPI
from agui_reasoning.providers.transcript import Speaker

__all__ = ["provider_app"]

_STORED: Final[tuple[Speaker, ...]] = ("user", "model")
"""The speakers of the conversation that the provider has stored, if a request continues it."""


def provider_app(
    exchange: str | Mapping[str, Any],
    *,
    delay_s: float = 0.0,
    on_request: Callable[[dict[str, Any]], None] | None = None,
) -> Starlette:
    """Create an application that answers like the provider of an exchange.

    A script replays a complete conversation, and the request selects the exchange. Requests that the provider
    would reject get status 400: a result without its call, an opaque value that was changed or invented, or a
    call without its reasoning while the model waits for the result.

    Args:
        exchange: The name of a script (`agui_reasoning._scripted.names`), or a recording, which answers every
            request. A streamed recording answers requests with ``"stream": true``, a whole response all
            others.
        delay_s: Seconds to wait before each event.
        on_request: Called with each request before the response; ``requests.append`` collects them.

    Raises:
        ConfigurationError: The script is unknown (``unknown_script``), or the API of the recording cannot be
            replayed (``unknown_api``).
        DecodeError: The recording is malformed (``bad_recording``).
    """
    exchanges = sequence(exchange)
    api = exchanges[0]["api"]
    spec = provider_api(api)
    if spec.http is None or spec.transcript is None:
        replayed = [known.id for known in provider_apis() if known.http and known.transcript]
        raise ConfigurationError(
            f"The API {api!r} cannot be replayed over HTTP.",
            code="unknown_api",
            hint=f"Use an exchange of one of: {', '.join(replayed)}.",
        )
    provider = _Provider(
        spec, exchanges, spec.http, FRAMINGS[spec.http.framing], Rules(exchanges), delay_s, on_request
    )
    return Starlette(routes=[Route(spec.http.base + spec.http.path, provider.answer, methods=["POST"])])


@dataclass(frozen=True, slots=True)
class _Provider:
    api: ProviderAPI
    exchanges: Sequence[Exchange]
    http: HTTPEndpoint
    framing: StreamFraming
    rules: Rules
    delay_s: float
    on_request: Callable[[dict[str, Any]], None] | None

    async def answer(self, request: Request) -> Response:
        body = load((await request.body()).decode(errors="replace"))
        if not isinstance(body, dict):
            return _refusal("The body is not a JSON object.")
        if self.on_request is not None:
            self.on_request(body)
        entries = read_request(self.api.id, body)
        stored = self.api.stores and bool(body.get(self.api.previous_id))
        if fault := self.rules.broken_by(entries, stored=stored):
            return _refusal(fault)
        exchange = choose(
            self.exchanges, (*(_STORED if stored else ()), *(entry.speaker for entry in entries))
        )
        whole = is_whole(exchange)
        streams = self.http.model_in_path or bool(body.get("stream"))
        if streams is whole:
            return _refusal(f"Only a {'whole response' if whole else 'stream'} is available.")
        if whole:
            return JSONResponse(exchange["response"])
        return StreamingResponse(self._frames(exchange), media_type=self.framing.media_type)

    async def _frames(self, exchange: Exchange) -> AsyncIterator[bytes]:
        for event in exchange["events"]:
            if self.delay_s:
                await anyio.sleep(self.delay_s)
            yield self.framing.write(self.http, event)


def _refusal(message: str) -> Response:
    """Return an error in a form that the vendors' SDKs can read."""
    error = {"type": "invalid_request_error", "message": f"replay: {message}"}
    return JSONResponse({"type": "error", "error": error}, 400)
