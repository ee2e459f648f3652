"""Wire formats: payloads to deltas, and conversations to requests.

`decoder` creates the decoder of an API. Applications bring formats of their own as a `ProviderAPI`.
Those of this package are listed in `registry`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.providers._decoding import decode_response, decoder
    from agui_reasoning.providers.api import HTTPEndpoint, ProviderAPI
    from agui_reasoning.providers.base import Decoder
    from agui_reasoning.providers.registry import API_IDS, provider_api, provider_apis

__all__ = [
    "API_IDS",
    "Decoder",
    "HTTPEndpoint",
    "ProviderAPI",
    "decode_response",
    "decoder",
    "provider_api",
    "provider_apis",
]

_HOMES: Final = {
    "agui_reasoning.providers._decoding": "decode_response decoder",
    "agui_reasoning.providers.api": "HTTPEndpoint ProviderAPI",
    "agui_reasoning.providers.base": "Decoder",
    "agui_reasoning.providers.registry": "API_IDS provider_api provider_apis",
}

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
