"""Changes the library by chance, one mutant at a time, and runs the tests that reach the change.

    .venv/bin/python scripts/mutate.py                       what `make mutate` does: a sample of each room
    .venv/bin/python scripts/mutate.py --room crypto --seed 7 --count 20
    .venv/bin/python scripts/mutate.py --write               writes docs/reliability.md, too

The mutations are mutmut's. Its runner is not used: it mutates functions alone, calls each through a
trampoline, which our tests of signatures and growth see, and takes no sample. Here a process collects the
tests of a room once, and learns which of them run which lines. For each mutant it forks, puts the new code
into the functions that exist, and runs the tests of the line, the quickest first, until one fails. What
runs on import is imported in a new process instead. Files are changed in a copy of the tree alone.

The mutants of a sample have the lowest hashes of the seed, the function and the change, so that a change
elsewhere in a file leaves the sample. Texts that people read, types and decorators are not mutated. What is
known is kept in `build/mutate`: a run that was interrupted goes on, and a mutant is judged again when its
file or, if it survived, its tests change. `scripts/mutants.toml` says why some cannot be killed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/mutate"
TREE = BUILD / "tree"
PACKAGE = "src/agui_reasoning"
NOTES = ROOT / "scripts/mutants.toml"


@dataclass(frozen=True)
class Room:
    """What is mutated, and the tests that judge it."""

    source: str
    tests: tuple[str, ...]


_REQUEST = tuple(
    f"tests/unit/request/test_{name}.py"
    for name in (
        *("request", "request_anthropic", "request_chat", "request_interactions", "request_litellm"),
        *("request_mistral", "request_responses", "request_xai"),
    )
)

ROOMS = {
    "emitter": Room(
        "emitter",
        (
            *(
                "tests/unit/emitter",
                "tests/internals/emitter",
                "tests/internals/run",
                "tests/unit/test_run.py",
                "tests/unit/test_cut_calls.py",
            ),
            *("tests/unit/test_golden.py", "tests/unit/test_limits.py", "tests/unit/test_media_results.py"),
            *(
                "tests/unit/compat",
                "tests/property/test_emitter.py",
                "tests/property/test_emitter_stateful.py",
            ),
            *("tests/property/test_own_streams.py", "tests/property/test_interrupts.py"),
            *("tests/property/test_secrecy.py", "tests/unit/test_changes_of_a_thread.py"),
            *("tests/unit/providers/test_reports_on_requests.py", "tests/unit/request/test_accounts.py"),
            *("tests/unit/request/test_withheld.py", "tests/unit/request/test_refused_turns.py"),
            *(
                "tests/unit/driver",
                "tests/internals/driver",
                "tests/meta/test_signatures.py",
                "tests/unit/durable",
            ),
        ),
    ),
    "envelope": Room(
        "_envelope",
        (
            *("tests/internals/envelope", "tests/unit/request/test_damaged_values.py"),
            *("tests/unit/request/test_damaged_units.py", "tests/unit/request/test_authenticity_attacks.py"),
            *("tests/unit/request/test_request.py", "tests/unit/emitter/test_carriers.py"),
            *("tests/unit/request/test_history_messages.py", "tests/unit/crypto/test_authenticity.py"),
            *(
                "tests/unit/request/test_keys.py",
                "tests/unit/test_golden.py",
                "tests/property/test_round_trip.py",
            ),
        ),
    ),
    "crypto": Room(
        "crypto",
        (
            *("tests/unit/crypto", "tests/internals/crypto", "tests/property/test_crypto.py"),
            *(
                "tests/unit/request/test_keys.py",
                "tests/unit/driver/test_key_services.py",
                "tests/unit/durable",
            ),
        ),
    ),
    "request": Room(
        "request",
        (
            *(*_REQUEST, "tests/internals/request", "tests/property/test_request.py"),
            *(
                f"tests/unit/request/test_{name}.py"
                for name in (
                    *("inputs", "damaged_values", "damaged_units", "history_messages", "keys", "open_calls"),
                    *("withheld", "user_parts", "inside", "foreign_context", "stored_conversations"),
                    *("stored_objects", "accounts", "explain", "tool_errors", "blocks_without_type"),
                    *("merged_responses", "interrupted_loops", "prepared_conversation", "masked_values"),
                    *("upstream", "claude_generations", "efforts", "effort_fields", "refused_turns"),
                    *("stopped", "cut_calls", "authenticity_attacks", "anthropic_boundaries"),
                )
            ),
            *("tests/unit/test_client_instructions.py", "tests/unit/test_changes_of_a_thread.py"),
            *("tests/unit/test_limits.py", "tests/unit/test_own_rules.py", "tests/unit/test_origins.py"),
            *("tests/unit/test_media_results.py", "tests/unit/test_reasoning_request.py"),
            *(
                "tests/property/test_echoed.py",
                "tests/property/test_prepared.py",
                "tests/property/test_fuzz.py",
            ),
        ),
    ),
    "decoders": Room(
        "providers/_apis",
        (
            *("tests/unit/providers", "tests/unit/test_vendors.py", "tests/unit/test_origins.py", *_REQUEST),
            *("tests/property/test_decoder_text.py", "tests/unit/test_media_results.py"),
            *("tests/unit/driver/test_model_agents.py", "tests/unit/request/test_user_parts.py"),
            "tests/unit/gateway/test_http_signing.py",
        ),
    ),
    "durable": Room("durable", ("tests/unit/durable", "tests/internals/durable")),
}

MOST_TESTS, MOST_SECONDS, MOST_ON_IMPORT = 400, 25.0, 75.0
"""How many tests judge a mutant, and how long they take without it; the quickest are taken."""

CPU_SECONDS, WALL_SECONDS = 20, 60
"""A mutant that needs this much more than its tests did without it is killed by the clock."""


# What can be changed.


@dataclass(frozen=True)
class Mutant:
    """A change of a file."""

    path: str
    scope: str
    line: int
    in_function: bool
    before: str
    after: str
    nth: int
    write: Callable[[], str]

    @property
    def key(self) -> str:
        """What it is, wherever its lines are."""
        return f"{self.path} {self.scope}: {self.before} → {self.after}" + (
            f" ({self.nth})" if self.nth else ""
        )

    def rank(self, seed: int) -> str:
        """Its place in the sample of a seed."""
        return sha256(f"{seed} {self.key}".encode()).hexdigest()


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Yield what mutmut's operators make of a module; its source is written when it is asked for."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider
    from mutmut.mutation.mutators import mutation_operators

    wrapper = MetadataWrapper(cst.parse_module(text))
    lines, module = wrapper.resolve(PositionProvider), wrapper.module
    counts: Counter[tuple[str, str, str]] = Counter()

    def code(node: cst.CSTNode) -> str:
        return " ".join(module.code_for_node(node).split())

    def inside(node: cst.CSTNode, scope: str, in_function: bool) -> Iterator[Mutant]:
        if _is_left_out(node, code):
            return
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            scope = f"{scope}.{node.name.value}".lstrip(".")
        for kind, operator in mutation_operators:
            if isinstance(node, kind) and not _is_noise(node, operator.__name__, code):
                for changed in islice(operator(node), 1 if operator.__name__ == "operator_string" else None):
                    what = scope, code(node), code(changed)
                    counts[what] += 1
                    write = partial(_write, module, node, changed)
                    yield Mutant(
                        path, scope, lines[node].start.line, in_function, *what[1:], counts[what] - 1, write
                    )
        for child in node.children:
            in_body = in_function or (isinstance(node, cst.FunctionDef) and child is node.body)
            yield from inside(child, scope, in_body)

    yield from inside(module, "", in_function=False)


def _write(module: Any, node: Any, changed: Any) -> str:
    text: str = module.deep_replace(node, changed).code
    return text


def _is_left_out(node: Any, code: Callable[[Any], str]) -> bool:
    """Whether nothing in a node does anything: types, imports, decorators, docstrings, `__all__`."""
    match type(node).__name__:
        case "Annotation" | "Import" | "ImportFrom" | "Decorator" | "TypeAlias":
            return True
        case "If":
            return code(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        case "Expr":
            return type(node.value).__name__ in {"SimpleString", "ConcatenatedString"}
        case "Assign" | "AnnAssign":
            text = code(node)
            return text.startswith(("__all__", "__slots__")) or "TypeVar(" in text or ": TypeAlias =" in text
        case "Call":
            return code(node.func) in {"cast", "TypeVar", "NewType"} or code(node.func).startswith("_log.")
    return False


def _is_noise(node: Any, operator: str, code: Callable[[Any], str]) -> bool:
    """Whether a mutation changes only what people read, or what mutmut leaves alone for good reason."""
    match operator:
        case "operator_string" | "operator_arg_removal" | "operator_assignment" | "operator_if_exp":
            text = code(node)
            prose = any(" " in part.strip() for part in text.split('"')[1::2])
            return prose or text.startswith(("len(", "isinstance(", "super("))
    return False


def sample(room: str, seed: int, count: int) -> list[Mutant]:
    """Return the mutants of a room that a seed chooses."""
    files = sorted((ROOT / PACKAGE / ROOMS[room].source).rglob("*.py"))
    files = [file for file in files if room != "decoders" or file.name != "encode.py"]
    everything = (
        one for file in files for one in mutants(str(file.relative_to(ROOT)), file.read_text("utf-8"))
    )
    return sorted(everything, key=lambda mutant: mutant.rank(seed))[:count]


# What a mutant does to functions that exist.


def changed_functions(before: CodeType, after: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """Return the functions whose code differs, or None if anything else does."""
    pairs: list[tuple[CodeType, CodeType]] = []
    inner = [[value for value in one.co_consts if isinstance(value, CodeType)] for one in (before, after)]
    if _own(before) != _own(after):
        if not before.co_flags & 0x1:  # CO_OPTIMIZED: the body of a function
            return None
        return [(before, after)]
    for old, new in zip(*inner, strict=True):
        found = changed_functions(old, new)
        if found is None:
            return None
        pairs += found
    return pairs


def _own(code: CodeType) -> tuple[object, ...]:
    consts = [(type(value), value) for value in code.co_consts if not isinstance(value, CodeType)]
    named = [value.co_qualname for value in code.co_consts if isinstance(value, CodeType)]
    return code.co_code, consts, named, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


def _identity(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


Functions: TypeAlias = dict[tuple[str, str, int], list[FunctionType]]


def _functions() -> Functions:
    """Return the functions of the package, by where they are defined."""
    found: Functions = defaultdict(list)
    gc.unfreeze()
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(str(TREE / PACKAGE)):
            found[_identity(one.__code__)].append(one)
    gc.freeze()
    return found


def _patch(mutant: Mutant, functions: Functions) -> bool:
    """Put a mutant's code into the functions that exist; returns whether that is all that it changes."""
    path = str(TREE / mutant.path)
    old = compile((ROOT / mutant.path).read_text("utf-8"), path, "exec", dont_inherit=True)
    pairs = changed_functions(old, compile(mutant.write(), path, "exec", dont_inherit=True))
    if not pairs:
        return False
    for before, after in pairs:
        if before.co_freevars != after.co_freevars or not functions.get(_identity(before)):
            return False
        for function in functions[_identity(before)]:
            function.__code__ = after
    return True


# Processes.


def in_child(work: Callable[[], object], cpu: float, wall: float) -> Any:
    """Do work in a fork, and return its result, or None if it took too long or died."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _be_child(work, writing, cpu)
    os.close(writing)
    until, parts = time.monotonic() + wall, [b""]
    while (left := until - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        parts.append(os.read(reading, 1 << 20))
        if not parts[-1]:
            break
    os.close(reading)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with whatever its tests started
    os.waitpid(child, 0)
    text = b"".join(parts)
    result, failure = json.loads(text) if text.endswith(b"\n") else (None, "")
    if failure:
        raise RuntimeError(failure)
    return result


def _be_child(work: Callable[[], object], writing: int, cpu: float) -> None:
    try:
        os.setsid()
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime + cpu) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        try:
            told = work(), ""
        except BaseException:
            told = None, traceback.format_exc()
        result = json.dumps(told).encode() + b"\n"
        while result:
            result = result[os.write(writing, result) :]
    finally:
        os._exit(0)


class Judge:
    """A pytest plugin: instead of running the tests once, it runs some of them for each mutant."""

    def __init__(self, room: str, plan: Sequence[Mutant], say: Callable[[str], None]) -> None:
        self.room, self.plan, self.say = room, plan, say
        self.known = Known(room)
        self.imported: dict[str, list[int]] = in_child(lambda: _imported(ROOMS[room].source), 60, 600)
        self.coverage: Any = None
        self.took: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how long a test took, and whether it is of no use."""
        self.took[report.nodeid] += report.duration
        if report.failed or (report.skipped and self.coverage is not None):
            self.failed.append(report.nodeid)

    def pytest_runtest_setup(self, item: Any) -> None:
        """Tell what the next lines belong to."""
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid)

    def pytest_internalerror(self, excrepr: object) -> None:
        """Tell what went wrong here."""
        self.say(str(excrepr))

    def pytest_runtestloop(self, session: Any) -> bool:
        """Judge every mutant."""
        items = [item for item in session.items if not item.get_closest_marker("growth")]
        self.items = {item.nodeid: item for item in items}
        missing = self.known.not_measured(dict.fromkeys(_file(test) for test in self.items))
        if missing:
            tests = [test for test in self.items if _file(test) in missing]
            self.say(f"{self.room}: which lines do {len(tests)} tests reach?")
            self.known.measured(missing, in_child(lambda: self._measure(session, tests), 3600, 7200))
        self.reach = self.known.reach(self.items)
        functions = _functions()
        for number, mutant in enumerate(self.plan, 1):
            self._judge(session, number, mutant, functions)
        return True

    def _measure(self, session: Any, tests: list[str]) -> tuple[dict[str, float], Any]:
        """Run tests without mutants; those that fail or skip are left out."""
        from coverage import Coverage

        self.coverage = Coverage(data_file=None, config_file=False, include=[f"{TREE / PACKAGE}/*"])
        self.coverage.start()
        self._run(session, tests)
        self.coverage.stop()
        data, useless = self.coverage.get_data(), {"", *self.failed}
        lines = {
            str(Path(file).relative_to(TREE)): {
                str(line): sorted({*found} - useless) for line, found in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        return {test: self.took[test] for test in tests if test not in useless}, lines

    def _run(self, session: Any, tests: list[str], *, until_one_fails: bool = False) -> None:
        from _pytest.main import pytest_runtestloop

        session.items = [self.items[test] for test in tests]
        session.config.option.maxfail = int(until_one_fails)
        with suppress(session.Failed, session.Interrupted):
            pytest_runtestloop(session)
        with suppress(Exception):
            session._setupstate.teardown_exact(None)

    def _judge(self, session: Any, number: int, mutant: Mutant, functions: Functions) -> None:
        on_import = not mutant.in_function or mutant.line in self.imported.get(mutant.path, ())
        tests, seconds = self.reach.tests(mutant, on_import=on_import)
        if self.known.is_settled(mutant, tests):
            return
        began = time.monotonic()
        limits = 3 * seconds + CPU_SECONDS, 8 * seconds + WALL_SECONDS
        verdict = "anew" if tests else "survived: no test reaches it"
        with _changed(mutant):
            if tests:
                verdict = (
                    in_child(lambda: self._fork(session, mutant, tests, functions), *limits) or "the clock"
                )
            if verdict == "anew" or (verdict == "survived" and on_import):
                verdict = in_child(lambda: _anew(tests), *limits) or "the clock"
        self.known.keep(mutant, verdict, tests)
        took = f"{time.monotonic() - began:.1f} s, {len(tests)} tests"
        self.say(f"{self.room} {number}/{len(self.plan)}, {took}: {verdict}\n    {mutant.line}: {mutant.key}")

    def _fork(self, session: Any, mutant: Mutant, tests: list[str], functions: Functions) -> str:
        """Return which test fails with a mutant, or that it needs a new process."""
        if not _patch(mutant, functions):
            return "anew"
        from hypothesis.internal.conjecture.engine import ConjectureRunner

        # That an example fails is enough: it is not made smaller.
        setattr(ConjectureRunner, "shrink_interesting_examples", lambda _: None)  # noqa: B010
        self.failed.clear()
        self._run(session, tests, until_one_fails=True)
        return next(iter(self.failed), "survived")


def _imported(source: str) -> dict[str, list[int]]:
    """Return which lines of a room run on import, also those of functions."""
    from coverage import Coverage

    coverage = Coverage(data_file=None, config_file=False, include=[f"{TREE / PACKAGE / source}/*"])
    coverage.start()
    for file in sorted((TREE / PACKAGE / source).rglob("*.py")):
        import_module(".".join(file.relative_to(TREE / "src").with_suffix("").parts))
    coverage.stop()
    data = coverage.get_data()
    return {str(Path(file).relative_to(TREE)): data.lines(file) or [] for file in data.measured_files()}


def _anew(tests: list[str]) -> str:
    """Return which test fails in a process that imports the changed file."""
    names = BUILD / "tests"
    names.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", f"@{names}"]
    ended = subprocess.run(command, cwd=TREE, capture_output=True, text=True, check=False)  # noqa: S603 - pytest
    if not ended.returncode:
        return "survived"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    return failed[1] if failed else "the import"


@contextmanager
def _changed(mutant: Mutant) -> Iterator[None]:
    """Write a mutant into the copy, for the time being; its bytecode is no one's."""
    file = TREE / mutant.path
    before, text = file.stat(), file.read_text("utf-8")
    file.write_text(mutant.write(), encoding="utf-8")
    os.utime(file, (before.st_atime, before.st_mtime + 1000))
    try:
        yield
    finally:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _file(test: str) -> str:
    return test.partition("::")[0]


# What is known.


@dataclass
class Reach:
    """How long each test takes, and which tests run a line."""

    took: dict[str, float]
    lines: dict[str, dict[str, list[str]]]

    def tests(self, mutant: Mutant, *, on_import: bool) -> tuple[list[str], float]:
        """Return tests that run a line; if that is on import, all, first those that run anything in its file.

        Tests of classes that are declared alone run none of their lines, so the others are only a case later.
        """
        lines = self.lines.get(mutant.path, {})
        if on_import:
            reached = {test for tests in lines.values() for test in tests}
            found = self._spread(self.took, later=self.took.keys() - reached)
        else:
            near = [line for number in range(5) if (line := str(mutant.line - number)) in lines]
            found = self._spread({*lines[near[0]]} if near else ())
        chosen, seconds = [], 0.0
        for test in found if on_import else found[:MOST_TESTS]:
            seconds += self.took[test]
            if seconds > (MOST_ON_IMPORT if on_import else MOST_SECONDS) and chosen:
                break
            chosen.append(test)
        return chosen, seconds

    def _spread(self, tests: Iterable[str], later: Collection[str] = ()) -> list[str]:
        """Return the first case of each test, then the next ones; a test of 20 ms is a case later."""
        cases: Counter[str] = Counter()
        order = []
        for test in sorted(tests, key=lambda test: (self.took[test], test)):
            name = test.partition("[")[0]
            order.append((cases[name] + 50 * self.took[test] + (test in later), test))
            cases[name] += 1
        return [test for _, test in sorted(order)]


class Known:
    """What earlier runs found, in a file for each room."""

    def __init__(self, room: str) -> None:
        self._files = {name: BUILD / f"{room}.{name}.json" for name in ("reach", "verdicts")}
        self._data: dict[str, Any] = {
            name: json.loads(file.read_text("utf-8")) if file.exists() else {}
            for name, file in self._files.items()
        }
        self._source = _digest(*sorted((TREE / PACKAGE).rglob("*.py")))

    def not_measured(self, files: Iterable[str]) -> set[str]:
        """Return the test files that changed since they were measured; all, if the package changed."""
        return {file for file in files if self._measured(file) is None}

    def _measured(self, file: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self._data.get("reach", {}).get(file, {})
        return found if found.get("of") == self._now(file) else None

    def _now(self, file: str) -> str:
        return self._source + _digest(TREE / file)

    def measured(self, files: Iterable[str], reach: Any) -> None:
        """Keep what tests reach, by their files."""
        took, lines = reach
        for file in files:
            here = {
                path: {
                    line: own
                    for line, tests in by_line.items()
                    if (own := [t for t in tests if _file(t) == file])
                }
                for path, by_line in lines.items()
            }
            mine = {test: seconds for test, seconds in took.items() if _file(test) == file}
            self._data.setdefault("reach", {})[file] = {"of": self._now(file), "took": mine, "lines": here}
        self._write("reach")

    def reach(self, tests: Iterable[str]) -> Reach:
        """Return what the tests reach."""
        whole = Reach({}, defaultdict(lambda: defaultdict(list)))
        for file in dict.fromkeys(map(_file, tests)):
            found = self._measured(file) or {"took": {}, "lines": {}}
            whole.took |= found["took"]
            for path, by_line in found["lines"].items():
                for line, own in by_line.items():
                    whole.lines[path][line] += own
        return whole

    def verdict(self, mutant: Mutant) -> str | None:
        """Return what became of a mutant of the file as it is."""
        found = self._data.get("verdicts", {}).get(mutant.key, {})
        return found["verdict"] if found.get("of") == _digest(TREE / mutant.path) else None

    def is_settled(self, mutant: Mutant, tests: list[str]) -> bool:
        """Whether a mutant was killed, or survived the tests as they are."""
        verdict = self.verdict(mutant)
        if verdict is None or not verdict.startswith("survived"):
            return verdict is not None
        return bool(self._data["verdicts"][mutant.key]["tests"] == self._tests(tests))

    def keep(self, mutant: Mutant, verdict: str, tests: list[str]) -> None:
        """Keep what became of a mutant."""
        found = {"of": _digest(TREE / mutant.path), "verdict": verdict, "tests": self._tests(tests)}
        self._data.setdefault("verdicts", {})[mutant.key] = found
        self._write("verdicts")

    def _tests(self, tests: list[str]) -> str:
        return _digest(*(TREE / file for file in sorted({_file(test) for test in tests})))

    def _write(self, name: str) -> None:
        part = self._files[name].with_suffix(".part")
        part.write_text(json.dumps(self._data[name]), encoding="utf-8")
        part.replace(self._files[name])


def _digest(*files: Path) -> str:
    return sha256(b"".join(sha256(file.read_bytes()).digest() for file in files)).hexdigest()[:16]


# The run.


def copy_tree() -> None:
    """Bring the copy up to date; what did not change keeps its time, and so its bytecode."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()  # noqa: S603 - a fixed command
    wanted = {name for name in listed if (ROOT / name).is_file()}
    for name in wanted:
        old, new = TREE / name, ROOT / name
        if not old.exists() or old.stat().st_mtime_ns != new.stat().st_mtime_ns:
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(new, old)
    for path in (path for path in TREE.rglob("*.py") if str(path.relative_to(TREE)) not in wanted):
        path.unlink()


def judge(room: str, plan: Sequence[Mutant]) -> None:
    """Run the tests of a room for mutants, in this process, which can do this for one room."""
    import pytest

    os.environ |= {"PYTHONPATH": str(TREE / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path[:0] = [str(TREE / "src"), str(TREE)]
    os.chdir(TREE)
    out = os.dup(1)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # what pytest tells
    with os.fdopen(out, "w", encoding="utf-8", buffering=1) as told:
        options = ["-q", "-n0", "-p", "no:cacheprovider", "-m", "not growth", *ROOMS[room].tests]
        pytest.main(options, plugins=[Judge(room, plan, lambda line: told.write(f"{line}\n"))])


def notes() -> Any:
    """Return what the first run of each room found, and why some mutants cannot be killed."""
    return tomllib.loads(NOTES.read_text("utf-8"))


def reasons() -> dict[str, str]:
    """Return why mutants cannot be killed, by their keys."""
    return {key: row["why"] for row in notes()["mutant"] for key in row["keys"]}


@dataclass
class Outcome:
    """What became of the mutants of a room."""

    room: str
    judged: int
    survived: list[Mutant]

    @property
    def unexplained(self) -> list[Mutant]:
        """The survivors without a reason."""
        why = reasons()
        return [mutant for mutant in self.survived if mutant.key not in why]

    def line(self) -> str:
        """Return the row of the page."""
        killed, first = self.judged - len(self.survived), notes()["first"].get(self.room, {})
        before = f"{first['killed']} of {first['of']}" if first else ""
        explained = len(self.survived) - len(self.unexplained)
        source = f"`{ROOMS[self.room].source}`"
        open_ = len(self.unexplained)
        return f"| {self.room} ({source}) | {self.judged} | {before} | {killed} | {explained} | {open_} |"


def outcome(room: str, plan: Sequence[Mutant]) -> Outcome:
    """Return what is known of a sample."""
    known = Known(room)
    verdicts = [(mutant, known.verdict(mutant)) for mutant in plan]
    survived = [mutant for mutant, verdict in verdicts if verdict and verdict.startswith("survived")]
    return Outcome(room, sum(verdict is not None for _, verdict in verdicts), survived)


def write(outcomes: Sequence[Outcome], command: str) -> None:
    """Write the section of the page."""
    sys.path[:0] = [str(ROOT), str(ROOT / "src")]
    from scripts.reliability import measured, replace_section

    rows = "\n".join(one.line() for one in outcomes)
    why = Counter(
        reasons()[one.key] for room in outcomes for one in room.survived if one not in room.unexplained
    )
    listed = "\n".join(f"* {count}: {reason}" for reason, count in why.most_common())
    replace_section(
        "Mutation testing", f"{measured(command)}\n\n{ABOUT}\n\n{HEAD}\n{rows}\n\n{WHY}\n\n{listed}"
    )


ABOUT = """`make mutate` changes the library by chance, one change at a time: another operator, another
constant, an argument that is missing. A change that no test notices shows a test that is
missing. Each row is a sample of the room's mutants, which depends on a seed alone. *Killed at
first* is what the tests noticed before they were strengthened with the survivors."""
HEAD = "| room | mutants | killed at first | killed | explained | open |\n|---|---:|---:|---:|---:|---:|"
WHY = "Why survivors stay, by `scripts/mutants.toml`:"


def main() -> int:
    """Judge samples, and list what survived without an explanation."""
    options = _parse()
    BUILD.mkdir(parents=True, exist_ok=True)
    copy_tree()
    outcomes = []
    for room in options.room:
        plan = sample(room, options.seed, options.count)
        if len(options.room) == 1:
            judge(room, plan)
        else:
            again = ["--room", room, "--seed", str(options.seed), "--count", str(options.count)]
            subprocess.run([sys.executable, __file__, *again], check=False)  # noqa: S603 - this script
        outcomes.append(outcome(room, plan))
        _tell(outcomes[-1], whole=len(options.room) == 1)
    if options.write:
        write(outcomes, "make mutate")
    return int(any(one.unexplained or not one.judged for one in outcomes))


def _tell(found: Outcome, *, whole: bool) -> None:
    for mutant in found.unexplained if whole else ():
        sys.stdout.write(f"survived, line {mutant.line}: {mutant.key}\n")
    killed = found.judged - len(found.survived)
    explained = len(found.survived) - len(found.unexplained)
    sys.stdout.write(f"{found.room}: {killed} of {found.judged} killed, {explained} explained\n")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=100, help="mutants of each room")
    parser.add_argument("--write", action="store_true", help="write the section of docs/reliability.md")
    options = parser.parse_args()
    options.room = options.room or [*ROOMS]
    return options


if __name__ == "__main__":
    sys.exit(main())
