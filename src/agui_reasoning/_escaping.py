r"""Text that is safe to show: what controls terminals, hides text or commands CI runners is escaped.

Escapes are those of JSON (``\u001b``), so JSON keeps its value.
"""

from __future__ import annotations

import re
from typing import Final

# The categories Cc, Cf, Cs, Zl and Zp, and unassigned neighbours. Python calls none of them printable.
_INVISIBLE: Final = (
    "\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff"
)
_LINE: Final = re.compile(f"[\x00-\x1f{_INVISIBLE}]")
_LINES: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_INVISIBLE}]")
_LINES_OF_STREAM: Final = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f{_INVISIBLE}]")
# Workflow commands: GitHub takes `::` after blanks at the start of a line and `##[` anywhere, Azure `##vso[`.
# Without the last character they are text.
_COMMAND: Final = re.compile(r"((?:^|(?<=[\r\n]))[^\S\r\n]*+:(?=:)|##[A-Za-z]{0,16}+(?=\[))([:\[])")
_LONGEST: Final = len("##") + 16


def escaped(text: str) -> str:
    r"""Escape a text of several lines; line feeds and tabs stay.

    Examples:
        >>> print(escaped("a\x1b]0;b\n  ::error::c"))
        a\u001b]0;b
          :\u003aerror::c
    """
    return _inert(_visible(_LINES, text))


def one_line(text: str) -> str:
    r"""Escape a text that must stay on its line, such as a name that somebody else chose.

    Examples:
        >>> print(one_line("a\r\nb"))
        a\u000d\u000ab
    """
    return _inert(_visible(_LINE, text))


class Escaper:
    r"""Escapes a text of several lines that arrives in pieces.

    Args:
        carriage_returns: Keep them: server-sent events and JSON may end lines with them.

    Examples:
        >>> escaper = Escaper()
        >>> print(escaper.feed(" :") + escaper.feed(":error::") + escaper.feed("\x1b"))
         :\u003aerror::\u001b
    """

    def __init__(self, *, carriage_returns: bool = False) -> None:
        self._unsafe = _LINES_OF_STREAM if carriage_returns else _LINES
        self._before = ""

    def feed(self, text: str) -> str:
        """Escape the next piece."""
        safe = _inert(self._before + _visible(self._unsafe, text))
        piece = safe[len(self._before) :]
        self._before = _open_end(safe)
        return piece


def _visible(unsafe: re.Pattern[str], text: str) -> str:
    # Most texts are printable but for their line breaks, and `isprintable` is ten times faster.
    if text.replace("\n", "").isprintable() and (unsafe is not _LINE or "\n" not in text):
        return text
    return unsafe.sub(_escape, text)


def _inert(text: str) -> str:
    if "::" not in text and "##" not in text:
        return text
    return _COMMAND.sub(lambda found: found[1] + _escape_char(found[2]), text)


def _open_end(text: str) -> str:
    """Return what decides whether the next piece continues a command: little, however long the line is."""
    line = text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]
    if (start := line.strip()) in ("", ":"):
        return start
    return f"-{line[-_LONGEST:]}"


def _escape(found: re.Match[str]) -> str:
    return _escape_char(found[0])


def _escape_char(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
