#!/usr/bin/env python
"""Puts the gateway under load on this machine, and writes the section "Load" of docs/reliability.md.

    .venv/bin/python scripts/load.py                   every part, in 10 to 15 minutes on an idle machine
    .venv/bin/python scripts/load.py plain slow        some parts, which are only printed
    .venv/bin/python scripts/load.py --quick           a tenth of each, which is only printed

The ready-made gateway runs under uvicorn in a process of its own, the provider and the clients in two others.
The provider writes bytes that were prepared, and clients look at what they received when all have ended, so
that neither is what limits. Linux only: it says how much memory a process has.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from scripts.reliability import measured, replace_section
from tests.support.load import AVAILABLE, Gateway, Level, Streams, gateway

MIB: Final = 2**20
PACE_S: Final = 0.05
"""The time between two pieces of an answer: twenty a second, from each of a thousand models."""


@dataclass(frozen=True)
class Row:
    """A row of the table: what was measured, what came out, and the goal, if there is one."""

    what: str
    found: str
    goal: str = ""
    met: bool = True

    def line(self) -> str:
        """Return the row of the page."""
        met = "" if not self.goal else "yes" if self.met else "**no**"
        return f"| {self.what} | {self.found} | {self.goal} | {met} |"


@dataclass
class Part:
    """A part of the load: a title, and its rows."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def add(self, what: str, found: str, goal: str = "", *, met: bool = True) -> None:
        """Add a row, and print it."""
        self.rows.append(Row(what, found, goal, met))
        say(f"  {what}: {found}" + (f" (goal: {goal}{'' if met else ', MISSED'})" if goal else ""))

    def lines(self) -> Iterator[str]:
        """Yield the lines of the page."""
        yield from (f"**{self.title}**", "", "| what | found | goal | met |", "|---|---|---|---|")
        yield from (row.line() for row in self.rows)
        yield ""


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def mib(value: float) -> str:
    """Return bytes as MiB."""
    return f"{value / MIB:.0f} MiB"


def plain(part: Part, share: float) -> None:
    """Many runs at once whose reasoning is shown."""
    with gateway() as server:
        rounds(part, server, int(1_000 * share))


def hidden(part: Part, share: float) -> None:
    """Many runs at once whose reasoning is hidden and encrypted."""
    with gateway(hidden=True) as server:
        rounds(part, server, int(1_000 * share))


def durable(part: Part, share: float) -> None:
    """Many runs at once with a log in SQLite."""
    with tempfile.TemporaryDirectory() as folder, gateway(store=str(Path(folder, "runs.db"))) as server:
        rounds(part, server, int(300 * share), times=2)


def rounds(part: Part, server: Gateway, count: int, times: int = 3) -> None:
    """Measure rounds of the same runs: what the first leaves is the level that the others come back to."""
    levels, streams = [server.fresh], []
    for _ in range(times):
        streams.append(server.run(count, deltas=500, pace=PACE_S))
        levels.append(server.settled())
    part.add("streams", whole(streams), "all whole, no error logged", met=faultless(streams, server))
    ratios = [max(one.seconds) / median(one.seconds) for one in streams]
    seconds = f"{min(median(one.seconds) for one in streams):.0f} s in the median, "
    part.add("slowest ÷ median duration", seconds + listed(ratios, ".3f"), "≤ 1.5", met=max(ratios) <= 1.5)
    part.add("first byte after", listed([median(one.first) for one in streams], ".2f") + " s in the median")
    share = max(one.cpu / one.wall for one in streams)
    part.add("CPU per delta", listed(list(per_delta(levels, count * 500)), ".0f") + " µs")
    part.add("CPU of the clients", f"{share:.0%} of a core at most, so that they do not limit")
    memory(part, levels)
    back(part, levels)


def per_delta(levels: list[Level], deltas: int) -> Iterator[float]:
    """Yield the CPU time of each round per delta, in microseconds."""
    for before, after in pairwise(levels):
        yield (after.cpu - before.cpu) / deltas * 1e6


def memory(part: Part, levels: list[Level]) -> None:
    """Say how much memory the process had, and whether it came back to the level after the first round."""
    fresh, warm, *later = levels
    peak = max(level.peak for level in levels)
    part.add("memory", f"{mib(fresh.rss)} before the first round, {mib(peak)} at most")
    found = ", then ".join(mib(level.rss) for level in (warm, *later))
    within = max(level.rss for level in later) <= 1.1 * warm.rss
    part.add("memory after each round", found, "within 10 % of the first round's", met=within)


def back(part: Part, levels: list[Level]) -> None:
    """Say whether all else came back to where it was."""
    fresh, warm, *later = levels
    last = later[-1]
    found = f"{last.files - fresh.files:+d} files, {last.tasks - fresh.tasks:+d} tasks"
    met = last.files <= fresh.files and last.tasks <= fresh.tasks
    part.add("left open, against before the first round", found, "none", met=met)
    grown = last.objects - warm.objects
    found = f"{warm.objects:,} after the first round, {grown:+,d} at the end"
    part.add("tracked objects", found, "≤ 1 % more", met=grown <= 0.01 * warm.objects)


def soak(part: Part, share: float) -> None:
    """Short runs, one after the other on 32 connections."""
    counts = [int(count * share) for count in (20_000, 40_000, 40_000)]
    with gateway() as server:
        streams, levels = [], [server.fresh]
        for count in counts:
            streams.append(server.run(count, deltas=4, pace=0, at_once=32))
            levels.append(server.settled())
        part.add("streams", whole(streams), "all whole, no error logged", met=faultless(streams, server))
        *_, warm, last = levels
        part.add("CPU per run", f"{(last.cpu - warm.cpu) / counts[-1] * 1e3:.1f} ms")
        found = ", ".join(
            f"{mib(level.rss)} after {done:,}"
            for done, level in zip(accumulate(counts), levels[1:], strict=True)
        )
        part.add("memory", found, "≤ 2 % more in the last 40,000", met=last.rss <= 1.02 * warm.rss)
        back(part, levels)


def slow(part: Part, share: float) -> None:
    """Clients that read one byte a second, from answers of 20,000 pieces."""
    count, held = int(200 * share), 40.0 * max(share, 0.25)
    with gateway() as server:
        server.run(20, deltas=500, pace=0)
        levels, peaks = [], []
        for _ in range(2):
            levels.append(server.settled())
            with server.slow(count, deltas=20_000) as clients:
                time.sleep(held)
                during = server.level()
                left = clients.leave()
            peaks.append(max(during.peak, during.rss))
        levels.append(server.settled())
        idle, warm, last = levels
        part.add("open at the end", f"{left} of {count} after {held:.0f} s", "all", met=left == count)
        more = max(peaks) - idle.rss
        part.add(
            "memory", f"{mib(idle.rss)} before, at most {mib(more)} more", "≤ 64 MiB", met=more <= 64 * MIB
        )
        found = f"{mib(warm.rss)}, the second time {mib(last.rss)}"
        within = last.rss <= 1.1 * warm.rss
        part.add("memory when they have left", found, "within 10 % of the first time's", met=within)
        back(part, levels)


def fair(part: Part, share: float) -> None:
    """Runs beside others that never wait, and beside long inputs."""
    count = max(10, int(50 * share))
    with gateway() as server:
        server.run(count, deltas=100, pace=PACE_S)
        alone = server.run(count, deltas=100, pace=PACE_S)
        with server.flood(4) as clients:
            flooded = server.run(count, deltas=100, pace=PACE_S)
            clients.leave()
        with server.inputs(2, megabytes=2) as clients:
            blocked = server.run(count, deltas=100, pace=PACE_S)
            clients.leave()
        part.add("alone", lasted(alone))
        beside(part, alone, flooded, "4 runs of a provider that never waits")
        beside(part, alone, blocked, "2 clients that send 20,000 messages again and again")
        streams = [alone, flooded, blocked]
        part.add("streams", whole(streams), "all whole, no error logged", met=faultless(streams, server))


def beside(part: Part, alone: Streams, streams: Streams, what: str) -> None:
    """Say how much longer runs last beside others."""
    times = max(streams.seconds) / max(alone.seconds)
    part.add(f"beside {what}", lasted(streams), "slowest ≤ 1.5 of that alone", met=times <= 1.5)


def lasted(streams: Streams) -> str:
    """Say how long runs lasted."""
    return f"{median(streams.seconds):.2f} s in the median, {max(streams.seconds):.2f} s at most"


def whole(streams: list[Streams]) -> str:
    """Say how many streams were whole."""
    faults = [fault for one in streams for fault in one.faults]
    total = sum(len(one.seconds) for one in streams)
    return f"{total - len(faults):,} of {total:,} whole" + "".join(f"; {fault}" for fault in faults[:3])


def faultless(streams: list[Streams], server: Gateway) -> bool:
    """Return whether all streams were whole, and nothing was logged."""
    return not server.log and not any(one.faults for one in streams)


def listed(values: list[float], how: str) -> str:
    """Return the values of all rounds."""
    return " / ".join(format(value, how) for value in values)


PARTS: Final[dict[str, tuple[str, Callable[[Part, float], None]]]] = {
    "plain": ("1,000 runs at once, 500 deltas each, reasoning shown", plain),
    "hidden": ("1,000 runs at once, 500 deltas each, reasoning hidden and encrypted", hidden),
    "durable": ("300 runs at once, 500 deltas each, with a log in SQLite", durable),
    "slow": ("200 clients that read one byte a second", slow),
    "fair": ("50 runs of 100 deltas beside others", fair),
    "soak": ("100,000 runs of 4 deltas, 32 at once", soak),
}

_ABOUT: Final = """
The ready-made gateway under uvicorn, a provider and clients in three processes. Every stream is looked at:
each delta arrived, in order and in the run that it belongs to, and one terminal event is the last. A provider
sends a delta every 50 ms. *Memory* is what the system says of the server's process (RSS). CPython keeps what
a first load took, and uses it for the next: so later rounds are compared with the level after a first round
of the same load.
"""


@contextmanager
def many_files() -> Iterator[None]:
    """Let this process and those that it starts open many sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192) if soft < 8_192 else soft, hard))
    yield


def main() -> int:
    """Run the parts, and print or write what came out."""
    options = parse()
    if not AVAILABLE:
        say("This needs /proc, which Linux has.")
        return 1
    found = []
    with many_files():
        for name in options.parts or PARTS:
            title, measure = PARTS[name]
            say(title)
            part = Part(title)
            measure(part, 0.1 if options.quick else 1.0)
            found.append(part)
    if not options.parts and not options.quick:
        lines = [
            measured("python scripts/load.py"),
            _ABOUT,
            *(line for part in found for line in part.lines()),
        ]
        replace_section("Load", "\n".join(lines))
    return 0 if all(row.met for part in found for row in part.rows) else 1


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", choices=[[], *PARTS], help=f"of {', '.join(PARTS)}; by default, all"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of each part")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
