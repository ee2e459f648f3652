"""Prepares nginx and Caddy for the tests of `examples/deploy`. Where one is missing, they skip."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.debian import can_install, install, say
from tests.support.proxies import PROXIES, installed

PACKAGES = {"nginx": "nginx-light", "caddy": "caddy"}

for name in PROXIES:
    if installed(name) is None and can_install():
        say(f"No {name} here: installing Debian's package.")
        install(PACKAGES[name])
    if installed(name) is None:
        say(f"No {name} here: the tests that need it will skip.")
