"""Mutates inputs by chance, and lists what raised anything but the library's own errors.

    .venv/bin/python scripts/fuzz.py --count 1000000
    .venv/bin/python scripts/fuzz.py --start 250000 --minutes 30
    .venv/bin/python scripts/fuzz.py --case 1234

A case depends only on --seed and its number. A run that is interrupted, or out of its minutes, prints the
number at which to go on. Recordings are used where they are present, unless --own is given.
"""

import argparse
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from tests.support.fuzz import Escape, run_case
from tests.support.recordings import FOLDER

SECONDS = 20
"""The CPU time after which a case counts as endless."""


class EndlessError(Exception):
    """A case took too long."""


def main() -> int:
    """Run the cases, and print what escaped."""
    options = parse()
    recordings = None if options.own or not FOLDER.is_dir() else FOLDER
    signal.signal(signal.SIGVTALRM, too_long)
    numbers = range(options.start, options.start + options.count)
    if options.case is not None:
        numbers = range(options.case, options.case + 1)
    found: Counter[tuple[str, str]] = Counter()
    began, number = time.monotonic(), numbers.start
    with suppress(KeyboardInterrupt):
        for number in numbers:
            if time.monotonic() - began > options.minutes * 60:
                break
            report(found, one(number, options.seed, recordings))
            if (number + 1) % options.every == 0:
                say(f"{number + 1} cases, {found.total()} escapes of {len(found)} kinds")
        else:
            number = numbers.stop
    say(f"Cases {numbers.start} to {number - 1}: {found.total()} escapes of {len(found)} kinds.")
    if number < numbers.stop:
        say(f"Go on with --start {number} --count {numbers.stop - number}.")
    return 1 if found else 0


def one(number: int, seed: int, recordings: Path | None) -> Escape | None:
    """Run one case for a limited time."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return run_case(number, seed=seed, recordings=recordings)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def too_long(_: int, frame: FrameType | None) -> None:
    """End a case."""
    raise EndlessError(f"more than {SECONDS} s of CPU time")


def report(found: Counter[tuple[str, str]], escape: Escape | None) -> None:
    """Count an escape, and print the first of its kind."""
    if escape is None:
        return
    found[escape.error, escape.place] += 1
    if found[escape.error, escape.place] == 1:
        say(f"{escape.error} at {escape.place} in case {escape.number} ({escape.kind}: {escape.what})")
        say(escape.trace)


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000, help="how many cases (default: %(default)s)")
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0, help="the seed of all cases")
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many minutes")
    parser.add_argument("--every", type=int, default=10_000, help="print the count so often")
    parser.add_argument("--own", action="store_true", help="use no recordings")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
