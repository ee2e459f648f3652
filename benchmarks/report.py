"""The table, on the terminal and in the documentation."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path as FilePath
from typing import Final, TypeAlias

from benchmarks.harness import Figure, Path

__all__ = ["headlines", "machine", "markdown", "row", "write_pages"]

Results: TypeAlias = Mapping[str, tuple[Path, Sequence[Figure]]]
"""The measured paths and their rows, by name."""

_ROOT: Final = FilePath(__file__).parents[1]
_HEADLINES: Final = re.compile(r"(<!-- headlines -->\n).*?(<!-- /headlines -->)", re.DOTALL)
_MARKED: Final = re.compile(r"(<!-- measured -->\n).*?(<!-- /measured -->)", re.DOTALL)
_PACKAGES: Final = (
    "ag-ui-protocol",
    "pydantic",
    "pydantic-core",
    "msgspec",
    "pydantic-ai-slim",
    "cryptography",
    "joserfc",
    "starlette",
    "uvicorn",
)


def row(figure: Figure) -> tuple[str, str, str, str, str]:
    """Return the cells of a row: what, median, spread, target, whether it is met."""
    target = f"{figure.target}" if figure.target else ""
    if not figure.samples:
        return figure.name, "–", figure.note, target, ""
    spread = f"{_short(min(figure.samples))}–{_short(max(figure.samples))}"
    verdict = {True: "yes", False: "**no**", None: ""}[figure.is_met]
    return figure.name, f"{_short(figure.median)} {figure.unit}", spread, target, verdict


def headlines(results: Results) -> str:
    """Return the figures for the top of the page, as a list."""
    lines = []
    for path, figures in results.values():
        medians = [f.median for f in figures if f.samples and f.name.startswith(path.rows)]
        if path.headline and medians:
            low, high = _rounded(min(medians)), _rounded(max(medians))
            lines.append(f"* {path.headline.format(low=low, high=high)}\n")
    return "".join(lines)


def markdown(results: Results, command: str) -> str:
    """Return the measured part of the page."""
    node = _node()
    peers = f"; Node {node}, @ag-ui/client 1.0.0." if node else "."
    lines = [machine(command).removesuffix(".") + peers, ""]
    for name, (path, figures) in results.items():
        lines += [f"### `{name}`", "", f"{path.title}.", ""]
        lines += ["| what | median | spread | target | met |", "|---|---:|---|---|---|"]
        lines += [f"| {' | '.join(row(figure))} |" for figure in figures]
        lines.append("")
    return "\n".join(lines)


def write_pages(results: Results, command: str) -> list[FilePath]:
    """Replace the measured parts of the performance page, and return its path."""
    page = _ROOT / "docs" / "performance.md"
    text = page.read_text(encoding="utf-8")
    for part, measured in (
        (_HEADLINES, headlines(results)),
        (_MARKED, f"\n{markdown(results, command)}\n"),
    ):
        text = part.sub(rf"\g<1>{_literal(measured)}\g<2>", text)
    page.write_text(text, encoding="utf-8")
    return [page]


def _literal(text: str) -> str:
    return text.replace("\\", r"\\")


def _rounded(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def machine(command: str, packages: Sequence[str] = _PACKAGES) -> str:
    """Return the line that says with what a page was written, and on which machine."""
    versions = ", ".join(f"{name} {found}" for name in packages if (found := _version(name)))
    return (
        f"Measured with `{command}`: {platform.python_implementation()} {platform.python_version()} on "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores; {versions}."
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _node() -> str | None:
    from tests.differential.node import find_node

    node = find_node()
    if node is None:
        return None
    shown = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return shown.strip().removeprefix("v")


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
