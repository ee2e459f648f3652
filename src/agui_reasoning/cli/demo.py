"""``demo``: the whole way from provider streams to AG-UI events, on this machine alone."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agui_reasoning.cli.playback import Playback, play
from agui_reasoning.cli.screen import Screen, blocks, stdout_console

__all__ = ["SCRIPTS", "demo"]

SCRIPTS = ("anthropic-weather", "openai-weather", "chat-weather")
"""The conversations shown, one per API."""

_SECONDS = 4.5
"""How long everything takes on a terminal."""


def demo(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with what was checked.")
    ] = False,
) -> None:
    """Play scripted provider streams: what a user sees, the events, what travels along; no network."""
    playbacks = [play(name) for name in SCRIPTS]
    if as_json:
        print(json.dumps(_report(playbacks), indent=2))
    else:
        _show(playbacks)
    if not all(playback.ok for playback in playbacks):
        raise typer.Exit(1)


def _show(playbacks: Sequence[Playback]) -> None:
    pieces = sum(len(block.pieces) for playback in playbacks for block in blocks(playback.events))
    screen = Screen(stdout_console(), lambda: time.sleep(_SECONDS / pieces))
    screen.intro()
    for playback in playbacks:
        screen.play(playback)
    screen.outro([check for playback in playbacks for check in playback.checks])


def _report(playbacks: Sequence[Playback]) -> dict[str, Any]:
    return {
        "ok": all(playback.ok for playback in playbacks),
        "scripts": [
            {
                "name": playback.name,
                "api": playback.api,
                "provider": playback.provider,
                "model": playback.model,
                "events": len(playback.events),
                "checks": [asdict(check) for check in playback.checks],
            }
            for playback in playbacks
        ],
    }
