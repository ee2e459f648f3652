"""A room per wire format: payloads to deltas.

`decoder` picks one by its API id; a new provider is a folder beside these and a row in `_DECODERS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agui_reasoning.deltas import fold
from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.parts import Part
from agui_reasoning.providers.base import Decoder

__all__ = ["API_IDS", "Decoder", "check_api", "decode_response", "decoder"]

# A decoder is imported when it is first asked for: nobody pays for the formats they do not use.
_DECODERS: dict[str, tuple[str, str]] = {
    "anthropic-messages": ("anthropic_messages", "AnthropicMessagesDecoder"),
    "openai-chat": ("openai_chat", "OpenAIChatDecoder"),
    "openai-responses": ("openai_responses", "OpenAIResponsesDecoder"),
}

API_IDS: tuple[str, ...] = tuple(sorted(_DECODERS))
"""Every API id that can be decoded."""


def decoder(api: str, *, provider: str | None = None, model: str | None = None) -> Decoder:
    """Make the decoder of one stream.

    Args:
        api: One of `API_IDS`.
        provider: Who serves it, for example ``"openrouter"``; default is the vendor of a single-vendor API.
        model: The model's name where the payloads do not tell it.

    Raises:
        ConfigurationError: The API id is unknown (``unknown_api``).

    Examples:
        >>> decode = decoder("anthropic-messages")
        >>> decode.receive({"type": "ping"})
        []
    """
    check_api(api)
    folder, name = _DECODERS[api]
    kind: type[Decoder] = getattr(import_module(f"{__name__}.{folder}.decode"), name)
    return kind(provider=provider, model=model)


def decode_response(
    api: str, response: Any, *, provider: str | None = None, model: str | None = None
) -> list[Part]:
    """Decode a whole response: a dict in the API's JSON spelling, or the SDK's own object.

    Raises:
        ConfigurationError: The API id is unknown (``unknown_api``).
        DecodeError: The response does not have the API's shape.
        ProviderError: It is the provider's error.
    """
    return fold(decoder(api, provider=provider, model=model).whole(response))


def check_api(api: str) -> None:
    """Tell an API id that does not exist before it is used.

    Raises:
        ConfigurationError: The API id is unknown (``unknown_api``).
    """
    if api not in _DECODERS:
        raise ConfigurationError(
            f"There is no API {api!r}.",
            code="unknown_api",
            hint=f"{did_you_mean(api, API_IDS)}Use one of: {', '.join(API_IDS)}.",
        )
