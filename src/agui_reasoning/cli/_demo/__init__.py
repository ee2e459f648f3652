"""``demo``: the full round trip from provider stream to front end to next request, offline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from agui_reasoning.cli._console import stdout_console
from agui_reasoning.cli._demo._playback import Playback, play
from agui_reasoning.cli._demo._screen import Screen
from agui_reasoning.cli._options import complete_api
from agui_reasoning.cli._output import put, put_json, warn
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import CONVERSATIONS, load_script
from agui_reasoning.run import ApplicationOptions

# The gateway is imported on first use: the help works without the extra `server`.
if TYPE_CHECKING:
    from starlette.applications import Starlette

_DEFAULT_APIS = ("anthropic-messages", "openai-responses", "openai-chat", "gemini")
"""The APIs whose conversations are shown by default."""

_PAUSE_S = 0.04
"""The delay after each streamed piece on a terminal."""


def demo(
    api: Annotated[
        str | None, typer.Option(autocompletion=complete_api, help="Play the conversation of this API only.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object with the checks and the last requests in full."),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Show every conversation, the events of one, and the last requests in full."
        ),
    ] = False,
    web: Annotated[
        bool, typer.Option("--web", help="Serve the conversations to a browser instead. Stops on Ctrl-C.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port for --web; 0, the default, picks a free one."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="With --web, open the page in the default browser.")
    ] = False,
) -> None:
    """Play two turns through the gateway, and show what the user sees and what the provider receives back.

    The provider is scripted: no API key or network is needed.
    """
    if web:
        return _serve(api, port or 0, as_json, open_page)
    for option, given in (("--port", port is not None), ("--open", open_page)):
        if given:
            raise ConfigurationError(
                f"{option} is for --web only.", code="wrong_option", hint=f"Add --web, or omit {option}."
            )
    playbacks = map(play, _chosen(api))
    played = list(playbacks) if as_json else _show(playbacks, verbose)
    if as_json:
        put_json(_report(played))
    if not all(playback.ok for playback in played):
        raise typer.Exit(1)
    return None


def _serve(api: str | None, port: int, as_json: bool, open_page: bool) -> None:
    """Serve the pages of all APIs, starting with one."""
    from agui_reasoning.cli._demo import web_app
    from agui_reasoning.gateway import listen, serve, url_of

    if as_json:
        raise ConfigurationError(
            "--web and --json exclude each other.", code="wrong_option", hint="Use one of them."
        )
    app = web_app(*_chosen(api)[:1])
    listening = listen(port=port)
    serve(app, listening, on_ready=lambda: _announce(f"{url_of(listening)}/", open_page))


def _announce(url: str, open_page: bool) -> None:
    put(f"agui-reasoning demo at {url}")
    put("Ctrl-C stops it.")
    if open_page:  # in a thread: a browser of the terminal runs until it is left
        Thread(target=_open, args=[url], daemon=True).start()


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        warn("No browser can be opened from here. Open the address by hand.")


def _chosen(api: str | None) -> list[str]:
    """Return the scripts of one API, or those shown by default."""
    if api is not None:
        return [script] if (script := CONVERSATIONS.get(provider_api(api).id)) else []
    return [CONVERSATIONS[known] for known in _DEFAULT_APIS]


def _show(playbacks: Iterable[Playback], verbose: bool) -> list[Playback]:
    """Show each conversation as soon as it has been played: in full, or what a screen holds."""
    screen = Screen(stdout_console(), lambda: time.sleep(_PAUSE_S))
    played: list[Playback] = []
    for playback in playbacks:
        if not played:
            screen.intro()
        # The events of every API are alike, and so are the conversations: one is enough.
        if verbose:
            screen.play(playback, list_events=not played)
        else:
            screen.glance(playback, first=not played)
        played.append(playback)
    screen.outro(played, verbose=verbose)
    return played


def _report(playbacks: Sequence[Playback]) -> dict[str, Any]:
    return {
        "ok": all(playback.ok for playback in playbacks),
        "scripts": [
            {
                "name": playback.name,
                "api": playback.api,
                "provider": playback.provider,
                "model": playback.model,
                "runs": len(playback.runs),
                "events": len(playback.events),
                "failure": playback.failure,
                "checks": [asdict(check) for check in playback.checks],
                "request": playback.requests[-1] if playback.requests else None,
            }
            for playback in playbacks
        ],
    }


_DELAY_S: Final = 0.08
"""The delay before each payload: about the pace of a model."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A gateway of the demo.

    Attributes:
        name: Its name, which is its path.
        label: Its label, for people.
        script: The script that it plays.
        group: What it shows that others do not.
        options: The options of its runs.
    """

    name: str
    label: str
    script: str
    group: str
    options: ApplicationOptions = field(default_factory=ApplicationOptions)


_SIGNED: Final = "Reasoning signed or encrypted"
_AS_TEXT: Final = "Reasoning as plain text"
_NOT_SHOWN: Final = "Reasoning not shown in full"
_TEXT_APIS: Final = frozenset({"cohere-chat", "mistral-chat", "ollama", "openai-chat"})


def exhibits() -> list[Exhibit]:
    """Return the gateways: one for each API with a script, and two that do not show all reasoning."""
    shown = [Exhibit(script, _title(script), script, _group(script)) for script in CONVERSATIONS.values()]
    return [
        *sorted(shown, key=lambda exhibit: exhibit.group == _AS_TEXT),
        _hiding("anthropic-weather", "hidden", "hidden reasoning"),
        _hiding("openai-weather", "summary", "summaries only"),
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
    links: dict[str, dict[str, str]] = {}
    for exhibit in shown:
        links.setdefault(exhibit.group, {})[exhibit.label] = f"../{exhibit.name}/"
    mounts = [Mount(f"/{exhibit.name}", _gateway(exhibit, links, delay_s)) for exhibit in shown]
    return Starlette(routes=[Route("/", open_start), *mounts])


def _gateway(exhibit: Exhibit, links: Mapping[str, Mapping[str, str]], delay_s: float) -> Starlette:
    from agui_reasoning.gateway import ReplayUpstream, create_app

    upstream = ReplayUpstream(exhibit.script, delay_s=delay_s)
    return create_app(upstream, page_links=links, **exhibit.options)


def _group(script: str) -> str:
    return _AS_TEXT if load_script(script)["api"] in _TEXT_APIS else _SIGNED


def _title(script: str) -> str:
    return provider_api(load_script(script)["api"]).title


def _hiding(script: str, visibility: Literal["summary", "hidden"], label: str) -> Exhibit:
    options = ApplicationOptions(visibility=visibility, keys=KeyRing.generate())
    return Exhibit(f"{script}-{visibility}", f"{_title(script)}: {label}", script, _NOT_SHOWN, options)
