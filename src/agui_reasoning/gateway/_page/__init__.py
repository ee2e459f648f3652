"""The web page of a gateway: a chat and an inspector.

The files in ``static`` are served as they are. The page reads its settings from ``_page/config.json``, so no
HTML is generated, and nothing a client sends becomes part of a page.
"""

from __future__ import annotations

from html import escape
from string import Template

from agui_reasoning.gateway._page._config import Settings, page_config
from agui_reasoning.gateway._page._routes import HEADERS, Guard, page_routes

__all__ = ["HEADERS", "ICON", "Guard", "Settings", "page_config", "page_routes", "render_hint"]

_HINT = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>agui-reasoning gateway</title>
<p><code>$url</code> is an <strong>AG-UI</strong> endpoint. It accepts only <code>POST</code> requests.
<a href="$page">Its page</a></p>
</html>
""")

ICON = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<rect width="16" height="16" rx="4" fill="#345"/>
<path d="M4 5h8M4 8h5M4 11h7" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/>
</svg>
"""
"""The favicon."""


def render_hint(url: str, page: str) -> str:
    """Render the page for people who open the endpoint in a browser.

    Args:
        url: The URL of the endpoint; not trusted.
        page: The URL of the gateway's page; not trusted.
    """
    return _HINT.substitute(url=escape(url), page=escape(page))
