"""Test what terminals show: progress, colors and width."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from tests.support.play import FINISHED, STARTED, ev, thought
from tests.unit.cli.command import Result, environment

Run = Callable[..., Result]

posix_only = pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")

AT_ONCE = """
import sys
from tests.unit.cli.conftest import AtOnce
import agui_reasoning.cli._output as output
output.Timer = AtOnce
from agui_reasoning.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    events = [STARTED, *thought("r1", *["Rain?"] * 200), ev("foo"), FINISHED]
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return path


def on_terminal(*args: object, out: bool = False, **env: str) -> tuple[int, bytes, bytes]:
    """Run a command with a terminal; give its status, what that shows, and its standard output.

    Args:
        args: The command.
        out: Standard output is a terminal too.
        env: More of its environment.
    """
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", AT_ONCE, *map(str, args)]
    where = environment(**{"TERM": "xterm", "COLUMNS": "100"} | env)
    stdout = theirs if out else subprocess.PIPE
    with subprocess.Popen(
        command, stdout=stdout, stderr=theirs, env=where, cwd=Path(__file__).parents[3]
    ) as run:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # how Linux says that the other end is closed
            pass
        finally:
            os.close(ours)
        printed = run.stdout.read() if run.stdout else b""
    return run.returncode, shown, printed


# -- progress


@posix_only
@pytest.mark.parametrize("command", [["check"], ["upgrade", "--in-place"]], ids=" ".join)
def test_long_work_on_a_terminal_shows_a_bar_and_the_output_stays_clean(
    command: list[str], stream: Path
) -> None:
    status, shown, printed = on_terminal(*command, stream)
    assert status == 0
    assert command[0].encode() in shown
    assert b"100%" in shown
    assert b"\x1b" not in printed


@posix_only
@pytest.mark.slow  # it starts a process
def test_a_search_through_source_shows_a_bar(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x = 1\n", encoding="utf-8")
    status, shown, _ = on_terminal("migrate", tmp_path)
    assert (status, b"migrate" in shown) == (0, True)


@pytest.mark.parametrize("command", ["check", "upgrade"])
def test_no_bar_is_drawn_where_no_terminal_is(command: str, stream: Path, cli: Run, at_once: None) -> None:
    assert cli(command, stream).stderr == ""


def test_short_work_shows_no_bar(stream: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer never fires, because its delay is a day."""
    monkeypatch.setattr("agui_reasoning.cli._output._DELAY_S", 86_400)
    assert cli("check", stream, FORCE_COLOR="1").stderr == ""


def test_a_bar_that_would_appear_after_the_end_does_not(
    stream: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Timer):
        """A timer that fires only when the test does so, after the end."""

        def start(self) -> None:
            made.append(self)

        def cancel(self) -> None: ...

    made: list[Late] = []
    monkeypatch.setattr("agui_reasoning.cli._output.Timer", Late)
    assert cli("check", stream, FORCE_COLOR="1").stderr == ""
    [timer] = made
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    timer.function()
    assert shown.getvalue() == ""


# -- errors


@posix_only
@pytest.mark.parametrize(
    ("command", "code"), [(["reduce", "no-such-file"], b"unreadable_file"), (["reduce", "--none"], b"usage")]
)
def test_a_terminal_names_the_command_that_explains_an_error(command: list[str], code: bytes) -> None:
    status, shown, printed = on_terminal(*command)
    first, second = shown.splitlines()
    assert (status, printed, first.endswith(b"[%b]" % code)) == (2, b"", True)
    assert second == b"explanation: agui-reasoning explain %b" % code


# -- colors

COLORED = [["--help"], ["check", "--help"], ["check"], ["reduce"], ["providers", "zai"]]


@pytest.mark.parametrize("args", COLORED, ids=" ".join)
@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}], ids=["pipe", "NO_COLOR"])
def test_pipes_get_no_colors(args: list[str], env: dict[str, str], stream: Path, cli: Run) -> None:
    assert "\x1b" not in cli(*args, *[stream] * (args[-1] in ("check", "reduce")), **env).stdout


@pytest.mark.parametrize("args", COLORED, ids=" ".join)
def test_forced_colors_are_written_to_pipes_too(args: list[str], stream: Path, cli: Run) -> None:
    files = [stream] * (args[-1] in ("check", "reduce"))
    assert "\x1b[" in cli(*args, *files, FORCE_COLOR="1", TERM="dumb").stdout


@posix_only
@pytest.mark.slow  # it starts two processes
def test_a_terminal_gets_colors_unless_no_color_is_set(stream: Path) -> None:
    _, shown, _ = on_terminal("check", stream, out=True)
    assert b"\x1b[33mwarning" in shown
    _, plain, _ = on_terminal("check", stream, out=True, NO_COLOR="1")
    assert b"warning" in plain
    assert b"\x1b" not in plain


@pytest.mark.parametrize("output", ["json", "github", "sarif"])
def test_reports_for_programs_have_no_colors(output: str, stream: Path, cli: Run) -> None:
    assert "\x1b" not in cli("check", stream, "--format", output, FORCE_COLOR="1").stdout


# -- width


@pytest.mark.parametrize("width", [40, 80, 100])
def test_help_fits_the_width(width: int, cli: Run) -> None:
    lines = cli("--help", COLUMNS=str(width)).stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) > width * 0.8


def test_findings_are_one_line_each_however_narrow(stream: Path, cli: Run) -> None:
    assert " unknown_event " in cli("check", stream, COLUMNS="20").stdout.splitlines()[0]
