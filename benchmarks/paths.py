"""The list of paths. Each is a module with a `PATH`, imported when it is measured."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from typing import Final

from benchmarks.harness import Effort, Figure, Path, UnavailableError

__all__ = ["PATHS", "load", "measured", "measured_alone"]

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


def measured(name: str, effort: Effort) -> list[Figure]:
    """Return the rows of a path, and one that says what is missing if it is not complete."""
    figures: list[Figure] = []
    try:
        figures.extend(load(name).measure(effort))
    except UnavailableError as error:
        figures.append(Figure("not measured", "", (), note=str(error)))
    return figures


def measured_alone(name: str, effort: Effort) -> list[Figure]:
    """Like `measured`, in a process of its own: memory is slower after other paths have used and freed it."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(measured, name, effort).result()
