"""Files to read, and incremental reading of large ones."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from agui_reasoning.errors import ConfigurationError

__all__ = ["STDIN", "found_files", "lines", "opened", "pieces", "size_of"]

STDIN: Final = "-"
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


def lines(file: str, source: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file."""
    try:
        yield from source
    except OSError as error:
        raise unreadable(file, error) from None


def pieces(file: str, source: Any) -> Iterator[bytes]:
    """Yield data as soon as it is available, so that pipes are not delayed."""
    try:
        while data := source.read1(_PIECE):
            yield data
    except OSError as error:
        raise unreadable(file, error) from None


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
