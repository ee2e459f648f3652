"""The demo in a browser: a gateway for each scripted provider, whose pages link each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from agui_reasoning._options import ApplicationOptions
from agui_reasoning._scripted import load_script
from agui_reasoning.crypto import KeyRing
from agui_reasoning.providers import provider_api, provider_apis

# The gateway is imported on first use: the other commands work without the extra `server`.
if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["Exhibit", "exhibits", "web_app"]

_DELAY_S: Final = 0.08
"""The delay before each payload: about the pace of a model."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A gateway of the demo.

    Attributes:
        name: Its name, which is its path.
        label: Its label, for people.
        script: The script that it plays.
        options: The options of its runs.
    """

    name: str
    label: str
    script: str
    options: ApplicationOptions = field(default_factory=ApplicationOptions)


def exhibits() -> list[Exhibit]:
    """Return the gateways: one for each API with a script, and two that do not show all reasoning."""
    scripts = [api.scripts[0] for api in provider_apis() if api.scripts]
    shown = [Exhibit(script, _title(script), script) for script in scripts]
    return [
        *shown,
        _veiled("anthropic-weather", "hidden", "hidden reasoning"),
        _veiled("openai-weather", "summary", "summaries only"),
    ]


def web_app(start: str, *, delay_s: float = _DELAY_S) -> Starlette:
    """Create the application.

    Args:
        start: The name of the gateway whose page opens at ``/``.
        delay_s: Seconds to wait before each payload.

    Raises:
        MissingExtraError: The extra ``server`` is not installed.
    """
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import RedirectResponse
    from starlette.routing import Mount, Route

    async def open_start(request: Request) -> RedirectResponse:
        return RedirectResponse(f"{start}/")

    shown = exhibits()
    links = {exhibit.label: f"../{exhibit.name}/" for exhibit in shown}
    mounts = [Mount(f"/{exhibit.name}", _gateway(exhibit, links, delay_s)) for exhibit in shown]
    return Starlette(routes=[Route("/", open_start), *mounts])


def _gateway(exhibit: Exhibit, links: Mapping[str, str], delay_s: float) -> Starlette:
    from agui_reasoning.gateway import ReplayUpstream, create_app

    upstream = ReplayUpstream(exhibit.script, delay_s=delay_s)
    return create_app(upstream, page_links=links, **exhibit.options)


def _title(script: str) -> str:
    return provider_api(load_script(script)["api"]).title


def _veiled(script: str, visibility: Literal["summary", "hidden"], label: str) -> Exhibit:
    options = ApplicationOptions(visibility=visibility, keys=KeyRing.generate())
    return Exhibit(f"{script}-{visibility}", f"{_title(script)}: {label}", script, options)
