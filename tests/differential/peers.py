"""Environments with old versions of `ag-ui-protocol`, or LiteLLM, for tests and `scripts/install_peers.py`.

Standard library only: the script runs before anything is installed.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.frameworks.table import FRAMEWORKS
from tests.support.environments import UnavailableError, environment

__all__ = ["VERSIONS", "Peer", "UnavailableError", "python_of", "python_of_litellm"]

VERSIONS = ("0.1.10", "0.1.13", "0.1.22")

_MODELS = Path(__file__).with_name("peer_models.py")
_SECONDS = 900


def python_of(version: str) -> Path:
    """The interpreter of the environment with a version of `ag-ui-protocol`.

    Raises:
        UnavailableError: pip could not install the version; the message is pip's.
    """
    return environment(version, f"ag-ui-protocol=={version}")


def python_of_litellm() -> Path:
    """The interpreter of the environment with LiteLLM, this package and what its tests need.

    Raises:
        UnavailableError: pip could not install them; the message is pip's.
    """
    return FRAMEWORKS["litellm"].python("litellm")


class Peer:
    """The models of one version, in a process of their own; a context manager."""

    def __init__(self, version: str) -> None:
        command = [python_of(version), "-I", _MODELS]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")
        self.version = version
        self.installed: str = self._answer()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(_SECONDS)

    def refusals(self, events: list[dict[str, Any]]) -> list[str]:
        """What this version's models have against each event that they refuse."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(events)}\n")
        self._process.stdin.flush()
        refusals: list[str] = self._answer()
        return refusals

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())
