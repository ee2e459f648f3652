"""Everything that the command writes, escaped: output, one-line errors and warnings, progress bars.

Only this module and the consoles of `_console` write; a test holds the other modules of the command to that.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, Timer
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from agui_reasoning._escaping import Escaper, escaped, one_line
from agui_reasoning.errors import AGUIReasoningError, LocalProtocolError, ProviderError, RemoteProtocolError

if TYPE_CHECKING:
    from rich.progress import Progress

# The default status is 2, for unreadable input and usage errors. These errors mean that the input is invalid.
_BROKEN = (ProviderError, LocalProtocolError, RemoteProtocolError)
_UNREADABLE = frozenset({"bad_json", "bad_utf8", "bad_frame", "frame_too_large"})

_DELAY_S: Final = 1.0
_Item = TypeVar("_Item")


def put(line: str, *, file: IO[str] | None = None) -> None:
    """Write one line, at once."""
    print(one_line(line), file=file, flush=True)


def put_json(
    value: Any,
    *,
    indent: int | None = 2,
    default: Callable[[Any], Any] | None = None,
    file: IO[str] | None = None,
) -> None:
    """Write a JSON value and a line break."""
    put_safe(f"{json_text(value, indent=indent, default=default)}\n", file=file)


def json_text(value: Any, *, indent: int | None = 2, default: Callable[[Any], Any] | None = None) -> str:
    """Return a value as JSON in which everything unsafe is escaped."""
    return escaped(json.dumps(value, indent=indent, default=default))


def put_safe(text: str, *, file: IO[str] | None = None) -> None:
    """Write a text that is escaped already, because it has colors or workflow commands of ours."""
    # In pieces: without a buffer, a write that a closed pipe cuts short raises nothing, but the next does.
    (file or sys.stdout).writelines(text.splitlines(keepends=True))


def put_exact(data: bytes) -> None:
    """Write bytes that another program needs as they are; a terminal gets them escaped."""
    sys.stdout.flush()
    if sys.stdout.isatty():
        put_safe(escaped(data.decode("utf-8", "replace")))
    else:
        sys.stdout.buffer.write(data)


class EscapedBytes:
    """Writes JSON or server-sent events to standard output, in pieces; parsed, they are what they were.

    A byte order mark at the start stays. Bytes that are not UTF-8 are escaped too, because they may control a
    terminal that has another encoding.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._escaper = Escaper(carriage_returns=True)
        self._started = False

    def write(self, data: bytes) -> None:
        text = self._decoder.decode(data)
        if text and not self._started:
            self._started = True
            if text[0] == "\ufeff":
                sys.stdout.buffer.write(codecs.BOM_UTF8)
                text = text[1:]
        sys.stdout.buffer.write(self._escaper.feed(text).encode())

    def flush(self) -> None:
        """Write what is complete."""
        sys.stdout.buffer.flush()


def complain(error: AGUIReasoningError) -> int:
    """Write an error as one line; return the exit status: 1 if the input breaks the protocol, else 2."""
    tell("error", f"{error} [{error.code}]")
    is_broken = isinstance(error, _BROKEN) and error.code not in _UNREADABLE
    return 1 if is_broken or error.code == "truncated_stream" else 2


def point_out(code: str) -> None:
    """Name the command that explains a code, to people: programs get one line."""
    if sys.stderr is not None and sys.stderr.isatty():
        tell("explanation", f"agui-reasoning explain {code}")


def warn(message: str) -> None:
    """Write a warning as one line."""
    tell("warning", message)


def tell(kind: str, message: str) -> None:
    """Write one line; names in it may be untrusted."""
    if sys.stderr is not None:  # with None, print would write to stdout
        print(f"{kind}: {printable(message)}", file=sys.stderr)


def printable(text: str) -> str:
    """Return a text as one line, with blanks for its line breaks, and escaped."""
    return one_line(" ".join(text.split()))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``2 events``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


class ProgressBar:
    """A bar on standard error that appears after a delay, and disappears at the end."""

    def __init__(self, label: str, total: float | None = None, *, in_bytes: bool = False) -> None:
        self._label, self._in_bytes = label, in_bytes
        self._total, self._done = total, 0.0
        self._progress: Progress | None = None
        self._lock, self._ended = Lock(), False

    def advance(self, amount: float) -> None:
        """Add finished work."""
        self._done += amount
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=self._done, total=self._total)

    def over(self, items: Sequence[_Item]) -> Iterator[_Item]:
        """Yield items, each a step of the work."""
        self._total, self._done = len(items), 0
        for item in items:
            yield item
            self.advance(1)

    def show(self) -> None:
        """Draw the bar from now on, unless it has ended."""
        from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn

        from agui_reasoning.cli._console import new_console

        console = new_console(stderr=True)
        sizes = [DownloadColumn()] if self._in_bytes else []
        columns = [TextColumn(self._label, markup=False), BarColumn(), TaskProgressColumn(), *sizes]
        with self._lock:
            if self._ended or not console.is_terminal:
                return
            bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
            bar.add_task(self._label, total=self._total, completed=self._done)  # type: ignore[arg-type]
            bar.start()
            self._progress = bar

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._progress is not None:
                self._progress.stop()


@contextmanager
def progress(
    label: str, total: float | None = None, *, quiet: bool = False, in_bytes: bool = False
) -> Iterator[ProgressBar]:
    """Show a progress bar on standard error, if that is a terminal and the work takes over a second.

    ``total`` is the amount of work, if it is known.
    """
    bar = ProgressBar(label, total, in_bytes=in_bytes)
    terminal = sys.stderr is not None and (sys.stderr.isatty() or os.environ.get("FORCE_COLOR"))
    if quiet or not terminal:
        yield bar
        return
    timer = Timer(_DELAY_S, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        bar.end()
