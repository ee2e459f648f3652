"""``upgrade`` and ``downgrade``: translate event streams of any size."""

from __future__ import annotations

import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, TypeAlias

import typer

from agui_reasoning._escaping import escaped
from agui_reasoning.cli._files import STDIN, FileSink, Rewrite, Standard, opened, pieces, size_of
from agui_reasoning.cli._options import File
from agui_reasoning.cli._output import json_text, progress, put_safe, warn
from agui_reasoning.compat import (
    ArrayRewriter,
    LinesRewriter,
    Rewriter,
    SSERewriter,
    ThinkingDowngrader,
    ThinkingUpgrader,
    Translator,
    written,
)

InPlace = Annotated[bool, typer.Option("--in-place", help="Replace the file atomically.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print one JSON object with events and counts.")]
Repair = Annotated[
    bool,
    typer.Option("--repair/--no-repair", help="Repair what AG-UI 1.0 rejects, such as missing end events."),
]
KeepTitle = Annotated[
    bool, typer.Option("--keep-title", help="Keep the titles of THINKING_START as metadata.")
]

MakeTranslator: TypeAlias = Callable[[Callable[[str], None]], Translator]
"""Called with the warning callback."""

_MAX_EVENT_BYTES: Final = 1 << 28
"""The largest event accepted, in bytes. Only one event is in memory at a time."""

_SSE: Final = re.compile(rb"[\r\n]*(?:data|event|id|retry)?:")
_LONGEST_FIELD: Final = len(b"event:")


def translate_file(command: str, file: str, make: MakeTranslator, *, in_place: bool, as_json: bool) -> None:
    """Translate a file to standard output, or in place.

    Args:
        command: The name of the command, for the progress bar.
        file: A path, or ``-``.
        make: Creates the translator.
        in_place: Replace the file.
        as_json: Print one JSON object instead of the stream, or in addition to the new file.

    Raises:
        ConfigurationError: The file cannot be read or written.
        RemoteProtocolError: The content is not an event stream. Output before the error has been written.
    """
    if in_place and file == STDIN:
        raise typer.BadParameter("--in-place needs a file, not standard input.")
    with opened(file) as source:
        sink = Rewrite(file, source) if in_place else FileSink() if as_json else Standard()
        translation = _Translation(make, show_events=as_json and not in_place)
        with (
            sink,
            progress(
                command, size_of(source), quiet=not in_place and sys.stdout.isatty(), in_bytes=True
            ) as bar,
            translation.printed(as_json=as_json),
        ):
            for data in pieces(file, source):
                translation.feed(data, sink)
                bar.advance(len(data))
            translation.close(sink)
            sink.commit()


class _Translation:
    """One translation with its warnings and JSON report."""

    def __init__(self, make: MakeTranslator, *, show_events: bool) -> None:
        self._warnings: list[str] = []
        self._translator = make(self._warn)
        self._head = b""
        self._rewriter: Rewriter | None = None
        self._form = "json_lines"
        self._show_events = show_events
        self._printed_count = 0

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
        """Translate the remaining data."""
        rewriter = self._rewriter
        if rewriter is None:
            rewriter = self._rewriter = self._rewriter_of(self._head, ended=True)
            assert rewriter is not None  # always detected at the end
            self._put(rewriter.feed(self._head), sink)
        while out := rewriter.close():  # errors are raised after the good output before them
            self._put(out, sink)

    @contextmanager
    def printed(self, *, as_json: bool) -> Iterator[None]:
        """Print the JSON object around the block; it is complete even if the block fails."""
        if not as_json:
            yield
            return
        put_safe("{")
        if self._show_events:
            put_safe('"events": [')
        complete = False
        try:
            yield
            complete = True
        finally:
            if self._show_events:
                put_safe("\n],")
            put_safe(f"{json_text(self._summary() | {'complete': complete}).removeprefix('{')}\n")

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
        """Detect the format from the first bytes; ``None`` if more are needed."""
        start = head.removeprefix(BOM_UTF8)
        if not ended and len(start.strip()) < _LONGEST_FIELD:
            return None
        if _SSE.match(start):
            self._form = "sse"
            return SSERewriter(self._translator, on_events=self._on_events, max_frame_bytes=_MAX_EVENT_BYTES)
        if start.lstrip().startswith(b"["):
            self._form = "json_array"
            return ArrayRewriter(
                self._translator, on_events=self._on_events, max_value_bytes=_MAX_EVENT_BYTES
            )
        return LinesRewriter(self._translator, on_events=self._on_events, max_value_bytes=_MAX_EVENT_BYTES)

    def _put(self, data: bytes, sink: FileSink) -> None:
        changed = self._rewriter is not None and self._rewriter.changed
        (sink.change if changed else sink.keep)(data)
        if isinstance(sink, Standard):
            sys.stdout.buffer.flush()

    def _on_events(self, events: list[dict[str, Any]]) -> None:
        if self._show_events:
            for event in events:
                put_safe(f"{',' if self._printed_count else ''}\n{escaped(written(event).decode())}")
                self._printed_count += 1

    def _warn(self, message: str) -> None:
        self._warnings.append(message)
        warn(message)


def upgrade(
    file: File,
    repair: Repair = False,
    keep_title: KeepTitle = False,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Convert the THINKING_* events of a stream to REASONING_*.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; the output has the
    same format. Other events are kept as they are. Losses are reported on standard error.
    """
    translate_file(
        "upgrade",
        file,
        lambda tell: ThinkingUpgrader(tell, repair=repair, keep_title=keep_title, tell="losses"),
        in_place=in_place,
        as_json=as_json,
    )


def downgrade(
    file: File,
    peer: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="The peer's ag-ui-protocol version; default: any with THINKING_*."
        ),
    ] = None,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Convert a stream for an older peer: to THINKING_*, or to the REASONING_* of its version.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; the output has the
    same format. Data that the peer cannot represent is dropped; each kind of loss is reported once on
    standard error.
    """
    translate_file(
        "downgrade", file, lambda tell: ThinkingDowngrader(peer, tell), in_place=in_place, as_json=as_json
    )
