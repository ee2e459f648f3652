"""A file in the place of another: whole and on the disk before it takes its name, or not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from agui_reasoning.errors import ConfigurationError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["FileSink", "Rewrite", "Standard"]

_PIECE: Final = 1 << 20
_PARTIAL: Final = ".partial"


class FileSink:
    """Takes the pieces of a file in order; a context manager. This one drops them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clean up."""

    def keep(self, data: bytes) -> None:
        """Take a piece as it was."""

    def change(self, data: bytes) -> None:
        """Take what a piece has become."""

    def commit(self) -> None:
        """Everything is there."""


class Standard(FileSink):
    """Writes to standard output."""

    def keep(self, data: bytes) -> None:
        """Write it."""
        sys.stdout.buffer.write(data)

    change = keep


class Rewrite(FileSink):
    """Puts the result in the place of the file, if anything has changed.

    Nothing is written before something has changed. The new file is complete, synced, and has the mode and
    the owner of the old one before it is renamed: whatever happens, there is one of the two.

    Raises:
        ConfigurationError: From any method: the file cannot be written (``unwritable_file``), or somebody
            else has written it meanwhile (``changed_file``). It is as it was.
    """

    def __init__(self, path: str, source: IO[bytes]) -> None:
        """Begin.

        Args:
            path: The file; a link is followed, and stays.
            source: The file, open for reading.
        """
        self._shown = path
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
        """Remove what is half done."""
        if self._file is not None:
            with suppress(OSError):  # closing writes what is left, for which there may be no room
                self._file.close()
            with suppress(OSError):
                os.unlink(self._file.name)
            self._file = None

    def keep(self, data: bytes) -> None:
        """Count a piece as it was, or write it behind what has changed."""
        if self._file is None:
            self._kept += len(data)
        else:
            self._write(self._file, data)

    def change(self, data: bytes) -> None:
        """Write what a piece has become."""
        self._write(self._file or self._begun(), data)

    def commit(self) -> None:
        """Put the result in the file's place."""
        if self._file is None:
            return
        try:
            self._settle(self._file)
        except OSError as error:
            raise self._failed(error) from None
        self._file = None

    def _begun(self) -> IO[bytes]:
        try:
            # In the same folder: a file can only be renamed within one file system.
            file = _locked_partial(self._path)
        except OSError as error:
            raise self._failed(error) from None
        self._file = file
        try:
            self._copy_head(file)
        except OSError as error:
            raise self._failed(error) from None
        return file

    def _copy_head(self, file: IO[bytes]) -> None:
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

    def _settle(self, file: IO[bytes]) -> None:
        file.flush()
        self._dress(file.fileno())
        os.fsync(file.fileno())
        file.close()
        if _identity(self._path.stat()) != _identity(self._before):
            raise ConfigurationError(
                f"{self._shown} has changed while it was read. It is as it is now.",
                code="changed_file",
                hint="Run the command again when nobody writes the file.",
            )
        os.replace(file.name, self._path)
        _sync_folder(self._path.parent)

    def _dress(self, fd: int) -> None:
        if hasattr(os, "fchown"):
            with suppress(PermissionError):
                os.fchown(fd, self._before.st_uid, self._before.st_gid)
            os.fchmod(fd, stat.S_IMODE(self._before.st_mode))

    def _failed(self, error: OSError) -> ConfigurationError:
        return self._unwritable(error.strerror or "there is no reason given")

    def _unwritable(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._shown} cannot be rewritten: {reason}. It is as it was.",
            code="unwritable_file",
            hint="Make room or give permission, and run the command again.",
        )


def _prefix(path: Path) -> str:
    return f".{path.name[:32]}."


def _locked_partial(path: Path) -> IO[bytes]:
    """Make the file that takes the place of another; it is locked for as long as it is open."""
    while True:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by __exit__ or commit
            dir=path.parent, prefix=_prefix(path), suffix=_PARTIAL, delete=False
        )
        # Another process may have taken it for a stale one before it was locked.
        if _lock(file) and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def _lock(file: IO[bytes]) -> bool:
    """Lock a file if nobody has: whoever dies lets go. Where there are no such locks, nothing is stale."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(path: Path) -> None:
    """Remove what a process that was killed has left behind while it rewrote the file."""
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
    """Make the new name last; where a folder cannot be opened, the system does that itself."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
