"""Quiet ends on Ctrl-C and SIGTERM, from the first import on."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_IMPORTS: Final = "<frozen importlib._bootstrap>"


@contextmanager
def ends_cleanly() -> Iterator[None]:
    """End the process without a traceback on SIGINT and SIGTERM while the block runs.

    Both raise in the main thread, so that open resources are closed. An ignored SIGINT stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set signal handlers
        return
    handlers = {signal.SIGTERM: signal.signal(signal.SIGTERM, _stop)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = signal.signal(signal.SIGINT, _stop)
    hook, sys.unraisablehook = sys.unraisablehook, _unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    if _is_importing(frame):
        os._exit(128 + number)
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported.

    An exception would pass through code that is not prepared for it there: modules that catch everything,
    extension modules that are half set up, and callbacks of locks that print it and go on.
    """
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTS:
            return True
        frame = frame.f_back
    return False


def _unraisable(unraisable: Any) -> None:
    """End the process if an interrupt arrived in a finalizer, where Python would print it and go on."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        os._exit(128 + signal.SIGINT)
    sys.__unraisablehook__(unraisable)
