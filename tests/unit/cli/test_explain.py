"""Test ``explain``: what it prints of findings and of the codes of errors."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agui_reasoning.cli import FINDINGS
from tests.unit.cli.command import Result

Run = Callable[..., Result]

LEFT_OPEN = """left_open: a finding of check
  'RUN_FINISHED' arrives while something is still open.

  Severity: error. The run fails.

Why it matters:
  Messages, calls, spans, steps and subagents must end before the run does,
  whatever its outcome.

What to do:
  End them in order. If you cannot, send 'RUN_ERROR', which ends the run and
  everything in it.

Example:
    from agui_reasoning import check_events

    RUN = {"threadId": "t1", "runId": "r1"}
    START = {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}
    FINISH = {"type": "RUN_FINISHED", **RUN}

    events = [
        START,
        {"type": "REASONING_START", "messageId": "s1"},
        FINISH,
    ]
    for finding in check_events(events):
        print(finding.index, finding.severity, finding.code)
  This prints:
    2 error left_open
"""


def test_a_finding_is_explained_as_on_its_page(cli: Run) -> None:
    result = cli("explain", "left_open", COLUMNS="80")
    assert (result.status, result.stdout, result.stderr) == (0, LEFT_OPEN, "")


def test_a_code_of_several_classes_is_explained_for_each(cli: Run) -> None:
    shown = cli("explain", "truncated_stream").stdout
    assert [line for line in shown.splitlines() if line.startswith("truncated_stream: ")] == [
        "truncated_stream: a code of RemoteProtocolError",
        "truncated_stream: a code of DecodeError",
    ]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("rate_limited", "a code on RUN_ERROR"),
        ("reasoning_refused", "a code on RUN_ERROR"),
        ("usage", "a code of the command line"),
        ("no_api", "a code of ConfigurationError"),
    ],
)
def test_codes_of_each_kind_are_explained(code: str, what: str, cli: Run) -> None:
    assert cli("explain", code).stdout.startswith(f"{code}: {what}\n")


def test_a_program_gets_the_page_and_the_text(cli: Run) -> None:
    shown = json.loads(cli("explain", "left_open", "--json", COLUMNS="80").stdout)
    page = "docs/reference/findings/left_open.md"
    assert shown == {"code": "left_open", "page": page, "text": LEFT_OPEN}
    assert json.loads(cli("explain", "usage", "--json").stdout)["page"] == "docs/reference/errors.md"


def test_without_a_code_all_are_listed(cli: Run) -> None:
    known = json.loads(cli("explain", "--json").stdout)
    assert set(known) > set(FINDINGS)
    words = set(cli("explain").stdout.replace(",", " ").replace(".", " ").split())
    assert words >= set(known)


def test_an_unknown_code_is_refused_with_the_nearest_known_one(cli: Run) -> None:
    result = cli("explain", "left_opn")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr == (
        "error: No finding or error has the code 'left_opn'. Did you mean 'left_open'? "
        "'agui-reasoning explain' lists all codes. [unknown_code]\n"
    )
