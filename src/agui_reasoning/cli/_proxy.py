"""``proxy``: upgrade the event streams of a running agent that emits THINKING_*."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

import typer

from agui_reasoning.cli._logs import log_to_stderr
from agui_reasoning.cli._output import put
from agui_reasoning.cli._upgrade import KeepTitle, Repair

__all__ = ["proxy"]

_PORT = 8001


def proxy(
    upstream: Annotated[str, typer.Option(metavar="URL", help="The agent's URL.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = _PORT,
    host: Annotated[str, typer.Option(help="The host name or address to listen on.")] = "127.0.0.1",
    agent_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="The agent's ag-ui-protocol version; requests omit what it rejects."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="An additional host name to accept; * accepts any."),
    ] = None,
    repair: Repair = True,
    keep_title: KeepTitle = False,
) -> None:
    """Run a proxy that upgrades the event streams of a running agent.

    Requests and all other responses pass through unchanged. Point clients at the proxy instead of the agent.
    Stops on Ctrl-C.
    """
    # Imported here because the other commands work without the extras `server` and `client`.
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
    line = f"agui-reasoning proxy in front of {_without_credentials(upstream)} at {url_of(listening)}"
    log_to_stderr()
    serve_app(app, listening, on_ready=lambda: put(line))


def _without_credentials(url: str) -> str:
    """Return the URL without credentials."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
