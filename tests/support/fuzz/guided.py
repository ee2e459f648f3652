"""Choose inputs by what they reach in the code, and keep those that reach what no other does."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.fuzz.cases import CORPUS, cases_of, file_of, kept, quiet, tried, written
from tests.support.fuzz.inputs import donors
from tests.support.fuzz.mutator import Mutator
from tests.support.fuzz.target import Case, Target

__all__ = ["guide", "keep"]

MOST_BYTES = 6_000
"""The size of the cases that are kept of a target."""

DRAWN = 40
"""How many cases that are drawn by chance are looked at, beside those that were found."""


def guide(target: Target, folder: Path, *, minutes: float, seed: int) -> None:
    """Let atheris choose the inputs of a target; it ends the process.

    Args:
        target: The target.
        folder: Where inputs that reach more are kept, in a folder of the target.
        minutes: When to stop.
        seed: The seed of atheris.
    """
    import atheris

    own = folder / target.name
    own.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate([*kept(target), *_drawn(target, seed)]):
        with suppress(TypeError, ValueError, RecursionError):
            (own / f"seed-{number}").write_text(written(target, case), "utf-8")
    told: set[str] = set()

    def attempt(data: bytes) -> None:
        with suppress(ValueError, TypeError, RecursionError, AttributeError):
            case = cases_of(target, json.loads(data))
            error = tried(target, case)
            if error is not None and (kind := f"{type(error).__name__}: {error}"[:200]) not in told:
                told.add(kind)
                sys.stdout.write(f"{kind}\n  {data.decode('utf-8', 'replace')[:2000]}\n")
                sys.stdout.flush()

    def mutate(data: bytes, most: int, number: int) -> bytes:
        try:
            changed = written(target, _changed(target, cases_of(target, json.loads(data)), number)).encode()
        except (ValueError, TypeError, RecursionError, AttributeError):
            return data
        return changed if len(changed) <= most else data

    with quiet():
        settings = [f"-max_total_time={int(minutes * 60)}", f"-seed={seed + 1}", "-max_len=60000"]
        atheris.Setup([sys.argv[0], *settings, str(own)], attempt, custom_mutator=mutate)
        atheris.Fuzz()


def _drawn(target: Target, seed: int) -> Iterator[Case]:
    for number in range(DRAWN):
        mutator = Mutator(random.Random(f"{target.name}:{seed}:{number}"), donors(), is_json=True)
        yield target.draw(mutator.chance, mutator)


def _changed(target: Target, case: Case, number: int) -> Case:
    chance = random.Random(number)
    mutator = Mutator(chance, donors(), is_json=True)
    options = case.options ^ (1 << chance.randrange(12) if chance.random() < 0.2 else 0)
    change = mutator.bytes if target.is_binary else mutator.some
    return Case(change(case.given), options, case.of)


# -- the corpus


def keep(target: Target, folder: Path, say: Callable[[str], None]) -> int:
    """Write the corpus of a target: of what it has and what was found, what reaches lines of its own.

    The smallest come first, so that few and small ones are kept.
    """
    files = (folder / target.name).glob("*")
    texts = {written(target, case) for case in kept(target)}
    for case in _drawn(target, seed=0):
        with suppress(ValueError, TypeError, RecursionError):
            texts.add(written(target, case))
    for file in files:
        with suppress(ValueError, TypeError, RecursionError, AttributeError):
            texts.add(written(target, cases_of(target, json.loads(file.read_bytes()))))
    reached: set[Any] = set()
    chosen: list[str] = []
    with quiet():
        for text in sorted((one for one in texts if len(one) <= MOST_BYTES), key=lambda one: (len(one), one)):
            lines = _reached(target, cases_of(target, json.loads(text)))
            if not lines <= reached and sum(map(len, chosen)) + len(text) <= MOST_BYTES:
                reached |= lines
                chosen.append(text)
    CORPUS.mkdir(exist_ok=True)
    file_of(target).write_text("".join(f"{text}\n" for text in chosen), "utf-8")
    say(f"{target.name}: {len(chosen)} of {len(texts)}, {sum(map(len, chosen))} bytes, {len(reached)} lines")
    return len(chosen)


def _reached(target: Target, case: Case) -> set[Any]:
    """The lines of the package that a case reaches."""
    lines: set[Any] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "agui_reasoning" not in frame.f_code.co_filename:
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        tried(target, case)
    finally:
        sys.settrace(before)
    return lines
