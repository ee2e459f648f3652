"""What a command does when it is told to stop: it cleans up, as it does after an error."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ends_cleanly"]


@contextmanager
def ends_cleanly() -> Iterator[None]:
    """Make SIGTERM end the process as Ctrl-C does, with what was opened closed, while a block runs."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
