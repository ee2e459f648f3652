"""``upgrade`` and ``downgrade`` translate event streams of any size; ``migrate`` rewrites Python source."""

from __future__ import annotations

import difflib
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from agui_reasoning._escaping import escaped, one_line
from agui_reasoning.cli._app import File
from agui_reasoning.cli._files import STDIN, FileSink, Rewrite, Standard, opened, pieces, read_file, size_of
from agui_reasoning.cli._output import (
    complain,
    counted,
    json_text,
    progress,
    put,
    put_exact,
    put_json,
    put_safe,
    tell,
    warn,
)
from agui_reasoning.compat import (
    ArrayRewriter,
    LinesRewriter,
    Rewriter,
    SSERewriter,
    ThinkingDowngrader,
    ThinkingUpgrader,
    Translator,
    written,
)
from agui_reasoning.errors import ConfigurationError

if TYPE_CHECKING:
    from agui_reasoning._migrate import Migration, MigrationFinding


InPlace = Annotated[bool, typer.Option("--in-place", help="Replace the file atomically.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print one JSON object with events and counts.")]
Repair = Annotated[
    bool,
    typer.Option("--repair/--no-repair", help="Repair what AG-UI 1.0 rejects, such as missing end events."),
]
KeepTitle = Annotated[
    bool, typer.Option("--keep-title", help="Keep the titles of THINKING_START as metadata.")
]

MakeTranslator: TypeAlias = Callable[[Callable[[str], None]], Translator]
"""Called with the warning callback."""

_MAX_EVENT_BYTES: Final = 1 << 28
"""The largest event accepted, in bytes. Only one event is in memory at a time."""

_SSE: Final = re.compile(rb"[\r\n]*(?:data|event|id|retry)?:")
_LONGEST_FIELD: Final = len(b"event:")


def translate_file(command: str, file: str, make: MakeTranslator, *, in_place: bool, as_json: bool) -> None:
    """Translate a file, or standard input for ``-``, to standard output, or in place.

    With ``as_json``, one JSON object is printed instead of the stream, or in addition to the new file.

    Raises:
        ConfigurationError: The file cannot be read or written.
        RemoteProtocolError: The content is not an event stream. Output before the error has been written.
    """
    if in_place and file == STDIN:
        raise typer.BadParameter("--in-place needs a file, not standard input.")
    with opened(file) as source:
        sink = Rewrite(file, source) if in_place else FileSink() if as_json else Standard()
        translation = _Translation(make, show_events=as_json and not in_place)
        with (
            sink,
            progress(
                command, size_of(source), quiet=not in_place and sys.stdout.isatty(), in_bytes=True
            ) as bar,
            translation.printed(as_json=as_json),
        ):
            for data in pieces(file, source):
                translation.feed(data, sink)
                bar.advance(len(data))
            translation.close(sink)
            sink.commit()


class _Translation:
    """One translation with its warnings and JSON report."""

    def __init__(self, make: MakeTranslator, *, show_events: bool) -> None:
        self._warnings: list[str] = []
        self._translator = make(self._warn)
        self._head = b""
        self._rewriter: Rewriter | None = None
        self._form = "json_lines"
        self._show_events = show_events
        self._printed_count = 0

    def feed(self, data: bytes, sink: FileSink) -> None:
        """Translate a piece of the file."""
        if self._rewriter is None:
            self._head, data = b"", self._head + data
            self._rewriter = self._rewriter_of(data, ended=False)
        if self._rewriter is None:
            self._head = data
        else:
            self._put(self._rewriter.feed(data), sink)

    def close(self, sink: FileSink) -> None:
        """Translate the remaining data."""
        rewriter = self._rewriter
        if rewriter is None:
            rewriter = self._rewriter = self._rewriter_of(self._head, ended=True)
            assert rewriter is not None  # always detected at the end
            self._put(rewriter.feed(self._head), sink)
        while out := rewriter.close():  # errors are raised after the good output before them
            self._put(out, sink)

    @contextmanager
    def printed(self, *, as_json: bool) -> Iterator[None]:
        """Print the JSON object around the block; it is complete even if the block fails."""
        if not as_json:
            yield
            return
        put_safe("{")
        if self._show_events:
            put_safe('"events": [')
        complete = False
        try:
            yield
            complete = True
        finally:
            if self._show_events:
                put_safe("\n],")
            put_safe(f"{json_text(self._summary() | {'complete': complete}).removeprefix('{')}\n")

    def _summary(self) -> dict[str, Any]:
        counts = self._rewriter
        return {
            "format": self._form,
            "events_in": counts.events if counts else 0,
            "events_out": counts.written if counts else 0,
            "changed": counts.changed if counts else 0,
            "warnings": self._warnings,
        }

    def _rewriter_of(self, head: bytes, *, ended: bool) -> Rewriter | None:
        """Detect the format from the first bytes; ``None`` if more are needed."""
        start = head.removeprefix(BOM_UTF8)
        if not ended and len(start.strip()) < _LONGEST_FIELD:
            return None
        if _SSE.match(start):
            self._form = "sse"
            return SSERewriter(self._translator, on_events=self._on_events, max_frame_bytes=_MAX_EVENT_BYTES)
        is_array = start.lstrip().startswith(b"[")
        self._form = "json_array" if is_array else "json_lines"
        make = ArrayRewriter if is_array else LinesRewriter
        return make(self._translator, on_events=self._on_events, max_value_bytes=_MAX_EVENT_BYTES)

    def _put(self, data: bytes, sink: FileSink) -> None:
        changed = self._rewriter is not None and self._rewriter.changed
        (sink.change if changed else sink.keep)(data)
        if isinstance(sink, Standard):
            sys.stdout.buffer.flush()

    def _on_events(self, events: list[dict[str, Any]]) -> None:
        if self._show_events:
            for event in events:
                put_safe(f"{',' if self._printed_count else ''}\n{escaped(written(event).decode())}")
                self._printed_count += 1

    def _warn(self, message: str) -> None:
        self._warnings.append(message)
        warn(message)


def upgrade(
    file: File,
    repair: Repair = False,
    keep_title: KeepTitle = False,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Convert the THINKING_* events of a stream to REASONING_*.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; the output has the
    same format. Other events are kept as they are. Losses are reported on standard error.
    """
    translate_file(
        "upgrade",
        file,
        lambda tell: ThinkingUpgrader(tell, repair=repair, keep_title=keep_title, tell="losses"),
        in_place=in_place,
        as_json=as_json,
    )


def downgrade(
    file: File,
    peer: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="The peer's ag-ui-protocol version; default: any with THINKING_*."
        ),
    ] = None,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Convert a stream for an older peer: to THINKING_*, or to the REASONING_* of its version.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; the output has the
    same format. Data that the peer cannot represent is dropped; each kind of loss is reported once on
    standard error.
    """
    translate_file(
        "downgrade", file, lambda tell: ThinkingDowngrader(peer, tell), in_place=in_place, as_json=as_json
    )


_SUFFIXES = frozenset({".py", ".pyi"})
# Skipped in addition to hidden folders and virtual environments.
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_QUOTED = re.compile(rb'[^ -~]|["\\]')
_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def migrate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders to search.")],
    write: Annotated[bool, typer.Option("--write", help="Write the changes to the files.")] = False,
    keep_title: KeepTitle = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Rewrite Python source from THINKING_* events, which AG-UI 1.0 removed, to REASONING_*.

    Prints a diff, or changes the files with --write. Places that need a decision are listed on standard error
    with file, line and advice, and so are files that cannot be read. Folders are searched for *.py and *.pyi;
    hidden folders, virtual environments and node_modules are skipped.
    """
    from agui_reasoning._migrate import migrate_sources  # requires the extra `migrate`

    sources, unreadable = _read(_files(paths))
    with progress("migrate"):
        migrations = migrate_sources(sources, keep_title=keep_title)
    findings = [finding for migration in migrations for finding in migration.findings]
    listed = [*findings, *unreadable]
    changed = [migration for migration in migrations if migration.changed]
    unwritten = _write(changed) if write else []
    base = _base(changed)
    if as_json:
        written = {migration.path for migration in changed} - set(unwritten) if write else set()
        put_json(_report(len(sources), changed, listed, written, base))
    else:
        _show(changed, unwritten, base, write=write)
        for finding in findings:  # unreadable files have been reported already
            where = f"{finding.path}:{finding.line}:{finding.column}"
            tell(finding.severity, f"{where} {finding.message} {finding.advice} [{finding.code}]")
        _sum_up(len(sources), changed, findings, base, write=write)
    severities = {finding.severity for finding in listed}
    if unwritten or "error" in severities:
        raise typer.Exit(2)
    if "decide" in severities:
        raise typer.Exit(1)


# -- files


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files in order, without duplicates."""
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            read_file(str(path))  # raises the appropriate error
        for file in sorted(_search(path)) if path.is_dir() else [path]:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _search(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _is_skipped(Path(root, name))]
        for name in files:
            file = Path(root, name)
            if file.suffix in _SUFFIXES and file.is_file() and not file.is_symlink():
                yield file


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED or (folder / "pyvenv.cfg").exists()


def _read(files: Sequence[Path]) -> tuple[dict[str, bytes], list[MigrationFinding]]:
    """Read the files, and return a finding for each unreadable one."""
    from agui_reasoning._migrate import MigrationFinding

    sources: dict[str, bytes] = {}
    findings = []
    for file in files:
        try:
            sources[str(file)] = read_file(str(file))
        except ConfigurationError as error:
            complain(error)
            found = MigrationFinding(str(file), 1, 1, error.code, "error", str(error), error.hint)
            findings.append(found)
    return sources, findings


def _write(changed: Sequence[Migration]) -> list[str]:
    """Write the files and return the paths that failed."""
    failed = []
    for migration in changed:
        try:
            with opened(migration.path) as source, Rewrite(migration.path, source) as file:
                file.change(migration.after)
                file.commit()
        except ConfigurationError as error:
            failed.append(migration.path)
            complain(error)
    return failed


# -- output


def _show(changed: Sequence[Migration], unwritten: Sequence[str], base: str, *, write: bool) -> None:
    for migration in changed:
        if not write:
            _show_diff(migration.path, _diff(migration, base))
        elif migration.path not in unwritten:
            put(f"{migration.path}: {counted(migration.changes, 'change')}")


def _base(changed: Sequence[Migration]) -> str:
    """Return the folder the paths of the diff are relative to: the nearest common ancestor.

    ``git apply`` rejects paths that contain ``..``.
    """
    return os.path.commonpath([os.getcwd(), *(os.path.abspath(migration.path) for migration in changed)])


def _diff(migration: Migration, base: str) -> bytes:
    """Return a unified diff that `patch` and `git apply` accept, whatever the encoding."""
    path = os.fsencode(os.path.relpath(migration.path, base))
    before, after = (data.splitlines(keepends=True) for data in (migration.before, migration.after))
    old, new = _quoted(b"a/" + path), _quoted(b"b/" + path)
    lines = difflib.diff_bytes(difflib.unified_diff, before, after, old, new)
    return b"".join(text if text.endswith((b"\n", b"\r")) else text + _NO_NEWLINE for text in lines)


def _quoted(path: bytes) -> bytes:
    """Return a path as git writes it: in quotes if it has anything that a line of a diff must not have."""
    if one_line(name := os.fsdecode(path)) == name:
        return path
    return b'"%b"' % _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], path)


def _show_diff(path: str, diff: bytes) -> None:
    from agui_reasoning.cli._console import new_console  # needs Rich, which streams do not

    console = new_console()
    if not console.is_terminal:
        put_exact(diff)  # for `patch`, which needs every byte
        shown = diff.decode("utf-8", "replace").replace("\r\n", "\n")
        if escaped(shown) != shown:
            warn(f"{path}: the diff has invisible characters or commands of CI runners. Read it with --json.")
        return
    for text in diff.decode("utf-8", "replace").splitlines():
        bold = text.startswith(("--- ", "+++ "))
        console.print(text, style="bold" if bold else _STYLES.get(text[:1]), soft_wrap=True)


def _sum_up(
    read: int, changed: Sequence[Migration], findings: Sequence[MigrationFinding], base: str, *, write: bool
) -> None:
    changes = sum(migration.changes for migration in changed)
    where = f"{counted(changes, 'change')} in {counted(len(changed), 'file')} of {read}"
    left = sum(finding.severity == "decide" for finding in findings)
    todo = f"{left} left to decide by hand" if left else "nothing left to decide"
    where_to = (
        "" if base == os.getcwd() else f" The paths of the diff are relative to {base}: apply it there."
    )
    hint = "" if write or not changed else f"{where_to} Add --write to apply them."
    tell("summary", f"{where}, {todo}.{hint}")


def _report(
    read: int,
    changed: Sequence[Migration],
    findings: Sequence[MigrationFinding],
    written: set[str],
    base: str,
) -> dict[str, object]:
    return {
        "ok": all(finding.severity == "note" for finding in findings),
        "read": read,
        "changes": sum(migration.changes for migration in changed),
        "files": [
            {
                "path": migration.path,
                "changes": migration.changes,
                "written": migration.path in written,
                "diff": _diff(migration, base).decode("utf-8", "replace"),
            }
            for migration in changed
        ],
        "findings": [asdict(finding) for finding in findings],
    }
