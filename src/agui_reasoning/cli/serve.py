"""``serve``: the gateway, until it is told to stop."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Annotated

import typer

from agui_reasoning.cli.source import read_file
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.scripted import names
from agui_reasoning.strict_json import load

# The gateway is imported when it is needed: the other commands work without the extra `server`.
if TYPE_CHECKING:
    from agui_reasoning.gateway import Upstream

__all__ = ["serve"]

_REPLAY = "replay"
_PORT = 8000


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any free one.")] = _PORT,
    host: Annotated[str, typer.Option(help="The name or address to listen at.")] = "127.0.0.1",
    upstream: Annotated[
        str, typer.Option(metavar="UPSTREAM", help="Who answers: replay, replay:SCRIPT or replay:FILE.")
    ] = _REPLAY,
) -> None:
    """Serve an AG-UI endpoint at POST /agent, and a page at GET /.

    The upstream "replay" plays scripted provider streams of the package; "replay:FILE" plays one recording
    (an object with "api", and "events" or "response") again for every request. No key, no network. Ends on
    Ctrl-C.
    """
    from agui_reasoning.gateway import create_app, listen, url_of
    from agui_reasoning.gateway import serve as serve_app

    app = create_app(_upstream(upstream))
    listening = listen(host, port)
    line = f"agui-reasoning gateway ({upstream}) at {url_of(listening)}"
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    serve_app(app, listening, on_ready=lambda: print(line, flush=True))


def _upstream(spec: str) -> Upstream:
    from agui_reasoning.gateway import ReplayUpstream

    kind, _, which = spec.partition(":")
    if kind != _REPLAY or spec == f"{_REPLAY}:":
        raise ConfigurationError(
            f"There is no upstream {spec!r}.",
            code="unknown_upstream",
            hint="Use replay, replay:SCRIPT or replay:FILE.",
        )
    if not which:
        return ReplayUpstream()
    if which in names():
        return ReplayUpstream(which)
    if not os.path.exists(which):
        raise ConfigurationError(
            f"There is no file and no script {which!r}.",
            code="unknown_upstream",
            hint=f"Scripts are: {', '.join(names())}.",
        )
    return ReplayUpstream(load(read_file(which).decode(errors="replace")))
