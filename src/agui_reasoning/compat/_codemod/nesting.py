"""Finds what is nested too deeply, before the parser gets it: it is native code, and deep nesting crashes it.

It looks at tokens only. What they mean is the parser's to say, so that any version of Python may be read.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["too_deep"]

_BRACKETS: Final = 60
_PATTERN_BRACKETS: Final = 12  # the parser takes twice as long with each more
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
    """The line where a file is nested deeper than its parser can bear; ``None`` where that is nowhere.

    Counted are brackets in brackets, what follows each other without a comma (each operator and each call may
    be one level), and the branches of an ``if``.
    """
    depth = _Depth()
    for token in _TOKEN.finditer(source):
        depth.take(str(token.lastgroup), token[0])
        if depth.is_over:
            return source.count(b"\n", 0, token.start()) + 1
    return None


class _Depth:
    """How deep the tokens so far have led."""

    def __init__(self) -> None:
        self._chains = [0]  # for each open bracket the tokens in it, from the last comma on
        self._sum = 0
        self._most = _BRACKETS
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
        self._sum += 1
        self._chains[-1] += 1
        if kind == "open":
            self._chains.append(0)
        self.is_over |= len(self._chains) > self._most or self._sum > _CHAIN
        if kind == "string" and b"f" in text[:2].lower() and b"{" in text:
            self.is_over |= too_deep(_holes(text)) is not None

    def _begin(self, indent: int, word: bytes) -> None:
        """The first word of a line: a pattern, or one more branch."""
        self._indent = None
        self._most = _PATTERN_BRACKETS if word == b"case" else _BRACKETS
        branch = word in (b"elif", b"else")
        self._branches = {
            at: count for at, count in self._branches.items() if at < indent or (at == indent and branch)
        }
        if branch:
            self._branches[indent] = self._branches.get(indent, 0) + 1
        self.is_over |= sum(self._branches.values()) > _BRANCHES

    def _reset(self) -> None:
        self._sum -= self._chains[-1]
        self._chains[-1] = 0


def _holes(text: bytes) -> bytes:
    """What an f-string has in braces; the words between count for nothing."""
    depth, kept = 0, []
    for part in re.split(rb"(\{\{|\}\}|[{}])", text):
        inside = depth > 0
        if inside or len(part) == 1:  # a doubled one outside of braces is a plain one
            depth = max(0, depth + part.count(b"{") - part.count(b"}"))
        kept.append(part if inside or depth else b",")
    return b"".join(kept)
