"""The web page of a gateway: a chat and an inspector.

The files in ``static`` are served as they are, below an address that changes with them, so that browsers keep
them without asking. Only the addresses of these files are written into the page. It reads its settings from
``_page/config.json``, which contains no key. So nothing a client sends becomes part of a page.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import Final, Literal, Protocol, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning import __version__
from agui_reasoning._catalog import FINDINGS, explained
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.crypto import KeyRing
from agui_reasoning.replay import TOOL, TOOL_RESULT
from agui_reasoning.run import ApplicationOptions, allowed_values

_Answer: TypeAlias = Callable[[Request], Awaitable[Response]]
Guard: TypeAlias = Callable[[_Answer], _Answer]
"""Wraps a handler, so that it answers only requests that the gateway's tenant function accepts."""
JoinedBy: TypeAlias = Literal["nobody", "this machine", "all"]
"""Who can join and stop runs: nobody if the gateway does not keep them."""

_CONTENT_SECURITY_POLICY: Final = "; ".join(
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
    "content-security-policy": _CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""The headers of all responses of the page. Browsers keep copies, but ask whether these are current."""

_LASTING: Final = {"cache-control": "private, max-age=31536000, immutable"}
"""Of files below an address that changes with them."""

_HINT: Final = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>agui-reasoning gateway</title>
<p><code>$url</code> is an <strong>AG-UI</strong> endpoint. It accepts only <code>POST</code> requests.
<a href="$page">Its page</a></p>
</html>
""")

ICON: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="4" fill="#345"/>
<path d="M4 5h8M4 8h5M4 11h7" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/>
</svg>
"""
"""The favicon."""


def _listed(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files in a folder and its subfolders, each with its path."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _listed(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry


_MEDIA_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

_FOLDER: Final = b'"_page/'
"""How addresses of static files begin in the page."""

_CLASSIC: Final = "theme.js"
"""The only script that is no module."""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media_type: str
    zipped: bytes


@dataclass(frozen=True, slots=True)
class _Site:
    """The static files by path, and a digest of all as their version.

    The page refers to this version, and lists all modules, so that none is found late.
    """

    version: str
    files: Mapping[str, _File]
    index: _File


@cache
def _site() -> _Site:
    """Read the static files, once per process."""
    contents = {name: found.read_bytes() for name, found in sorted(_listed(files(__name__) / "static"))}
    version = hashlib.sha256(repr(contents).encode()).hexdigest()[:16]
    modules = [name for name in contents if name.endswith(".js") and name != _CLASSIC]
    links = "".join(f'<link rel="modulepreload" href="_page/{name}">\n' for name in modules)
    page = contents["index.html"].replace(b"</head>", links.encode() + b"</head>")
    index = page.replace(_FOLDER, _FOLDER + version.encode() + b"/")
    return _Site(
        version,
        {name: _file(name, content) for name, content in contents.items()},
        _file("index.html", index),
    )


def _file(name: str, content: bytes) -> _File:
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return _File(content, media_type, gzip.compress(content, mtime=0))


class _Shown(Protocol):
    """What the page shows of an upstream."""

    name: str
    api: str | None
    provider: str | None
    model: str | None
    live: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """What the page needs to know about its gateway, whose endpoint has the path.

    Links are the addresses of other gateways, by label; or groups of them, by heading. Questions are those of
    replayed exchanges; ``None`` if the upstream is another one.
    """

    upstream: _Shown
    path: str
    options: ApplicationOptions
    allowed_origins: Sequence[str]
    links: Mapping[str, str | Mapping[str, str]]
    questions: Sequence[str] | None
    joined_by: JoinedBy


def page_routes(settings: Settings, guard: Guard, is_local: Callable[[Request], bool]) -> list[Route]:
    """Return the routes of the page, to which the guard restricts access.

    The inspector answers requests for which ``is_local`` is true: those of this machine.
    """
    configs = {local: json.dumps(page_config(settings, is_local=local)).encode() for local in (True, False)}

    async def show_config(request: Request) -> Response:
        return _respond(request, configs[is_local(request)], "application/json")

    return [
        Route("/", guard(_show_page), methods=["GET"], name="page"),
        Route("/_page/config.json", guard(show_config), methods=["GET"]),
        Route("/_page/findings.json", guard(_show_findings), methods=["GET"]),
        Route("/_page/{stem:path}.{suffix}", guard(_show_file), methods=["GET"]),
    ]


async def _show_page(request: Request) -> Response:
    return _respond_file(request, _site().index, HEADERS)


async def _show_findings(request: Request) -> Response:
    """Answer with what `check` looks for: each rule with its page, as kinds and texts."""
    pages = explained()
    rules = [{"code": code, **kind._asdict(), "page": pages[code]} for code, kind in FINDINGS.items()]
    return _respond(request, json.dumps(rules).encode(), "application/json")


async def _show_file(request: Request) -> Response:
    """Answer with a static file. Only names in the folder are looked up, so no other path is ever opened."""
    name, site = "{stem}.{suffix}".format_map(request.path_params), _site()
    versioned = name.removeprefix(f"{site.version}/")
    found = site.files.get(versioned)
    if found is None:
        raise HTTPException(404)
    return _respond_file(request, found, HEADERS if versioned == name else HEADERS | _LASTING)


def _respond_file(request: Request, file: _File, headers: Mapping[str, str]) -> Response:
    headers = {**headers, "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return _respond(request, file.content, file.media_type, headers)
    return _respond(request, file.zipped, file.media_type, headers | {"content-encoding": "gzip"})


def _respond(
    request: Request, content: bytes, media_type: str, headers: Mapping[str, str] = HEADERS
) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**headers, "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def page_config(settings: Settings, *, is_local: bool) -> JSONObject:
    """Return the settings as JSON. URLs are relative to the page, which can be mounted anywhere.

    The inspector answers pages on this machine only.
    """
    upstream, is_replay = settings.upstream, settings.questions is not None
    endpoint = settings.path.lstrip("/")
    visibility = settings.options.get("visibility", "full")
    # Previews and checks explain themselves why they are refused.
    inspected = [*(["losses"] if is_local else []), *(["check", "request"] if is_replay else [])]
    return {
        "version": __version__,
        "endpoint": endpoint,
        "capabilities": _below(endpoint, "capabilities"),
        "runs": _runs(settings, endpoint, is_local),
        "upstream": {
            "name": upstream.name,
            "api": upstream.api,
            "provider": upstream.provider,
            "model": upstream.model,
            "live": upstream.live,
        },
        "visibility": visibility,
        "reasoningRequest": allowed_values(settings.options.get("allow_reasoning_request"), visibility),
        "keyIds": _key_ids(settings.options.get("keys")),
        "allowedOrigins": list(settings.allowed_origins),
        "tools": [{"declaration": TOOL, "answer": TOOL_RESULT}] if is_replay else [],
        "questions": list(settings.questions or ()),
        "links": list(_links(settings.links)),
        "inspector": {name: f"_page/{name}" for name in inspected},
    }


def _links(links: Mapping[str, str | Mapping[str, str]], group: str | None = None) -> Iterator[JSONObject]:
    """Yield each link with the heading of its group."""
    for label, href in links.items():
        if isinstance(href, str):
            yield {"label": label, "href": href, "group": group}
        else:
            yield from _links(href, label)


def _below(endpoint: str, name: str) -> str:
    return f"{endpoint.rstrip('/')}/{name}".lstrip("/")


def _runs(settings: Settings, endpoint: str, is_local: bool) -> JSONObject | None:
    """Return where the page joins and stops runs, if it can."""
    if settings.joined_by == "nobody" or (settings.joined_by == "this machine" and not is_local):
        return None
    return {name: _below(endpoint, name) for name in ("connect", "stop")}


def _key_ids(keys: KeyRing | None) -> list[str]:
    """Return the IDs of the keys, the one that encrypts first."""
    if keys is None:
        return []
    return [keys.primary, *(kid for kid in keys.kids if kid != keys.primary)]


def render_hint(url: str, page: str) -> str:
    """Render the page for people who open the endpoint in a browser. The URLs are not trusted."""
    return _HINT.substitute(url=escape(url), page=escape(page))
