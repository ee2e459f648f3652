"""Test the rewriter: the names it touches, what it keeps of a file, several files, several runs at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

import libcst as cst

from agui_reasoning import check_events
from agui_reasoning._migrate import Migration, migrate_sources, too_deep
from tests.support.effort import sample
from tests.support.growth import assert_linear
from tests.support.play import FINISHED, STARTED

ROOT = Path(__file__).parents[3]
MODULE = "agui_reasoning._migrate"
HEAD = "from ag_ui.core import ThinkingEndEvent, ThinkingStartEvent\n"
PAIR = f"{HEAD}\n\ndef stream():\n    yield ThinkingStartEvent()\n    yield ThinkingEndEvent()\n"


def migrate(source: str | bytes, path: str = "agent.py", **others: str) -> Migration:
    data = source.encode() if isinstance(source, str) else source
    sources = {path: data} | {f"{name}.py": text.encode() for name, text in others.items()}
    return migrate_sources(sources)[0]


def after(source: str, **others: str) -> str:
    migration = migrate(source, **others)
    compile(migration.after, "after", "exec", dont_inherit=True)
    return migration.after.decode()


def codes(source: str | bytes, **others: str) -> list[str]:
    return [found.code for found in migrate(source, **others).findings]


def load(source: str, **modules: Any) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "agent", **modules}
    exec(compile(source, "agent", "exec", dont_inherit=True), namespace)
    return namespace


def errors(events: Any) -> list[Any]:
    found = check_events([STARTED, *events, FINISHED])
    return [finding for finding in found if finding.severity == "error"]


# -- whose names


@pytest.mark.parametrize(
    "source",
    [
        "from tau.types import ThinkingStartEvent\nThinkingStartEvent()\n",
        "class ThinkingStartEvent: ...\nThinkingStartEvent()\n",
        "from enum import Enum\nclass EventType(Enum):\n    THINKING_START = 1\nEventType.THINKING_START\n",
        "from tau import EventType, ThinkingEndEvent as E\nE(type=EventType.THINKING_END)\n",
        'def f(mode):\n    """THINKING_START was once a type."""\n    # THINKING_END too\n    return mode\n',
    ],
)
def test_names_of_others_stay(source: str) -> None:
    migration = migrate(source)
    assert migration.after is migration.before
    assert [found.severity for found in migration.findings if found.severity != "note"] == []


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("import ag_ui.core", "ag_ui.core.{}"),
        ("import ag_ui.core as c", "c.{}"),
        ("import ag_ui.core.events", "ag_ui.core.events.{}"),
        ("from ag_ui import core", "core.{}"),
        ("from ag_ui.core import events as e", "e.{}"),
        ("from ag_ui.core.events import ThinkingStartEvent, ThinkingEndEvent", "{}"),
        ("from ag_ui.core import (ThinkingStartEvent, ThinkingEndEvent,)", "{}"),
    ],
)
def test_every_way_to_import_is_followed(head: str, name: str) -> None:
    start, end = name.format("ThinkingStartEvent"), name.format("ThinkingEndEvent")
    new = after(f"{head}\n\ndef stream():\n    yield {start}()\n    yield {end}()\n")
    assert "Thinking" not in new
    assert errors(load(new)["stream"]()) == []


def test_an_import_inside_a_function_counts_there_only() -> None:
    inside = "    from ag_ui.core import ThinkingEndEvent\n    return isinstance(x, ThinkingEndEvent)\n\n"
    new = after(f"def f(x):\n{inside}def g(ThinkingEndEvent):\n    return ThinkingEndEvent\n")
    assert "    return isinstance(x, ReasoningEndEvent)\n" in new
    assert "def g(ThinkingEndEvent):\n    return ThinkingEndEvent\n" in new


# -- several files


PACKAGE = {
    "app/__init__.py": b"from .events import ThinkingStartEvent\n",
    "app/events.py": b"from ag_ui.core import ThinkingEndEvent as End, ThinkingStartEvent\n",
    "app/agent.py": PAIR.replace("ag_ui.core", "app.events").encode(),
    "app/other.py": b"from elsewhere import ThinkingStartEvent\nThinkingStartEvent()\n",
    "app/plain.py": PAIR.encode(),
}


def test_a_file_that_takes_the_events_from_another_file_stays_and_is_listed() -> None:
    done = {migration.path: migration for migration in migrate_sources(PACKAGE)}
    assert list(done) == list(PACKAGE)
    assert [path for path, migration in done.items() if migration.changed] == [
        "app/events.py",
        "app/plain.py",
    ]
    listed = {path: {found.code for found in migration.findings} for path, migration in done.items()}
    assert listed == {
        "app/__init__.py": {"reexported_name"},
        "app/events.py": set(),
        "app/agent.py": {"reexported_name"},
        "app/other.py": {"foreign_name"},
        "app/plain.py": set(),
    }


# -- ids that would have to go from one function to another


HELPERS = (
    "from ag_ui.core import ThinkingTextMessageContentEvent\n\n"
    "def piece(text):\n    return ThinkingTextMessageContentEvent(delta=text)\n"
)
CALLER = (
    "from ag_ui.core import ThinkingTextMessageEndEvent as End, ThinkingTextMessageStartEvent as Start\n"
    "from helpers import piece\n\n"
    "def stream():\n    yield Start()\n    yield piece('a')\n    yield End()\n"
)
CROSSING = {
    "a helper": HELPERS,
    "a START without its END": f"{HEAD}\ndef f():\n    yield ThinkingStartEvent()\n",
    "an END without its START": f"{HEAD}\nThinkingEndEvent()\n",
    "an object without state": (
        f"{HEAD}\nclass A:\n    def s(self):\n        return ThinkingStartEvent()\n\n"
        "    def e(self):\n        return ThinkingEndEvent()\n"
    ),
    "a class body": f"{HEAD}\nclass A:\n    start = ThinkingStartEvent()\n    end = ThinkingEndEvent()\n",
    "a default": f"{HEAD}\ndef f(start=ThinkingStartEvent()):\n    pass\n",
    "a constant": (
        f"{HEAD}\nSTART = ThinkingStartEvent()\n\n"
        "def stream():\n    yield START\n    yield ThinkingEndEvent()\n"
    ),
    "a function inside": (
        f"{HEAD}\ndef stream():\n    def start():\n        yield ThinkingStartEvent()\n"
        "    yield from start()\n    yield ThinkingEndEvent()\n"
    ),
    "state that a parameter keeps": (
        f"{HEAD}\ndef feed(state, text):\n    if not state['open']:\n        state['open'] = True\n"
        "        yield ThinkingStartEvent()\n    if not text:\n        yield ThinkingEndEvent()\n"
    ),
    "state that a global keeps": (
        f"{HEAD}\nopened = False\n\ndef feed(text):\n    global opened\n    if not opened:\n"
        "        opened = True\n        yield ThinkingStartEvent()\n    if not text:\n"
        "        yield ThinkingEndEvent()\n"
    ),
    "one step for each call": (
        f"{HEAD}\ndef convert(kind):\n    if kind == 'a':\n        return ThinkingStartEvent()\n"
        "    if kind == 'b':\n        return ThinkingEndEvent()\n"
    ),
    "an END before its START": (
        f"{HEAD}\ndef f():\n    yield ThinkingEndEvent()\n    yield ThinkingStartEvent()\n"
        "    yield ThinkingEndEvent()\n"
    ),
    "an END that a loop reaches before its START": (
        f"{HEAD}\ndef f(n):\n    for _ in range(n):\n        yield ThinkingEndEvent()\n"
        "        yield ThinkingStartEvent()\n    yield ThinkingEndEvent()\n"
    ),
    "a START whose END is in another file": (
        f"{HEAD}from other import end\n\ndef f():\n    yield ThinkingStartEvent()\n    yield from end()\n"
        "    yield ThinkingStartEvent()\n    yield ThinkingEndEvent()\n"
    ),
    "an END under another condition": (
        f"{HEAD}\ndef f(first, last):\n    if first:\n        yield ThinkingStartEvent()\n"
        "    if last:\n        yield ThinkingEndEvent()\n"
    ),
    "two STARTs in one expression": (
        f"{HEAD}\ndef f():\n    return [ThinkingStartEvent(), ThinkingEndEvent()] + ["
        "ThinkingStartEvent(), ThinkingEndEvent()]\n"
    ),
    "a START in a conditional expression": (
        f"{HEAD}\ndef f(on):\n    yield ThinkingStartEvent() if on else None\n    yield ThinkingEndEvent()\n"
    ),
    "a START that shares its line": f"{HEAD}\ndef f():\n    yield 1; yield ThinkingStartEvent()\n"
    "    yield ThinkingEndEvent()\n",
    "a START in a lambda": f"{HEAD}\nf = lambda: [ThinkingStartEvent(), ThinkingEndEvent()]\n",
    "events that are sent again and again": f"{HEAD}\nEVENTS = [ThinkingStartEvent(), ThinkingEndEvent()]\n",
    "a START in an expression of an object": (
        f"{HEAD}\nclass Stream:\n    opened = False\n\n    def feed(self):\n"
        "        self.opened = not self.opened\n"
        "        return [ThinkingEndEvent(), ThinkingStartEvent()][self.opened]\n"
    ),
    "a START where nothing can be assigned": (
        f"{HEAD}\ndef f(n):\n"
        "    return [e for _ in range(n) for e in (ThinkingStartEvent(), ThinkingEndEvent())]\n"
    ),
}


@pytest.mark.parametrize("source", CROSSING.values(), ids=CROSSING)
def test_a_file_whose_ids_cross_functions_stays_and_is_listed_with_advice(source: str) -> None:
    migration = migrate(source)
    assert migration.after is migration.before
    assert migration.changes == 0
    assert {found.code for found in migration.findings} == {"ids_cross_functions"}
    assert {found.severity for found in migration.findings} == {"decide"}
    assert "ThinkingUpgradeMiddleware" in migration.findings[0].advice


def test_only_the_file_whose_ids_cross_functions_stays() -> None:
    helpers, caller = migrate_sources({"helpers.py": HELPERS.encode(), "agent.py": CALLER.encode()})
    assert (helpers.changed, caller.changed) == (False, True)


MEMBER = "from ag_ui.core import BaseEvent, EventType\n"
STAYS = {
    "an id for some events": (
        "given_ids",
        "def f():\n    yield ThinkingStartEvent()\n    yield ThinkingEndEvent(message_id='a')\n",
    ),
    "the id of a text message": (
        "given_ids",
        "def f(id):\n    yield {'type': 'THINKING_TEXT_MESSAGE_START', 'messageId': id}\n"
        "    yield {'type': 'THINKING_TEXT_MESSAGE_END', 'messageId': id}\n"
        "    yield {'type': 'TEXT_MESSAGE_START', 'messageId': id}\n",
    ),
    "a comparison": (
        "unclear_use",
        "def f(e):\n    assert e == [ThinkingStartEvent(), ThinkingEndEvent()]\n",
    ),
    "an argument without a name": ("unnamed_argument", "ThinkingStartEvent('a')\n"),
    "a mapping that is unpacked": (
        "unnamed_argument",
        "def f(**data):\n    yield ThinkingStartEvent(**data)\n",
    ),
    "a new name that is taken": ("name_taken", "class ReasoningStartEvent: ...\n"),
    "a new name from elsewhere": ("name_taken", "from tau import ReasoningStartEvent\n"),
    "an import of everything": ("star_import", "from ag_ui.core import *\nThinkingEndEvent\n"),
    "a class that is returned": ("unclear_use", "def f():\n    return ThinkingStartEvent\n"),
    "classes to choose from": (
        "unclear_use",
        "for kind in [ThinkingStartEvent, ThinkingEndEvent]:\n    kind()\n",
    ),
    "another name for a class": ("unclear_use", "Start = ThinkingStartEvent\n"),
    "a subclass": ("unclear_use", "class Start(ThinkingStartEvent): ...\n"),
    "a class that parses": ("unclear_use", "ThinkingStartEvent.model_validate({})\n"),
    "a class that may be None": (
        "name_taken",
        "try:\n    from ag_ui.core import ThinkingEndEvent\n"
        "except ImportError:\n    ThinkingEndEvent = None\n",
    ),
    "a class that may be another": (
        "unclear_use",
        "try:\n    from ag_ui.core import ThinkingEndEvent as End\nexcept ImportError:\n    End = None\n"
        "isinstance(1, End)\n",
    ),
    "a class of two libraries": (
        "unclear_use",
        "try:\n    from tau import ThinkingEndEvent as End\nexcept ImportError:\n"
        "    from ag_ui.core import ThinkingEndEvent as End\nisinstance(1, End)\n",
    ),
    "a type that is passed on": ("unclear_use", f"{MEMBER}make(EventType.THINKING_START)\n"),
    "a type in a variable": (
        "unclear_use",
        f"{MEMBER}kind = EventType.THINKING_START\nBaseEvent(type=kind)\n",
    ),
    "types to choose from": (
        "unclear_use",
        f"{MEMBER}for kind in [EventType.THINKING_START]:\n    BaseEvent(type=kind)\n",
    ),
    "a class of one's own": (
        "unclear_use",
        f"{MEMBER}from typing import Literal\nclass E(BaseEvent):\n"
        "    type: Literal[EventType.THINKING_END] = EventType.THINKING_END\n",
    ),
    "a string that may be a type": ("unclear_use", "NAME = 'THINKING_START'\n"),
    "a type that is looked up": (
        "unclear_use",
        f"{MEMBER}BaseEvent(type=EventType['THINKING_END'])\nBaseEvent(type=EventType('THINKING_END'))\n",
    ),
    "a class that is looked up": ("unclear_use", "import ag_ui\ngetattr(ag_ui.core, 'ThinkingEndEvent')\n"),
    "a string in another member": (
        "unclear_use",
        "def f():\n    yield {'type': 'THINKING_TEXT_MESSAGE_START'}\n"
        "    yield {'type': 'THINKING_TEXT_MESSAGE_CONTENT', 'delta': 'THINKING_END'}\n"
        "    yield {'type': 'THINKING_TEXT_MESSAGE_END'}\n",
    ),
    "an event as JSON": ("unclear_use", 'X = "{\\"type\\": \\"THINKING_END\\"}"\n'),
    "part of a type": ("unclear_use", "def f(step):\n    return f'THINKING_{step}'\n"),
    "the prefix of the types": (
        "unclear_use",
        "def f(event):\n    return event.type.startswith('THINKING')\n",
    ),
    "a title that is read": (
        "title_read",
        "def f(event):\n    if isinstance(event, ThinkingStartEvent):\n        print(event.title)\n",
    ),
    "a title in a dict": (
        "title_read",
        "def f(event):\n    if event['type'] == 'THINKING_START':\n        return event.get('title')\n",
    ),
    "a title in a pattern": (
        "title_read",
        "def f(event):\n    match event:\n        case ThinkingStartEvent(title=text):\n"
        "            return text\n",
    ),
    "two keys that become one": (
        "duplicate_handler",
        f"{MEMBER}X = {{EventType.THINKING_END: 1, EventType.REASONING_END: 2}}\n",
    ),
    "two cases that become one": (
        "duplicate_handler",
        "def f(event):\n    match event.type:\n        case 'THINKING_END':\n            return 1\n"
        "        case 'REASONING_END':\n            return 2\n",
    ),
}


@pytest.mark.parametrize(("code", "body"), STAYS.values(), ids=STAYS)
def test_a_file_with_something_to_decide_stays_and_says_why(code: str, body: str) -> None:
    migration = migrate(f"{HEAD}isinstance(1, ThinkingEndEvent)\n{body}")
    assert migration.after is migration.before
    assert migration.changes == 0
    assert code in {found.code for found in migration.findings}
    assert {found.severity for found in migration.findings} == {"decide"}
    assert all("not changed" in found.advice for found in migration.findings)


def test_what_is_only_worth_a_note_is_rewritten() -> None:
    migration = migrate(f"{PAIR}print('a THINKING_END came')\n")
    assert migration.changed
    assert [(found.code, found.severity) for found in migration.findings] == [("string_mentioned", "note")]


def test_ids_that_are_passed_already_may_cross_functions() -> None:
    source = HELPERS.replace("(text)", "(text, id)").replace("delta=text", "delta=text, message_id=id")
    assert "ReasoningMessageContentEvent(delta=text, message_id=id)" in after(source)


# -- what reads the type and the title


@pytest.mark.parametrize(
    "kind",
    [
        'event["type"] if isinstance(event, dict) else event.type',
        'getattr(event, "type", None) or event["type"]',
    ],
)
def test_a_type_that_is_taken_from_either_form_is_one(kind: str) -> None:
    source = (
        f"from ag_ui.core import EventType\n\ndef f(event):\n    kind = {kind}\n"
        "    if kind == 'THINKING_START':\n        return 1\n    match kind:\n"
        "        case 'THINKING_END':\n            return 2\n"
        "        case EventType.THINKING_END:\n            return 3\n"
    )
    assert "THINKING" not in after(source)


# -- several runs at once


CONCURRENT = {
    "a function": """
def run(text):
    yield Start()
    yield Content(delta=text)
    yield End()
""",
    "an object for each run": """
class Stream:
    opened = False

    def feed(self, text):
        if not self.opened:
            self.opened = True
            yield Start()
        yield Content(delta=text)

    def close(self):
        yield End()

def run(text):
    stream = Stream()
    yield from stream.feed(text)
    yield from stream.close()
""",
}


@pytest.mark.parametrize("body", CONCURRENT.values(), ids=CONCURRENT)
def test_runs_at_the_same_time_do_not_touch_each_other(body: str) -> None:
    names = "ThinkingTextMessage{0}Event as {0}"
    head = ", ".join(names.format(step) for step in ("Start", "Content", "End"))
    run = load(after(f"from ag_ui.core import {head}\n{body}"))["run"]
    one, other = [], []
    for first, second in zip_longest(run("a"), run("b")):
        one.append(first)
        other.append(second)
    assert errors(one) == errors(other) == []
    assert [event.delta for event in (one[1], other[1])] == ["a", "b"]


# -- what holds an id


def held(*lines: str) -> str:
    """A class that keeps state, declared as the lines say."""
    body = "".join(f"    {line}\n" for line in lines[1:])
    return (
        f"from dataclasses import dataclass\nfrom pydantic import BaseModel\n{HEAD}\n{lines[0]}\n{body}"
        "    def start(self):\n        self.last = True\n        yield ThinkingStartEvent()\n\n"
        "    def end(self):\n        self.last = False\n        yield ThinkingEndEvent()\n"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("class Stream:",),
        ("class Stream(BaseModel):", "last: bool = False"),
        ("@dataclass\nclass Stream:", "last: bool = False"),
    ],
)
def test_an_object_with_state_holds_the_id(lines: tuple[str, ...]) -> None:
    new = after(held(*lines))
    stream = load(new)["Stream"]()
    assert errors([*stream.start(), *stream.end()]) == []
    assert "self._reasoning_span_id" in new


@pytest.mark.parametrize(
    "lines",
    [
        ("class Stream:", '__slots__ = ("last",)'),
        ("@dataclass(slots=True)\nclass Stream:", "last: bool = False"),
        ("@dataclass(\n    frozen = True)\nclass Stream:", "last: bool = False"),
        ("@attrs.define\nclass Stream:", "last: bool = False"),
        ("class Stream(msgspec.Struct):", "last: bool = False"),
    ],
)
def test_an_object_that_takes_no_attribute_stays(lines: tuple[str, ...]) -> None:
    assert set(codes(held(*lines))) == {"ids_cross_functions"}


def test_an_event_in_an_f_string_keeps_its_quotation_marks() -> None:
    names = "ThinkingTextMessageEndEvent as End, ThinkingTextMessageStartEvent as Start"
    body = "    yield f\"{sse(Start())}\"\n    yield f'{sse(End())}'\n"
    new = after(f"from ag_ui.core import {names}\n\ndef stream(sse):\n{body}")
    events = load(new)["stream"](lambda event: event.model_dump_json(by_alias=True))
    assert errors(map(json.loads, events)) == []


def test_a_result_that_does_not_compile_is_not_written() -> None:
    migration = migrate(f"from __future__ import annotations; import os\n{PAIR}")
    assert migration.after is migration.before
    assert [found.code for found in migration.findings] == ["not_rewritten"]


# -- the bytes of a file


def test_line_ends_stay() -> None:
    old = PAIR.replace("\n", "\r\n").encode()
    new = migrate(old).after
    assert new.count(b"\n") == new.count(b"\r\n") == old.count(b"\n") + 2


def test_a_byte_order_mark_stays_where_it_was() -> None:
    new = migrate(b"\xef\xbb\xbf" + PAIR.encode()).after
    assert new.startswith(b"\xef\xbb\xbffrom ag_ui")
    assert new.count(b"\xef\xbb\xbf") == 1


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8"])
def test_an_encoding_stays(encoding: str) -> None:
    old = f'# -*- coding: {encoding} -*-\n{PAIR}NAME = "Zoë"\n'.encode(encoding)
    new = migrate(old).after
    assert new.endswith('NAME = "Zoë"\n'.encode(encoding))
    assert b"ReasoningStartEvent(" in new


def test_a_missing_line_end_stays_missing() -> None:
    assert not migrate(PAIR.rstrip("\n")).after.endswith(b"\n")


@pytest.mark.parametrize(
    ("source", "code", "severity"),
    [
        (b"THINKING_START = (\n", "does_not_parse", "error"),
        (b'# coding: utf-8\nX = "THINKING_START \xff"\n', "does_not_parse", "error"),
        (b'# coding: no-such-encoding\nX = "THINKING_START"\n', "does_not_parse", "error"),
        (b'X = "THINKING_START"\nY = "\0"\n', "does_not_parse", "error"),
        (b'\x0cX = "THINKING_START"\n', "not_lossless", "decide"),
        (f"X = {'+'.join('1' * 900)}\nY = 'THINKING_START'\n".encode(), "too_deep", "decide"),
    ],
)
def test_a_file_that_cannot_be_rewritten_is_listed_and_the_others_go_on(
    source: bytes, code: str, severity: str
) -> None:
    bad, good = migrate_sources({"bad.py": source, "good.py": PAIR.encode()})
    assert bad.after == source
    assert [(found.code, found.severity) for found in bad.findings] == [(code, severity)]
    assert good.changed


DEEP = {
    "parentheses": lambda n: f"x = {'(' * n}1{')' * n}",
    "brackets that stay open": lambda n: f"x = {'[' * n}",
    "brackets in an f-string": lambda n: f'x = f"{{{"(" * n}1{")" * n}}}"',
    "parentheses in a pattern": lambda n: f"match x:\n    case {'(' * n}1{')' * n}:\n        pass",
    "a sum": lambda n: f"x = {'+'.join('1' * n)}",
    "a sum over lines": lambda n: "x = 1" + " + \\\n    1" * n,
    "signs": lambda n: f"x = {'-' * n}1",
    "not": lambda n: f"x = {'not ' * n}1",
    "lambdas": lambda n: f"x = {'lambda: ' * n}1",
    "calls": lambda n: f"x = f{'()' * n}",
    "attributes": lambda n: f"x = a{'.a' * n}",
    "strings": lambda n: "x = " + "'a' " * n,
    "branches": lambda n: "if a:\n    pass\n" + "elif a:\n    pass\n" * n,
}


@pytest.mark.parametrize("size", [2500, 20_000])
@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_what_would_crash_the_parser_or_keep_it_busy_does_not_reach_it(
    make: Callable[[int], str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def parse(source: bytes) -> cst.Module:
        parsed.append(source.decode())
        return cst.parse_module(source)

    monkeypatch.setattr(f"{MODULE}.parse_module", parse)
    sources = {"bad.py": f"{make(size)}\nTHINKING_START\n".encode(), "good.py": PAIR.encode()}
    bad, good = migrate_sources(sources)
    assert [found.code for found in bad.findings] == ["too_deep"]
    assert good.changed
    assert parsed == [PAIR]


LONG = (
    f"x = [{'(1, 2), ' * 20_000}]",
    "x = 1\n" * 20_000,
    "f(1)(2)(3)\n" * 1000,
    f"x = f'{'many {words} and {{braces}}, ' * 2000}'",
    f"x = '{'(' * 5000}'",
    f"# {'(' * 5000}",
    "if a:\n    pass\nelse:\n    pass\n" * 1000,
    "x = f'{a:{b}}}}' f'{{{a}}}'\n" * 1000,
)


@pytest.mark.parametrize("source", LONG, ids=range(len(LONG)))
def test_what_is_long_is_not_deep(source: str) -> None:
    assert too_deep(source.encode()) is None


def test_a_rewriter_that_fails_costs_its_file_only(monkeypatch: pytest.MonkeyPatch) -> None:
    find_sites = sys.modules[MODULE].find_sites

    def fail(session: Any) -> Any:
        if session.facts.path == "bad.py":
            raise KeyError("a bug")
        return find_sites(session)

    monkeypatch.setattr(f"{MODULE}.find_sites", fail)
    bad, good = migrate_sources({"bad.py": PAIR.encode(), "good.py": PAIR.encode()})
    assert [found.code for found in bad.findings] == ["not_rewritten"]
    assert (bad.changed, good.changed) == (False, True)


def calling_one_another(n: int) -> str:
    function = "def f{}():\n    yield ThinkingStartEvent()\n    f{}()\n    yield ThinkingEndEvent()\n\n"
    return "".join(function.format(k, (k + 1) % n) for k in range(n))


def methods(n: int) -> str:
    method = (
        "    def s{0}(self):\n        self.on = True\n        yield ThinkingStartEvent()\n"
        "    def e{0}(self):\n        yield ThinkingEndEvent()\n"
    )
    return "class A:\n    on = False\n" + "".join(map(method.format, range(n)))


SHAPES = {
    "functions that call one another": calling_one_another,
    "thoughts of one function": lambda n: (
        "def f():\n" + "    yield ThinkingStartEvent()\n    yield ThinkingEndEvent()\n" * n
    ),
    "events in a display": lambda n: f"f([ThinkingStartEvent(), {'ThinkingEndEvent(), ' * n}])\n",
    "methods of one object": methods,
    "references": lambda n: "isinstance(event, ThinkingStartEvent | ThinkingEndEvent)\n" * n,
    "strings": lambda n: "X = ['THINKING_START', 'THINKING_END']\n" * n,
    "a variable that is set again and again": lambda n: "x = f(x)\nx()\n" * n,
    "names in a list": lambda n: f"[{', '.join(map(repr, ['ThinkingEndEvent'] * n))}]\n",
    "comparisons": lambda n: "if event.type == 'THINKING_START':\n    pass\n" * n,
}


@pytest.mark.slow
@pytest.mark.growth
@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_work_grows_with_the_file_and_not_faster(make: Callable[[int], str]) -> None:
    assert_linear(lambda size: HEAD + make(size), migrate, 80)


def test_other_files_stay_as_they_are_to_the_byte() -> None:
    files = {str(path): path.read_bytes() for path in sample(sorted((ROOT / "src").rglob("*.py")))}
    others = ("compat", "_migrate", "peers", "_thinking")
    mine = {path: data for path, data in files.items() if not any(name in path for name in others)}
    assert len(mine) > 10
    assert [found.path for found in migrate_sources(mine) if found.after is not mine[found.path]] == []


def test_without_libcst_it_says_which_extra_is_missing() -> None:
    code = (
        "import sys; sys.modules['libcst'] = None\n"
        "from agui_reasoning.errors import MissingExtraError\n"
        "try:\n    import agui_reasoning._migrate\n"
        "except MissingExtraError as error:\n    print(error.code, 'libcst' in error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("missing_extra True\n", "")
