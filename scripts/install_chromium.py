"""Prepares Chromium for `tests/browser` and `tests/frontends`; `make` runs it before them.

Uses the one that AGUI_REASONING_CHROMIUM names, or that is on the path. Where there is none, it installs the
package of Debian, which needs root.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.debian import can_install, install, say
from tests.support.chromium import VARIABLE, exists_for_this_machine, find_chromium

_HELP = f"""\
The tests of the web page need Chromium, and there is none here. Install it, for example with
    sudo apt-get install chromium       (Debian; on Ubuntu, install Google Chrome instead)
    brew install --cask chromium        (macOS)
or set {VARIABLE} to the path of an executable."""


def main() -> int:
    """Returns the exit code."""
    if find_chromium() is not None:
        return 0
    if not exists_for_this_machine():
        say("Chromium has no build for this processor: the tests that need it will skip.")
        return 0
    if VARIABLE in os.environ:
        say(f"{VARIABLE} names no executable that runs: {os.environ[VARIABLE]}")
        return 1
    if can_install():
        say("No Chromium here: installing Debian's package.")
        install("chromium", "fonts-dejavu-core")
        if find_chromium() is not None:
            return 0
    say(_HELP)
    return 1


if __name__ == "__main__":
    sys.exit(main())
