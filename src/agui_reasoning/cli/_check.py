"""``check`` verifies AG-UI streams and lints what real clients mishandle; ``explain`` says what to do."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Final, Literal, TypeAlias

import typer

from agui_reasoning._catalog import FINDINGS, explained
from agui_reasoning.cli._app import complete_codes, complete_explained
from agui_reasoning.cli._check_formats import REPORTS, CheckedFile, page_of, reference, summary
from agui_reasoning.cli._files import STDIN, Stream, found_files, read_stream
from agui_reasoning.cli._help import Page
from agui_reasoning.cli._output import ProgressBar, complain, printable, progress, put_json, put_safe
from agui_reasoning.consumer import Finding, check_events
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, did_you_mean

_TRUNCATED: Final = "truncated_run"
_SUFFIXES: Final = frozenset({".json", ".jsonl", ".ndjson", ".sse"})
_STYLES: Final = {"error": "bold red", "warning": "yellow"}
_MOST_PLACES: Final = 8
_Piece: TypeAlias = tuple[str, str]
"""A text and its style."""


def _codes(value: str | None) -> str | None:
    """Reject codes that no finding has."""
    for code in _split(value):
        if code not in FINDINGS:
            near = did_you_mean(code, FINDINGS)
            raise typer.BadParameter(f"No finding has the code {code!r}. {near}".rstrip())
    return value


_of_codes = partial(typer.Option, metavar="CODES", autocompletion=complete_codes, callback=_codes)
_of_output = partial(typer.Option, rich_help_panel="Output")


def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, folders to search, or - for standard input."),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    select: Annotated[str | None, _of_codes(help="Report only these codes, separated by commas.")] = None,
    ignore: Annotated[str | None, _of_codes(help="Do not report these codes, separated by commas.")] = None,
    output: Annotated[
        Literal["text", "json", "github", "sarif"],
        _of_output("--format", metavar="text|json|github|sarif", help="The format of the report."),
    ] = "text",
    json_output: Annotated[bool, _of_output("--json", help="The same as --format json.")] = False,
    docs_url: Annotated[
        str | None, _of_output(metavar="URL", help="Where this documentation is published, for links.")
    ] = None,
) -> None:
    """Verify AG-UI streams, and report valid constructs that real clients mishandle.

    A FILE holds the events as server-sent events, JSON lines or a JSON array. Folders are searched for *.sse,
    *.jsonl, *.ndjson and *.json. `agui-reasoning explain CODE` explains a code. As text, findings with the
    same code and message are shown once; the other formats list each one.
    """
    codes = (set(_split(select)) or FINDINGS.keys()) - set(_split(ignore))
    shown = [_checked(file, codes) for file in found_files(files, _SUFFIXES)]
    report = REPORTS.get("json" if json_output else output, _as_text)
    put_safe(report(shown, docs_url))
    statuses = [complain(one.error) for one in shown if one.error is not None]
    severities = {finding.severity for one in shown for finding in one.findings}
    if statuses:
        raise typer.Exit(2)
    if "error" in severities or (strict and severities):
        raise typer.Exit(1)


def _split(codes: str | None) -> list[str]:
    return [code.strip() for code in (codes or "").split(",") if code.strip()]


def _checked(file: str, codes: Collection[str]) -> CheckedFile:
    with progress("check") as bar:
        try:
            stream = read_stream(file)
        except AGUIReasoningError as error:
            return CheckedFile(file, error=error)
        findings = [finding for finding in _findings(stream, bar) if finding.code in codes]
        return CheckedFile(file, stream, findings, stream.error)


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


# -- the report for people


def _as_text(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return the report for people: findings of the same code and message once, and a summary."""
    from rich.text import Text  # the other formats need no console

    from agui_reasoning.cli._console import new_console

    console = new_console()
    with console.capture() as captured:
        for pieces in _rows(checked, docs_url):
            console.print(Text.assemble(*pieces), soft_wrap=True)
    return captured.get()


def _rows(checked: Sequence[CheckedFile], docs_url: str | None) -> Iterator[Sequence[_Piece]]:
    explained: set[object] = set()
    for one in checked:
        for group in _by_message(one.findings):
            yield _head(one, group[0])
            for line in (*_more(one, group), *_explained(group[0], explained, docs_url)):
                yield [(f"  {line}", "dim")]
    yield from ([(line, "")] for line in summary(checked))
    for one in checked:
        if advice := _advice(one):
            name = "FILE" if one.name == STDIN else shlex.quote(one.name)
            yield [(printable(f"{advice} {name}"), "")]


def _head(checked: CheckedFile, finding: Finding) -> Sequence[_Piece]:
    where = f"{checked.shown_name}:{checked.line(finding)}:"
    what = "end" if checked.at_end(finding) else f"event {finding.index + 1}"
    return [
        (f"{printable(where)} ", ""),
        (finding.severity, _STYLES[finding.severity]),
        (" ", ""),
        (finding.code, "bold"),
        (f" {printable(finding.message)}", ""),
        (f" ({what})", "dim"),
    ]


def _more(checked: CheckedFile, group: Sequence[Finding]) -> Iterator[str]:
    """Yield where else a message applies: the lines, or the events if they share lines."""
    others = group[1:]
    if not others:
        return
    lines = [checked.line(finding) for finding in group]
    shared = len(set(lines)) < len(lines)
    numbers = [finding.index + 1 for finding in others] if shared else lines[1:]
    places = ", ".join(map(str, numbers[:_MOST_PLACES])) + (", ..." if len(others) > _MOST_PLACES else "")
    yield f"and {len(others)} more: {'event' if shared else 'line'}{'s' if len(others) > 1 else ''} {places}"


def _explained(finding: Finding, explained: set[object], docs_url: str | None) -> Iterator[str]:
    """Yield the hint and the page of a finding, each once per report."""
    for key, line in (
        ((finding.code, finding.remedy), f"hint: {finding.remedy}"),
        (finding.code, f"see:  {reference(finding.code, docs_url)}"),
    ):
        if key not in explained:
            explained.add(key)
            yield line


def _by_message(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Group findings by code and message, in order of first occurrence."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.severity, finding.message), []).append(finding)
    return groups.values()


def _advice(checked: CheckedFile) -> str:
    """Return what to do about a stream before the name of its file; empty if no command mends it."""
    mends = _is_mended(checked)
    if any(event["type"].startswith("THINKING_") for event in checked.stream.events):
        option = " --repair" if mends else ""
        return (
            "The stream uses THINKING_* events. Convert them to REASONING_* with: "
            f"agui-reasoning upgrade{option}"
        )
    return "Errors of this stream can be repaired with: agui-reasoning upgrade --repair" if mends else ""


def _is_mended(checked: CheckedFile) -> bool:
    """Return whether the repairs of the upgrade remove errors of a stream."""
    errors = sum(finding.severity == "error" for finding in checked.findings)
    if not errors:
        return False
    from agui_reasoning.compat import ThinkingUpgrader, translate

    upgrader = ThinkingUpgrader(lambda _: None, repair=True)
    repaired = check_events(translate(checked.stream.events, upgrader))
    return sum(finding.severity == "error" for finding in repaired) < errors


_ERRORS_PAGE = "docs/reference/errors.md"


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="The code; without one, all are listed.", autocompletion=complete_explained
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the code, its page and its text.")
    ] = False,
) -> None:
    """Explain a finding of `check`, or the code of an error: what it means and what to do.

    Codes are what `check` reports, what an error of the library has as `code`, what RUN_ERROR carries, and
    what this command prints in brackets.
    """
    if code is None:
        codes = explained()
        return put_json(list(codes)) if as_json else put_safe(_listed(codes))
    text = _text(code)
    if as_json:
        page = page_of(code) if code in FINDINGS else _ERRORS_PAGE
        return put_json({"code": code, "page": page, "text": text})
    return put_safe(text)


def _text(code: str) -> str:
    known = explained()
    if code not in known:
        raise ConfigurationError(
            f"No finding or error has the code {code!r}.",
            code="unknown_code",
            hint=f"{did_you_mean(code, known)}'agui-reasoning explain' lists all codes.",
        )
    page = Page()
    add = {"title": page.title, "heading": page.heading, "text": page.indented, "code": page.verbatim}
    before = ""
    for kind, text in known[code]:
        if kind == before == "text":
            page.blank()
        add[kind](text)
        before = kind
    return page.render()


def _listed(codes: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    page = Page()
    for severity in ("error", "warning"):
        page.heading(f"Findings of 'check': {severity}s")
        page.rows([(code, kind.means) for code, kind in FINDINGS.items() if kind.severity == severity])
    page.heading("Codes of errors")
    page.paragraphs(", ".join(code for code in codes if code not in FINDINGS) + ".")
    return page.render()
