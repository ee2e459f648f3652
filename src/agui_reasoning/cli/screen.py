"""Shows playbacks on a terminal: what a user sees, the events behind it, and what travelled with them.

Everything shown is read from the AG-UI events, as a front end would.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Event
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from agui_reasoning.cli.playback import Check, Playback

__all__ = ["Block", "Screen", "blocks", "rows", "short"]

_WIDEST = 96
_QUOTE = 40


@dataclass(slots=True)
class Block:
    """Something a user sees grow: a kind, and the pieces it came in."""

    kind: str
    pieces: list[str] = field(default_factory=list)


_STARTS = {
    "REASONING_MESSAGE_START": ("thinking", ""),
    "TEXT_MESSAGE_START": ("answer", ""),
    "TOOL_CALL_START": ("tool call", "tool_call_name"),
    "TOOL_CALL_RESULT": ("result", "content"),
}
_PIECES = frozenset({"REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"})


def blocks(events: Iterable[Event]) -> list[Block]:
    """What a user sees of a run, in order."""
    seen: list[Block] = []
    for event in events:
        kind = event.type.value
        if kind in _STARTS:
            label, name = _STARTS[kind]
            seen.append(Block(label, [getattr(event, name)] if name else []))
        elif kind in _PIECES:
            seen[-1].pieces.append(_delta(event))
        if kind == "TOOL_CALL_START":
            seen[-1].pieces.append(" ")
    return seen


def _delta(event: Any) -> str:
    return str(event.delta)


# -- the table of events


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: one event, or a run of deltas of one message."""

    type: str
    id: str
    what: str
    depth: int


def rows(events: Iterable[Event]) -> list[Row]:
    """The events as lines, with the deltas of one message joined."""
    lines: list[Row] = []
    depth = 0
    for group in _joined(events):
        kind = group[0].type.value
        depth -= kind.endswith(("_END", "_FINISHED", "_ERROR"))
        about = _ABOUT.get(kind, _nothing)(group)
        lines.append(Row(kind, short(_entity(group[0])), about, depth))
        depth += kind.endswith(("_START", "_STARTED"))
    return lines


def _joined(events: Iterable[Event]) -> Iterator[list[Any]]:
    group: list[Any] = []
    for event in events:
        if group and not (event.type.value in _PIECES and _same(group[-1], event)):
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _same(before: Event, event: Event) -> bool:
    return before.type == event.type and _entity(before) == _entity(event)


def _entity(event: Any) -> str:
    names = ("entity_id", "tool_call_id", "message_id", "run_id")
    return next((value for name in names if (value := getattr(event, name, None))), "")


def short(identifier: str) -> str:
    """An id cut in the middle, so that ids that begin alike stay apart."""
    return identifier if len(identifier) <= 12 else f"{identifier[:6]}…{identifier[-4:]}"


def _nothing(group: Sequence[Any]) -> str:
    return ""


def _about_pieces(group: Sequence[Any]) -> str:
    text = "".join(event.delta for event in group)
    quote = " ".join(text.split())
    quote = quote if len(quote) <= _QUOTE else f"{quote[: _QUOTE - 1].rstrip()}…"
    return f"{len(group)} × {quote}"


def _about_value(group: Sequence[Any]) -> str:
    return f"{len(group[0].encrypted_value)} characters for this {group[0].subtype}"


def _about_finish(group: Sequence[Any]) -> str:
    return ", ".join(
        f"{usage.input_tokens or 0} tokens in, {usage.output_tokens or 0} out, {usage.reasoning_tokens or 0} thinking"
        for usage in group[0].usage or ()
    )


_ABOUT: dict[str, Callable[[Sequence[Any]], str]] = {
    **dict.fromkeys(_PIECES, _about_pieces),
    "RUN_STARTED": lambda group: f"protocol {group[0].protocol_version}",
    "RUN_FINISHED": _about_finish,
    "REASONING_ENCRYPTED_VALUE": _about_value,
    "TOOL_CALL_START": lambda group: (
        f"{group[0].tool_call_name}, of message {short(group[0].parent_message_id)}"
    ),
    "TOOL_CALL_RESULT": lambda group: f"{len(group[0].content)} characters",
}

_COLOURS = {"RUN": "blue", "REASONING": "magenta", "TEXT": "green", "TOOL": "yellow"}
_STYLES = {
    "you": "bold",
    "thinking": "dim italic",
    "tool call": "yellow",
    "result": "yellow",
    "answer": "green",
}
_LABELS = {"thinking": "magenta", "tool call": "yellow", "result": "yellow", "answer": "green", "you": "bold"}
_NO_TEXT = "(the provider keeps this text to itself; its value travels all the same)"


class Screen:
    """Writes to a console; plain where it is not a terminal or where NO_COLOR is set."""

    def __init__(self, console: Console, pause: Callable[[], None]) -> None:
        """Prepare.

        Args:
            console: Where to write.
            pause: Called after each piece when the console is a terminal.
        """
        self._console = console
        self._pause = pause

    def intro(self) -> None:
        """Say what this is."""
        self._console.print(
            Text("agui-reasoning", "bold magenta") + Text("  one question, three providers, one stream")
        )
        self._console.print(
            Text(
                "Scripted provider streams: no key, no network. Everything below is read from AG-UI events.",
                "dim",
            )
        )

    def play(self, playback: Playback) -> None:
        """Show one conversation."""
        title = Text.assemble((playback.api, "bold"), (f"  {playback.provider} · {playback.model}", "dim"))
        self._console.print()
        self._console.print(Rule(title, align="left", style="magenta", characters="─"))
        self._show(Block("you", [playback.question]))
        for block in blocks(playback.events):
            self._show(block)
        self._console.print(_events_table(playback.events))
        self._console.print(_checks_table(playback.checks))

    def outro(self, checks: Sequence[Check]) -> None:
        """Say how it went."""
        good = sum(check.identical for check in checks)
        verdict = f"{good} of {len(checks)} values came through byte for byte."
        self._console.print(Text(verdict, "bold green" if good == len(checks) else "bold red"))
        self._console.print(
            Text("Your own stream: agui-reasoning encode --api anthropic-messages FILE", "dim")
        )

    def _show(self, block: Block) -> None:
        if not self._console.is_terminal:
            self._console.print(_block(block.kind, "".join(block.pieces)))
            return
        shown = ""
        with Live(_block(block.kind, "", waiting=True), console=self._console, auto_refresh=False) as live:
            for piece in block.pieces:
                shown += piece
                live.update(_block(block.kind, shown), refresh=True)
                self._pause()
            live.update(_block(block.kind, shown), refresh=True)


def _block(kind: str, text: str, *, waiting: bool = False) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=9, justify="right")
    table.add_column()
    body = Text(text or ("" if waiting else _NO_TEXT), _STYLES[kind])
    body.highlight_regex(r"\*\*.+?\*\*", "bold")
    table.add_row(Text(kind, _LABELS[kind]), body)
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(
        *columns, box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", header_style="dim"
    )
    table.pad_edge = False
    return table


def _events_table(events: Sequence[Event]) -> Table:
    table = _table(f"{len(events)} AG-UI events", "type", "id", "what")
    for row in rows(events):
        colour = _COLOURS[row.type.partition("_")[0]]
        table.add_row(Text("  " * row.depth + row.type, colour), row.id, Text(row.what, "dim", no_wrap=True))
    return table


def _checks_table(checks: Sequence[Check]) -> Table:
    table = _table(
        "What must go back on the next turn",
        "kind",
        "length",
        "sha256",
        "travels with",
        "byte-identical to what the provider sent",
    )
    for check in checks:
        verdict = Text("yes", "green") if check.identical else Text("NO", "bold red")
        table.add_row(check.kind, str(check.chars), check.fingerprint, check.entity or "nothing", verdict)
    return table


def console() -> Console:
    """The console of standard output, not wider than is good to read."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    plain = False if os.environ.get("NO_COLOR") else None
    made = Console(force_terminal=plain, highlight=False, markup=False, emoji=False)
    made.width = min(made.width, _WIDEST)
    return made
