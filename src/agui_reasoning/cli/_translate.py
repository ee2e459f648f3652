"""What ``upgrade`` and ``downgrade`` share: an event stream of any size in, the same form out."""

from __future__ import annotations

import json
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, TypeAlias

import typer

from agui_reasoning.cli._reading import STDIN, opened, pieces, progress
from agui_reasoning.cli._report import warn
from agui_reasoning.cli._rewrite import FileSink, Rewrite, Standard
from agui_reasoning.compat import Translator
from agui_reasoning.compat._json_log import ArrayRewriter, LinesRewriter
from agui_reasoning.compat._rewriter import Rewriter, written
from agui_reasoning.compat._sse import SSERewriter

__all__ = ["AsJSON", "File", "InPlace", "translate_file"]

File = Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")]
InPlace = Annotated[bool, typer.Option("--in-place", help="Replace the file, whole or not at all.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print one JSON object: events and counts.")]

MakeTranslator: TypeAlias = Callable[[Callable[[str], None]], Translator]
"""Called with where its warnings go."""

_PIECE: Final = 1 << 16
_LARGEST: Final = 1 << 28
"""The largest single event that is read: only one is ever in memory."""

_SSE: Final = re.compile(rb"[\r\n]*(?:data|event|id|retry)?:")
_LONGEST_FIELD: Final = len(b"event:")


def translate_file(command: str, file: str, make: MakeTranslator, *, in_place: bool, as_json: bool) -> None:
    """Translate a file to standard output, or in its place.

    Args:
        command: The name of the command, for the progress bar.
        file: A path, or ``-``.
        make: Makes the translator.
        in_place: Replace the file.
        as_json: Print one JSON object instead of the stream, or beside the new file.

    Raises:
        ConfigurationError: The file cannot be read or written.
        RemoteProtocolError: What is in it is no event stream; what came before it has been written.
    """
    if in_place and file == STDIN:
        raise typer.BadParameter("--in-place needs a file, not standard input.")
    with opened(file) as source:
        sink = Rewrite(file, source) if in_place else FileSink() if as_json else Standard()
        report = _Report(make, show_events=as_json and not in_place)
        with (
            sink,
            progress(command, source, quiet=not in_place and sys.stdout.isatty()) as advance,
            report.printed(shown=as_json),
        ):
            for data in pieces(file, source):
                report.feed(data, sink)
                advance(len(data))
            report.close(sink)
            sink.commit()


class _Report:
    """One translation, what is told of it, and what of it is JSON."""

    def __init__(self, make: MakeTranslator, *, show_events: bool) -> None:
        self._warnings: list[str] = []
        self._translator = make(self._warn)
        self._head = b""
        self._rewriter: Rewriter | None = None
        self._form = "json_lines"
        self._show_events = show_events
        self._shown = 0

    def feed(self, data: bytes, sink: FileSink) -> None:
        """Translate a piece of the file."""
        if self._rewriter is None:
            self._head, data = b"", self._head + data
            self._rewriter = self._rewriter_of(data, ended=False)
        if self._rewriter is None:
            self._head = data
        else:
            self._put(self._rewriter.feed(data), sink)

    def close(self, sink: FileSink) -> None:
        """Translate what is left."""
        rewriter = self._rewriter
        if rewriter is None:
            rewriter = self._rewriter = self._rewriter_of(self._head, ended=True)
            assert rewriter is not None  # at the end it is known
            self._put(rewriter.feed(self._head), sink)
        while out := rewriter.close():  # an error comes after what was good before it
            self._put(out, sink)

    @contextmanager
    def printed(self, *, shown: bool) -> Iterator[None]:
        """Print the JSON object around the work, complete whatever happens."""
        if not shown:
            yield
            return
        print("{", end="")
        if self._show_events:
            print('"events": [', end="")
        complete = False
        try:
            yield
            complete = True
        finally:
            if self._show_events:
                print("\n],", end="")
            print(json.dumps(self._summary() | {"complete": complete}, indent=2).removeprefix("{"))

    def _summary(self) -> dict[str, Any]:
        counts = self._rewriter
        return {
            "format": self._form,
            "events_in": counts.events if counts else 0,
            "events_out": counts.written if counts else 0,
            "changed": counts.changed if counts else 0,
            "warnings": self._warnings,
        }

    def _rewriter_of(self, head: bytes, *, ended: bool) -> Rewriter | None:
        """The rewriter for what begins like this; ``None`` when that does not tell yet."""
        start = head.removeprefix(BOM_UTF8)
        if not ended and len(start.strip()) < _LONGEST_FIELD:
            return None
        if _SSE.match(start):
            self._form = "sse"
            return SSERewriter(self._translator, on_events=self._on_events, max_frame_bytes=_LARGEST)
        if start.lstrip().startswith(b"["):
            self._form = "json_array"
            return ArrayRewriter(self._translator, on_events=self._on_events, max_value_bytes=_LARGEST)
        return LinesRewriter(self._translator, on_events=self._on_events, max_value_bytes=_LARGEST)

    def _put(self, data: bytes, sink: FileSink) -> None:
        changed = self._rewriter is not None and self._rewriter.changed
        (sink.change if changed else sink.keep)(data)
        if isinstance(sink, Standard):
            sys.stdout.buffer.flush()

    def _on_events(self, events: list[dict[str, Any]]) -> None:
        if self._show_events:
            for event in events:
                print(",\n" if self._shown else "\n", written(event).decode(), sep="", end="")
                self._shown += 1

    def _warn(self, message: str) -> None:
        self._warnings.append(message)
        warn(message)
