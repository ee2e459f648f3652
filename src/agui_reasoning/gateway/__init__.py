"""An AG-UI endpoint that is ready to run: requests in, answers of an upstream out (extra ``server``).

`create_app` makes the application, an `Upstream` says who answers, and `listen` and `serve` run it.
"""

from __future__ import annotations

from importlib import import_module

from agui_reasoning.errors import MissingExtraError

try:
    for _package in ("starlette", "uvicorn"):
        import_module(_package)
except ImportError:
    raise MissingExtraError("agui_reasoning.gateway", "server") from None

from agui_reasoning.gateway.app import create_app
from agui_reasoning.gateway.capabilities import capabilities
from agui_reasoning.gateway.http import HTTPUpstream
from agui_reasoning.gateway.provider_replay import provider_app
from agui_reasoning.gateway.replay import ReplayUpstream
from agui_reasoning.gateway.serving import listen, local_server, serve, url_of
from agui_reasoning.gateway.upstream import Upstream

__all__ = [
    "HTTPUpstream",
    "ReplayUpstream",
    "Upstream",
    "capabilities",
    "create_app",
    "listen",
    "local_server",
    "provider_app",
    "serve",
    "url_of",
]
