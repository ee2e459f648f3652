"""``demo``: the full round trip from provider stream to front end to next request, offline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agui_reasoning._demo.playback import Playback, play
from agui_reasoning._demo.screen import Screen, stdout_console
from agui_reasoning.cli._completion import complete_api
from agui_reasoning.cli._output import put, put_json
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.providers import provider_api, provider_apis

__all__ = ["SCRIPTS", "demo"]

SCRIPTS = tuple(api.scripts[0] for api in provider_apis() if api.scripts)
"""The scripted conversations to play, one per API."""

_DEFAULT_APIS = {"anthropic-messages", "openai-responses", "openai-chat", "gemini"}
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
    web: Annotated[
        bool, typer.Option("--web", help="Open the conversations in a browser instead. Stops on Ctrl-C.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port for --web; 0, the default, picks a free one."),
    ] = None,
) -> None:
    """Play two turns through the gateway, and show what the user sees and what the provider receives back.

    The provider is scripted: no API key or network is needed.
    """
    if web:
        return _open(api, port or 0, as_json)
    if port is not None:
        raise ConfigurationError(
            "--port is for --web only.", code="wrong_option", hint="Add --web, or omit --port."
        )
    playbacks = map(play, _chosen(api))
    played = list(playbacks) if as_json else _show(playbacks)
    if as_json:
        put_json(_report(played))
    if not all(playback.ok for playback in played):
        raise typer.Exit(1)
    return None


def _open(api: str | None, port: int, as_json: bool) -> None:
    """Serve the pages of all APIs, starting with one."""
    from agui_reasoning._demo.web import web_app
    from agui_reasoning.gateway import listen, serve, url_of

    if as_json:
        raise ConfigurationError(
            "--web and --json exclude each other.", code="wrong_option", hint="Use one of them."
        )
    app = web_app(*_chosen(api)[:1])
    listening = listen(port=port)
    ready = f"agui-reasoning demo at {url_of(listening)}/"
    serve(app, listening, on_ready=lambda: put(ready))


def _chosen(api: str | None) -> list[str]:
    """Return the scripts of one API, or those shown by default."""
    if api is not None:
        return list(provider_api(api).scripts[:1])
    return [known.scripts[0] for known in provider_apis() if known.scripts and known.id in _DEFAULT_APIS]


def _show(playbacks: Iterable[Playback]) -> list[Playback]:
    """Show each conversation as soon as it has been played."""
    screen = Screen(stdout_console(), lambda: time.sleep(_PAUSE_S))
    played: list[Playback] = []
    for playback in playbacks:
        if not played:
            screen.intro()
        # The event types are the same for every API, so they are listed once.
        screen.play(playback, list_events=not played)
        played.append(playback)
    screen.outro(played)
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
