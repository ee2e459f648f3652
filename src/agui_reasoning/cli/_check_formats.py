"""The pages of findings, and reports of ``check`` for programs: JSON, GitHub workflow commands and SARIF."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from agui_reasoning import __version__
from agui_reasoning._catalog import FINDINGS
from agui_reasoning._escaping import escaped, one_line
from agui_reasoning.cli._files import STDIN, Stream
from agui_reasoning.cli._output import counted, json_text
from agui_reasoning.consumer import Finding
from agui_reasoning.errors import AGUIReasoningError

_PAGES: Final = "docs/reference/findings"


def page_of(code: str, docs_url: str | None = None) -> str:
    """Return where a code is explained: its address, or its path in this project's repository."""
    if docs_url is None:
        return f"{_PAGES}/{code}.md"
    return f"{docs_url.rstrip('/')}/reference/findings/{code}/"


def reference(code: str, docs_url: str | None) -> str:
    """Return where to read about a code: its address, or the command that explains it."""
    return f"agui-reasoning explain {code}" if docs_url is None else page_of(code, docs_url)


_SEVERITIES: Final = ("error", "warning")
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


def summary(checked: Sequence[CheckedFile]) -> Iterator[str]:
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
    total = ", ".join(counted(severities[name], name) for name in _SEVERITIES if severities[name])
    each = ", ".join(f"{number} {code}" for code, number in codes.most_common())
    return f"{total}{f' ({each})' if len(codes) > 1 else ''}"


def _unread(number: int, how_far: str) -> Iterator[str]:
    if number:
        yield f"{counted(number, 'file')} cannot be read{how_far}"


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


def as_github(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return workflow commands, which annotate the files of a pull request, and the summary."""
    lines: list[str] = []
    for one in checked:
        for finding in one.findings:
            words = f"{finding.message}\n{finding.remedy}\n{reference(finding.code, docs_url)}"
            place = {"file": one.shown_name, "line": one.line(finding), "title": finding.code}
            lines.append(_command(finding.severity, place, words))
        if one.error is not None:
            place = {"file": one.shown_name, "title": one.error.code}
            lines.append(_command("error", place, str(one.error)))
    return "".join(f"{line}\n" for line in (*lines, *map(one_line, summary(checked))))


def _command(name: str, properties: dict[str, Any], words: str) -> str:
    """Write a workflow command with the escapes that the runner expects."""
    given = (
        f"{key}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
    )
    return f"::{name} {','.join(given)}::{_escaped(words)}"


def _escaped(text: str) -> str:
    return escaped(text).replace("%", "%25").replace("\n", "%0A")


def as_sarif(checked: Sequence[CheckedFile], docs_url: str | None) -> str:
    """Return a SARIF 2.1.0 log with one run."""
    # A link must be absolute, so rules have none unless the address of the documentation is known.
    linked = docs_url is not None
    driver = {
        "name": "agui-reasoning",
        "semanticVersion": __version__,
        **({"informationUri": docs_url} if linked else {}),
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": (plain := means.replace("`", ""))},
                "help": {"text": f"{plain} See {page}", "markdown": f"{means} See `{page}`."},
                "defaultConfiguration": {"level": severity},
                **({"helpUri": page} if linked else {}),
            }
            for code, (severity, means) in FINDINGS.items()
            for page in [reference(code, docs_url)]
        ],
    }
    results = [
        {
            "ruleId": finding.code,
            "ruleIndex": list(FINDINGS).index(finding.code),
            "level": finding.severity,
            "message": {"text": f"{finding.message} {finding.remedy}"},
            "locations": _locations(one, region={"startLine": one.line(finding)}),
            **({} if one.at_end(finding) else {"properties": {"event": finding.index + 1}}),
        }
        for one in checked
        for finding in one.findings
    ]
    unreadable = [
        {"level": "error", "message": {"text": str(one.error)}, "locations": _locations(one)}
        for one in checked
        if one.error is not None
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not unreadable, "toolExecutionNotifications": unreadable}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return f"{json_text({'$schema': _SARIF_SCHEMA, 'version': '2.1.0', 'runs': [run]})}\n"


def _locations(checked: CheckedFile, **more: Any) -> list[dict[str, Any]]:
    """Return the place of a file: relative paths stay relative to the folder of the command."""
    path = Path(checked.name)
    uri = path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
    artifact = {"uri": "stdin" if checked.name == STDIN else uri}
    return [{"physicalLocation": {"artifactLocation": artifact, **more}}]


REPORTS: Final[Mapping[str, Callable[[Sequence[CheckedFile], str | None], str]]] = {
    "json": as_json,
    "github": as_github,
    "sarif": as_sarif,
}
