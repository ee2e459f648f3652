"""``demo``: from provider streams to a front end and back into the next request, on this machine alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agui_reasoning._demo.playback import Playback, play
from agui_reasoning._demo.screen import Screen, stdout_console
from agui_reasoning.providers import provider_apis

__all__ = ["SCRIPTS", "demo"]

SCRIPTS = tuple(api.scripts[0] for api in provider_apis() if api.scripts)
"""The conversations shown, one per API."""

_PAUSE_S = 0.04
"""How long a terminal waits after each piece that streams in."""


def demo(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the checks, and the last requests, whole.")
    ] = False,
) -> None:
    """Play two turns through the gateway and show what a user sees and what the provider gets back.

    The provider is a script on this machine: no key, no network. Ends with status 1 if anything that it gave
    out came back changed, or not at all.
    """
    playbacks = map(play, SCRIPTS)
    shown = list(playbacks) if as_json else _show(playbacks)
    if as_json:
        print(json.dumps(_report(shown), indent=2))
    if not all(playback.ok for playback in shown):
        raise typer.Exit(1)


def _show(playbacks: Iterable[Playback]) -> list[Playback]:
    """Show each conversation as soon as it was played."""
    screen = Screen(stdout_console(), lambda: time.sleep(_PAUSE_S))
    shown: list[Playback] = []
    for playback in playbacks:
        if not shown:
            screen.intro()
        # The events are alike for all: that is what a protocol is for.
        screen.play(playback, list_events=not shown)
        shown.append(playback)
    screen.outro(shown)
    return shown


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
