"""A ready-made AG-UI endpoint (extra ``server``).

`create_app` creates the application, an `Upstream` answers the requests, and `listen` and `serve` run it.
"""

from __future__ import annotations

from importlib import import_module

from agui_reasoning.errors import MissingExtraError

try:
    for _package in ("starlette", "uvicorn"):
        import_module(_package)
except ImportError:
    raise MissingExtraError("agui_reasoning.gateway", "server") from None

from agui_reasoning.gateway._app import create_app
from agui_reasoning.gateway._capabilities import capabilities
from agui_reasoning.gateway._http import HTTPUpstream
from agui_reasoning.gateway._provider_replay import provider_app
from agui_reasoning.gateway._replay import ReplayUpstream
from agui_reasoning.gateway._serving import listen, local_server, serve, url_of
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.gateway._xai import XAIUpstream

__all__ = [
    "HTTPUpstream",
    "ReplayUpstream",
    "Upstream",
    "XAIUpstream",
    "capabilities",
    "create_app",
    "listen",
    "local_server",
    "provider_app",
    "serve",
    "url_of",
]
