"""Takes the pictures of the documentation's pages for `docs/assets`, from the site that `make docs` built.

make docs && .venv/bin/python scripts/docs_pictures.py
"""

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.chromium import find_chromium
from tests.support.environments import ROOT

PAGES = {
    "home": "",
    "deploy": "how-to/deploy/",
    "frontends": "how-to/frontends/",
    "findings": "reference/findings/",
    "security": "security/",
}
"""The name of each picture, and the address of its page."""

SIZE = {"width": 1280, "height": 860}


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Take the pictures."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(ROOT / "site")))
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE)
        for name, path in PAGES.items():
            page.goto(f"http://127.0.0.1:{server.server_port}/{path}", wait_until="load")
            page.screenshot(path=ROOT / "docs" / "assets" / f"docs-{name}.png", animations="disabled")
        chromium.close()


if __name__ == "__main__":
    main()
