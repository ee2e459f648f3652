"""A provider's HTTP API, replayed: for the vendor's own SDK, on this machine and without a key.

Point the SDK at it with ``base_url``: the server's URL for ``anthropic``, the URL and ``/v1`` for ``openai``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.scripted import load
from agui_reasoning.scripted.exchange import Exchange, check_exchange, is_whole
from agui_reasoning.strict_json import dump
from agui_reasoning.strict_json import load as load_json
from agui_reasoning.wire import MEDIA_TYPE

__all__ = ["provider_app"]

_PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-responses": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
}
# Chat completions alone does not name its events.
_NAMED = frozenset({"anthropic-messages", "openai-responses"})


def provider_app(exchange: str | Mapping[str, Any], *, delay_s: float = 0.0) -> Starlette:
    """Make an application that answers like the provider of an exchange.

    Args:
        exchange: The name of a script (`agui_reasoning.scripted.names`), or a recording. A streamed one
            answers requests with ``"stream": true``, a whole one all others.
        delay_s: Seconds to wait before each event.

    Raises:
        ConfigurationError: There is no script of that name (``unknown_script``), or the recording is one of
            an API that is not replayed (``unknown_api``).
        DecodeError: It is no recording (``bad_recording``).
    """
    recording = load(exchange) if isinstance(exchange, str) else check_exchange(exchange)
    path = _PATHS.get(recording["api"])
    if path is None:
        raise ConfigurationError(
            f"The API {recording['api']!r} is not replayed over HTTP.",
            code="unknown_api",
            hint=f"Use an exchange of: {', '.join(sorted(_PATHS))}.",
        )
    return Starlette(routes=[Route(path, _Provider(recording, delay_s).answer, methods=["POST"])])


@dataclass(frozen=True, slots=True)
class _Provider:
    exchange: Exchange
    delay_s: float

    async def answer(self, request: Request) -> Response:
        asked = load_json((await request.body()).decode(errors="replace"))
        if not isinstance(asked, Mapping):
            return _refusal("The body is no JSON object.")
        whole = is_whole(self.exchange)
        if bool(asked.get("stream")) is whole:
            return _refusal(f"This replay has a {'whole response' if whole else 'stream'} only.")
        if whole:
            return JSONResponse(self.exchange["response"])
        return StreamingResponse(self._frames(), media_type=MEDIA_TYPE)

    async def _frames(self) -> AsyncIterator[str]:
        for event in self.exchange["events"]:
            if self.delay_s:
                await anyio.sleep(self.delay_s)
            yield self._name(event) + _data(event["data"])

    def _name(self, event: Mapping[str, Any]) -> str:
        if self.exchange["api"] not in _NAMED or not isinstance(event["data"], Mapping):
            return ""
        return f"event: {event.get('event') or event['data'].get('type')}\n"


def _data(data: Any) -> str:
    """A frame's data; what is no JSON, such as ``[DONE]``, goes as it is."""
    return f"data: {data if isinstance(data, str) else dump(data)}\n\n"


def _refusal(message: str) -> Response:
    """An error in a form that the SDKs of all three APIs read."""
    return JSONResponse(
        {"type": "error", "error": {"type": "invalid_request_error", "message": message}}, 400
    )
