"""Reading of request bodies, with limits for size and time."""

from __future__ import annotations

from typing import Final

import anyio
from starlette.requests import Request

from agui_reasoning.errors import RemoteProtocolError

__all__ = ["BODY_TIMEOUT_S", "read_body"]

BODY_TIMEOUT_S: Final = 60.0
"""The default time limit for receiving a body, in seconds."""


async def read_body(request: Request, max_bytes: int, timeout_s: float) -> bytes:
    """Read a complete body.

    Raises:
        RemoteProtocolError: The body is too large (``body_too_large``), or takes too long (``body_timeout``).
    """
    body = bytearray()
    with anyio.move_on_after(timeout_s) as scope:
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise RemoteProtocolError(
                    f"The body of the request is larger than {max_bytes} bytes.",
                    code="body_too_large",
                    hint="Send fewer messages, or raise `max_body_bytes`.",
                )
    if scope.cancelled_caught:
        raise RemoteProtocolError(
            f"The body of the request was not received within {timeout_s} seconds.",
            code="body_timeout",
            hint="Send it faster, or raise `body_timeout_s`.",
        )
    return bytes(body)
