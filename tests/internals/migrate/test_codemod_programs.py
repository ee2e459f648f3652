"""Rewrite generated programs: a valid stream cut into statements, lists, helpers and methods.

What runs before is compared with what runs after, so nothing here knows how the rewriter decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from agui_reasoning import check_events
from tests.internals.migrate.sources import migrated
from tests.support.effort import examples
from tests.support.play import FINISHED, STARTED

# The retired classes are gone from ag_ui, so the program as it was gets ours.
NAMES = {
    "S": ("ThinkingStartEvent", "THINKING_START"),
    "s": ("ThinkingTextMessageStartEvent", "THINKING_TEXT_MESSAGE_START"),
    "c": ("ThinkingTextMessageContentEvent", "THINKING_TEXT_MESSAGE_CONTENT"),
    "e": ("ThinkingTextMessageEndEvent", "THINKING_TEXT_MESSAGE_END"),
    "E": ("ThinkingEndEvent", "THINKING_END"),
}
RENAMED = {"THINKING_TEXT_MESSAGE": "REASONING_MESSAGE", "THINKING": "REASONING"}
IMPORT = f"from ag_ui.core import {', '.join(name for name, _ in NAMES.values())}\n"

messages = st.lists(st.just("c"), max_size=3).map(lambda inside: ["s", *inside, "e"])
spans = st.lists(messages, max_size=2).map(lambda inside: ["S", *chain(*inside), "E"])
streams = st.lists(messages | spans, min_size=1, max_size=3).map(lambda parts: [*chain(*parts)])


def whole(steps: str) -> bool:
    """Whether everything that starts ends, and the other way round."""
    opened = {"s": 0, "S": 0}
    for step in steps.replace("c", ""):
        opened[{"e": "s", "E": "S"}.get(step, step)] += 1 if step in opened else -1
        if min(opened.values()) < 0:
            return False
    return not any(opened.values()) and not steps.startswith("c")


def assignable(steps: list[str]) -> bool:
    """Whether a line before can set the ID of each START: nothing of its family comes before it."""
    return not any(
        start in [step for step in steps if step in family][1:]
        for start, family in (("S", "SE"), ("s", "sce"))
    )


class Program:
    """A program that is being written."""

    def __init__(self, draw: Any, *, helpers: bool) -> None:
        self.draw = draw
        self.helpers = helpers
        self.functions: list[str] = []
        self.methods: list[str] = []
        self.count = 0

    def event(self, step: str) -> str:
        """An expression that makes one event."""
        name, kind = NAMES[step]
        self.count += 1
        delta = f"'{self.count}'" if step == "c" else ""
        match self.draw(st.sampled_from(["model", "model", "dict", "call"])):
            case "dict":
                return f"{{'type': '{kind}'{f', {chr(39)}delta{chr(39)}: {delta}' if delta else ''}}}"
            case "call":
                return f"dict(type='{kind}'{f', delta={delta}' if delta else ''})"
        return f"{name}({f'delta={delta}' if delta else ''})"

    def lines(self, steps: list[str], depth: int = 0) -> Iterator[str]:
        """Statements that yield these events."""
        while steps:
            size = self.draw(st.integers(1, len(steps)))
            group, steps = steps[:size], steps[size:]
            yield from self.statement(group, depth)

    def statement(self, group: list[str], depth: int) -> Iterator[str]:
        shapes = ["each", "try", "if"]
        if self.helpers or assignable(group):
            shapes += ["list", "generator"]
        if self.helpers:
            shapes.append("small")
        if depth < 2 and self.helpers:
            shapes += ["helper", "asked", "method", "nested", "static"]
        if whole("".join(group)):
            shapes.append("loop")
        shape = self.draw(st.sampled_from(shapes))
        yield from getattr(self, f"_{shape}")(group, depth)

    def _each(self, group: list[str], depth: int) -> Iterator[str]:
        for step in group:
            yield f"yield {self.event(step)}"

    def _list(self, group: list[str], depth: int) -> Iterator[str]:
        yield f"yield from [{', '.join(map(self.event, group))}]"

    def _small(self, group: list[str], depth: int) -> Iterator[str]:
        yield "; ".join(f"yield {self.event(step)}" for step in group)

    def _generator(self, group: list[str], depth: int) -> Iterator[str]:
        yield f"yield from (event for event in [{', '.join(map(self.event, group))}])"

    def _try(self, group: list[str], depth: int) -> Iterator[str]:
        first, last = group[: len(group) // 2], group[len(group) // 2 :]
        yield "try:"
        yield from self._inside(first, depth)
        yield "finally:"
        yield from self._inside(last, depth)

    def _if(self, group: list[str], depth: int) -> Iterator[str]:
        # What starts under a condition and ends under none is left to a person.
        yield self.draw(st.sampled_from(["with open(os.devnull):", *(["if True:"] if self.helpers else [])]))
        yield from self._inside(group, depth)

    def _loop(self, group: list[str], depth: int) -> Iterator[str]:
        yield "for _ in range(2):"
        yield from self._inside(group, depth)

    def _inside(self, group: list[str], depth: int) -> Iterator[str]:
        for line in [*self.lines(group, depth + 1)] or ["pass"]:
            yield f"    {line}"

    def _helper(self, group: list[str], depth: int) -> Iterator[str]:
        yield from self._defined(group, depth, "", "", self.functions)

    def _asked(self, group: list[str], depth: int) -> Iterator[str]:
        """A helper that is told whether to, as by the state that it is given."""
        self.count += 1
        name = f"make_{self.count}"
        body = "".join(f"        {line}\n" for line in self.lines(group, depth + 1))
        self.functions.append(f"def {name}(on):\n    if on:\n{body}")
        yield f"yield from {name}(True)"

    def _static(self, group: list[str], depth: int) -> Iterator[str]:
        yield from self._defined(group, depth, "Maker.", "", self.methods, "@staticmethod")

    def _method(self, group: list[str], depth: int) -> Iterator[str]:
        yield from self._defined(group, depth, "Maker().", "self", self.methods)

    def _defined(
        self, group: list[str], depth: int, prefix: str, parameter: str, where: list[str], mark: str = ""
    ) -> Iterator[str]:
        self.count += 1
        name = f"make_{self.count}"
        body = "".join(f"    {line}\n" for line in self.lines(group, depth + 1))
        where.append(f"{mark}{chr(10) if mark else ''}def {name}({parameter}):\n{body}")
        yield f"yield from {prefix}{name}()"

    def _nested(self, group: list[str], depth: int) -> Iterator[str]:
        self.count += 1
        name = f"inner_{self.count}"
        yield f"def {name}():"
        yield from self._inside(group, depth)
        yield f"yield from {name}()"


# Where the calls end: nowhere in the program, or where it is run as a script.
ENDS = {
    "nothing": "",
    "module": "EVENTS = list(stream())\n",
    "main": "EVENTS = []\ndef main():\n    for event in stream():\n        EVENTS.append(event)\nmain()\n",
    "wrapped": "def wrapped():\n    yield from stream()\nEVENTS = []\nEVENTS.extend(wrapped())\n",
}


@st.composite
def programs(draw: Any, *, helpers: bool = True) -> str:
    program = Program(draw, helpers=helpers)
    body = "".join(f"    {line}\n" for line in program.lines(draw(streams)))
    methods = "".join("".join(f"    {line}\n" for line in method.splitlines()) for method in program.methods)
    end = ENDS[draw(st.sampled_from(sorted(ENDS)))]
    maker = f"class Maker:\n{methods}\n" if methods else ""
    return f"import os\n{IMPORT}\n{maker}{''.join(program.functions)}def stream():\n{body}{end}"


def run(source: str, *args: Any) -> list[dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, "program", "exec", dont_inherit=True), namespace)
    return [
        event if isinstance(event, dict) else json.loads(event.model_dump_json(by_alias=True))
        for event in (namespace["EVENTS"] if "EVENTS" in namespace else namespace["stream"](*args))
    ]


def essence(events: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    found = []
    for event in events:
        kind = event["type"]
        for old, new in RENAMED.items():
            kind = kind.replace(old, new)
        found.append((kind, event.get("delta")))
    return found


LEFT = {"ids_cross_functions"}


# The same programs each time: following state is a judgement, and chance should not fail the build.
@settings(max_examples=examples(100), derandomize=True)
@given(programs())
def test_a_program_is_left_as_it_is_or_says_what_it_said_in_a_valid_stream(source: str) -> None:
    [done] = migrated({"program.py": source.encode()})
    if not done.changed:
        assert {found.code for found in done.findings} == LEFT
        return
    check(source, done.after.decode())
    assert done.findings == ()


@settings(max_examples=examples(40), derandomize=True)
@given(programs(helpers=False))
def test_a_program_of_one_function_is_always_rewritten(source: str) -> None:
    [done] = migrated({"program.py": source.encode()})
    assert (done.changed, done.findings) == (True, ())
    check(source, done.after.decode())


# Ways in which conditions, flags and loops stand around events, each a letter; then changed at random.
BRANCHES = (
    "S|s|for x in xs:|    c|e|E",
    "if a:|    S|    s|    c|    e|if a:|    E",
    "for x in xs:|    if not flag:|        flag = True|        S|        s|    c|if flag:|    e|    E",
    "for x in xs:|    if x:|        if not flag:|            flag = True|            s|        c"
    "|    elif flag:|        flag = False|        e|if flag:|    e",
    "try:|    S|    for x in xs:|        s|        c|        e|finally:|    E",
    "try:|    s|    if a:|        raise KeyError|    c|except KeyError:|    e|else:|    e",
    "for x in xs:|    if flag:|        e|        flag = False|    if b:|        s|        flag = True"
    "|if flag:|    e",
    "match len(xs):|    case 0:|        S|        s|        e|        E|    case _:|        s|        e",
    "if a:|    S|elif b:|    s|if a:|    E|elif b:|    e",
    "if a:|    S|    flag = True|if b:|    s|    other = True|if other:|    e|if flag:|    E",
    "for x in xs:|    if not x:|        S|    if x:|        E|if len(xs) == 1:|    E",
)
CHANGES = ("drop", "repeat", "if a:", "if flag:", "for y in xs:", "s", "e", "if b: return", "flag = True")


def changed(lines: list[str], change: str, at: int) -> list[str]:
    line = lines[at % len(lines)]
    at, space = at % len(lines), line[: len(line) - len(line.lstrip())]
    match change:
        case "drop" | "repeat":
            new = [] if change == "drop" else [line, line]
        case "if a:" | "if flag:" | "for y in xs:":
            new = [f"{space}{change}", f"    {line}"]
        case _:
            new = [line, f"{space}{change}"]
    return lines if line.endswith(":") else [*lines[:at], *new, *lines[at + 1 :]]


@st.composite
def branching(draw: Any) -> str:
    lines = draw(st.sampled_from(BRANCHES)).split("|")
    for change, at in draw(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 15)), max_size=3)):
        lines = changed(lines, change, at)
    program = Program(draw, helpers=False)
    body = [
        re.sub(r"^( *)(\w)$", lambda found: f"{found[1]}yield {program.event(found[2])}", line)
        for line in lines
    ]
    head = f"{IMPORT}\ndef stream(a, b, xs):\n    flag = other = False\n    if 0:\n        yield\n"
    return head + "".join(f"    {line}\n" for line in body)


def is_python(source: str) -> bool:
    try:
        compile(source, "program", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@settings(max_examples=examples(100), derandomize=True)
@given(branching().filter(is_python))
def test_each_path_through_a_program_that_was_valid_says_what_it_said(source: str) -> None:
    [done] = migrated({"program.py": source.encode()})
    if not done.changed:
        assert done.after is done.before
        assert {found.code for found in done.findings} <= LEFT
        return
    for path in product((False, True), (False, True), ([], [0], [1], [0, 1], [1, 0], [1, 1])):
        old = run(source.replace(IMPORT, IMPORT.replace("ag_ui.core", "agui_reasoning.compat")), *path)
        letters = "".join(
            next(step for step, name in NAMES.items() if event["type"] == name[1]) for event in old
        )
        if re.fullmatch("(sc*e|S(sc*e)*E)*", letters):
            check_events_of(run(done.after.decode(), *path), old, done.after.decode())


def check(source: str, after: str) -> None:
    """The same stream, now with ids, and nothing is left."""
    old = run(source.replace(IMPORT, IMPORT.replace("ag_ui.core", "agui_reasoning.compat")))
    check_events_of(run(after), old, after)
    [again] = migrated({"program.py": after.encode()})
    assert not again.changed
    assert "Thinking" not in after
    assert "THINKING_" not in after


def check_events_of(events: list[dict[str, Any]], old: list[dict[str, Any]], after: str) -> None:
    """The same stream, in which each message and each span has an id of its own."""
    assert essence(events) == essence(old), after
    wrong = [found for found in check_events([STARTED, *events, FINISHED]) if found.severity == "error"]
    assert wrong == [], after
    for kind in ("REASONING_START", "REASONING_MESSAGE_START"):
        ids = [event["messageId"] for event in events if event["type"] == kind]
        assert len(ids) == len(set(ids)), after
