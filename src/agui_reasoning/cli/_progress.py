"""Progress bars on standard error, for work that takes longer than a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final, TypeVar

from rich.console import Console

from agui_reasoning._demo.screen import stderr_console

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ProgressBar", "progress"]

_DELAY_S: Final = 1.0
_Item = TypeVar("_Item")


class ProgressBar:
    """A bar that appears after a delay, and disappears at the end."""

    def __init__(self, label: str, total: float | None, console: Console, *, in_bytes: bool) -> None:
        self._label, self._console, self._in_bytes = label, console, in_bytes
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
        from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = [TextColumn(self._label, markup=False), BarColumn(), TaskProgressColumn()]
        sizes = [DownloadColumn()] if self._in_bytes else []
        with self._lock:
            if self._ended:
                return
            bar = RichProgress(*columns, *sizes, console=self._console, transient=True, redirect_stdout=False)
            bar.add_task(self._label, total=self._total, completed=self._done)  # type: ignore[arg-type]
            bar.start()
            self._progress = bar

    def end(self) -> None:
        """Remove the bar."""
        with self._lock:
            self._ended = True
            if self._progress is not None:
                self._progress.stop()


@contextmanager
def progress(
    label: str, total: float | None, *, quiet: bool = False, in_bytes: bool = False
) -> Iterator[ProgressBar]:
    """Show a progress bar on standard error, if that is a terminal and the work takes over a second.

    Args:
        label: What is done.
        total: The amount of work; ``None`` if it is unknown.
        quiet: Show nothing.
        in_bytes: The amounts are bytes.
    """
    console = stderr_console()
    bar = ProgressBar(label, total, console, in_bytes=in_bytes)
    if quiet or not console.is_terminal:
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
