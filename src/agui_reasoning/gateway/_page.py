"""The web pages of a gateway, which explain how to call its endpoint."""

from __future__ import annotations

from html import escape
from string import Template

__all__ = ["ICON", "render", "render_hint"]

_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>agui-reasoning gateway</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 46rem; margin: 3rem auto; padding: 0 1rem; }
  pre { padding: 1rem; overflow-x: auto; border: 1px solid; border-radius: .4rem; }
</style>
</head>
<body>
<h1>agui-reasoning gateway</h1>
<p>This is an <strong>AG-UI</strong> endpoint. A front end posts a <code>RunAgentInput</code> to
<code>$url</code> and reads the events of the run as Server-Sent Events.</p>
<p>Upstream: <code>$upstream</code></p>
<h2>Call it</h2>
<pre><code>curl -N $url \\
  -H 'Content-Type: application/json' \\
  -d '{"threadId": "t1", "runId": "r1", "protocolVersion": "1.0",
       "messages": [{"id": "m1", "role": "user", "content": "Umbrella or raincoat?"}],
       "state": {}, "tools": [], "context": [], "forwardedProps": {}}'</code></pre>
</body>
</html>
""")


_HINT = Template("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>agui-reasoning gateway</title>
<p><code>$url</code> is an <strong>AG-UI</strong> endpoint. It accepts only <code>POST</code> requests.
<a href="$page">How to call it</a></p>
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


def render(url: str, upstream: str) -> str:
    """Render the page of the gateway.

    Args:
        url: The URL of the endpoint. It comes from the request, so it is not trusted.
        upstream: The name of the upstream.
    """
    return _PAGE.substitute(url=escape(url), upstream=escape(upstream))
