"""The list of wire formats. Each one is a folder next to this module, and a row in `_PACKAGES`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.providers.api import ProviderAPI

__all__ = [
    "API_IDS",
    "find_api",
    "group_kinds",
    "hosts_models",
    "native_kinds",
    "provider_api",
    "provider_apis",
    "signature_kinds",
    "vendor_of",
]

_PACKAGES: Final[dict[str, str]] = {
    "anthropic-messages": "agui_reasoning.providers.anthropic_messages",
    "openai-responses": "agui_reasoning.providers.openai_responses",
    "openai-chat": "agui_reasoning.providers.openai_chat",
    "bedrock-converse": "agui_reasoning.providers.bedrock_converse",
    "mistral-chat": "agui_reasoning.providers.mistral_chat",
    "cohere-chat": "agui_reasoning.providers.cohere_chat",
    "ollama": "agui_reasoning.providers.ollama",
    "gemini": "agui_reasoning.providers.gemini",
    "xai-grpc": "agui_reasoning.providers.xai_grpc",
    "litellm": "agui_reasoning.providers.litellm",
    "gemini-interactions": "agui_reasoning.providers.gemini_interactions",
}
"""The package with the descriptor of each API, imported on first use."""

API_IDS: Final[tuple[str, ...]] = tuple(sorted(_PACKAGES))
"""All API IDs, sorted."""


def provider_api(api: str) -> ProviderAPI:
    """Look up a wire format.

    Args:
        api: One of `API_IDS`.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``).

    Examples:
        >>> provider_api("anthropic-messages").title
        'Anthropic Messages'
    """
    package = _PACKAGES.get(api)
    if package is None:
        raise _unknown(api)
    return _descriptor(package)


def find_api(api: str | None) -> ProviderAPI | None:
    """Return a wire format; ``None`` for an unknown API."""
    return provider_api(api) if api in _PACKAGES else None


def provider_apis() -> tuple[ProviderAPI, ...]:
    """Return all wire formats, in display order."""
    return tuple(map(provider_api, _PACKAGES))


def vendor_of(api: str | None) -> str | None:
    """Return the provider of a single-vendor API; ``None`` for other and unknown APIs."""
    return provider_api(api).vendor if api in _PACKAGES else None


def hosts_models(api: str | None) -> bool:
    """Return whether hosts serve models of several vendors over an API, named ``vendor/model``."""
    return api in _PACKAGES and provider_api(api).hosts_models


def native_kinds(api: str | None) -> tuple[str, ...]:
    """Return the prefixes of native parts that can be returned to an API; none for an unknown API."""
    return provider_api(api).native_kinds if api in _PACKAGES else ()


@cache
def signature_kinds() -> dict[str, tuple[str, str]]:
    """Return, by provider, the API and kind of bare values in histories of other producers."""
    return {
        provider: (api.id, kind) for api in provider_apis() for provider, kind in api.signature_kinds.items()
    }


@cache
def group_kinds() -> frozenset[str]:
    """Return the kinds of values that members of groups share."""
    return frozenset(kind for api in provider_apis() for kind in api.group_kinds)


@cache
def _descriptor(package: str) -> ProviderAPI:
    descriptor: ProviderAPI = import_module(package).API
    return descriptor


def _unknown(api: str) -> ConfigurationError:
    known = sorted(_PACKAGES)
    return ConfigurationError(
        f"Unknown API {api!r}.",
        code="unknown_api",
        hint=f"{did_you_mean(str(api), known)}Use one of: {', '.join(known)}.",
    )
