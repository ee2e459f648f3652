"""Test the help: what it says of each command, and that its examples run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agui_reasoning.cli import COMMANDS, EXIT_CODES, Example, exit_codes, load_command
from agui_reasoning.crypto import DEFAULT_VARIABLE, KeyRing
from tests.docs.markdown import ROOT
from tests.docs.test_snippets import NEEDS_A_SHELL, call_command, run_command
from tests.unit.cli.command import Result

Run = Callable[..., Result]

SERVING = ("serve", "proxy")


def serves(name: str, example: Example) -> bool:
    return name in SERVING or example.line.endswith(" --web")


def needs_shell(example: Example) -> bool:
    return NEEDS_A_SHELL.search(example.line) is not None


EXAMPLES = [
    # Without a shell, it runs in this process, which is quick; `demo` has tests of its own.
    pytest.param(
        name,
        example,
        id=example.line,
        marks=[pytest.mark.slow] * (serves(name, example) or needs_shell(example)),
    )
    for name, spec in COMMANDS.items()
    for example in spec.examples
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copy(ROOT / "examples/weather.jsonl", folder)
    shutil.copytree(ROOT / "examples/legacy", folder / "legacy")
    (folder / "keys.txt").write_text(KeyRing.generate("2026-10").to_env())
    (folder / "note.json").write_text('{"v": 1}')
    (folder / "histories.jsonl").write_text('{"threadId": "thread-1", "messages": []}\n')
    (folder / "old.jsonl").write_text('{"type": "THINKING_START"}\n{"type": "THINKING_END"}\n')
    (folder / "runs").mkdir()
    (folder / "threads").mkdir()
    shutil.copy(folder / "histories.jsonl", folder / "threads")
    for line in (
        "agui-reasoning encode --api anthropic-messages weather.jsonl > run.sse",
        "cp run.sse runs/one.sse; agui-reasoning reduce --json run.sse > messages.json",
        "agui-reasoning encrypt --keys-file keys.txt --thread thread-1 note.json > token.txt",
    ):
        status, printed = run_command(line, folder, interrupt=False)
        assert status == 0, printed
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_runs(
    name: str,
    example: Example,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    folder = shutil.copytree(files, tmp_path / "folder")
    for key in ("ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(key, "the-key")
    if name == "bulk":
        monkeypatch.setenv(DEFAULT_VARIABLE, (files / "keys.txt").read_text())
    is_server = serves(name, example)
    line = f"{example.line} --port 0" if is_server else example.line
    if is_server or needs_shell(example):
        status, printed = run_command(line, folder, interrupt=is_server)
    else:
        monkeypatch.chdir(folder)
        status, printed = call_command(line, capfdbinary)
    assert status == 0, printed


def test_every_command_has_two_or_three_examples_or_four() -> None:
    counts = {name: len(spec.examples) for name, spec in COMMANDS.items()}
    assert {name: number for name, number in counts.items() if not 2 <= number <= 4} == {}
    assert [
        example.line
        for name, spec in COMMANDS.items()
        for example in spec.examples
        if f"agui-reasoning {name}" not in example.line
    ] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_its_examples_options_and_exit_codes(name: str, cli: Run) -> None:
    result = cli(name, "--help", COLUMNS="100")
    assert (result.status, result.stderr) == (0, "")
    shown = result.stdout
    assert re.match(rf"Usage: agui-reasoning {name} .*\[OPTIONS\]", shown)
    assert [example.line for example in COMMANDS[name].examples if f"  $ {example.line}\n" not in shown] == []
    options = {option for param in load_command(name).params for option in getattr(param, "opts", ())}
    assert [one for one in options if one.startswith("--") and f"  {one}" not in shown] == []
    codes = shown.partition("\nExit codes:\n")[2]
    assert re.findall(r"^  (\d+)  ", codes, re.MULTILINE) == [str(code) for code in exit_codes(name)]


def test_the_help_groups_every_command_by_its_task(cli: Run) -> None:
    shown = cli("--help").stdout
    for name, spec in COMMANDS.items():
        section = shown.partition(f"\n{spec.group}:\n")[2].partition("\n\n")[0]
        assert re.search(rf"^  {name} ", section, re.MULTILINE)
    codes = shown.partition("\nExit codes:\n")[2]
    assert re.findall(r"^  (\d+) ", codes, re.MULTILINE) == [str(code) for code in EXIT_CODES]
    assert cli().stdout == shown


def test_help_shows_defaults_and_what_is_mandatory(cli: Run) -> None:
    shown = " ".join(cli("serve", "--help").stdout.split())
    for words in (
        "[default: 8000;",
        "[default: 127.0.0.1]",
        "[default: full]",
        "[default: replay]",
        "--api, --base-url and --model are mandatory",
        "openai-chat, bedrock-converse",
    ):
        assert words in shown
    assert "--thread ID" in cli("encrypt", "--help").stdout.splitlines()[0]


def test_the_summary_of_a_command_is_the_first_sentence_of_its_help() -> None:
    assert {name: load_command(name).help.partition("\n\n")[0] for name in COMMANDS} == {
        name: spec.summary for name, spec in COMMANDS.items()
    }


def test_a_hint_has_the_base_url_of_the_provider(cli: Run) -> None:
    told = cli("serve", "--api", "openai-chat", "--provider", "moonshot", "--model", "kimi").stderr
    assert told.endswith(
        "For example: --api openai-chat --provider moonshot --base-url https://api.moonshot.ai/v1 "
        "--model kimi. [missing_option]\n"
    )


def test_the_base_urls_are_those_of_the_page(cli: Run) -> None:
    page = (ROOT / "docs/how-to/gateway.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `([\w-]+)`(?: with the provider `([\w-]+)`)?[^|]*\| `(http\S+)`", page, re.MULTILINE
    )
    assert len(rows) > 10
    for api, provider, url in rows:
        if api != "xai-grpc":
            options = ["--api", api, *(["--provider", provider] if provider else [])]
            assert f"--base-url {url} " in cli("serve", *options).stderr
