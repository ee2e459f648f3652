"""Files to read, and incremental reading of large ones."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from agui_reasoning.errors import ConfigurationError

__all__ = ["STDIN", "found_files", "lines", "opened", "pieces", "size_of"]

STDIN: Final = "-"
_PIECE: Final = 1 << 16


@contextmanager
def opened(file: str) -> Iterator[IO[bytes]]:
    """Open a file, or standard input for ``-``.

    Raises:
        ConfigurationError: The file cannot be read (``unreadable_file``). `lines` and `pieces` raise it too.
    """
    try:
        source = open(0 if file == STDIN else file, "rb", closefd=file != STDIN)  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:
        raise unreadable(file, error) from None
    with source:
        yield source


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

    Hidden files and folders are skipped, and so are symbolic links inside folders.

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
        found += [str(file) for file in files if file.suffix in suffixes and not file.is_symlink()]
    if not found:
        kinds = ", ".join(f"*{suffix}" for suffix in sorted(suffixes))
        raise ConfigurationError(
            f"{folder} has no files to read.",
            code="no_files",
            hint=f"Pass a folder with {kinds}, or name the files.",
        )
    return sorted(found)


def size_of(source: IO[bytes]) -> int | None:
    """Return the size of an open file in bytes; ``None`` for a pipe."""
    return os.fstat(source.fileno()).st_size or None
