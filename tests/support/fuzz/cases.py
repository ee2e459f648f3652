"""Draw cases, try them, and keep those that are worth it."""

from __future__ import annotations

import json
import logging
import random
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from agui_reasoning import AGUIReasoningError
from tests.support.fuzz import clients, frameworks, places, streams
from tests.support.fuzz.inputs import donors
from tests.support.fuzz.mutator import Mutator
from tests.support.fuzz.target import Case, Target

__all__ = [
    "CORPUS",
    "TARGETS",
    "Escape",
    "cases_of",
    "file_of",
    "kept",
    "quiet",
    "run_case",
    "tried",
    "written",
]

TARGETS = {
    target.name: target
    for target in (*streams.TARGETS, *clients.TARGETS, *places.TARGETS, *frameworks.TARGETS)
}

CORPUS = Path(__file__).resolve().parents[2] / "fixtures" / "corpus"
"""A file of cases per target, one per line."""


class Escape(Struct, frozen=True):
    """An exception that is none of ours.

    Attributes:
        target: The name of the target.
        number: The number of the case.
        what: What was mutated.
        error: The type of the exception.
        place: Where it was raised: the innermost line of the package.
        trace: The whole traceback.
    """

    target: str
    number: int
    what: str
    error: str
    place: str
    trace: str


def run_case(target: Target, number: int, *, seed: int = 0) -> Escape | None:
    """Run one case, and return what escaped from it."""
    mutator = Mutator(random.Random(f"{target.name}:{seed}:{number}"), donors())
    case = target.draw(mutator.chance, mutator)
    error = tried(target, case)
    return None if error is None else _escape(target, number, mutator.done, error)


def tried(target: Target, case: Case) -> Exception | None:
    """Try a case; return what escaped."""
    try:
        target.run(case)
    except AGUIReasoningError:
        return None
    except Exception as error:
        return error
    return None


def _escape(target: Target, number: int, what: str, error: Exception) -> Escape:
    trace = "".join(traceback.format_exception(error, limit=-12))
    return Escape(target.name, number, what, type(error).__name__, _raised(error), trace)


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings, what is logged, and pydantic's failures to name what it refuses."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    logging.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        sys.unraisablehook = hook


def _raised(error: BaseException) -> str:
    """Return the innermost line of the package, or of this module."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "agui_reasoning" in frame.filename] or list(frames)
    return f"{ours[-1].filename.rpartition('src/')[2]}:{ours[-1].lineno}"


# -- the corpus


def file_of(target: Target) -> Path:
    """The file with the cases that are kept of a target."""
    return CORPUS / f"{target.name}.jsonl"


def kept(target: Target) -> list[Case]:
    """The cases that are kept of a target."""
    file = file_of(target)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [cases_of(target, json.loads(line)) for line in lines]


def cases_of(target: Target, line: Any) -> Case:
    """Read a case of the corpus."""
    given, options, *of = line
    return Case(given.encode("latin-1") if target.is_binary else given, options, *of)


def written(target: Target, case: Case) -> str:
    """Write a case for the corpus, as one line.

    Raises:
        ValueError, TypeError, RecursionError: It is no JSON.
    """
    given = case.given.decode("latin-1") if target.is_binary else case.given
    line = [given, case.options, *([] if case.of is None else [case.of])]
    text = json.dumps(line, separators=(",", ":"), allow_nan=False)
    json.loads(text)  # integers of thousands of digits can be written only
    return text
