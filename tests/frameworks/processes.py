"""Runs the servers of other processes."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["SECONDS", "serving"]

SECONDS = 300
"""How long a server may take to start or answer, on a machine under load."""

_RUNNING = re.compile(r"Uvicorn running on (http://\S+)")


@contextmanager
def serving(command: Sequence[str | Path], env: Mapping[str, str]) -> Iterator[str]:
    """Run a command that starts uvicorn, and return its URL.

    Raises:
        AssertionError: It did not start.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, text=True
    ) as server:
        watchdog = threading.Timer(SECONDS, server.kill)
        watchdog.start()
        lines: list[str] = []
        drain = threading.Thread(target=lambda: lines.extend(server.stdout or ()))
        try:
            for line in server.stdout or ():
                lines.append(line)
                if found := _RUNNING.search(line):
                    drain.start()
                    yield found[1]
                    return
            raise AssertionError(f"it did not start: {''.join(lines)}")
        finally:
            watchdog.cancel()
            server.terminate()
            if drain.is_alive():
                drain.join()
