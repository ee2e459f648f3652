"""Test ``migrate``: the files it takes, its output, its status, and the example of 0.1.10."""

import asyncio
import importlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from agui_reasoning import MissingExtraError, check_events, reduce_events
from agui_reasoning.compat import ThinkingUpgrader
from agui_reasoning.wire import read_events
from tests.support.peers import peer_python

LEGACY = Path(__file__).parents[3] / "examples" / "legacy"
HEAD = "from ag_ui.core import ThinkingEndEvent, ThinkingStartEvent\n\n\n"
GOOD = f"{HEAD}def run():\n    yield ThinkingStartEvent()\n    yield ThinkingEndEvent()\n"
LEFT = f'{HEAD}NAME = "THINKING_START"\n'
PLAIN = "print(1)\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Write files into an empty folder, and stand in it."""
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return write


# -- what it does with files


def test_a_diff_is_printed_and_nothing_is_changed(tree, cli):
    folder = tree(app=GOOD, plain=PLAIN)
    result = cli("migrate", "app.py", "plain.py")
    assert result.status == 0
    assert result.stdout.splitlines()[:4] == [
        "--- a/app.py",
        "+++ b/app.py",
        "@@ -1,6 +1,8 @@",
        "-from ag_ui.core import ThinkingEndEvent, ThinkingStartEvent",
    ]
    assert (
        result.stderr
        == "summary: 8 changes in 1 file of 2, nothing left to decide. Add --write to apply them.\n"
    )
    assert (folder / "app.py").read_text(encoding="utf-8") == GOOD


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_diff_can_be_applied_whatever_the_bytes_are(tree, cli):
    files = {
        "crlf": GOOD.replace("\n", "\r\n"),
        "cut": GOOD.rstrip("\n"),
        "latin": '# coding: latin-1\nX = "Zoë"\n'.encode("latin-1") + GOOD.encode(),
    }
    folder = tree(**files)
    command = [sys.executable, "-m", "agui_reasoning", "migrate", "."]
    diff = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    subprocess.run(["git", "apply", "-"], input=diff, check=True, capture_output=True, timeout=60)
    applied = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    tree(**files)
    assert cli("migrate", ".", "--write").status == 0
    assert applied == {path.name: path.read_bytes() for path in folder.glob("*.py")}
    assert b"Zo\xeb" in applied["latin.py"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_diff_of_hostile_source_is_exact_and_told(tree, cli):
    """`patch` needs every byte; names are quoted as git quotes them."""
    folder = tree()
    path = folder / 'a\x1b[2J\n::error::"\\é.py'
    path.write_text(f"{GOOD}# \x1b[2J\u202e\n", encoding="utf-8")
    result = cli("migrate", ".")
    names = r"a\033[2J\012::error::\042\134\303\251.py"
    assert result.stdout.splitlines()[:2] == [f'--- "a/{names}"', f'+++ "b/{names}"']
    assert result.stderr.splitlines()[0] == (
        r'warning: a\u001b[2J ::error::"\é.py: the diff has invisible characters or commands of CI runners. '
        "Read it with --json."
    )
    diff = result.stdout.encode()
    subprocess.run(["git", "apply", "-"], input=diff, check=True, capture_output=True, timeout=60, cwd=folder)
    assert "Reasoning" in path.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("absolute", [False, True])
def test_the_diff_of_files_elsewhere_can_be_applied_where_it_says(absolute, tree, cli, monkeypatch):
    folder = tree(app=GOOD, deep__er__other=GOOD)
    monkeypatch.chdir(folder / "deep" / "er")
    result = cli("migrate", str(folder / "app.py") if absolute else "../../app.py", "other.py")
    assert [text for text in result.stdout.splitlines() if text.startswith("+++ ")] == [
        "+++ b/app.py",
        "+++ b/deep/er/other.py",
    ]
    assert f"The paths of the diff are relative to {folder}: apply it there." in result.stderr
    diff = result.stdout.encode()
    subprocess.run(["git", "apply", "-"], input=diff, check=True, capture_output=True, timeout=60, cwd=folder)
    assert "Reasoning" in (folder / "app.py").read_text(encoding="utf-8")


def test_write_changes_the_files_and_keeps_their_modes(tree, cli):
    folder = tree(app=GOOD, plain=PLAIN)
    (folder / "app.py").chmod(0o750)
    before = (folder / "plain.py").stat().st_mtime_ns
    result = cli("migrate", ".", "--write")
    assert (result.status, result.stdout) == (0, "app.py: 8 changes\n")
    assert result.stderr == "summary: 8 changes in 1 file of 2, nothing left to decide.\n"
    assert "ReasoningStartEvent(message_id=" in (folder / "app.py").read_text(encoding="utf-8")
    assert stat.S_IMODE((folder / "app.py").stat().st_mode) == 0o750
    assert (folder / "plain.py").stat().st_mtime_ns == before
    assert sorted(path.name for path in folder.iterdir()) == ["app.py", "plain.py"]
    again = cli("migrate", ".", "--write")
    assert (again.status, again.stdout) == (0, "")


def test_a_link_is_followed_when_it_is_named_and_stays_a_link(tree, cli):
    folder = tree(real__app=GOOD)
    (folder / "link.py").symlink_to("real/app.py")
    assert cli("migrate", "link.py", "--write").stdout == "link.py: 8 changes\n"
    assert (folder / "link.py").is_symlink()
    assert "Reasoning" in (folder / "real" / "app.py").read_text(encoding="utf-8")


def test_folders_of_others_are_left_alone(tree, cli):
    folder = tree(
        app=GOOD, src__deep__app=GOOD, node_modules__x=GOOD, src__site_packages__x=GOOD, env__lib__x=GOOD
    )
    (folder / "src" / "site_packages").rename(folder / "src" / "site-packages")
    (folder / "env" / "pyvenv.cfg").touch()
    for name in (".venv", ".git", "__pycache__"):
        (folder / name).mkdir()
        (folder / name / "x.py").write_text(GOOD, encoding="utf-8")
    (folder / "notes.txt").write_text(GOOD, encoding="utf-8")
    (folder / "link.py").symlink_to("node_modules/x.py")
    assert cli("migrate", ".", "--write").stdout == "app.py: 8 changes\nsrc/deep/app.py: 8 changes\n"
    # What is named is taken.
    assert cli("migrate", ".venv/x.py", "notes.txt", ".venv/../.venv/x.py").stderr.startswith(
        "summary: 16 changes"
    )


def test_titles_can_be_kept(tree, cli):
    tree(app=GOOD.replace("ThinkingStartEvent()", 'ThinkingStartEvent(title="Plan")'))
    assert "[title_dropped]" in cli("migrate", "app.py").stderr
    kept = cli("migrate", "app.py", "--keep-title")
    assert 'metadata={"agui-reasoning": {"title": "Plan"}}' in kept.stdout
    assert "title_dropped" not in kept.stderr


# -- how it ends


def test_what_is_left_to_decide_is_listed_with_place_and_advice(tree, cli):
    folder = tree(app=LEFT, good=GOOD)
    for options in ([], ["--write"]):
        result = cli("migrate", ".", *options)
        assert result.status == 1
        listed, summary = result.stderr.splitlines()
        assert listed.startswith(
            "decide: app.py:4:8 A string contains THINKING_START. The file was not changed."
        )
        assert listed.endswith("then run the command again. [unclear_use]")
        assert (folder / "app.py").read_text(encoding="utf-8") == LEFT
        assert "1 left to decide by hand" in summary


def test_a_file_that_does_not_parse_is_listed_and_the_others_go_on(tree, cli):
    folder = tree(bad="THINKING_START = (\n", good=GOOD)
    result = cli("migrate", ".", "--write")
    assert (result.status, result.stdout) == (2, "good.py: 8 changes\n")
    assert result.stderr.startswith("error: bad.py:1:1 The file cannot be parsed as Python.")
    assert (folder / "bad.py").read_text(encoding="utf-8") == "THINKING_START = (\n"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there is no file here that cannot be opened")
def test_a_file_that_cannot_be_read_is_listed_and_the_others_go_on(tree, cli):
    tree(good=GOOD)
    with socket.socket(socket.AF_UNIX) as unreadable:
        unreadable.bind("bad.py")
        result = cli("migrate", "bad.py", "good.py", "--write")
        searched = cli("migrate", ".")
        report = json.loads(cli("migrate", "bad.py", "good.py", "--json").stdout)
    assert (result.status, result.stdout) == (2, "good.py: 8 changes\n")
    assert result.stderr.startswith("error: bad.py is a socket, not a file.")
    assert (searched.status, searched.stderr.count("\n")) == (0, 1)
    assert [(found["path"], found["severity"]) for found in report["findings"]] == [("bad.py", "error")]
    assert (report["ok"], report["read"]) == (False, 1)


def test_a_file_that_cannot_be_replaced_is_listed_and_the_others_go_on(tree, cli, monkeypatch):
    folder = tree(bad=GOOD, good=GOOD)
    replace = os.replace

    def refuse(source, target):
        if Path(target).name == "bad.py":
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    result = cli("migrate", ".", "--write")
    assert (result.status, result.stdout) == (2, "good.py: 8 changes\n")
    assert "error: bad.py cannot be rewritten: Permission denied. It was left unchanged. " in result.stderr
    assert (folder / "bad.py").read_text(encoding="utf-8") == GOOD
    assert sorted(path.name for path in folder.iterdir()) == ["bad.py", "good.py"]


@pytest.mark.parametrize("arguments", [[], ["nowhere.py"], ["app.py", "nowhere"]])
def test_wrong_usage_is_one_line_and_2_and_nothing_is_written(arguments, tree, cli):
    folder = tree(app=GOOD)
    result = cli("migrate", *arguments, "--write")
    assert (result.status, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert (folder / "app.py").read_text(encoding="utf-8") == GOOD


def test_without_libcst_it_names_the_extra(tree, process):
    tree(app=GOOD)
    code = (
        "import sys; sys.modules['libcst'] = None\n"
        "from agui_reasoning.cli import main\nsys.exit(main(['migrate', 'app.py']))"
    )
    result = process(code=code)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith(f"{MissingExtraError('', 'migrate').hint} [missing_extra]\n")


# -- for programs and people


def test_json_is_one_object_with_everything(tree, cli):
    tree(app=LEFT, good=GOOD, plain=PLAIN)
    result = cli("migrate", ".", "--json")
    report = json.loads(result.stdout)
    assert (result.status, result.stderr) == (1, "")
    assert {**report, "files": len(report["files"])} == {
        "ok": False,
        "read": 3,
        "changes": 8,
        "files": 1,
        "findings": [
            {
                "path": "app.py",
                "line": 4,
                "column": 8,
                "code": "unclear_use",
                "severity": "decide",
                "message": "A string contains THINKING_START.",
                "advice": "The file was not changed. Write the new name here by hand (an event that is "
                "created here also needs an ID), then run the command again.",
            }
        ],
    }
    [good] = report["files"]
    assert (good["path"], good["changes"], good["written"]) == ("good.py", 8, False)
    assert good["diff"].startswith("--- a/good.py\n")
    written = json.loads(cli("migrate", "good.py", "--json", "--write").stdout)
    assert (written["ok"], written["files"][0]["written"]) == (True, True)


def test_a_terminal_gets_colours_and_a_file_none(tree, cli):
    tree(app=GOOD)
    assert "\x1b[32m+from uuid import uuid4" in cli("migrate", "app.py", FORCE_COLOR="1").stdout
    assert "\x1b[" not in cli("migrate", "app.py").stdout


# -- the example of 0.1.10


def said(events):
    """What people read, and the events with their ids numbered."""
    seen = {}
    for event in events:
        if event["type"].startswith("REASONING"):
            key = ("MESSAGE" in event["type"], event["messageId"])
            event = {**event, "messageId": seen.setdefault(key, len(seen))}
        yield event


def as_it_was():
    """The example's events from the version it was written for, as a client would translate them."""
    python, numbers = peer_python("0.1.10"), count()
    done = subprocess.run([python, LEGACY / "agent_0_1_10.py"], capture_output=True, timeout=60, check=True)
    upgrader = ThinkingUpgrader(on_warning=lambda _: None, new_id=lambda: f"id-{next(numbers)}")
    return [event for old in read_events(done.stdout) for event in upgrader.receive(old)]


@pytest.fixture
def migrated(tmp_path, cli):
    """A copy of the example after ``migrate --write``, and no hand edits."""
    folder = shutil.copytree(LEGACY, tmp_path / "legacy", ignore=shutil.ignore_patterns("__pycache__"))
    result = cli("migrate", folder, "--write")
    assert (result.status, "decide:" in result.stderr) == (0, False), result.stderr
    return folder


def test_the_example_does_not_run_with_1_0_as_it_is():
    done = subprocess.run(
        [sys.executable, LEGACY / "agent_0_1_10.py"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "ImportError: cannot import name 'Thinking" in done.stderr


def test_the_migrated_example_runs_and_says_what_it_said(migrated):
    done = subprocess.run(
        [sys.executable, "-W", "error", migrated / "agent_0_1_10.py"], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    events = read_events(done.stdout)
    assert [found.code for found in check_events(events)] == ["missing_version"]
    assert [(message.role, message.content) for message in reduce_events(events)] == [
        ("reasoning", "[connecting]"),
        ("reasoning", "Oslo in November: rain."),
        ("assistant", "Take an umbrella."),
    ]
    assert list(said(events)) == list(said(as_it_was()))


def test_the_migrated_server_serves_runs_with_ids_of_their_own(migrated, monkeypatch):
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    monkeypatch.syspath_prepend(str(migrated))
    server = importlib.import_module("server_0_1_10")
    run_input = server.core.RunAgentInput.model_validate(
        {"threadId": "t", "runId": "r", **importlib.import_module("agent_0_1_10").EMPTY}
    )

    async def body():
        response = await server.agent(run_input)
        return "".join([frame async for frame in response.body_iterator])

    runs = [read_events(asyncio.run(body()).encode()) for _ in range(2)]
    for name in ("server_0_1_10", "agent_0_1_10"):
        sys.modules.pop(name)
    for events in runs:
        assert [found.code for found in check_events(events)] == ["missing_version"]
    one, other = (
        {event["messageId"] for event in events if event["type"].startswith("REASONING")} for events in runs
    )
    assert len(one) == len(other) == 4
    assert one.isdisjoint(other)


def test_the_parts_of_the_example_that_read_events_work(migrated, monkeypatch):
    monkeypatch.syspath_prepend(str(migrated))
    agent = importlib.import_module("agent_0_1_10")
    sys.modules.pop("agent_0_1_10")
    thinking = agent.ThinkingStream()
    events = [*thinking.feed("Hm"), *thinking.feed("."), *thinking.close()]
    assert [agent.describe(event) for event in events] == [
        "-- thinking",
        "-- thought",
        "thinks 'Hm'",
        "thinks '.'",
        "-- thought",
        "-- thinking",
    ]
    assert agent.only_thoughts(events) == "Hm."
