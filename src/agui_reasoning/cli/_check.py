"""``check``: verify an AG-UI stream and lint valid constructs that real clients mishandle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from agui_reasoning._demo.screen import stdout_console
from agui_reasoning.cli._reading import STDIN
from agui_reasoning.cli._report import counted
from agui_reasoning.cli._stream import Stream, read_stream
from agui_reasoning.consumer import Finding, check_events

__all__ = ["check"]

_TRUNCATED: Final = "truncated_run"
_STYLES = {"error": "bold red", "warning": "yellow"}


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Verify an AG-UI stream, and report valid constructs that real clients mishandle.

    FILE holds the events as server-sent events, JSON lines or a JSON array. Each code has a page in the
    documentation. Findings with the same code and message are shown once; --json lists all of them.
    Exits with 1 if the stream breaks the protocol or is truncated, and with 2 if it cannot be read in full.
    """
    stream = read_stream(file)
    findings = _findings(stream)
    counts: Counter[str] = Counter(finding.severity for finding in findings)
    if as_json:
        print(json.dumps(_report(stream, counts, findings), indent=2))
    else:
        _show(stream, counts, findings)
        if _uses_thinking(stream.events):
            _suggest_upgrade(file)
    if stream.error is not None:
        raise stream.error
    if counts["error"] or (strict and findings):
        raise typer.Exit(1)


def _findings(stream: Stream) -> list[Finding]:
    """Return the findings, including a truncated end unless reading stopped before it."""
    findings, end = check_events(stream.events), len(stream.events)
    ended = [finding for finding in findings if (finding.code, finding.index) != (_TRUNCATED, end)]
    if stream.error is not None:
        return ended
    if stream.cut and len(ended) == len(findings):
        remedy = "The connection was probably lost. Earlier events are kept."
        findings.append(
            Finding(_TRUNCATED, "error", end, "The stream ended in the middle of an event.", remedy)
        )
    return findings


def _uses_thinking(events: Iterable[Mapping[str, Any]]) -> bool:
    return any(event["type"].startswith("THINKING_") for event in events)


def _report(stream: Stream, counts: Counter[str], findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "ok": stream.error is None and not findings,
        "events": len(stream.events),
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": [{**asdict(finding), "line": _line(stream, finding)} for finding in findings],
    }


def _show(stream: Stream, counts: Counter[str], findings: Sequence[Finding]) -> None:
    console = stdout_console()
    for group in _by_code(findings):
        first = group[0]
        head = (f"{first.severity:<8}", _STYLES[first.severity])
        console.print(Text.assemble(head, (f" {_place(stream, first)}  ", "dim"), (first.code, "bold")))
        console.print(Text(f"         {first.message}"), soft_wrap=True)
        messages = Counter(finding.message for finding in group)
        _show_more(messages[first.message] - 1)
        for finding in _first_per_message(group)[1:]:
            place = (f"         {_place(stream, finding)}  ", "dim")
            console.print(Text.assemble(place, finding.message), soft_wrap=True)
            _show_more(messages[finding.message] - 1)
        for remedy in dict.fromkeys(finding.remedy for finding in group):
            console.print(Text(f"         {remedy}", "dim"), soft_wrap=True)
    console.print(Text(f"{counted(len(stream.events), 'event')}: {_verdict(counts)}"))


def _show_more(number: int) -> None:
    if number:
        stdout_console().print(Text(f"         and {number} more.", "dim"))


def _place(stream: Stream, finding: Finding) -> str:
    line = _line(stream, finding)
    return "the end" if line is None else f"event {finding.index + 1}, line {line}"


def _line(stream: Stream, finding: Finding) -> int | None:
    return stream.lines[finding.index] if finding.index < len(stream.lines) else None


def _suggest_upgrade(file: str) -> None:
    name = "FILE" if file == STDIN else file
    words = (
        f"The stream uses THINKING_* events. Convert them to REASONING_* with: agui-reasoning upgrade {name}"
    )
    stdout_console().print(Text(words), soft_wrap=True)


def _by_code(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Group findings by code and severity, in order of first occurrence."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.severity), []).append(finding)
    return groups.values()


def _first_per_message(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first finding for each message."""
    first_by_message: dict[str, Finding] = {}
    for finding in findings:
        first_by_message.setdefault(finding.message, finding)
    return list(first_by_message.values())


def _verdict(counts: Counter[str]) -> str:
    found = [counted(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    return f"{', '.join(found)}." if found else "no problems found."
