"""``check``: what is wrong with an AG-UI stream, and what is valid in it and still gets lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from agui_reasoning.cli.reading import STDIN
from agui_reasoning.cli.screen import stdout_console
from agui_reasoning.cli.stream import Stream, read_stream
from agui_reasoning.consumer import Finding, check_events

__all__ = ["check"]

_TRUNCATED: Final = "truncated_run"
_STYLES = {"error": "bold red", "warning": "yellow"}


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Verify an AG-UI stream, and lint what is valid in it and still loses data in real clients.

    FILE holds the events as server-sent events, JSON lines or a JSON array. Each finding has a page in the
    documentation, under its code; of several with one code the first is shown, --json has all. Ends with 1
    when the stream breaks the protocol or is cut, and with 2 when it cannot be read to its end.
    """
    stream = read_stream(file)
    events, findings = len(stream.events), _findings(stream)
    counts: Counter[str] = Counter(finding.severity for finding in findings)
    if as_json:
        print(json.dumps(_report(events, counts, findings, readable=stream.error is None), indent=2))
    else:
        _show(events, counts, findings)
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


def _report(
    events: int, counts: Counter[str], findings: Sequence[Finding], *, readable: bool
) -> dict[str, object]:
    return {
        "ok": readable and not findings,
        "events": events,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": [asdict(finding) for finding in findings],
    }


def _show(events: int, counts: Counter[str], findings: Sequence[Finding]) -> None:
    console = stdout_console()
    alike = Counter(_kind(finding) for finding in findings)
    for finding in _firsts(findings):
        where = "the end" if finding.index == events else f"event {finding.index}"
        head = (f"{finding.severity:<8}", _STYLES[finding.severity])
        console.print(Text.assemble(head, (f" {where}  ", "dim"), (finding.code, "bold")))
        console.print(Text(f"         {finding.message}"), soft_wrap=True)
        console.print(Text(f"         {finding.remedy}", "dim"), soft_wrap=True)
        if more := alike[_kind(finding)] - 1:
            console.print(Text(f"         and {more} more.", "dim"))
    console.print(Text(f"{_count(events, 'event')}: {_verdict(counts)}"))


def _show_way_out(file: str) -> None:
    name = "FILE" if file == STDIN else file
    words = f"THINKING_* events are in it: agui-reasoning upgrade {name} turns them into REASONING_*."
    stdout_console().print(Text(words), soft_wrap=True)


def _firsts(findings: Iterable[Finding]) -> Iterable[Finding]:
    """The first finding of each kind."""
    firsts: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        firsts.setdefault(_kind(finding), finding)
    return firsts.values()


def _kind(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.severity


def _verdict(counts: Counter[str]) -> str:
    found = [_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    return f"{', '.join(found)}." if found else "nothing to find fault with."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
