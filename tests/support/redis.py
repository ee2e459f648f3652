"""Starts a Redis of its own on loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SERVER = "redis-server"


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def redis_server() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a server that writes nothing to disk; gives its address and process."""
    executable = shutil.which(SERVER)
    assert executable is not None
    port = free_port()
    arguments = [executable, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    arguments += ["--rdbcompression", "no"]  # so that tests can look for text in its values
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if b"Ready to accept connections" in line:
                    break
            yield f"redis://127.0.0.1:{port}/0", server
        finally:
            with suppress(ProcessLookupError):
                server.kill()
