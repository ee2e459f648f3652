"""Interrupt a command: it shows no traceback and leaves no half-written file."""

import signal
import subprocess
import sys
import threading

import pytest

from agui_reasoning.cli._rewrite import Rewrite
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
)
def test_it_may_be_interrupted_while_it_begins(module, args):
    assert ended(INTERRUPTED.format(module=module, args=args)) == (130, "", "")


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


def test_what_a_killed_process_left_goes_with_the_next_run_on_the_file(file, cli):
    others = file.parent / ".stream.jsonl.partial"
    others.touch()
    assert ended(KILLED.format(how="SIGKILL", path=str(file))) == (-signal.SIGKILL, "", "")
    assert (file.read_bytes(), len(left_by(file))) == (OLD, 2)
    assert cli("upgrade", "--in-place", file).status == 0
    assert b"REASONING_START" in file.read_bytes()
    assert left_by(file) == [others.name]


def test_what_another_process_is_writing_stays(file, cli):
    with file.open("rb") as source, Rewrite(str(file), source) as first:
        first.change(b"first")
        assert cli("upgrade", "--in-place", file).status == 0
        assert len(left_by(file)) == 1
    assert b"REASONING_START" in file.read_bytes()
    assert left_by(file) == []


def test_the_signal_is_given_back(cli):
    before = signal.getsignal(signal.SIGTERM)
    assert cli("keygen").status == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_it_runs_beside_the_main_thread_too(cli):
    results = []
    thread = threading.Thread(target=lambda: results.append(cli("keygen").status))
    thread.start()
    thread.join(SECONDS)
    assert results == [0]
