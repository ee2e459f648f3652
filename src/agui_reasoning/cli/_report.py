"""Errors and warnings as single lines on stderr, and the exit status of each error."""

from __future__ import annotations

import sys

from agui_reasoning._escaping import one_line
from agui_reasoning.errors import AGUIReasoningError, LocalProtocolError, ProviderError, RemoteProtocolError

__all__ = ["complain", "counted", "exit_status", "line", "printable", "warn"]

# The default status is 2, for unreadable input and usage errors. These errors mean that the input is invalid.
_BROKEN = (ProviderError, LocalProtocolError, RemoteProtocolError)
_CUT = "truncated_stream"
_UNREADABLE = frozenset({"bad_json", "bad_utf8", "bad_frame", "frame_too_large"})


def exit_status(error: AGUIReasoningError) -> int:
    """Return the exit status: 1 if the input breaks the protocol, 2 if it cannot be used."""
    if error.code in _UNREADABLE:
        return 2
    return 1 if error.code == _CUT or isinstance(error, _BROKEN) else 2


def complain(error: AGUIReasoningError) -> int:
    """Write an error as one line and return the exit status."""
    line("error", f"{error} [{error.code}]")
    return exit_status(error)


def warn(message: str) -> None:
    """Write a warning as one line."""
    line("warning", message)


def line(kind: str, message: str) -> None:
    """Write one line; names in it may be untrusted."""
    if sys.stderr is not None:  # with None, print would write to stdout
        print(f"{kind}: {printable(message)}", file=sys.stderr)


def printable(text: str) -> str:
    """Return a text as one line, with blanks for its line breaks, and escaped."""
    return one_line(" ".join(text.split()))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``2 events``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
