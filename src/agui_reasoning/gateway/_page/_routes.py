"""The routes of the page: the page, its static files and its settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning.gateway._page._config import Settings, page_config

__all__ = ["HEADERS", "Guard", "page_routes"]

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]
Guard: TypeAlias = Callable[[Answer], Answer]
"""Wraps a handler, so that it answers only requests that the gateway's tenant function accepts."""

CONTENT_SECURITY_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""The headers of all responses of the page. Browsers keep copies, but ask whether these are current."""


def _listed(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files in a folder and its subfolders, each with its path."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _listed(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry


_FILES: Final = dict(_listed(files(__package__) / "static"))
_MEDIA_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def page_routes(settings: Settings, guard: Guard) -> list[Route]:
    """Return the routes of the page.

    Args:
        settings: What the page shows about the gateway.
        guard: Restricts access to the page.
    """
    config = json.dumps(page_config(settings)).encode()

    async def show_config(request: Request) -> Response:
        return _respond(request, config, "application/json")

    return [
        Route("/", guard(_show_page), methods=["GET"], name="page"),
        Route("/_page/config.json", guard(show_config), methods=["GET"]),
        Route("/_page/{stem:path}.{suffix}", guard(_show_file), methods=["GET"]),
    ]


async def _show_page(request: Request) -> Response:
    return _respond(request, *_read("index.html"))


async def _show_file(request: Request) -> Response:
    return _respond(request, *_read("{stem}.{suffix}".format_map(request.path_params)))


def _read(name: str) -> tuple[bytes, str]:
    """Read a static file. Only the names in the folder are looked up, so no other path is ever opened."""
    found = _FILES.get(name)
    media_type = _MEDIA_TYPES.get(name.rpartition(".")[2])
    if found is None or media_type is None:
        raise HTTPException(404)
    return found.read_bytes(), media_type


def _respond(request: Request, content: bytes, media_type: str) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**HEADERS, "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)
