"""Test completion: a script for each shell, and the values that it completes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agui_reasoning.cli import FINDINGS, load_command
from tests.unit.cli.command import Result, environment

Process = Callable[..., Result]

SCRIPTS = {
    "bash": "complete -o default -F _agui_reasoning_completion agui-reasoning",
    "zsh": "#compdef agui-reasoning",
    "fish": "complete --command agui-reasoning",
    "powershell": "Register-ArgumentCompleter -Native -CommandName agui-reasoning",
    "pwsh": "Register-ArgumentCompleter -Native -CommandName agui-reasoning",
}
COMPLETED = [
    (["che"], ["check"]),
    (["explain", "chunk_a"], ["chunk_ambiguous"]),
    (["re"], ["reduce", "request", "rekey"]),
    (["check", "--for"], ["--format"]),
    (["encode", "--api", "gem"], ["gemini", "gemini-interactions"]),
    (["serve", "--api", "openai-chat", "--provider", "dee"], ["deepinfra", "deepseek"]),
    (["providers", "zai"], ["zai", "zai-coding-plan"]),
    (["check", "--ignore", "not_open,run_"], ["not_open,run_order", "not_open,run_identity"]),
]


def completed(shell: str, words: Sequence[str], process: Process) -> list[str]:
    """Ask as the script of a shell does, and read the answer as the shell does."""
    line = " ".join(["agui-reasoning", *words])
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words))},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        "pwsh": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1]},
    }[shell]
    result = process(**{"_AGUI_REASONING_COMPLETE": f"complete_{shell}"} | asked)
    assert (result.status, result.stderr) == (0, "")
    return [one.partition("\t")[0].partition(":::")[0].strip() for one in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "shell", ["fish", *(pytest.param(name, marks=pytest.mark.slow) for name in SCRIPTS if name != "fish")]
)
def test_each_shell_gets_its_script(shell: str, process: Process) -> None:
    result = process(_AGUI_REASONING_COMPLETE=f"source_{shell}")
    assert (result.status, result.stderr) == (0, "")
    assert SCRIPTS[shell] in result.stdout
    assert "_AGUI_REASONING_COMPLETE" in result.stdout


@pytest.mark.slow  # each starts a process
@pytest.mark.parametrize("shell", ["bash", "fish", "pwsh"])
@pytest.mark.parametrize(("words", "expected"), COMPLETED, ids=str)
def test_values_are_completed(shell: str, words: list[str], expected: list[str], process: Process) -> None:
    assert sorted(completed(shell, words, process)) == sorted(expected)


@pytest.mark.slow  # it starts a process
def test_zsh_completes_too(process: Process) -> None:
    env = {"_AGUI_REASONING_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "agui-reasoning providers zai"}
    assert process(**env).stdout.count("zai") == 2


def test_codes_are_completed_after_a_comma() -> None:
    (select,) = (param for param in load_command("check").params if param.name == "select")

    def completions(incomplete: str) -> list[str]:
        return [item.value for item in select.shell_complete(None, incomplete)]

    assert completions("not_") == ["not_open"]
    assert completions("not_open,trunc") == ["not_open,truncated_run"]
    assert completions("nothing") == []


@pytest.mark.slow  # it starts a shell and a process
@pytest.mark.skipif(sys.platform != "linux", reason="the shell is found among the parents of the process")
def test_the_script_is_that_of_the_shell_that_asks(tmp_path: Path) -> None:
    script = f'"{sys.executable}" -m agui_reasoning --show-completion; true'
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=60, env=environment(), check=True
    )
    assert SCRIPTS["bash"] in done.stdout


@pytest.mark.slow  # it starts a shell and a process
@pytest.mark.skipif(sys.platform != "linux", reason="the shell is found among the parents of the process")
def test_installing_writes_below_the_home_folder_only(tmp_path: Path) -> None:
    script = f'"{sys.executable}" -m agui_reasoning --install-completion; true'
    env = environment(HOME=str(tmp_path))
    subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, env=env, check=True)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(SCRIPTS["bash"] in path.read_text(encoding="utf-8") for path in written)


def test_every_code_that_can_be_explained_is_completed() -> None:
    (code,) = (param for param in load_command("explain").params if param.name == "code")
    known = {item.value for item in code.shell_complete(None, "")}
    assert known > set(FINDINGS)
    assert [item.value for item in code.shell_complete(None, "left_")] == ["left_open"]
