"""The list of paths. Each is a module with a `PATH`, imported when it is measured."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from benchmarks.harness import Effort, Figure, Path, UnavailableError

__all__ = ["PATHS", "load", "measured"]

PATHS: Final = (
    "emit",
    "frames",
    "runs",
    "payloads",
    "provider_sse",
    "consume",
    "official_client",
    "growth",
    "response",
    "server",
    "keys",
    "memory",
    "open_runs",
    "durable",
    "imports",
    "command",
    "history",
)
"""The names of all paths, in the order of the table."""


def load(name: str) -> Path:
    """Return a path by name."""
    path: Path = import_module(f"benchmarks.{name}").PATH
    return path


def measured(path: Path, effort: Effort) -> list[Figure]:
    """Return the rows of a path, and one that says what is missing if it is not complete."""
    figures: list[Figure] = []
    try:
        figures.extend(path.measure(effort))
    except UnavailableError as error:
        figures.append(Figure("not measured", "", (), note=str(error)))
    return figures
