"""``demo``: the whole way from provider streams to a front end and back, on this machine alone."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from agui_reasoning.cli.playback import Playback, play
from agui_reasoning.cli.screen import Screen, conversation, stdout_console

__all__ = ["SCRIPTS", "demo"]

SCRIPTS = ("anthropic-weather", "openai-weather", "chat-weather")
"""The conversations shown, one per API."""

_SECONDS = 4.0
"""How long everything takes on a terminal."""


def demo(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with what was checked.")
    ] = False,
) -> None:
    """Serve scripted provider streams on this machine and show what a front end sees; no key, no network."""
    playbacks = [play(name) for name in SCRIPTS]
    if as_json:
        print(json.dumps(_report(playbacks), indent=2))
    else:
        _show(playbacks)
    if not all(playback.ok for playback in playbacks):
        raise typer.Exit(1)


def _show(playbacks: Sequence[Playback]) -> None:
    pieces = sum(len(block.pieces) for playback in playbacks for block in conversation(playback))
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
                "runs": len(playback.runs),
                "events": len(playback.events),
                "checks": [asdict(check) for check in playback.checks],
            }
            for playback in playbacks
        ],
    }
