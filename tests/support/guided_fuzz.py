"""Lets atheris choose the inputs of a target: arguments are its name, minutes, a seed and a folder."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main(name: str, minutes: str, seed: str, folder: str) -> None:
    """Import the package so that it reports what is reached, and begin; atheris ends the process."""
    import atheris

    with atheris.instrument_imports(include=["agui_reasoning"], enable_loader_override=False):
        cases = import_module("tests.support.fuzz.cases")
    guided = import_module("tests.support.fuzz.guided")
    guided.guide(cases.TARGETS[name], Path(folder), minutes=float(minutes), seed=int(seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
