"""``proxy``: a running agent that still speaks THINKING_*, upgraded from outside."""

from __future__ import annotations

import logging
from typing import Annotated
from urllib.parse import urlsplit

import typer

from agui_reasoning.cli._upgrade import KeepTitle, Repair

__all__ = ["proxy"]

_PORT = 8001


def proxy(
    upstream: Annotated[str, typer.Option(metavar="URL", help="Where the agent is.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any free one.")] = _PORT,
    host: Annotated[str, typer.Option(help="The name or address to listen at.")] = "127.0.0.1",
    agent_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="The agent's ag-ui-protocol: requests leave out what it refuses."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One more name to answer to; * is any.")
    ] = None,
    repair: Repair = True,
    keep_title: KeepTitle = False,
) -> None:
    """Stand in front of a running agent, and upgrade the event streams that it answers with.

    Requests go to the agent as they are, and so does everything else that comes back. Clients talk to this
    address instead of the agent's. Ends on Ctrl-C.
    """
    # Imported when it is needed: the other commands work without the extras `server` and `client`.
    from agui_reasoning.gateway import listen, url_of
    from agui_reasoning.gateway import serve as serve_app
    from agui_reasoning.gateway._proxy import create_proxy

    app = create_proxy(
        upstream,
        agent_version=agent_version,
        repair=repair,
        keep_title=keep_title,
        allowed_hosts=allow_host or (),
    )
    listening = listen(host, port)
    line = f"agui-reasoning proxy in front of {_shown(upstream)} at {url_of(listening)}"
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s")
    serve_app(app, listening, on_ready=lambda: print(line, flush=True))


def _shown(url: str) -> str:
    """The URL without a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
