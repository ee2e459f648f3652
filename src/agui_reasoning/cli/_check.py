"""``check``: what is wrong with an AG-UI stream, and valid constructs that real clients mishandle."""

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

    FILE holds the events as server-sent events, JSON lines or a JSON array. Each finding has a page in the
    documentation, under its code; findings of one code with the same message are shown once, --json has all.
    Exits with 1 when the stream breaks the protocol or is cut, and with 2 when it cannot be read to its end.
    """
    stream = read_stream(file)
    findings = _findings(stream)
    counts: Counter[str] = Counter(finding.severity for finding in findings)
    if as_json:
        print(json.dumps(_report(stream, counts, findings), indent=2))
    else:
        _show(stream, counts, findings)
        if _is_old(stream.events):
            _show_way_out(file)
    if stream.error is not None:
        raise stream.error
    if counts["error"] or (strict and findings):
        raise typer.Exit(1)


def _findings(stream: Stream) -> list[Finding]:
    """What was found, the cut included; of an end that was not reached nothing can be said."""
    findings, end = check_events(stream.events), len(stream.events)
    ended = [finding for finding in findings if (finding.code, finding.index) != (_TRUNCATED, end)]
    if stream.error is not None:
        return ended
    if stream.cut and len(ended) == len(findings):
        remedy = "The connection was probably cut. What came before is kept."
        findings.append(
            Finding(_TRUNCATED, "error", end, "The stream ended in the middle of an event.", remedy)
        )
    return findings


def _is_old(events: Iterable[Mapping[str, Any]]) -> bool:
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
    for alike in _by_code(findings):
        first = alike[0]
        head = (f"{first.severity:<8}", _STYLES[first.severity])
        console.print(Text.assemble(head, (f" {_place(stream, first)}  ", "dim"), (first.code, "bold")))
        console.print(Text(f"         {first.message}"), soft_wrap=True)
        messages = Counter(finding.message for finding in alike)
        _show_more(messages[first.message] - 1)
        for finding in _firsts(alike)[1:]:
            place = (f"         {_place(stream, finding)}  ", "dim")
            console.print(Text.assemble(place, finding.message), soft_wrap=True)
            _show_more(messages[finding.message] - 1)
        for remedy in dict.fromkeys(finding.remedy for finding in alike):
            console.print(Text(f"         {remedy}", "dim"), soft_wrap=True)
    console.print(Text(f"{_count(len(stream.events), 'event')}: {_verdict(counts)}"))


def _show_more(number: int) -> None:
    if number:
        stdout_console().print(Text(f"         and {number} more.", "dim"))


def _place(stream: Stream, finding: Finding) -> str:
    line = _line(stream, finding)
    return "the end" if line is None else f"event {finding.index + 1}, line {line}"


def _line(stream: Stream, finding: Finding) -> int | None:
    return stream.lines[finding.index] if finding.index < len(stream.lines) else None


def _show_way_out(file: str) -> None:
    name = "FILE" if file == STDIN else file
    words = f"THINKING_* events are in it: agui-reasoning upgrade {name} turns them into REASONING_*."
    stdout_console().print(Text(words), soft_wrap=True)


def _by_code(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """The findings of each code and severity, by where the first of them is."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.severity), []).append(finding)
    return alike.values()


def _firsts(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding with each message."""
    firsts: dict[str, Finding] = {}
    for finding in findings:
        firsts.setdefault(finding.message, finding)
    return list(firsts.values())


def _verdict(counts: Counter[str]) -> str:
    found = [_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    return f"{', '.join(found)}." if found else "no problems found."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
