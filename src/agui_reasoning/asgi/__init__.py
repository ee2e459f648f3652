"""AG-UI over ASGI, for Starlette and FastAPI (extra ``server``): a response, and THINKING_* middleware."""

from __future__ import annotations

from importlib import import_module

from agui_reasoning.errors import MissingExtraError

try:
    import_module("starlette")
except ImportError:
    raise MissingExtraError("agui_reasoning.asgi", "server") from None

from agui_reasoning.asgi._requests import BODY_TIMEOUT_S as BODY_TIMEOUT_S
from agui_reasoning.asgi._requests import MAX_BODY_BYTES as MAX_BODY_BYTES
from agui_reasoning.asgi._requests import TenantOf as TenantOf
from agui_reasoning.asgi._requests import bare_host as bare_host
from agui_reasoning.asgi._requests import check_type as check_type
from agui_reasoning.asgi._requests import is_local as is_local
from agui_reasoning.asgi._requests import is_loopback as is_loopback
from agui_reasoning.asgi._requests import netloc as netloc
from agui_reasoning.asgi._requests import read_body as read_body
from agui_reasoning.asgi._requests import require_local as require_local
from agui_reasoning.asgi._requests import status_of as status_of
from agui_reasoning.asgi._requests import tenant_by as tenant_by
from agui_reasoning.asgi._response import AGUIResponse
from agui_reasoning.asgi._response import cancel_on_disconnect as cancel_on_disconnect
from agui_reasoning.asgi._shutdown import server_stops as server_stops
from agui_reasoning.asgi._shutdown import stop_responses as stop_responses
from agui_reasoning.asgi._thinking import ThinkingUpgradeMiddleware

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["AGUIResponse", "ThinkingUpgradeMiddleware"]
