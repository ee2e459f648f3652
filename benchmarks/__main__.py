"""``python -m benchmarks [PATH …] [--quick] [--write]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.harness import FULL, QUICK, Figure, Path
from benchmarks.paths import PATHS, load, measured_alone
from benchmarks.report import row, write_pages

_WIDTHS = (48, 14, 18, 8, 6)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure paths, print the table, and return the exit code."""
    options = _options(arguments)
    results: dict[str, tuple[Path, list[Figure]]] = {}
    for name in options.paths or PATHS:
        path = load(name)
        print(f"\n{name}: {path.title}", flush=True)
        figures = measured_alone(name, QUICK if options.quick else FULL)
        for figure in figures:
            cells = zip(row(figure), _WIDTHS, strict=True)
            print("  " + "".join(cell.ljust(width) for cell, width in cells).rstrip(), flush=True)
        results[name] = path, figures
    if options.write:
        command = " ".join(["python -m benchmarks", *(arguments or sys.argv[1:])])
        print("\nwritten:", *write_pages(results, command))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"all by default; {', '.join(PATHS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller inputs")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md; needs all paths")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.paths if name not in PATHS]:
        parser.error(f"unknown path {', '.join(unknown)}; use {', '.join(PATHS)}")
    if options.write and options.paths:
        parser.error("--write needs all paths")
    return options


if __name__ == "__main__":
    sys.exit(main())
