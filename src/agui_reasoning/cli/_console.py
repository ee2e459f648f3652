"""Consoles with colors where the terminal has them, which escape all text."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console, ConsoleOptions
from rich.segment import Segment

from agui_reasoning._escaping import Escaper

_WIDEST: Final = 100


class _EscapingConsole(Console):
    """A console that escapes all text, and so sends no control characters but its own."""

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render a renderable, with its text escaped."""
        escaper = Escaper()
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaper.feed(segment.text))


def new_console(*, stderr: bool = False) -> Console:
    """Return a console with colors on terminals, and elsewhere if FORCE_COLOR is set; NO_COLOR wins."""
    if not stderr and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    plain = bool(os.environ.get("NO_COLOR"))
    forced = bool(os.environ.get("FORCE_COLOR")) and not plain
    console = _EscapingConsole(
        stderr=stderr,
        force_terminal=False if plain else None,
        color_system="standard" if forced else "auto",
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.width = min(console.width, _WIDEST)
    return console
