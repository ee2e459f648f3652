from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import pkgutil
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import agui_reasoning
from agui_reasoning import telemetry
from agui_reasoning.gateway import local_server
from tests.docs.environment import Providers, surroundings, talk, talk_wsgi
from tests.docs.markdown import PAGES, ROOT, Block, blocks, name_of
from tests.docs.typed import undefined
from tests.support.extras import require_extras

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Those that serve until they are stopped are run in `tests/examples`.
ENDING = [example for example in EXAMPLES if "uvicorn.run" not in example.read_text(encoding="utf-8")]
BIN = Path(sys.executable).parent
COMMAND = "agui-reasoning "
NEEDS_A_SHELL = re.compile(r"[|&;<>()$`*?#~\n]")
# They show `examples/frameworks`, which run in environments of their own: see `tests/frameworks`.
OF_FRAMEWORKS = ROOT / "docs" / "how-to" / "frameworks"
RUN_HERE = [page for page in PAGES if OF_FRAMEWORKS not in page.parents]
# What a front end calls, by the name that pages give it.
SERVED: dict[str, Callable[[Any], None]] = {"app": talk, "application": talk_wsgi}
# Its provider is neither on this machine nor where the environment says.
ELSEWHERE = re.compile(r'base_url="https?://')
# What the build of the site includes: a file of the repository, which is tested where it stands.
INCLUDES = '--8<-- "'
# Large, and no example of anything.
GENERATED_FILES = shutil.ignore_patterns("node_modules", "dist")
SECONDS = 120


@pytest.fixture(autouse=True)
def not_recorded_later() -> Iterator[None]:
    """A page instruments the process, in which other tests follow."""
    yield
    telemetry.uninstrument()


def modules() -> list[str]:
    found = pkgutil.walk_packages(agui_reasoning.__path__, "agui_reasoning.", onerror=lambda name: None)
    return ["agui_reasoning", *(info.name for info in found)]


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown for it, if any."""
    steps: list[list[str]] = []
    for line in block.body.splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append([line])
        elif steps:
            steps[-1].append(line)
    return [(step[0], "".join(step[1:])) for step in steps if COMMAND in step[0]]


def _starts_processes(block: Block, command: str) -> bool:
    command = command.removeprefix("$ ").strip()
    return block.serves or bool(NEEDS_A_SHELL.search(command)) or not command.startswith(COMMAND)


CONSOLE = [
    pytest.param(
        block,
        command,
        shown,
        id=f"{name_of(page)}:{block.line}:{command.strip()}",
        # A process takes a hundred times as long as a call; tests of the command start some in a quick run.
        marks=[pytest.mark.slow] if _starts_processes(block, command) else [],
    )
    for page in PAGES
    for block in blocks(page)
    if block.language == "console"
    for command, shown in commands(block)
]


def check_output(printed: str, expected: Block) -> None:
    if expected.language == "json":
        assert json.loads(printed) == json.loads(expected.body)
    else:
        assert printed == expected.body


@pytest.fixture(scope="module")
def providers() -> Iterator[tuple[Providers, str]]:
    app = Providers()
    with local_server(app) as url:
        yield app, url


# google-genai's own.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize("page", RUN_HERE, ids=name_of)
def test_python_of_a_page_runs_and_prints_what_the_page_shows(
    page: Path, providers: tuple[Providers, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for block in blocks(page):
        if block.title:  # a file that later ones import
            name = Path(block.title).stem
            monkeypatch.setitem(sys.modules, name, None)  # forgotten when the test ends
            del sys.modules[name]
    with surroundings(name_of(page), *providers), patch.dict(os.environ):
        run_page(page)


def run_page(page: Path) -> None:
    """Run the Python of a page in order, compare what it prints, and call what it serves.

    A block stands alone, unless it says that it continues those before it.
    """
    namespace: dict[str, Any] = {}
    printed = None
    for block in blocks(page):
        if block.is_output:
            assert printed is not None, f"{name_of(page)}:{block.line} follows no Python block"
            check_output(printed, block)
        elif block.language == "python":
            if block.title:
                Path(block.title).write_text(block.body, encoding="utf-8")
            served = {name: namespace.get(name) for name in SERVED}
            own = namespace if block.continues or block.is_part else {"__name__": "__page__"}
            with contextlib.redirect_stdout(io.StringIO()) as stdout:
                exec(compile(block.body, str(page), "exec", dont_inherit=True), own)
            printed = stdout.getvalue()
            for name, value in namespace.items():  # what follows sees all, and changes this block's own
                own.setdefault(name, value)
            namespace = own
            for name, call in SERVED.items():
                if namespace.get(name) is not served[name] and not ELSEWHERE.search(block.body):
                    call(namespace[name])
            continue
        printed = None


def test_python_that_needs_more_says_so() -> None:
    """Find blocks that use what they do not define. Those of frameworks run only as a part of examples."""
    unsaid = [
        (f"{name_of(page)}:{block.line}", missing)
        for page in PAGES
        for block in blocks(page)
        if block.language == "python" and not block.continues and not block.is_part
        if (missing := undefined(block.body))
    ]
    assert unsaid == []


def test_what_is_part_of_something_says_of_what() -> None:
    """Find parts of examples that are not in the file they name."""
    parts = [(name_of(page), block) for page in PAGES for block in blocks(page) if block.is_part]
    named = [
        (page, block, re.search(r"^# Part of (examples/\S+)\.$", block.body, re.MULTILINE))
        for page, block in parts
    ]
    lost = [
        f"{page}:{block.line}"
        for page, block, file in named
        if file and block.unmarked.strip() not in (ROOT / file[1]).read_text(encoding="utf-8")
    ]
    assert lost == []


def test_pages_hide_nothing_that_their_snippets_need() -> None:
    """Find comments with code. What a snippet needs is in it, or in an earlier one of the page."""
    hiding = [name_of(page) for page in PAGES if "<!-- setup" in page.read_text(encoding="utf-8")]
    assert hiding == []


def test_every_shown_output_is_compared() -> None:
    """Find output blocks without a comment, which are not compared."""
    unmarked = [
        f"{name_of(page)}:{block.line}"
        for page in PAGES
        for block in blocks(page)
        if block.language in ("text", "json")
        if not block.is_output and not block.body.startswith(INCLUDES)
    ]
    assert unmarked == []


@pytest.mark.skipif(find_spec("agui_reasoning.cli") is None, reason="the command line does not exist yet")
@pytest.mark.parametrize(("block", "command", "shown"), CONSOLE)
def test_command_of_a_page_runs(
    block: Block,
    command: str,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    pytest.importorskip("typer", reason="the extra `cli` is not installed")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=GENERATED_FILES)
    starts_processes = _starts_processes(block, command)
    command = command.removeprefix("$ ").strip()
    if starts_processes:
        status, printed = run_command(command, tmp_path, interrupt=block.serves)
    else:
        monkeypatch.chdir(tmp_path)
        status, printed = call_command(command, capfdbinary)
    assert status == block.exit_code, printed
    if shown:
        check = doctest.OutputChecker().check_output
        assert check(shown, printed, doctest.ELLIPSIS), printed


def call_command(command: str, capture: pytest.CaptureFixture[bytes]) -> tuple[int, str]:
    """Run one command of ours in this process; give its status and what it printed."""
    from agui_reasoning.cli import main

    status = main(shlex.split(command.removeprefix(COMMAND)))
    out, err = capture.readouterr()
    return status, (out + err).decode()


def run_command(command: str, folder: Path, *, interrupt: bool) -> tuple[int, str]:
    """Run a shell command to its end, or until it has printed a line; give its status and what it printed."""
    pipe, env = subprocess.PIPE, os.environ | {"PATH": os.pathsep.join([str(BIN), os.environ["PATH"]])}
    # In a session of its own: what the shell starts is ended with it, whatever happens.
    # Without a shell in between, which would die of the interrupt itself.
    command = f"exec {command}" if interrupt else command
    with subprocess.Popen(
        command, shell=True, cwd=folder, env=env, stdout=pipe, stderr=pipe, start_new_session=True
    ) as running:
        watchdog = threading.Timer(SECONDS, os.killpg, (running.pid, signal.SIGKILL))
        watchdog.start()
        try:
            first = b""
            if interrupt and running.stdout:
                first = running.stdout.readline()
                os.killpg(running.pid, signal.SIGINT)
            out, err = running.communicate()
        finally:
            watchdog.cancel()
    return running.returncode, (first + out + err).decode()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize("example", ENDING, ids=lambda path: path.name)
def test_example_runs(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("name", modules())
def test_doctests_of_a_module_pass(name: str) -> None:
    require_extras(name)
    if name.endswith("__main__"):
        return  # importing it runs it
    with contextlib.redirect_stdout(io.StringIO()) as report:
        results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0, report.getvalue()
