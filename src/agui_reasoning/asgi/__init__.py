"""AG-UI over ASGI, for Starlette and FastAPI (extra ``server``): a response, and THINKING_* middleware."""

from __future__ import annotations

from importlib import import_module

from agui_reasoning.errors import MissingExtraError

try:
    import_module("starlette")
except ImportError:
    raise MissingExtraError("agui_reasoning.asgi", "server") from None

from agui_reasoning.asgi._response import AGUIResponse
from agui_reasoning.asgi._thinking import ThinkingUpgradeMiddleware

__all__ = ["AGUIResponse", "ThinkingUpgradeMiddleware"]
