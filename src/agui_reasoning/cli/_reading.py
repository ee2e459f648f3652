"""Incremental reading of large files, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn

from agui_reasoning.errors import ConfigurationError

__all__ = ["STDIN", "lines", "opened", "pieces", "progress"]

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


@contextmanager
def progress(command: str, source: IO[bytes], *, quiet: bool) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on stderr if it is a terminal; yields a function that adds processed bytes."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn(command),
        BarColumn(),
        TaskProgressColumn(),
        DownloadColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
        redirect_stdout=False,
    )
    with bar:
        task = bar.add_task(command, total=os.fstat(source.fileno()).st_size or None)
        yield lambda size: bar.advance(task, size)
