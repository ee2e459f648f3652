"""Detects deep nesting before parsing, because it crashes the parser, which is native code.

Only tokens are examined, independently of the grammar, so any version of Python is supported.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["too_deep"]

_BRACKETS: Final = 60
_PATTERN_BRACKETS: Final = 12  # parsing time doubles with each level
_CHAIN: Final = 600
_BRANCHES: Final = 200

_TOKEN: Final = re.compile(
    rb"""
      (?P<string> [A-Za-z]{0,2} (?:
          \"\"\" (?: [^"\\]++ | \\. | "(?!"") )*+ (?: \"\"\" | \Z )
        | ''' (?: [^'\\]++ | \\. | '(?!'') )*+ (?: ''' | \Z )
        | " (?: [^"\\\n]++ | \\. )*+ "?+
        | ' (?: [^'\\\n]++ | \\. )*+ '?+ ) )
    | (?P<blank> \#[^\r\n]*+ | \\\r?\n | [ \t\f]++ )
    | (?P<line> [\r\n]++ [ \t\f]*+ )
    | (?P<open> [(\[{] ) | (?P<close> [)\]}] ) | (?P<next> [,;] )
    | (?P<word> [\w\x80-\xff]++ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def too_deep(source: bytes) -> int | None:
    """Return the first line that is nested too deeply for the parser, or ``None``.

    Counts nested brackets, tokens without a comma in between (each operator and call may add a level), and
    branches of an ``if``.
    """
    depth = _Depth()
    for token in _TOKEN.finditer(source):
        depth.take(str(token.lastgroup), token[0])
        if depth.is_over:
            return source.count(b"\n", 0, token.start()) + 1
    return None


class _Depth:
    """Tracks the nesting depth of a token stream."""

    def __init__(self) -> None:
        self._chains = [0]  # per open bracket, the number of tokens since the last comma
        self._total = 0
        self._max_brackets = _BRACKETS
        self._branches: dict[int, int] = {}  # by indentation
        self._indent: int | None = 0
        self.is_over = False

    def take(self, kind: str, text: bytes) -> None:
        if kind == "line" and len(self._chains) == 1:
            self._reset()
            self._indent = len(text.lstrip(b"\r\n"))
        elif kind == "next":
            self._reset()
        elif kind == "close":
            self._reset()
            del self._chains[max(len(self._chains) - 1, 1) :]
        elif kind not in ("line", "blank"):
            self._count(kind, text)

    def _count(self, kind: str, text: bytes) -> None:
        if self._indent is not None:
            self._begin(self._indent, text)
        self._total += 1
        self._chains[-1] += 1
        if kind == "open":
            self._chains.append(0)
        self.is_over |= len(self._chains) > self._max_brackets or self._total > _CHAIN
        if kind == "string" and b"f" in text[:2].lower() and b"{" in text:
            self.is_over |= too_deep(_replacement_fields(text)) is not None

    def _begin(self, indent: int, word: bytes) -> None:
        """Process the first word of a line, which may start a pattern or a branch."""
        self._indent = None
        self._max_brackets = _PATTERN_BRACKETS if word == b"case" else _BRACKETS
        branch = word in (b"elif", b"else")
        self._branches = {
            at: count for at, count in self._branches.items() if at < indent or (at == indent and branch)
        }
        if branch:
            self._branches[indent] = self._branches.get(indent, 0) + 1
        self.is_over |= sum(self._branches.values()) > _BRANCHES

    def _reset(self) -> None:
        self._total -= self._chains[-1]
        self._chains[-1] = 0


def _replacement_fields(text: bytes) -> bytes:
    """Return the replacement fields of an f-string, without its text."""
    depth, kept = 0, []
    for part in re.split(rb"(\{\{|\}\}|[{}])", text):
        inside = depth > 0
        if inside or len(part) == 1:  # outside a field, a doubled brace is literal
            depth = max(0, depth + part.count(b"{") - part.count(b"}"))
        kept.append(part if inside or depth else b",")
    return b"".join(kept)
