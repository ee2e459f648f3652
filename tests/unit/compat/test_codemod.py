"""The rewriter: whose names it touches, what it keeps of a file, several files, several runs at once."""

from __future__ import annotations

import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from agui_reasoning import check_events
from agui_reasoning.compat.codemod import Migration, migrate_sources
from tests.support.play import FINISHED, STARTED

ROOT = Path(__file__).parents[3]
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
        ("from ag_ui.core import *", "{}"),
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
    source = "def f():\n    from ag_ui.core import ThinkingEndEvent\n    return ThinkingEndEvent\n\n"
    new = after(f"{source}def g(ThinkingEndEvent):\n    return ThinkingEndEvent\n")
    assert "    return ReasoningEndEvent\n" in new
    assert "def g(ThinkingEndEvent):\n    return ThinkingEndEvent\n" in new


def test_an_import_that_became_a_repeat_is_removed() -> None:
    first, second = (f"from ag_ui.core import {name}EndEvent\n" for name in ("Reasoning", "Thinking"))
    source = f"{first}{second}ThinkingEndEvent\n"
    assert after(source) == "from ag_ui.core import ReasoningEndEvent\nReasoningEndEvent\n"


# -- several files


PACKAGE = {
    "app/__init__.py": b"",
    "app/events.py": b"from ag_ui.core import ThinkingEndEvent as End, ThinkingStartEvent\n",
    "app/more/__init__.py": b"from ..events import ThinkingStartEvent\nfrom app.events import End\n",
    "app/more/agent.py": (
        b"from . import End, ThinkingStartEvent\n\n"
        b"def stream():\n    yield ThinkingStartEvent()\n    yield End()\n"
    ),
    "app/other.py": b"from elsewhere import ThinkingStartEvent\nThinkingStartEvent()\n",
}


def test_names_are_followed_through_the_files() -> None:
    done = {migration.path: migration for migration in migrate_sources(PACKAGE)}
    assert list(done) == list(PACKAGE)
    assert done["app/more/__init__.py"].after.startswith(b"from ..events import ReasoningStartEvent\n")
    assert done["app/more/agent.py"].after.decode().splitlines()[2:] == [
        "from . import End, ReasoningStartEvent",
        "",
        "def stream():",
        "    reasoning_span_id = str(uuid4())",
        "    yield ReasoningStartEvent(message_id=reasoning_span_id)",
        "    yield End(message_id=reasoning_span_id)",
    ]
    assert [found.code for found in done["app/other.py"].findings] == ["foreign_name"]
    assert not done["app/other.py"].changed


HELPERS = (
    "from ag_ui.core import ThinkingTextMessageContentEvent\n\n"
    "def piece(text):\n    return ThinkingTextMessageContentEvent(delta=text)\n"
)
CALLER = (
    "from ag_ui.core import ThinkingTextMessageEndEvent as End, ThinkingTextMessageStartEvent as Start\n"
    "from helpers import piece\n\n"
    "def wrapped(text):\n    return piece(text)\n\n"
    "def stream():\n    yield Start()\n    yield wrapped('a')\n    yield End()\n\n"
    "def own():\n    yield Start()\n    yield End()\n"
)


def test_a_function_that_other_files_call_keeps_its_signature_and_they_share_its_id() -> None:
    helpers, caller = migrate_sources({"helpers.py": HELPERS.encode(), "agent.py": CALLER.encode()})
    assert "def piece(text):" in helpers.after.decode()
    assert {found.code for found in (*helpers.findings, *caller.findings)} == {"fixed_id"}
    namespace = load(helpers.after.decode())
    new = caller.after.decode().replace("from helpers import piece\n", "")
    namespace = load(new, piece=namespace["piece"])
    assert errors(namespace["stream"]()) == []
    assert {event.message_id for event in namespace["stream"]()} == {"reasoning-message"}
    assert "reasoning-message" not in {event.message_id for event in namespace["own"]()}


THINK = (
    "from ag_ui.core import ThinkingTextMessageEndEvent as End, ThinkingTextMessageStartEvent as Start\n\n"
    "def think():\n    yield Start()\n\ndef done():\n    yield End()\n\n"
    "def stream():\n    yield from think()\n    yield from done()\n"
)


@pytest.mark.parametrize(
    ("source", "other"),
    [
        (THINK + '__all__ = ["think", "done", "stream"]\n', ""),
        (THINK, 'import agent\nCASES = [("think", "…"), ("done", "agent")]\n'),
        (THINK, "import agent  # not think\n"),
    ],
)
def test_a_word_that_is_like_the_name_of_a_function_is_no_call_of_it(source: str, other: str) -> None:
    assert set(codes(source, other=other)) == {"signature_changed"}


@pytest.mark.parametrize(
    "other",
    [
        'ENTRY = "agent:think"\n',
        'patch("app.agent.think")\n',
        "import agent\nprint(f'{agent.think()}')\n",
        "from agent import think\nx = (\n",
    ],
)
def test_a_function_that_another_file_may_call_keeps_its_signature(other: str) -> None:
    assert "def think():" in after(THINK, other=other)
    assert "fixed_id" in codes(THINK, other=other)


# -- what shares a stream with a fixed id


ASKED = """
from ag_ui.core import ThinkingTextMessageContentEvent as Content, ThinkingTextMessageEndEvent as End
from ag_ui.core import ThinkingTextMessageStartEvent as Start

def start(on):
    if on:
        yield Start()

def stop():
    yield End()

def stream():
    yield from start(True)
    yield Content(delta="x")
    yield from stop()

"""
FOUND = {
    "a loop of the module": "events = []\nfor event in stream():\n    events.append(event)\n",
    "main": "def main():\n    return list(stream())\nevents = main()\n",
    "a guard": "if True:\n    events = [*stream()]\n",
    "a class body": "class Run:\n    events = list(stream())\nevents = Run.events\n",
    "a lambda": "main = lambda: list(stream())\nevents = main()\n",
    "parts": "events = [*start(True), Content(delta='x'), *stop()]\n",
    "an object": (
        "class Closer:\n    on = True\n    def close(self):\n        if self.on:\n"
        "            self.on = False\n            yield End()\n\nevents = [*start(True), *Closer().close()]\n"
    ),
    "a thought before": (
        "def both():\n    yield Start()\n    yield End()\n    yield from stream()\n\nevents = list(both())\n"
    ),
    "nothing": "",
}


@pytest.mark.parametrize("end", FOUND.values(), ids=FOUND)
def test_what_shares_a_stream_with_a_fixed_id_gets_it_wherever_the_calls_end(end: str) -> None:
    found = migrate(ASKED + end)
    namespace = load(found.after.decode())
    assert errors(namespace["events"] if end else namespace["stream"]()) == []
    assert {finding.code for finding in found.findings} <= {"fixed_id", "signature_changed"}


def test_a_start_that_is_a_constant_goes_with_what_is_fixed() -> None:
    stream = "def stream():\n    yield START\n    yield ThinkingEndEvent()\n"
    source = f"{HEAD}\nSTART = ThinkingStartEvent()\n\n{stream}"
    assert errors(load(after(source))["stream"]()) == []
    assert set(codes(source)) == {"fixed_span"}


def test_a_second_start_in_a_function_inside_has_an_id_of_its_own() -> None:
    source = (
        f"{HEAD}\ndef stream():\n    yield ThinkingStartEvent()\n    yield ThinkingEndEvent()\n"
        "    def inner():\n        yield ThinkingStartEvent()\n    yield from inner()\n"
        "    yield ThinkingEndEvent()\n\nevents = list(stream())\n"
    )
    events = load(after(source))["events"]
    assert errors(events) == []
    assert len({event.message_id for event in events}) == 2


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
    assert "string_left" not in codes(source)


@pytest.mark.parametrize(
    ("check", "listed"),
    [
        ("assert isinstance(first, ThinkingStartEvent)", True),
        ("assert first.type == EventType.THINKING_START", True),
        ("assert isinstance(first, ThinkingEndEvent)", False),
        ("assert isinstance(other, ThinkingStartEvent)", False),
    ],
)
def test_a_title_that_is_read_after_an_assertion_is_listed(check: str, listed: bool) -> None:
    source = (
        f"{HEAD}from ag_ui.core import EventType\n\ndef test(first, other):\n"
        f"    {check}\n    assert first.title == 'T'\n"
    )
    assert ("title_read" in codes(source)) is listed


# -- several runs at once


CONCURRENT = {
    "an agent without state": """
class Agent:
    def run(self, text):
        yield self.begin()
        yield self.piece(text)
        yield self.finish()

    def begin(self):
        return Start()

    def piece(self, text):
        return Content(delta=text)

    def finish(self):
        return End()

agent = Agent()
run = agent.run
""",
    "functions": """
def begin():
    return Start()

def run(text):
    yield begin()
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
    "functions in a function": """
def run(text):
    opened = False

    def feed():
        nonlocal opened
        if not opened:
            opened = True
            yield Start()
        yield Content(delta=text)

    yield from feed()
    yield End()
""",
    "what cannot be followed": """
import functools

@functools.lru_cache
def piece(text):
    return Content(delta=text)

def run(text):
    yield Start()
    yield piece(text)
    yield End()
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
    ],
)
def test_an_object_that_takes_no_attribute_gets_a_fixed_id(lines: tuple[str, ...]) -> None:
    source = held(*lines)
    stream = load(after(source))["Stream"]()
    assert errors([*stream.start(), *stream.end()]) == []
    assert set(codes(source)) == {"fixed_span"}


def test_a_start_in_an_expression_of_an_object_gets_a_fixed_id() -> None:
    source = (
        f"{HEAD}\nclass Stream:\n    opened = False\n\n    def feed(self):\n"
        "        self.opened = not self.opened\n"
        "        return [ThinkingEndEvent(), ThinkingStartEvent()][self.opened]\n"
    )
    stream = load(after(source))["Stream"]()
    assert errors([stream.feed(), stream.feed()]) == []
    assert set(codes(source)) == {"fixed_span"}


# -- what is missing


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("def f():\n    yield ThinkingStartEvent()\n", "never_ended"),
        ("ThinkingEndEvent()\n", "never_started"),
        (
            "class A:\n    def s(self):\n        return ThinkingStartEvent()\n\n"
            "    def e(self):\n        return ThinkingEndEvent()\n",
            "shared_object",
        ),
        (
            "def f():\n    yield ThinkingStartEvent()\n    yield ThinkingEndEvent(message_id='a')\n",
            "mixed_ids",
        ),
        ("class A:\n    start = ThinkingStartEvent()\n    end = ThinkingEndEvent()\n", "fixed_span"),
        ("def f(start=ThinkingStartEvent()):\n    pass\n", "fixed_span"),
        ("def f():\n    return ThinkingStartEvent\n", "class_as_value"),
        ("def f(data):\n    return ThinkingStartEvent(**data), ThinkingEndEvent(**data)\n", "spread"),
    ],
)
def test_what_is_left_is_said(body: str, code: str) -> None:
    assert code in codes(HEAD + body)


def test_an_id_in_what_is_unpacked_wins() -> None:
    body = "def f(**data):\n    return ThinkingStartEvent(**data), ThinkingEndEvent(**data)\n"
    f = load(after(HEAD + body))["f"]
    start, end = f(message_id="mine")
    assert (start.message_id, end.message_id) == ("mine", "mine")
    start, end = f(timestamp=1)
    assert start.message_id == end.message_id != ""


# -- the bytes of a file


def test_line_ends_stay() -> None:
    old = PAIR.replace("\n", "\r\n").encode()
    new = migrate(old).after
    assert new.count(b"\n") == new.count(b"\r\n") == old.count(b"\n") + 3


def test_a_byte_order_mark_stays_where_it_was() -> None:
    new = migrate(b"\xef\xbb\xbf" + PAIR.encode()).after
    assert new.startswith(b"\xef\xbb\xbffrom uuid")
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


def test_other_files_stay_as_they_are_to_the_byte() -> None:
    files = {str(path): path.read_bytes() for path in sorted((ROOT / "src").rglob("*.py"))}
    mine = {path: data for path, data in files.items() if "compat" not in path and "peers" not in path}
    assert len(mine) > 50
    assert [found.path for found in migrate_sources(mine) if found.after is not mine[found.path]] == []


def test_without_libcst_it_says_which_extra_is_missing() -> None:
    code = (
        "import sys; sys.modules['libcst'] = None\n"
        "from agui_reasoning.errors import MissingExtraError\n"
        "try:\n    import agui_reasoning.compat.codemod\n"
        "except MissingExtraError as error:\n    print(error.code, 'agui-reasoning[migrate]' in error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("missing_extra True\n", "")
