"""Test the reports of ``check``, and which files and codes they are about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import ValidationError

from agui_reasoning.cli import FINDINGS
from tests.docs.markdown import ROOT
from tests.support.play import FINISHED, STARTED, Json, ev, text, thought
from tests.support.sarif import Log, Region
from tests.unit.cli.command import Result

Run = Callable[..., Result]

GOOD = [STARTED, *thought("r1", "Rain?"), FINISHED]
BROKEN = [STARTED, text("m1", "x")[1], ev("foo"), FINISHED]


def write(path: Path, events: list[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs/bad, 100%: one.jsonl", BROKEN)
    write(tmp_path / "runs/deep/good.jsonl", GOOD)
    write(tmp_path / "runs/.hidden/bad.jsonl", BROKEN)
    write(tmp_path / "runs/notes.txt", BROKEN)
    return tmp_path


BAD = "runs/bad, 100%: one.jsonl"


# -- which files


def test_folders_are_searched_and_a_file_is_checked_once(folder: Path, cli: Run) -> None:
    result = cli("check", "runs", "runs/deep/good.jsonl")
    assert (result.status, result.stderr) == (1, "")
    assert result.stdout.splitlines()[-1] == (
        "2 files, 9 events: 1 error, 1 warning (1 not_open, 1 unknown_event)."
    )
    assert [line.split(": ")[0] for line in result.stdout.splitlines() if ".jsonl:" in line] == [
        f"{BAD.split(': ', maxsplit=1)[0]}",
        f"{BAD.split(': ', maxsplit=1)[0]}",
    ]


def test_files_are_found_in_order(folder: Path, cli: Run) -> None:
    write(folder / "runs/a.jsonl", BROKEN)
    write(folder / "also.jsonl", BROKEN)
    stdin = (folder / BAD).read_bytes()
    report = json.loads(cli("check", "--json", "runs", "-", "also.jsonl", "runs", stdin=stdin).stdout)
    files = [one["file"] for one in report["findings"] if one["code"] == "not_open"]
    assert files == ["runs/a.jsonl", BAD, "-", "also.jsonl"]


def test_a_folder_without_streams_is_wrong_usage(folder: Path, cli: Run) -> None:
    (folder / "empty").mkdir()
    result = cli("check", "empty")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.endswith("[no_files]\n")


def test_one_unreadable_file_does_not_hide_the_others(folder: Path, cli: Run) -> None:
    (folder / "runs/broken.sse").write_bytes(b"\xff")
    result = cli("check", "runs", "no-such-file")
    assert (result.status, result.stderr.count("\n")) == (2, 2)
    assert result.stdout.splitlines()[-1] == (
        "2 of 4 files, 9 events: 1 error, 1 warning (1 not_open, 1 unknown_event); 2 files cannot be read."
    )
    report = json.loads(cli("check", "--json", "runs", "no-such-file").stdout)
    assert [one["code"] for one in report["unreadable"]] == ["bad_utf8", "unreadable_file"]
    assert [one["file"] for one in report["findings"]] == [BAD, BAD]


@pytest.mark.parametrize("output", ["text", "github"])
def test_only_files_that_can_be_read_are_without_problems(output: str, folder: Path, cli: Run) -> None:
    result = cli("check", "no-such-file", "runs/deep/good.jsonl", "--format", output)
    assert result.status == 2
    assert result.stdout.splitlines()[-1] == (
        "1 of 2 files, 5 events: no problems found; 1 file cannot be read."
    )
    assert "no problems" not in cli("check", "no-such-file", "nor-this", "--format", output).stdout


def test_standard_input_is_one_of_the_files(folder: Path, cli: Run) -> None:
    lines = (folder / BAD).read_bytes()
    assert "<stdin>:2: error not_open " in cli("check", "-", "runs/deep", stdin=lines).stdout


# -- which codes


def test_codes_are_selected_and_ignored(folder: Path, cli: Run) -> None:
    assert cli("check", BAD, "--ignore", "not_open").status == 0
    assert cli("check", BAD, "--ignore", "not_open,unknown_event", "--strict").stdout == (
        "4 events: no problems found.\n"
    )
    assert cli("check", BAD, "--select", "unknown_event", "--strict").status == 1
    assert cli("check", BAD, "--select", "unknown_event, not_open", "--ignore", "not_open").status == 0


def test_an_unknown_code_is_wrong_usage_with_the_nearest(folder: Path, cli: Run) -> None:
    result = cli("check", BAD, "--ignore", "not_opened")
    assert (result.status, result.stdout) == (2, "")
    assert "No finding has the code 'not_opened'. Did you mean 'not_open'?" in result.stderr


# -- GitHub


def unescaped(text: str) -> str:
    for escape, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(escape, char)
    return text


def test_github_gets_a_command_per_finding(folder: Path, cli: Run) -> None:
    result = cli("check", "runs", "--format", "github")
    assert result.status == 1
    *commands, summary = result.stdout.splitlines()
    assert summary.startswith("2 files, 9 events: ")
    found = []
    for command in commands:
        _, head, words = command.split("::", 2)
        name, _, properties = head.partition(" ")
        given = dict(one.split("=", 1) for one in properties.split(","))
        found.append((name, {key: unescaped(value) for key, value in given.items()}))
        assert len(unescaped(words).splitlines()) == 3
    assert found == [
        ("error", {"file": BAD, "line": "2", "title": "not_open"}),
        ("warning", {"file": BAD, "line": "3", "title": "unknown_event"}),
    ]


def test_github_is_told_what_cannot_be_read(folder: Path, cli: Run) -> None:
    result = cli("check", "no-such-file", "--format", "github")
    assert result.status == 2
    assert result.stdout.startswith(
        "::error file=no-such-file,title=unreadable_file::no-such-file cannot be read"
    )


# -- SARIF


def sarif(result: Result) -> dict[str, Any]:
    """The run of a log, which is one of SARIF 2.1.0, with references that lead somewhere."""
    log = json.loads(result.stdout)
    Log.model_validate(log)
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert [rules[one["ruleIndex"]] for one in run["results"]] == [one["ruleId"] for one in run["results"]]
    return dict(run)


def test_a_log_with_another_member_is_not_valid() -> None:
    with pytest.raises(ValidationError, match="startLines"):
        Region.model_validate({"startLine": 1, "startLines": 1})
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Region.model_validate({"startLine": 0})


def test_sarif_has_a_rule_per_code_and_a_result_per_finding(folder: Path, cli: Run) -> None:
    result = cli("check", "runs", "--format", "sarif")
    assert (result.status, result.stderr) == (1, "")
    run = sarif(result)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(FINDINGS)
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("not_open", "error"),
        ("unknown_event", "warning"),
    ]
    assert [unquote(place["artifactLocation"]["uri"]) for place in places] == [BAD, BAD]
    assert [place["region"]["startLine"] for place in places] == [2, 3]
    assert [one["properties"] for one in run["results"]] == [{"event": 2}, {"event": 3}]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_names_files_outside_the_folder_by_their_whole_uri(folder: Path, cli: Run) -> None:
    run = sarif(cli("check", folder / "runs/notes.txt", "--format", "sarif"))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (folder / "runs/notes.txt").as_uri()


def test_sarif_tells_what_cannot_be_read(folder: Path, cli: Run) -> None:
    result = cli("check", "no-such-file", "--format", "sarif")
    assert result.status == 2
    [invocation] = sarif(result)["invocations"]
    assert invocation["executionSuccessful"] is False
    [told] = invocation["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("no-such-file cannot be read")


def test_links_lead_to_the_published_documentation(folder: Path, cli: Run) -> None:
    page = "https://docs.example/reference/findings/not_open/"
    for output in ("text", "json", "github", "sarif"):
        assert page in cli("check", BAD, "--format", output, "--docs-url", "https://docs.example/").stdout
    run = sarif(cli("check", BAD, "--format", "sarif", "--docs-url", "https://docs.example"))
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["not_open"]["helpUri"] == page


# -- the table of codes


def test_every_code_has_a_page() -> None:
    pages = {page.stem for page in (ROOT / "docs/reference/findings").glob("*.md")} - {"index"}
    assert set(FINDINGS) == pages


def test_the_index_of_the_pages_is_the_same_table() -> None:
    index = (ROOT / "docs/reference/findings/index.md").read_text(encoding="utf-8")
    for code, kind in FINDINGS.items():
        section = index.partition(f"\n## {kind.severity.title()}s\n")[2].partition("\n## ")[0]
        assert f"| [`{code}`]({code}.md) | {kind.means} |" in section
