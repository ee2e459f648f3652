"""The settings of a gateway that its page shows, as JSON. They contain no key and no API key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agui_reasoning import __version__
from agui_reasoning._options import ApplicationOptions
from agui_reasoning._reasoning_request import allowed_values
from agui_reasoning._scripted._tool import TOOL, TOOL_RESULT
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway._replay import ReplayUpstream
from agui_reasoning.gateway._upstream import Upstream

__all__ = ["Settings", "page_config"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the page needs to know about its gateway.

    Attributes:
        upstream: The upstream.
        path: The path of the endpoint.
        options: The options of runs.
        allowed_origins: The origins of other pages that may use the gateway.
        links: The addresses of other gateways, by label.
    """

    upstream: Upstream
    path: str
    options: ApplicationOptions
    allowed_origins: Sequence[str]
    links: Mapping[str, str]


def page_config(settings: Settings) -> JSONObject:
    """Return the settings as JSON. URLs are relative to the page, which can be mounted anywhere."""
    upstream = settings.upstream
    replay = upstream if isinstance(upstream, ReplayUpstream) else None
    endpoint = settings.path.lstrip("/")
    visibility = settings.options.get("visibility", "full")
    return {
        "version": __version__,
        "endpoint": endpoint,
        "capabilities": f"{endpoint.rstrip('/')}/capabilities".lstrip("/"),
        "upstream": {
            "name": upstream.name,
            "api": upstream.api,
            "provider": upstream.provider,
            "model": upstream.model,
            "live": upstream.live,
        },
        "visibility": visibility,
        "reasoningRequest": allowed_values(settings.options.get("allow_reasoning_request"), visibility),
        "keyIds": _key_ids(settings.options.get("keys")),
        "allowedOrigins": list(settings.allowed_origins),
        "tools": [{"declaration": TOOL, "answer": TOOL_RESULT}] if replay else [],
        "questions": list(replay.questions) if replay else [],
        "links": [{"label": label, "href": href} for label, href in settings.links.items()],
        "inspector": {name: f"_page/{name}" for name in ("check", "request")} if replay else {},
    }


def _key_ids(keys: KeyRing | None) -> list[str]:
    """Return the IDs of the keys, the one that encrypts first."""
    if keys is None:
        return []
    return [keys.primary, *(kid for kid in keys.kids if kid != keys.primary)]
