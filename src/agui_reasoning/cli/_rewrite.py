"""Atomic replacement of files: the new file is complete and synced before it is renamed."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from agui_reasoning.cli._output import EscapedBytes
from agui_reasoning.errors import ConfigurationError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["FileSink", "Rewrite", "Standard"]

_PIECE: Final = 1 << 20
_PARTIAL: Final = ".partial"


class FileSink:
    """Context manager that receives the pieces of a file in order. The base class discards them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clean up."""

    def keep(self, data: bytes) -> None:
        """Receive an unchanged piece."""

    def change(self, data: bytes) -> None:
        """Receive a changed piece."""

    def commit(self) -> None:
        """Finish: all pieces have been received."""


class Standard(FileSink):
    """Writes JSON or server-sent events to standard output."""

    def __init__(self) -> None:
        self._output = EscapedBytes()

    def keep(self, data: bytes) -> None:
        """Write a piece."""
        self._output.write(data)

    change = keep


class Rewrite(FileSink):
    """Replaces the file atomically if anything has changed.

    Nothing is written before the first change. The new file is complete and synced, and has the mode and
    owner of the old one, before it is renamed: either the old or the new file exists at all times.

    Raises:
        ConfigurationError: From any method: the file cannot be written (``unwritable_file``), or another
            process has written it in the meantime (``changed_file``). The file is left unchanged.
    """

    def __init__(self, path: str, source: IO[bytes]) -> None:
        """Prepare to replace a file.

        Args:
            path: The file; symbolic links are followed and kept.
            source: The file, open for reading.
        """
        self._name = path
        self._path = Path(os.path.realpath(path))
        self._before = os.fstat(source.fileno())
        self._kept = 0
        self._file: IO[bytes] | None = None
        if not stat.S_ISREG(self._before.st_mode):
            raise self._unwritable("it is not a regular file")
        _remove_stale(self._path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove an incomplete new file."""
        if self._file is not None:
            with suppress(OSError):  # closing flushes, which fails on a full disk
                self._file.close()
            with suppress(OSError):
                os.unlink(self._file.name)
            self._file = None

    def keep(self, data: bytes) -> None:
        """Count an unchanged piece, or write it if a change came before."""
        if self._file is None:
            self._kept += len(data)
        else:
            self._write(self._file, data)

    def change(self, data: bytes) -> None:
        """Write a changed piece."""
        self._write(self._file or self._start(), data)

    def commit(self) -> None:
        """Replace the file with the result."""
        if self._file is None:
            return
        try:
            self._replace(self._file)
        except OSError as error:
            raise self._failed(error) from None
        self._file = None

    def _start(self) -> IO[bytes]:
        try:
            # In the same folder, because files can only be renamed within one file system.
            file = _locked_partial(self._path)
        except OSError as error:
            raise self._failed(error) from None
        self._file = file
        try:
            self._copy_kept(file)
        except OSError as error:
            raise self._failed(error) from None
        return file

    def _copy_kept(self, file: IO[bytes]) -> None:
        left = self._kept
        with self._path.open("rb") as source:
            while data := source.read(min(left, _PIECE)):
                file.write(data)
                left -= len(data)

    def _write(self, file: IO[bytes], data: bytes) -> None:
        try:
            file.write(data)
        except OSError as error:
            raise self._failed(error) from None

    def _replace(self, file: IO[bytes]) -> None:
        file.flush()
        self._copy_mode_and_owner(file.fileno())
        os.fsync(file.fileno())
        file.close()
        if _identity(self._path.stat()) != _identity(self._before):
            raise ConfigurationError(
                f"{self._name} changed while it was being read. It was not replaced.",
                code="changed_file",
                hint="Run the command again while no other process writes the file.",
            )
        os.replace(file.name, self._path)
        _sync_folder(self._path.parent)

    def _copy_mode_and_owner(self, fd: int) -> None:
        if hasattr(os, "fchown"):
            with suppress(PermissionError):
                os.fchown(fd, self._before.st_uid, self._before.st_gid)
            os.fchmod(fd, stat.S_IMODE(self._before.st_mode))

    def _failed(self, error: OSError) -> ConfigurationError:
        return self._unwritable(error.strerror or "unknown reason")

    def _unwritable(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._name} cannot be rewritten: {reason}. It was left unchanged.",
            code="unwritable_file",
            hint="Free disk space or grant write permission, and run the command again.",
        )


def _prefix(path: Path) -> str:
    return f".{path.name[:32]}."


def _locked_partial(path: Path) -> IO[bytes]:
    """Create the file that will replace another; it is locked while it is open."""
    while True:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by __exit__ or commit
            dir=path.parent, prefix=_prefix(path), suffix=_PARTIAL, delete=False
        )
        # Another process may have removed it as stale before it was locked.
        if _lock(file) and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def _lock(file: IO[bytes]) -> bool:
    """Try to lock a file; the lock ends with the process. Without ``fcntl``, no file counts as stale."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(path: Path) -> None:
    """Remove partial files left behind by killed processes."""
    if fcntl is None:
        return
    name = re.compile(re.escape(_prefix(path)) + r"[a-z0-9_]{8}" + re.escape(_PARTIAL))
    with suppress(OSError):
        for left in [one for one in path.parent.iterdir() if name.fullmatch(one.name)]:
            with suppress(OSError), left.open("rb") as file:
                if _lock(file):
                    left.unlink()


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _sync_folder(path: Path) -> None:
    """Sync the folder so that the rename survives a crash; skipped where folders cannot be opened."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
