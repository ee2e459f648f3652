"""Everything that the command writes to standard output: escaped, whatever the input contains.

Only this module and `_report` write; a test holds the other modules of the command to that.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable
from typing import IO, Any

from agui_reasoning._escaping import Escaper, escaped, one_line

__all__ = ["EscapedBytes", "json_text", "put", "put_exact", "put_json", "put_safe"]


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
        """Write the next piece."""
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
