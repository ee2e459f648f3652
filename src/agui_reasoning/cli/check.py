"""``check``: what is wrong with an AG-UI stream, and what is valid in it and still gets lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from agui_reasoning.cli.screen import stdout_console
from agui_reasoning.cli.source import read_file
from agui_reasoning.consumer import Finding, check_events
from agui_reasoning.wire import read_events

__all__ = ["check"]

_STYLES = {"error": "bold red", "warning": "yellow"}


def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")],
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Verify an AG-UI stream, and lint what is valid in it and still loses data in real clients.

    FILE holds the events as server-sent events, JSON lines or a JSON array. Each finding has a page in the
    documentation, under its code. Ends with 1 when the stream breaks the protocol.
    """
    events = read_events(read_file(file))
    findings = check_events(events)
    counts: Counter[str] = Counter(finding.severity for finding in findings)
    if as_json:
        print(json.dumps(_report(len(events), counts, findings), indent=2))
    else:
        _show(len(events), counts, findings)
    if counts["error"] or (strict and findings):
        raise typer.Exit(1)


def _report(events: int, counts: Counter[str], findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "ok": not findings,
        "events": events,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": [asdict(finding) for finding in findings],
    }


def _show(events: int, counts: Counter[str], findings: Sequence[Finding]) -> None:
    console = stdout_console()
    for finding in findings:
        where = "the end" if finding.index == events else f"event {finding.index}"
        head = (f"{finding.severity:<8}", _STYLES[finding.severity])
        console.print(Text.assemble(head, (f" {where}  ", "dim"), (finding.code, "bold")))
        console.print(Text(f"         {finding.message}"), soft_wrap=True)
        console.print(Text(f"         {finding.remedy}", "dim"), soft_wrap=True)
    console.print(Text(f"{_count(events, 'event')}: {_verdict(counts)}"))


def _verdict(counts: Counter[str]) -> str:
    found = [_count(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    return f"{', '.join(found)}." if found else "nothing to find fault with."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
