"""Prepares Redis for the tests of durable runs; `make test` runs it. Where there is none, they skip."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.debian import can_install, install, say
from tests.support.redis import SERVER

if shutil.which(SERVER) is None:
    if can_install():
        say("No Redis here: installing Debian's package.")
        install(SERVER)
    if shutil.which(SERVER) is None:
        say("No Redis here: the tests that need it will skip. Install redis-server to run them.")
