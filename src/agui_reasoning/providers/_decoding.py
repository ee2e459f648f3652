"""Decodes streams and whole responses of any wire format, by API ID."""

from __future__ import annotations

import warnings
from typing import Any

from agui_reasoning.deltas import fold
from agui_reasoning.errors import AGUIReasoningWarning
from agui_reasoning.parts import Part
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.registry import provider_api

__all__ = ["decode_response", "decoder"]


def decoder(api: str, *, provider: str | None = None, model: str | None = None) -> Decoder:
    """Create the decoder of a stream.

    Args:
        api: One of `API_IDS`.
        provider: The provider, such as ``"openrouter"``; default is the vendor of a single-vendor API.
        model: The model name, if the payloads do not contain it.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``).

    Examples:
        >>> decode = decoder("anthropic-messages")
        >>> decode.receive({"type": "ping"})
        []
    """
    return provider_api(api).load_decoder()(provider=provider, model=model)


def decode_response(
    api: str, response: Any, *, provider: str | None = None, model: str | None = None
) -> list[Part]:
    """Decode a whole response: the API's JSON as a dict, or the SDK's object.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``).
        DecodeError: The response does not have the API's format.
        ProviderError: The response is an error of the provider.

    Warns:
        AGUIReasoningWarning: Something of the response was omitted.
    """
    reader = decoder(api, provider=provider, model=model)
    parts = fold(reader.whole(response))
    for sentence in reader.warnings:
        warnings.warn(sentence, AGUIReasoningWarning, stacklevel=2)
    return parts
