"""A ready-made AG-UI endpoint (extra ``server``).

`create_app` creates the application, an `Upstream` answers the requests, and `listen` and `serve` run it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from agui_reasoning._lazy import lazy_attributes
from agui_reasoning.errors import MissingExtraError

try:
    for _package in ("starlette", "uvicorn"):
        import_module(_package)
except ImportError:
    raise MissingExtraError("agui_reasoning.gateway", "server") from None

from agui_reasoning.gateway._app import create_app
from agui_reasoning.gateway._framing import FRAMINGS as FRAMINGS  # what is renamed to itself: for other rooms
from agui_reasoning.gateway._framing import encode_chunk as encode_chunk
from agui_reasoning.gateway._http import HTTPUpstream
from agui_reasoning.gateway._http import endpoint_of as endpoint_of
from agui_reasoning.gateway._replay import ProviderRules as ProviderRules
from agui_reasoning.gateway._replay import ReplayUpstream, provider_app
from agui_reasoning.gateway._replay import ScriptedProvider as ScriptedProvider
from agui_reasoning.gateway._serving import listen, local_server, serve, url_of
from agui_reasoning.gateway._upstream import Upstream, XAIUpstream, capabilities

if TYPE_CHECKING:
    from agui_reasoning.gateway._proxy import create_proxy as create_proxy

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

if not TYPE_CHECKING:  # it needs the extra `client`
    __getattr__, __dir__ = lazy_attributes(__name__, {"agui_reasoning.gateway._proxy": "create_proxy"})
