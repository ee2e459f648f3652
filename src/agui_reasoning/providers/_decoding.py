"""Decode a stream or a whole response of any wire format, by its API id."""

from __future__ import annotations

from typing import Any

from agui_reasoning.deltas import fold
from agui_reasoning.parts import Part
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.registry import provider_api

__all__ = ["decode_response", "decoder"]


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
    return provider_api(api).load_decoder()(provider=provider, model=model)


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
