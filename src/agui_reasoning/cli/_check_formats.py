"""The reports of ``check``: text, JSON, GitHub workflow commands and SARIF."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from agui_reasoning import __version__
from agui_reasoning._demo.screen import stdout_console
from agui_reasoning._escaping import escaped, one_line
from agui_reasoning.cli._findings import FINDINGS, page_of
from agui_reasoning.cli._output import json_text
from agui_reasoning.cli._reading import STDIN
from agui_reasoning.cli._report import counted, printable
from agui_reasoning.cli._stream import Stream
from agui_reasoning.compat import ThinkingUpgrader, translate
from agui_reasoning.consumer import Finding, check_events
from agui_reasoning.errors import AGUIReasoningError

__all__ = ["CheckedFile", "as_github", "as_json", "as_sarif", "as_text"]

_STYLES = {"error": "bold red", "warning": "yellow"}
_MOST_PLACES: Final = 8
_SARIF_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file and what was found in it.

    Attributes:
        name: Its path, or ``-``.
        stream: Its events; empty if it cannot be read.
        findings: Its findings, in the order of the events.
        error: Why it cannot be read to its end, if so.
    """

    name: str
    stream: Stream = field(default_factory=lambda: Stream([], []))
    findings: Sequence[Finding] = ()
    error: AGUIReasoningError | None = None

    @property
    def shown_name(self) -> str:
        """Its name in a report."""
        return "<stdin>" if self.name == STDIN else self.name

    @property
    def is_read(self) -> bool:
        """Whether it can be read, at least up to some event."""
        return self.error is None or bool(self.stream.events)

    def at_end(self, finding: Finding) -> bool:
        """Return whether a finding is about the end of the stream, and not about an event."""
        return finding.index >= len(self.stream.lines)

    def line(self, finding: Finding) -> int:
        """Return the line of a finding; for the end of the stream, that of the last event."""
        return (self.stream.lines or [1])[-1 if self.at_end(finding) else finding.index]


def _count(checked: Iterable[CheckedFile], what: str) -> Counter[str]:
    """Count the findings by an attribute."""
    return Counter(getattr(finding, what) for one in checked for finding in one.findings)


# -- text


def as_text(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return the report for people: findings of the same code and message once, and a summary."""
    console = stdout_console()
    with console.capture() as captured:
        explained: set[object] = set()
        for one in checked:
            _print_findings(console, one, explained, docs_url)
        for line in _summary(checked):
            console.print(Text(line), soft_wrap=True)
        _suggest_upgrade(console, checked)
    return captured.get()


def _print_findings(
    console: Console, checked: CheckedFile, explained: set[object], docs_url: str | None
) -> None:
    for group in _by_message(checked.findings):
        first = group[0]
        console.print(_head(checked, first), soft_wrap=True)
        for line in (*_more(checked, group), *_explained(first, explained, docs_url)):
            console.print(Text(f"  {line}", "dim"), soft_wrap=True)


def _head(checked: CheckedFile, finding: Finding) -> Text:
    where = f"{checked.shown_name}:{checked.line(finding)}:"
    what = "end" if checked.at_end(finding) else f"event {finding.index + 1}"
    severity = (finding.severity, _STYLES[finding.severity])
    return Text.assemble(
        printable(where),
        " ",
        severity,
        " ",
        (finding.code, "bold"),
        f" {printable(finding.message)}",
        (f" ({what})", "dim"),
    )


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
        (finding.code, f"see:  {page_of(finding.code, docs_url)}"),
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


def _summary(checked: Sequence[CheckedFile]) -> Iterator[str]:
    """Yield the last line of a report, unless nothing can be read."""
    read = [one for one in checked if one.is_read]
    if read:
        cut = sum(one.error is not None for one in read)
        found = (_problems(checked), *_unread(len(checked) - len(read), ""), *_unread(cut, " to the end"))
        yield f"{_amount(read, len(checked))}: {'; '.join(found)}."


def _amount(read: Sequence[CheckedFile], files: int) -> str:
    """Return how much was read: of one file, only the events."""
    events = counted(sum(len(one.stream.events) for one in read), "event")
    some = f"{len(read)} of " if len(read) < files else ""
    return events if files == 1 else f"{some}{counted(files, 'file')}, {events}"


def _problems(checked: Sequence[CheckedFile]) -> str:
    severities, codes = _count(checked, "severity"), _count(checked, "code")
    if not severities:
        return "no problems found"
    total = ", ".join(counted(severities[name], name) for name in _STYLES if severities[name])
    each = ", ".join(f"{number} {code}" for code, number in codes.most_common())
    return f"{total}{f' ({each})' if len(codes) > 1 else ''}"


def _unread(number: int, how_far: str) -> Iterator[str]:
    if number:
        yield f"{counted(number, 'file')} cannot be read{how_far}"


def _suggest_upgrade(console: Console, checked: Iterable[CheckedFile]) -> None:
    for one in checked:
        if any(event["type"].startswith("THINKING_") for event in one.stream.events):
            name = "FILE" if one.name == STDIN else one.name
            command = "upgrade --repair" if _is_mended(one) else "upgrade"
            words = (
                f"The stream uses THINKING_* events. Convert them to REASONING_* with: "
                f"agui-reasoning {command} {name}"
            )
            console.print(Text(printable(words)), soft_wrap=True)


def _is_mended(checked: CheckedFile) -> bool:
    """Return whether the repairs of the upgrade remove errors of a stream."""
    errors = sum(finding.severity == "error" for finding in checked.findings)
    if not errors:
        return False
    upgrader = ThinkingUpgrader(lambda _: None, repair=True)
    repaired = check_events(translate(checked.stream.events, upgrader))
    return sum(finding.severity == "error" for finding in repaired) < errors


# -- JSON


def as_json(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return one JSON object. ``index`` counts events from 0, and ``line`` counts lines from 1."""
    severities = _count(checked, "severity")
    report = {
        "ok": not severities and all(one.error is None for one in checked),
        "files": len(checked),
        "events": sum(len(one.stream.events) for one in checked),
        "errors": severities["error"],
        "warnings": severities["warning"],
        "findings": [
            {
                **asdict(finding),
                "file": one.name,
                "line": one.line(finding),
                "page": page_of(finding.code, docs_url),
            }
            for one in checked
            for finding in one.findings
        ],
        "unreadable": [
            {"file": one.name, "code": one.error.code, "message": str(one.error)}
            for one in checked
            if one.error is not None
        ],
    }
    return f"{json_text(report)}\n"


# -- GitHub


def as_github(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return workflow commands, which annotate the files of a pull request, and the summary."""
    lines: list[str] = []
    for one in checked:
        for finding in one.findings:
            words = f"{finding.message}\n{finding.remedy}\n{page_of(finding.code, docs_url)}"
            place = {"file": one.shown_name, "line": one.line(finding), "title": finding.code}
            lines.append(_command(finding.severity, place, words))
        if one.error is not None:
            place = {"file": one.shown_name, "title": one.error.code}
            lines.append(_command("error", place, str(one.error)))
    return "".join(f"{line}\n" for line in (*lines, *map(one_line, _summary(checked))))


def _command(name: str, properties: Mapping[str, object], words: str) -> str:
    """Write a workflow command with the escapes that the runner expects."""
    given = ",".join(
        f"{key}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
    )
    return f"::{name} {given}::{_escaped(words)}"


def _escaped(text: str) -> str:
    return escaped(text).replace("%", "%25").replace("\n", "%0A")


# -- SARIF


def as_sarif(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return a SARIF 2.1.0 log with one run."""
    run = {
        "tool": {
            "driver": {
                "name": "agui-reasoning",
                "semanticVersion": __version__,
                **({} if docs_url is None else {"informationUri": docs_url}),
                "rules": [_sarif_rule(code, docs_url) for code in FINDINGS],
            }
        },
        "invocations": [_sarif_invocation(checked)],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(one, finding) for one in checked for finding in one.findings],
    }
    return f"{json_text({'$schema': _SARIF_SCHEMA, 'version': '2.1.0', 'runs': [run]})}\n"


def _sarif_rule(code: str, docs_url: str | None) -> dict[str, Any]:
    severity, means = FINDINGS[code]
    page = page_of(code, docs_url)
    return {
        "id": code,
        "shortDescription": {"text": means.replace("`", "")},
        "help": {"text": f"{means.replace('`', '')} See {page}", "markdown": f"{means} See `{page}`."},
        "defaultConfiguration": {"level": severity},
        # It must be absolute, so there is none unless the address of the documentation is known.
        **({} if docs_url is None else {"helpUri": page}),
    }


def _sarif_result(checked: CheckedFile, finding: Finding) -> dict[str, Any]:
    region = {"startLine": checked.line(finding)}
    place = {"artifactLocation": {"uri": _uri(checked.name)}, "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": list(FINDINGS).index(finding.code),
        "level": finding.severity,
        "message": {"text": f"{finding.message} {finding.remedy}"},
        "locations": [{"physicalLocation": place}],
        **({} if checked.at_end(finding) else {"properties": {"event": finding.index + 1}}),
    }


def _sarif_invocation(checked: Iterable[CheckedFile]) -> dict[str, Any]:
    unreadable = [one for one in checked if one.error is not None]
    return {
        "executionSuccessful": not unreadable,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": str(one.error)},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(one.name)}}}],
            }
            for one in unreadable
        ],
    }


def _uri(name: str) -> str:
    """Return the URI of a file: relative paths stay relative to the folder of the command."""
    if name == STDIN:
        return "stdin"
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
