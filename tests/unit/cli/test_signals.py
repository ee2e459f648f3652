"""Interrupt a command: it shows no traceback and leaves no half-written file."""

import signal
import subprocess
import sys
import threading

import pytest

from tests.support.effort import thinned
from tests.unit.cli.command import environment

SECONDS = 120
OLD = b'{"type": "THINKING_START"}\n{"type": "THINKING_END"}\n'


def ended(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, env=environment()
    )
    return done.returncode, done.stdout, done.stderr


# -- Ctrl-C

INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from agui_reasoning.cli import main
sys.exit(main({args}))
"""


@pytest.mark.parametrize(
    ("module", "args"),
    thinned(
        [
            ("agui_reasoning.cli._app", ["demo"]),
            ("typer", ["demo"]),
            ("pydantic", ["check", "-"]),
            ("ag_ui.core", ["check", "-"]),
            ("cryptography", ["keygen"]),
            ("agui_reasoning.gateway", ["serve", "--port", "0"]),
            ("uvicorn", ["serve", "--port", "0"]),
            ("agui_reasoning.gateway._proxy", ["proxy", "--port", "0", "--upstream", "http://localhost:1"]),
        ],
        3,
    ),
)
def test_it_may_be_interrupted_while_it_begins(module, args):
    assert ended(INTERRUPTED.format(module=module, args=args)) == (130, "", "")


COUNTING = """
import os, signal, sys

class Counting:
    left = {number}

    def find_spec(self, name, path=None, target=None):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.{how})

from agui_reasoning.cli import main
sys.meta_path.insert(0, Counting())
status = main({args})
sys.exit("never interrupted" if sys.meta_path[0].left > 0 else status)
"""
"""Interrupts the n-th import after the command has begun."""


@pytest.mark.parametrize(
    ("number", "how", "status"),
    [
        (1, "SIGINT", 130),
        (2, "SIGINT", 130),
        (100, "SIGTERM", 143),
        *(pytest.param(number, "SIGINT", 130, marks=pytest.mark.slow) for number in range(20, 320, 40)),
    ],
)
def test_it_may_be_interrupted_at_any_import(number, how, status):
    assert ended(COUNTING.format(number=number, how=how, args=["check", "-"])) == (status, "", "")


@pytest.mark.slow  # it starts a process
@pytest.mark.parametrize(
    "module", ["agui_reasoning.cli._signals", "typer", "pydantic_core", "agui_reasoning.consumer"]
)
def test_an_interrupt_from_outside_ends_it_while_it_loads(module):
    """The interpreter tells on standard error what it has imported: the signal comes soon after."""
    command = [sys.executable, "-X", "importtime", "-m", "agui_reasoning", "check", "-"]
    pipe = subprocess.PIPE
    # Its standard input stays open, so that it does not end by itself.
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment()
    ) as running:
        try:
            lines = iter(running.stderr.readline, "")
            assert any(line.rstrip().endswith(f" {module}") for line in lines)
            running.send_signal(signal.SIGINT)
            rest = [line for line in lines if not line.startswith("import time:")]
            assert (running.wait(SECONDS), rest, running.stdout.read()) == (130, [], "")
        finally:
            running.kill()


SWALLOWED = """
import os, signal, sys
from agui_reasoning.cli import main
from agui_reasoning.cli import _check

class Interrupting:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def checked(file, codes):
    interrupting = Interrupting()
    del interrupting
    print("went on")

_check._checked = checked
sys.exit(main(["check", "-"]))
"""


def test_an_interrupt_in_a_finalizer_is_not_swallowed():
    assert ended(SWALLOWED) == (130, "", "")


ENDING = """
import atexit, os, signal, sys
from agui_reasoning.cli import main
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["agui-reasoning", "keygen", "--kid", "k"]
sys.exit(main())
"""


def test_an_interrupt_after_the_end_changes_nothing():
    status, printed, complaints = ended(ENDING)
    assert (status, printed.startswith("k:"), complaints) == (0, True, "")


def test_an_ignored_interrupt_stays_ignored():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" + COUNTING.format(
        number=1, how="SIGINT", args=["keygen", "--json"]
    )
    assert ended(code)[::2] == (0, "")


def test_nothing_is_imported_before_it_can_be_interrupted():
    """An interrupt before `main` would end in a traceback."""
    code = (
        "import sys; before = set(sys.modules); import agui_reasoning.cli;"
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}"
        " - sys.stdlib_module_names))"
    )
    assert ended(code) == (0, "['agui_reasoning']\n", "")


# -- the file beside the one that is rewritten

KILLED = """
import os, signal, sys
from agui_reasoning.cli import main
os.fsync = lambda fd: os.kill(os.getpid(), signal.{how})
sys.exit(main(["upgrade", "--in-place", {path!r}]))
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "stream.jsonl"
    path.write_bytes(OLD)
    return path


def left_by(path):
    return sorted(one.name for one in path.parent.iterdir() if one != path)


@pytest.mark.parametrize(("how", "status"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_leaves_nothing_beside_the_file(how, status, file):
    assert ended(KILLED.format(how=how, path=str(file))) == (status, "", "")
    assert (file.read_bytes(), left_by(file)) == (OLD, [])


def test_a_killed_process_leaves_the_old_file(file, cli):
    assert ended(KILLED.format(how="SIGKILL", path=str(file))) == (-signal.SIGKILL, "", "")
    assert file.read_bytes() == OLD
    assert cli("upgrade", "--in-place", file).status == 0
    assert b"REASONING_START" in file.read_bytes()


def test_the_signals_are_given_back(cli):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert cli("keygen").status == 0
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_it_runs_beside_the_main_thread_too(cli):
    results = []
    thread = threading.Thread(target=lambda: results.append(cli("keygen").status))
    thread.start()
    thread.join(SECONDS)
    assert results == [0]
