"""Looks up wire formats: those of this package, and those of the application.

Applications bring formats of their own: an object that is passed as ``api=`` is known by its ID from then on.
"""

from __future__ import annotations

from functools import cache
from typing import Final, get_args

from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.parts import Origin, given_origin
from agui_reasoning.providers._apis import APIS
from agui_reasoning.providers.api import Framing, ProviderAPI

__all__ = [
    "API_IDS",
    "api_id",
    "api_of",
    "find_api",
    "group_kinds",
    "hosts_models",
    "listed_ids",
    "named_origin",
    "native_kinds",
    "provider_api",
    "provider_apis",
    "signature_kinds",
    "vendor_of",
]

API_IDS: Final[tuple[str, ...]] = tuple(sorted(APIS))
"""All API IDs, sorted."""

_OWN: Final[dict[str, ProviderAPI]] = {}
"""The formats of the application, by ID."""


def api_id(api: str | ProviderAPI) -> str:
    """Return the ID of a wire format, which stands for it from then on.

    Args:
        api: An ID, or a format of the application.

    Raises:
        ConfigurationError: It is neither, or the format lacks a member or has another's ID (``bad_api``).
    """
    if isinstance(api, str):
        return api
    if not isinstance(api, ProviderAPI):
        raise _bad(f"api is {type(api).__name__}, not an ID or a ProviderAPI")
    if api.id in APIS:
        if provider_api(api.id) is not api:
            raise _bad(f"The ID {api.id!r} is that of an API of this package")
    elif _OWN.get(api.id) is not api:
        _check(api)
        _OWN[api.id] = api
    return api.id


def _check(api: ProviderAPI) -> None:
    if not isinstance(api.id, str) or not api.id:
        raise _bad("The ID of the API is not a string with text")
    if not callable(api.decoder):
        raise _bad(f"The decoder of {api.id!r} is {type(api.decoder).__name__}, and cannot be called")
    if api.encoder is not None and not callable(api.encoder):
        raise _bad(f"The encoder of {api.id!r} is {type(api.encoder).__name__}, and cannot be called")
    if isinstance(api.conversation_fields, str):
        raise _bad(f"The conversation fields of {api.id!r} are a string, not a set of names")
    http, framings = api.http, get_args(Framing)
    if http is not None and not http.path.startswith("/"):
        raise _bad(f"The HTTP path of {api.id!r} is {http.path!r}, which does not start with a slash")
    if http is not None and http.framing not in framings:
        raise _bad(f"The HTTP framing of {api.id!r} is {http.framing!r}, not one of {', '.join(framings)}")


def provider_api(api: str | ProviderAPI) -> ProviderAPI:
    """Look up a wire format.

    Args:
        api: One of `API_IDS`, or a format of your own.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``), or the format is invalid (``bad_api``).

    Examples:
        >>> provider_api("anthropic-messages").title
        'Anthropic Messages'
    """
    name = api_id(api)
    found = find_api(name)
    if found is None:
        raise ConfigurationError(
            f"Unknown API {name!r}.",
            code="unknown_api",
            hint=f"{did_you_mean(name, [*API_IDS, *_OWN])}Use one of: {', '.join(API_IDS)}.",
        )
    return found


def named_origin(
    origin: Origin | None,
    *,
    api: str | ProviderAPI | None,
    provider: str | None = None,
    model: str | None = None,
) -> Origin:
    """Return the origin that a caller names, for an API that may be a format of the application.

    Raises:
        ConfigurationError: The format is invalid (``bad_api``), or ``origin`` not alone (``wrong_option``).
    """
    return given_origin(origin, api=None if api is None else api_id(api), provider=provider, model=model)


def api_of(origin: Origin) -> ProviderAPI:
    """Look up the wire format that an origin names.

    Raises:
        ConfigurationError: The API ID is unknown (``unknown_api``) or missing (``no_api``).
    """
    if origin.api is None:
        raise ConfigurationError(
            "No API was named.", code="no_api", hint='Pass api=, for example api="anthropic-messages".'
        )
    return provider_api(origin.api)


def find_api(api: str | None) -> ProviderAPI | None:
    """Return a wire format; ``None`` for an unknown API."""
    return APIS.get(api or "") or _OWN.get(api or "")


def listed_ids() -> tuple[str, ...]:
    """Return the IDs of all wire formats of this package, in display order."""
    return tuple(APIS)


def provider_apis() -> tuple[ProviderAPI, ...]:
    """Return all wire formats of this package, in display order."""
    return tuple(APIS.values())


def vendor_of(api: str | None) -> str | None:
    """Return the provider of a single-vendor API; ``None`` for other and unknown APIs."""
    found = find_api(api)
    return None if found is None else found.vendor


def hosts_models(api: str | None) -> bool:
    """Return whether hosts serve models of several vendors over an API, named ``vendor/model``."""
    found = find_api(api)
    return found is not None and found.hosts_models


def native_kinds(api: str | None) -> tuple[str, ...]:
    """Return the prefixes of native parts that can be returned to an API; none for an unknown API."""
    found = find_api(api)
    return () if found is None else found.native_kinds


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


def _bad(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what}.",
        code="bad_api",
        hint="Pass an API ID, or ProviderAPI(id=…, decoder=…, encoder=…) with an ID of your own.",
    )
