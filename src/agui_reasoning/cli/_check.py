"""``check``: verify AG-UI streams and lint valid constructs that real clients mishandle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Final

import typer

from agui_reasoning.cli._check_formats import CheckedFile, as_github, as_json, as_sarif, as_text
from agui_reasoning.cli._completion import complete_codes
from agui_reasoning.cli._findings import FINDINGS
from agui_reasoning.cli._output import put_safe
from agui_reasoning.cli._progress import ProgressBar, progress
from agui_reasoning.cli._reading import found_files
from agui_reasoning.cli._report import complain
from agui_reasoning.cli._stream import Stream, read_stream
from agui_reasoning.consumer import Finding, check_events
from agui_reasoning.errors import AGUIReasoningError, did_you_mean

__all__ = ["FormatChoice", "check"]

_TRUNCATED: Final = "truncated_run"
_SUFFIXES: Final = frozenset({".json", ".jsonl", ".ndjson", ".sse"})


class FormatChoice(StrEnum):
    """The choices of ``--format``."""

    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"


_REPORTS: Final[dict[FormatChoice, Callable[[Sequence[CheckedFile], str | None], str]]] = {
    FormatChoice.text: as_text,
    FormatChoice.json: as_json,
    FormatChoice.github: as_github,
    FormatChoice.sarif: as_sarif,
}


def _codes(value: str | None) -> str | None:
    """Reject codes that no finding has."""
    for code in _split(value):
        if code not in FINDINGS:
            near = did_you_mean(code, FINDINGS)
            raise typer.BadParameter(f"No finding has the code {code!r}. {near}".rstrip())
    return value


def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, folders to search, or - for standard input."),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    select: Annotated[
        str | None,
        typer.Option(
            metavar="CODES",
            help="Report only these codes, separated by commas.",
            autocompletion=complete_codes,
            callback=_codes,
        ),
    ] = None,
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="CODES",
            help="Do not report these codes, separated by commas.",
            autocompletion=complete_codes,
            callback=_codes,
        ),
    ] = None,
    output: Annotated[
        FormatChoice,
        typer.Option(
            "--format",
            metavar="text|json|github|sarif",
            help="The format of the report.",
            rich_help_panel="Output",
        ),
    ] = FormatChoice.text,
    json_output: Annotated[
        bool, typer.Option("--json", help="The same as --format json.", rich_help_panel="Output")
    ] = False,
    docs_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where this documentation is published, for links.", rich_help_panel="Output"
        ),
    ] = None,
) -> None:
    """Verify AG-UI streams, and report valid constructs that real clients mishandle.

    A FILE holds the events as server-sent events, JSON lines or a JSON array. Folders are searched for *.sse,
    *.jsonl, *.ndjson and *.json. Each code has a page in the documentation. As text, findings with the same
    code and message are shown once; the other formats list each one.
    """
    checked = [_checked(file) for file in found_files(files, _SUFFIXES)]
    shown = [_filtered(one, set(_split(select)) or FINDINGS.keys(), set(_split(ignore))) for one in checked]
    report = _REPORTS[FormatChoice.json if json_output else output](shown, docs_url)
    put_safe(report)
    statuses = [complain(one.error) for one in shown if one.error is not None]
    severities = {finding.severity for one in shown for finding in one.findings}
    if statuses:
        raise typer.Exit(2)
    if "error" in severities or (strict and severities):
        raise typer.Exit(1)


def _split(codes: str | None) -> list[str]:
    return [code.strip() for code in (codes or "").split(",") if code.strip()]


def _checked(file: str) -> CheckedFile:
    with progress("check", None) as bar:
        try:
            stream = read_stream(file)
        except AGUIReasoningError as error:
            return CheckedFile(file, error=error)
        return CheckedFile(file, stream, _findings(stream, bar), stream.error)


def _filtered(checked: CheckedFile, selected: Collection[str], ignored: Collection[str]) -> CheckedFile:
    kept = [one for one in checked.findings if one.code in selected and one.code not in ignored]
    return replace(checked, findings=kept)


def _findings(stream: Stream, bar: ProgressBar) -> list[Finding]:
    """Return the findings, including a truncated end unless reading stopped before it."""
    findings, end = check_events(bar.over(stream.events)), len(stream.events)
    ended = [finding for finding in findings if (finding.code, finding.index) != (_TRUNCATED, end)]
    if stream.error is not None:
        return ended
    if stream.cut and len(ended) == len(findings):
        remedy = "The connection was probably lost. Earlier events are kept."
        findings.append(
            Finding(_TRUNCATED, "error", end, "The stream ended in the middle of an event.", remedy)
        )
    return findings
