"""Files: which to read, as bytes or as AG-UI streams, and atomic replacement."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Self

from agui_reasoning.cli._output import EscapedBytes
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError

STDIN: Final = "-"

JSON_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
"""A string in JSON, with its quotes."""

_PIECE: Final = 1 << 16
_OPENED: Final = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/\d+")
_WAITING: Final[Mapping[Callable[[int], bool], str]] = {
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
}


@contextmanager
def opened(file: str) -> Iterator[IO[bytes]]:
    """Open a file, or standard input for ``-``.

    Raises:
        ConfigurationError: The file cannot be read (``unreadable_file``). `lines` and `pieces` raise it too.
    """
    _refuse_waiting(file)
    try:
        source = open(0 if file == STDIN else file, "rb", closefd=file != STDIN)  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None
    with source:
        yield source


def _refuse_waiting(file: str) -> None:
    """Refuse a path whose reading can wait or go on for ever: a named pipe without a writer, or a device.

    Pipes that the shell has opened, as for ``<(…)``, end with their writer, and are read.
    """
    try:
        mode = 0 if file == STDIN or _OPENED.fullmatch(file) else os.stat(file).st_mode
    except (OSError, ValueError):
        return  # opening it says why
    kind = next((kind for is_kind, kind in _WAITING.items() if is_kind(mode)), None)
    if kind is not None:
        raise ConfigurationError(
            f"{file} is {kind}, not a file.",
            code="unreadable_file",
            hint="Pass the path of a file, or redirect it to standard input and pass -.",
        )


def read_file(name: str) -> bytes:
    """Read a file, or standard input for ``-``; raises what `opened` raises."""
    with opened(name) as stream:
        return b"".join(pieces(name, stream))


def lines(file: str, source: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, or what else is read from it."""
    try:
        yield from source
    except OSError as error:
        raise unreadable(file, error) from None


def pieces(file: str, source: Any) -> Iterator[bytes]:
    """Yield data as soon as it is available, so that pipes are not delayed."""
    return lines(file, iter(partial(source.read1, _PIECE), b""))


def unreadable(file: str, error: Exception) -> ConfigurationError:
    """Return the error to raise when a file cannot be read."""
    reason = getattr(error, "strerror", None) or "the name is not a valid path"
    return ConfigurationError(
        f"{file} cannot be read: {reason}.",
        code="unreadable_file",
        hint="Pass the path of a file, or - for standard input.",
    )


def found_files(paths: Iterable[str], suffixes: Collection[str]) -> list[str]:
    """Return the files to read, in order and once: folders are searched for files with the suffixes.

    Hidden files and folders are skipped, and so are symbolic links, pipes and devices inside folders.

    Raises:
        ConfigurationError: A folder has no such file (``no_files``).
    """
    found: dict[str, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_inside(Path(path), suffixes) if os.path.isdir(path) else [path]))
    return list(found)


def _inside(folder: Path, suffixes: Collection[str]) -> list[str]:
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files = [Path(root, name) for name in names if not name.startswith(".")]
        found += [str(file) for file in files if file.suffix in suffixes and _is_plain(file)]
    if not found:
        kinds = ", ".join(f"*{suffix}" for suffix in sorted(suffixes))
        raise ConfigurationError(
            f"{folder} has no files to read.",
            code="no_files",
            hint=f"Pass a folder with {kinds}, or name the files.",
        )
    return sorted(found)


def _is_plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def size_of(source: IO[bytes]) -> int | None:
    """Return the size of an open file in bytes; ``None`` for a pipe."""
    return os.fstat(source.fileno()).st_size or None


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of a file.

    Attributes:
        events: The events, in order.
        lines: The line each event starts on, from 1.
        cut: Whether the file ends in the middle of an event or of the array.
        error: The error that stopped reading; ``None`` if the file was read to the end or is truncated.
    """

    events: list[dict[str, Any]]
    lines: list[int]
    cut: bool = False
    error: RemoteProtocolError | None = None


def read_stream(name: str) -> Stream:
    """Read a file, or standard input for ``-``.

    Raises:
        ConfigurationError: The file cannot be read (``unreadable_file``).
        RemoteProtocolError: The first event cannot be read.
    """
    from agui_reasoning.wire import iter_numbered_events  # most commands read no streams

    data = read_file(name)
    events: list[dict[str, Any]] = []
    lines: list[int] = []
    try:
        for line, event in iter_numbered_events(data):
            events.append(event)
            lines.append(line)
    except RemoteProtocolError as error:
        if not events:
            raise
        return Stream(events, lines, cut=True) if _is_cut(data) else Stream(events, lines, error=error)
    return Stream(events, lines)


def _is_cut(data: bytes) -> bool:
    """Return whether the stream is unreadable because its end is missing."""
    start = data.removeprefix(BOM_UTF8).lstrip()
    return _ends_open(start) if start.startswith((b"{", b"[")) else _ends_in_frame(data)


def _ends_open(data: bytes) -> bool:
    """Return whether JSON ends inside a string, an object or an array."""
    outside_strings = JSON_STRING.sub(b"", data)
    opened, closed = (sum(map(outside_strings.count, brackets)) for brackets in ((b"{", b"["), (b"}", b"]")))
    return b'"' in outside_strings or opened > closed


def _ends_in_frame(data: bytes) -> bool:
    """Return whether every frame is valid except for an unterminated last one."""
    from agui_reasoning.wire import SSEDecoder

    decoder = SSEDecoder(max_frame_bytes=len(data))
    try:
        decoder.feed(data)
        decoder.feed(b"")  # errors are raised after the events before them
    except RemoteProtocolError:
        return False
    return True


class FileSink:
    """Context manager that receives the pieces of a file in order. The base class discards them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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

    Nothing is written before the first change. The new file is complete and on disk, and has the mode and
    owner of the old one, before it is renamed: either the old or the new file exists at all times.

    Raises:
        ConfigurationError: From any method: the file cannot be written (``unwritable_file``), or another
            process has written it in the meantime (``changed_file``). The file is left unchanged.
    """

    def __init__(self, path: str, source: IO[bytes]) -> None:
        """Prepare to replace a file that is open for reading; symbolic links are followed and kept."""
        self._name = path
        self._path = Path(os.path.realpath(path))
        self._before = os.fstat(source.fileno())
        self._kept = 0
        self._file: IO[bytes] | None = None
        if not stat.S_ISREG(self._before.st_mode):
            raise self._unwritable("it is not a regular file")

    def __exit__(self, *error: object) -> None:
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
            self.change(data)

    def change(self, data: bytes) -> None:
        """Write a changed piece."""
        with self._failing():
            (self._file or self._start()).write(data)

    def commit(self) -> None:
        """Replace the file with the result."""
        if self._file is not None:
            with self._failing():
                self._replace(self._file)
            self._file = None

    def _start(self) -> IO[bytes]:
        """Open the new file, in the same folder because files can only be renamed within one file system."""
        name = f".{self._path.name[:32]}."
        self._file = file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by __exit__ or commit
            dir=self._path.parent, prefix=name, suffix=".partial", delete=False
        )
        left = self._kept
        with self._path.open("rb") as source:
            while data := source.read(min(left, _PIECE)):
                file.write(data)
                left -= len(data)
        return file

    def _replace(self, file: IO[bytes]) -> None:
        file.flush()
        if hasattr(os, "fchown"):
            with suppress(PermissionError):
                os.fchown(file.fileno(), self._before.st_uid, self._before.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(self._before.st_mode))
        os.fsync(file.fileno())
        file.close()
        if _identity(self._path.stat()) != _identity(self._before):
            raise ConfigurationError(
                f"{self._name} changed while it was being read. It was not replaced.",
                code="changed_file",
                hint="Run the command again while no other process writes the file.",
            )
        os.replace(file.name, self._path)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unwritable(error.strerror or "unknown reason") from None

    def _unwritable(self, reason: str) -> ConfigurationError:
        return ConfigurationError(
            f"{self._name} cannot be rewritten: {reason}. It was left unchanged.",
            code="unwritable_file",
            hint="Free disk space or grant write permission, and run the command again.",
        )


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
