"""Mutates inputs, and lists what raised other errors than the library's, or took too much time or memory.

    .venv/bin/python scripts/fuzz.py --count 1000000
    .venv/bin/python scripts/fuzz.py --target gemini --target sse --minutes 30 --seed 7
    .venv/bin/python scripts/fuzz.py --target gemini --case 1234
    .venv/bin/python scripts/fuzz.py --guided --minutes 5
    .venv/bin/python scripts/fuzz.py --keep

A case depends only on its target, --seed and its number. Slow targets get a share of --count: see their pace
with --list. A run goes through its targets in turn, so that one that is interrupted has tried as many of
each; it prints the number at which to go on. Recordings are used where they are present.

With --guided, inputs are chosen by what they reach in the code (atheris, in the group `fuzz`): those that
reach more are kept in build/fuzz. --keep then adds those that reach what the corpus in tests/fixtures/corpus
does not. --page writes what was done so far into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from tests.support.fuzz import TARGETS, Escape, Target
from tests.support.fuzz.cases import quiet, run_case
from tests.support.fuzz.guided import keep

ROOT = Path(__file__).resolve().parent.parent

SECONDS = 20
"""The CPU time after which a case counts as endless."""

MEGABYTES = 256
"""The memory by which a case may raise the most that the process has had."""

ADDRESS_SPACE = 8 * 1024**3
"""The memory that the process may ask for."""

BLOCK = 2000
"""How many cases of a target, divided by its pace, are tried in turn."""

RESULTS = ROOT / "build" / "fuzz.json"
FOUND = ROOT / "build" / "fuzz"


class EndlessError(Exception):
    """A case took too long."""


class GreedyError(Exception):
    """A case took too much memory."""


def main() -> int:
    """Do what the command line asks for."""
    options = parse()
    targets = [TARGETS[name] for name in options.target or TARGETS]
    if options.list:
        say("\n".join(f"{target.name}: one in {target.pace}" for target in targets))
        return 0
    if options.page:
        write_page()
        return 0
    if options.keep:
        for target in targets:
            keep(target, FOUND, say)
        return 0
    if options.guided:
        return max(guided(target, options) for target in targets)
    return by_chance(targets, options)


# -- by chance


def by_chance(targets: list[Target], options: argparse.Namespace) -> int:
    """Run the cases of all targets in turn, and print what escaped."""
    signal.signal(signal.SIGVTALRM, too_long)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    found: Counter[tuple[str, str, str]] = Counter()
    done: Counter[str] = Counter()
    ends = time.monotonic() + options.minutes * 60
    with suppress(KeyboardInterrupt), quiet():
        for target, numbers in blocks(targets, options):
            if time.monotonic() > ends:
                break
            for number in numbers:
                report(found, one(target, number, options.seed))
                done[target.name] += 1
    for name, count in done.items():
        say(f"{name}: {count} cases from {options.start}, {kinds(found, name)} kinds of escapes")
    remember(done, found, options)
    return 1 if found else 0


def blocks(targets: list[Target], options: argparse.Namespace) -> Iterator[tuple[Target, range]]:
    """Yield the numbers of cases to try, a block of each target after the other."""
    if options.case is not None:
        yield from ((target, range(options.case, options.case + 1)) for target in targets)
        return
    for begin in range(0, options.count, BLOCK):
        end = min(options.count, begin + BLOCK)
        for target in targets:
            first, last = options.start + begin // target.pace, options.start + -(-end // target.pace)
            yield target, range(first, last)


def one(target: Target, number: int, seed: int) -> Escape | None:
    """Run one case with limited time and memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        escape = run_case(target, number, seed=seed)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    if escape is None and grown > MEGABYTES:
        return Escape(target.name, number, f"{grown} MB", GreedyError.__name__, "-", "")
    return escape


def too_long(_: int, frame: FrameType | None) -> None:
    """End a case."""
    raise EndlessError(f"more than {SECONDS} s of CPU time")


def report(found: Counter[tuple[str, str, str]], escape: Escape | None) -> None:
    """Count an escape, and print the first of its kind."""
    if escape is None:
        return
    kind = escape.target, escape.error, escape.place
    found[kind] += 1
    if found[kind] == 1:
        say(f"{escape.error} at {escape.place} in {escape.target} --case {escape.number}: {escape.what}")
        say(escape.trace)


def kinds(found: Counter[tuple[str, str, str]], name: str) -> int:
    """Return how many kinds of escapes a target has."""
    return sum(target == name for target, _, _ in found)


# -- what was done


def remember(done: Counter[str], found: Counter[tuple[str, str, str]], options: argparse.Namespace) -> None:
    """Add what was done to the results."""
    if options.case is not None:
        return
    rows = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    for name, count in done.items():
        row = {"target": name, "seed": options.seed, "start": options.start, "cases": count}
        rows.append(row | {"escapes": kinds(found, name)})
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(rows), "utf-8")


PAGE = """\
Inputs are changed by chance: values of other types, parts of other inputs, members that are left out,
renamed, repeated or exchanged; text and bytes that are cut, put in and moved. What is accepted goes on
through the loop. Where there is a fast path, in decoders, the emitter and conversations, it is compared with
the full one for each input; bytes are read whole and in pieces. Nothing but the library's own errors may come
out, within 20 s of the processor's time and 256 MB. A case is repeated by its seed and number, and `make
fuzz` tries more.

Inputs that reach lines that no other does are kept in `tests/fixtures/corpus`; `make fuzz GUIDED=5` lets
atheris search for more. Every run of the tests tries them all, and some by chance.

Found and mended, each with a test: twelve kinds of payloads of which a fast path passed over an error,
another response or a malformed member; member names that made Chat Completions and Interactions raise
`TypeError`; indexes beyond 64 bits, formats with lone surrogates and text without text in Chat Completions;
a fragment of an xAI result after one of another type; inputs, logs and labels of durable runs that raised
`KeyError`, `TypeError` or errors of pydantic; states and tools of hundreds of levels; integers of more than
4,300 digits; malformed objects of frameworks; messages in bulk that JSON cannot write.

| target | inputs | seeds | escapes left |
|---|---:|---|---:|
"""


def write_page() -> None:
    """Write the results into the page on reliability."""
    from scripts.reliability import measured, replace_section

    by_target: dict[str, list[Any]] = {}
    for row in json.loads(RESULTS.read_text("utf-8")):
        by_target.setdefault(row["target"], []).append(row)
    lines = []
    for name in [name for name in TARGETS if name in by_target]:
        rows = by_target[name]
        seeds = ", ".join(sorted({str(row["seed"]) for row in rows}, key=int))
        newest = max(rows, key=lambda row: int(row["seed"]))
        lines.append(f"| {name} | {sum(row['cases'] for row in rows):,} | {seeds} | {newest['escapes']} |")
    told = measured("make fuzz")
    replace_section("Fuzzing", f"{told}\n\n{PAGE}" + "\n".join(lines))


# -- guided by coverage


def guided(target: Target, options: argparse.Namespace) -> int:
    """Run a target in a process of its own, which atheris ends."""
    command = [sys.executable, "-m", "tests.support.guided_fuzz", target.name]
    command += [str(options.minutes), str(options.seed), str(FOUND)]
    say(f"-- {target.name}")
    places = {"PYTHONPATH": os.pathsep.join(sys.path[:2])}
    return subprocess.run(command, check=False, env=os.environ | places).returncode  # noqa: S603


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", action="append", choices=TARGETS, help="one of the targets; default all")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--count", type=int, default=10_000, help="how many cases (default: %(default)s)")
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0, help="the seed of all cases")
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many minutes")
    parser.add_argument("--guided", action="store_true", help="choose inputs by what they reach")
    parser.add_argument("--keep", action="store_true", help="add what was found to the corpus")
    parser.add_argument("--page", action="store_true", help="write the results into the page on reliability")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
