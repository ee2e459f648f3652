"""Compare the reference of the command line with the commands.

``python -m tests.docs.test_cli_page`` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the extra `cli` is not installed")

from agui_reasoning.cli import COMMANDS, EXIT_CODES, load_command, options, usage
from tests.docs.markdown import ROOT
from tests.docs.test_snippets import run_command

PAGE = ROOT / "docs" / "reference" / "cli.md"
CI_PAGE = ROOT / "docs" / "how-to" / "check-in-ci.md"
INTRO = """# Command line

Every command of `agui-reasoning`, as `--help` shows it. A FILE is a path, or `-` for standard input. Streams
are read as Server-Sent Events, JSON lines or a JSON array, whichever they are. `--json` prints one value.

[How to use the command line](../how-to/command-line.md) shows the commands at work.
"""


def cell(text: str) -> str:
    """A text in a cell of a table, without markup by accident."""
    return re.sub(r"([|*<])", r"\\\1", text)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def page() -> str:
    """The page as it should be."""
    return "\n".join([INTRO, *codes(), *(line for name in COMMANDS for line in section(name))])


def codes() -> Iterator[str]:
    yield from ("## Exit codes", "")
    yield from table(("code", "meaning"), [(f"{code}", text) for code, text in EXIT_CODES.items()])
    yield ""
    rows = [
        (f"[`{name}`](#{name})", spec.exits.get(0, "success"), spec.exits.get(1, "never"))
        for name, spec in COMMANDS.items()
    ]
    yield from table(("command", "0", "1"), rows)
    yield ""


def section(name: str) -> Iterator[str]:
    command = load_command(name)
    with command.make_context(name, [], resilient_parsing=True) as context:
        context.info_name = f"agui-reasoning {name}"
        yield from (f"## {name}", "", *cell(command.help).split("\n"), "", f"Usage: `{usage(context)}`", "")
        for title, rows in options(context).items():
            shown = [("`" + option.replace("|", "\\|") + "`", cell(does)) for option, does in rows]
            yield from table((title.lower().partition(" (")[0], "does"), shown)
            yield ""
    yield from ("```sh", *(f"# {one.does}\n{one.line}" for one in COMMANDS[name].examples), "```", "")


def written() -> str:
    return re.sub(r"\n{3,}", "\n\n", page()).rstrip() + "\n"


def test_the_page_is_what_the_commands_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert PAGE.read_text(encoding="utf-8") == written(), "run: python -m tests.docs.test_cli_page"


def steps() -> list[str]:
    """The commands of the jobs and hooks on the page about CI."""
    page = CI_PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\s+(?:- run|entry): (agui-reasoning .*)$", page, re.MULTILINE)
    return [f"{line} runs/run.sse" if "runs/" not in line else line for line in found]


def test_the_page_about_ci_has_a_job_an_upload_and_a_hook() -> None:
    assert len(steps()) == 3


@pytest.mark.slow  # each starts processes
@pytest.mark.parametrize("step", steps())
def test_a_step_of_a_job_runs(step: str, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    stream = f"agui-reasoning encode --api anthropic-messages {ROOT}/examples/weather.jsonl > runs/run.sse"
    for line in (stream, step):
        status, printed = run_command(line, tmp_path, interrupt=False)
        assert status == 0, printed


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
