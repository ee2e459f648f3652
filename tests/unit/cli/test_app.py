"""Test what all commands share: help, wrong usage, and a reader that goes away."""

import json
import os
import subprocess
import sys

import pytest

from agui_reasoning.cli import COMMANDS
from tests.support.play import FINISHED, STARTED, ev, thought
from tests.unit.cli.command import environment

SOME = ["demo", "encode", "check", "reduce", "request", "upgrade", "downgrade", "migrate", "rekey"]


def whole_only(*args):
    """Arguments for ``make test-all``: a process each, for what another command shows as well."""
    return pytest.param(*args, marks=pytest.mark.slow)


def without_reader(*args):
    """Run a command whose output nobody reads."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "agui_reasoning", *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            timeout=60,
            env=environment(),
            check=False,
        )
    finally:
        os.close(theirs)
    return done.returncode, done.stderr.decode()


def test_the_package_is_the_command():
    command = [sys.executable, "-m", "agui_reasoning", "keygen", "--help"]
    done = subprocess.run(command, capture_output=True, timeout=60, env=environment(), check=False)
    assert (done.returncode, b"agui-reasoning keygen" in done.stdout) == (0, True)


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way here")
@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        whole_only(["--version"]),
        whole_only([]),
        ["demo"],
        whole_only(["demo", "--json"]),
        whole_only(["rekey", "--help"]),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_failure(args):
    assert without_reader(*args) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way here")
@pytest.mark.parametrize(
    "args", [["check"], whole_only(["check", "--json"]), whole_only(["reduce"]), ["reduce", "--json"]]
)
def test_nor_is_it_for_commands_that_read_a_file(args, tmp_path):
    path = tmp_path / "events.sse"
    path.write_text(f"{[STARTED, *thought('r1', 'Rain?'), FINISHED]}".replace("'", '"'))
    assert without_reader(*args, path) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way here")
def test_nor_when_the_report_is_one_of_errors(tmp_path):
    path = tmp_path / "events.json"
    path.write_text(f"{[ev('foo')]}".replace("'", '"'))
    assert without_reader("check", "--json", path) == (0, "")


MUCH = b'{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}\n' + b"".join(
    b'{"type": "FOO_%d"}\n' % number for number in range(5000)
)


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way here")
@pytest.mark.parametrize(
    ("args", "merged"),
    [
        (["check", "-"], False),
        whole_only(["check", "--format", "sarif", "-"], False),
        whole_only(["check", "-"], True),
        whole_only(["reduce", "-"], True),
        whole_only(["upgrade", "-"], False),
        whole_only(["providers", "--json"], False),
    ],
)
def test_a_reader_may_stop_after_the_first_line(args, merged, tmp_path):
    """As ``| head -1`` does, or ``2>&1 | head -1``; there is more output than a pipe holds."""
    (tmp_path / "input").write_bytes(MUCH)
    command = [sys.executable, "-m", "agui_reasoning", *args]
    errors = subprocess.STDOUT if merged else subprocess.PIPE
    with (
        (tmp_path / "input").open("rb") as data,
        subprocess.Popen(
            command, stdin=data, stdout=subprocess.PIPE, stderr=errors, env=environment()
        ) as running,
    ):
        assert running.stdout.readline()
        running.stdout.close()
        complaints = b"" if merged else running.stderr.read()
        assert (running.wait(60), complaints) == (0, b"")


@pytest.mark.parametrize("command", SOME)
def test_wrong_usage_points_to_the_help_of_its_command(command, cli):
    for wrong in ("--json=true", "--no-such-option"):
        result = cli(command, wrong, "x")
        assert (result.status, result.stdout) == (2, "")
        assert result.stderr.endswith(f"See 'agui-reasoning {command} --help'. [usage]\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["serve", "--port", "x"], "Invalid value for '--port': 'x' is not an integer."),
        (["serve", "--delay-ms", "1.5"], "Invalid value for '--delay-ms': '1.5' is not an integer."),
        (["serve", "--delay-ms", "-1"], "Invalid value for '--delay-ms': -1 is less than 0."),
        (["demo", "--port", "65536"], "Invalid value for '--port': 65536 is more than 65535."),
        (
            ["check", "--format", "x", "-"],
            "Invalid value for '--format': 'x' is not one of 'text', 'json', 'github', 'sarif'.",
        ),
    ],
    ids=str,
)
def test_a_wrong_value_is_told_in_words_for_people(args, words, cli):
    result = cli(*args)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == f"error: {words} See 'agui-reasoning {args[0]} --help'. [usage]\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
@pytest.mark.parametrize("args", [["--help"], whole_only(["--version"]), ["check", "--json"]])
def test_output_that_cannot_be_written_is_one_line_and_2(args, tmp_path):
    path = tmp_path / "events.json"
    path.write_text(f"{[ev('foo')]}".replace("'", '"'))
    command = [sys.executable, "-m", "agui_reasoning", *args, *[str(path)] * (args[0] == "check")]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, timeout=60, env=environment(), check=False
        )
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    assert done.stderr.decode().endswith("[unwritable_output]\n")


LOADED = """
import sys
from agui_reasoning.cli import main
main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""
MODULES = {f"agui_reasoning.cli._{spec.module or name}" for name, spec in COMMANDS.items()}
LARGE = {"agui_reasoning.parts", "agui_reasoning.consumer", "agui_reasoning.providers", "ag_ui", "pydantic"}


@pytest.mark.parametrize(
    ("args", "own"), [(["--version"], set()), (["--help"], set()), (["keygen"], {"agui_reasoning.cli._keys"})]
)
def test_a_command_imports_no_other(args, own, process):
    loaded = set(process(*args, code=LOADED).stderr.split())
    assert "agui_reasoning.cli._app" in loaded
    assert loaded & MODULES == own


@pytest.mark.parametrize("args", [["--version"], ["--help"]])
def test_what_needs_no_stream_imports_nothing_that_reads_one(args, process):
    loaded = set(process(*args, code=LOADED).stderr.split())
    assert loaded & LARGE == set()
    assert args == ["--help"] or "rich" not in loaded


@pytest.mark.parametrize("output", ["text", "json"])
def test_check_imports_only_what_reads_a_stream_and_shows_it(output, process):
    events = json.dumps([STARTED, *thought("r1", "Rain?"), FINISHED]).encode()
    loaded = set(process("check", "--format", output, "-", code=LOADED, stdin=events).stderr.split())
    rooms = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("agui_reasoning.")}
    assert {room.removeprefix("agui_reasoning.") for room in rooms if "._" not in room} == {
        *("cli", "consumer", "errors", "parts", "protocol", "wire")
    }
    assert ("rich" in loaded) == (output == "text")


def test_a_name_that_is_almost_right_is_suggested(cli):
    result = cli("chek")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.startswith("error: No such command 'chek'. Did you mean 'check'?")
