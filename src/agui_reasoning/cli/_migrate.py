"""``migrate``: rewrite Python source from THINKING_* to REASONING_* events."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from agui_reasoning._escaping import escaped, one_line
from agui_reasoning.cli._console import stdout_console
from agui_reasoning.cli._files import Rewrite, opened, read_file
from agui_reasoning.cli._output import complain, counted, progress, put, put_exact, put_json, tell, warn
from agui_reasoning.cli._translate import KeepTitle
from agui_reasoning.errors import ConfigurationError

if TYPE_CHECKING:
    from agui_reasoning._migrate import Migration, MigrationFinding

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
        _list(findings)  # unreadable files have been reported already
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
    console = stdout_console()
    if not console.is_terminal:
        put_exact(diff)  # for `patch`, which needs every byte
        shown = diff.decode("utf-8", "replace").replace("\r\n", "\n")
        if escaped(shown) != shown:
            warn(f"{path}: the diff has invisible characters or commands of CI runners. Read it with --json.")
        return
    for text in diff.decode("utf-8", "replace").splitlines():
        bold = text.startswith(("--- ", "+++ "))
        console.print(Text(text, "bold" if bold else _STYLES.get(text[:1], "")), soft_wrap=True)


def _list(findings: Sequence[MigrationFinding]) -> None:
    for finding in findings:
        where = f"{finding.path}:{finding.line}:{finding.column}"
        tell(finding.severity, f"{where} {finding.message} {finding.advice} [{finding.code}]")


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
