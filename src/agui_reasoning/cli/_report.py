"""What goes to stderr, one line each, and the exit status that goes with an error."""

from __future__ import annotations

import sys

from agui_reasoning.errors import AGUIReasoningError, LocalProtocolError, ProviderError, RemoteProtocolError

__all__ = ["complain", "exit_status", "line", "warn"]

# Unreadable input and wrong usage are 2, which is also the default; these say that what was read is wrong.
_BROKEN = (ProviderError, LocalProtocolError, RemoteProtocolError)
_CUT = "truncated_stream"
_UNREADABLE = frozenset({"bad_json", "bad_utf8", "bad_frame", "frame_too_large"})


def exit_status(error: AGUIReasoningError) -> int:
    """The status a command ends with: 1 when the input breaks the protocol, 2 when it cannot be used."""
    if error.code in _UNREADABLE:
        return 2
    return 1 if error.code == _CUT or isinstance(error, _BROKEN) else 2


def complain(error: AGUIReasoningError) -> int:
    """Write an error as one line, and give the exit status."""
    line("error", f"{error} [{error.code}]")
    return exit_status(error)


def warn(message: str) -> None:
    """Write a warning as one line."""
    line("warning", message)


def line(kind: str, message: str) -> None:
    """Write one line, whatever the message holds: names in it may come from outside."""
    words = " ".join(message.split())
    shown = "".join(char if char.isprintable() else "�" for char in words)
    if sys.stderr is not None:  # or print would write to stdout
        print(f"{kind}: {shown}", file=sys.stderr)
