"""Displays playbacks on a terminal: the conversation, its events, and the request to the provider.

The conversation is derived from the AG-UI events, as in a front end.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Event
from rich.console import Console, ConsoleOptions
from rich.highlighter import JSONHighlighter
from rich.live import Live
from rich.rule import Rule
from rich.segment import Segment
from rich.text import Text

from agui_reasoning._demo.marked_json import Line, marked_lines
from agui_reasoning._demo.playback import Check, Playback
from agui_reasoning._escaping import Escaper
from agui_reasoning.providers import provider_api

__all__ = [
    "Row",
    "Screen",
    "ScreenBlock",
    "blocks",
    "conversation",
    "event_rows",
    "short",
    "stderr_console",
    "stdout_console",
]

_WIDEST = 100
_INDENT = 11
"""The column where the text of a block starts, after its label."""


# -- the conversation


@dataclass(slots=True)
class ScreenBlock:
    """A streamed block of the conversation: its kind, and its pieces."""

    kind: str
    pieces: list[str] = field(default_factory=list)


_STARTS: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
    "REASONING_MESSAGE_START": ("thinking", lambda event: []),
    "TEXT_MESSAGE_START": ("answer", lambda event: []),
    "TOOL_CALL_START": ("tool call", lambda event: [f"{event.tool_call_name} "]),
}
_DELTAS = frozenset({"REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"})


def blocks(events: Iterable[Any]) -> list[ScreenBlock]:
    """Return the blocks of a run in order; the demo has no interleaved messages."""
    found: list[ScreenBlock] = []
    for event in events:
        kind = event.type.value
        if kind in _STARTS:
            label, pieces = _STARTS[kind]
            found.append(ScreenBlock(label, pieces(event)))
        elif kind in _DELTAS:
            found[-1].pieces.append(event.delta)
    return found


def conversation(playback: Playback) -> list[ScreenBlock]:
    """Return the blocks of a conversation, including the front end's input before each run."""
    found: list[ScreenBlock] = []
    for (kind, words), run in zip(playback.inputs, playback.runs, strict=False):
        found += [ScreenBlock(kind, [words]), *blocks(run)]
    return found


# -- the events


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the event list: one event, or adjacent deltas of one message."""

    type: str
    id: str
    what: str
    depth: int


def event_rows(events: Iterable[Event]) -> list[Row]:
    """Return the events as rows, indented by nesting."""
    marked_lines: list[Row] = []
    depth = 0
    for group in _grouped(events):
        kind = group[0].type.value
        depth -= kind.endswith(("_END", "_FINISHED"))
        marked_lines.append(Row(kind, short(_entity(group[0])), _ABOUT.get(kind, _nothing)(group), depth))
        depth += kind.endswith(("_START", "_STARTED"))
    return marked_lines


def _grouped(events: Iterable[Event]) -> Iterator[list[Any]]:
    group: list[Any] = []
    for event in events:
        if group and not (event.type.value in _DELTAS and _same_message(group[-1], event)):
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _same_message(before: Event, event: Event) -> bool:
    return before.type == event.type and _entity(before) == _entity(event)


def _entity(event: Any) -> str:
    names = ("entity_id", "tool_call_id", "message_id", "run_id")
    return next((value for name in names if (value := getattr(event, name, None))), "")


def short(identifier: str) -> str:
    """Shorten an ID in the middle, so that IDs with the same prefix stay distinct."""
    return identifier if len(identifier) <= 11 else f"{identifier[:6]}…{identifier[-4:]}"


def _nothing(group: Sequence[Any]) -> str:
    return ""


def _about_deltas(group: Sequence[Any]) -> str:
    text = "".join(event.delta for event in group)
    return f"{len(group)}x {' '.join(text.split())}"


def _about_end(group: Sequence[Any]) -> str:
    pending = getattr(group[0].outcome, "pending_tool_call_ids", None) or ()
    counts = ((use.input_tokens, use.output_tokens, use.reasoning_tokens) for use in group[0].usage or ())
    usage = [f"{given} in, {taken} out, {thought} thinking" for given, taken, thought in counts]
    return "; ".join([*(f"pending: {short(call_id)}" for call_id in pending), *usage])


_ABOUT: dict[str, Callable[[Sequence[Any]], str]] = {
    **dict.fromkeys(_DELTAS, _about_deltas),
    "RUN_STARTED": lambda group: f"protocol {group[0].protocol_version}",
    "RUN_FINISHED": _about_end,
    "REASONING_ENCRYPTED_VALUE": lambda group: f"{len(group[0].encrypted_value)} characters",
    "TOOL_CALL_START": lambda group: group[0].tool_call_name,
}


# -- formatting

_TYPE_COLORS = {"RUN": "blue", "REASONING": "magenta", "TEXT": "green", "TOOL": "yellow"}
_BLOCK_STYLES = {
    "you": ("bold", "bold"),
    "thinking": ("magenta", "dim italic"),
    "tool call": ("yellow", ""),
    "result": ("yellow", ""),
    "answer": ("green", ""),
}
_UNCHANGED = "returned unchanged"
_CHANGED = "NOT WHAT WAS SENT"
_MISSING = "NOT RETURNED"
_JSON = JSONHighlighter()
_NO_TEXT = "(no text: the provider sent this thinking as an opaque value only)"


class Screen:
    """Writes to a console, streaming only on terminals."""

    def __init__(self, console: Console, pause: Callable[[], None]) -> None:
        """Create a screen.

        Args:
            console: The console to write to.
            pause: Called after each streamed piece.
        """
        self._console = console
        self._pause = pause
        self._streams = console.is_terminal and not console.is_dumb_terminal

    def intro(self) -> None:
        """Print the introduction."""
        self._line(("agui-reasoning", "bold magenta"), ("  two turns, any provider, one protocol", "bold"))
        self._line(("front end ⇄ gateway ⇄ scripted provider, on this machine: no key, no network.", "dim"))

    def play(self, playback: Playback, *, list_events: bool = True) -> None:
        """Show one conversation.

        Args:
            playback: The conversation.
            list_events: List the events instead of only counting them.
        """
        self._title(playback)
        for block in conversation(playback):
            self._show(block)
        if playback.failure is not None:
            self._line((f"{'failed':>9}  ", "bold red"), (playback.failure, ""))
        self._count_events(playback.runs, listed=list_events)
        if list_events:
            self._list_events(playback.events)
        self._show_request(playback)

    def outro(self, playbacks: Sequence[Playback]) -> None:
        """Print the summary."""
        checks = [check for playback in playbacks for check in playback.checks]
        good = sum(check.unchanged for check in checks)
        fine = all(playback.ok for playback in playbacks)
        self._console.print(Rule(style="dim"))
        self._line((_returned(good, len(checks)), "bold green" if fine else "bold red"))
        for failed in (playback for playback in playbacks if playback.failure is not None):
            self._line((f"A run of {failed.name} failed.", "bold red"))
        self._line(("The complete requests: ", "dim"), ("agui-reasoning demo --json", ""))
        self._line(
            ("See it in a browser:   ", "dim"), (" make web", ""), (" or agui-reasoning demo --web", "dim")
        )
        self._line(("Try your own front end:", "dim"), (" agui-reasoning serve", ""))
        self._line(("Try your own agent:    ", "dim"), (" examples/fastapi_anthropic.py", ""))

    def _line(self, *pieces: tuple[str, str]) -> None:
        text = Text.assemble(*pieces)
        text.rstrip()
        self._console.print(text, no_wrap=True, overflow="ellipsis")

    def _title(self, playback: Playback) -> None:
        name = provider_api(playback.api).title
        title = Text.assemble((name, "bold"), (f"  {playback.provider} · {playback.model}", "dim"))
        self._console.print()
        self._console.print(Rule(title, align="left", style="dim"))

    def _show(self, block: ScreenBlock) -> None:
        if not self._streams:
            self._console.print(self._block(block.kind, "".join(block.pieces) or _NO_TEXT))
            return
        text = ""
        with Live(console=self._console, auto_refresh=False) as live:
            for piece in block.pieces or [_NO_TEXT]:
                text += piece
                live.update(self._block(block.kind, text), refresh=True)
                self._pause()

    def _block(self, kind: str, text: str) -> Text:
        label, style = _BLOCK_STYLES[kind]
        body = Text(text, style, overflow="fold")
        body.highlight_regex(r"\*\*.+?\*\*", "bold")
        marked_lines = body.wrap(self._console, max(20, self._console.width - _INDENT))
        whole = Text()
        for number, line in enumerate(marked_lines):
            line.rstrip()
            whole.append("\n" if number else "").append(" " * _INDENT if number and line else "")
            whole.append_text(line)
        return Text.assemble((f"{kind:>9}  ", label), whole)

    def _count_events(self, runs: Sequence[Sequence[Event]], *, listed: bool) -> None:
        self._line()
        self._line(
            (f"As {sum(map(len, runs))} AG-UI events in {len(runs)} runs", "bold"),
            ("  adjacent deltas are joined" if listed else "", "dim"),
        )
        if listed:
            self._line(("A tool's result starts a run of its own.", "dim"))

    def _list_events(self, events: Sequence[Event]) -> None:
        for row in event_rows(events):
            kind = f"{'  ' * row.depth}{row.type}"
            color = _TYPE_COLORS[row.type.partition("_")[0]]
            self._line((f"  {kind:<32}", color), (f"{row.id:<13}", ""), (row.what, "dim"))

    def _show_request(self, playback: Playback) -> None:
        """Print the last request with a verdict for each artifact, and the missing artifacts."""
        if not playback.requests:
            return
        self._line()
        self._line(
            (f"Request {len(playback.requests)}, as it reached the provider", "bold"),
            ("  long values are shortened", "dim"),
        )
        verdicts = {check.path: check for check in playback.checks if check.path is not None}
        for line in marked_lines(
            playback.requests[-1], self._console.width, verdicts, mark=len(_UNCHANGED) + 2
        ):
            self._console.print(
                self._marked(line, verdicts.get(line.path)), no_wrap=True, overflow="ellipsis"
            )
        for check in playback.checks:
            if check.path is None:
                self._line((f"{_MISSING}: {check.kind}", "bold red"), (f"  {check.bytes} bytes", "dim"))
        good = sum(check.unchanged for check in playback.checks)
        self._line(
            (_returned(good, len(playback.checks)), "green" if good == len(playback.checks) else "bold red")
        )

    def _marked(self, line: Line, check: Check | None) -> Text:
        text = _JSON(line.text)
        text.append(f"  {line.size}" if line.size else "")
        if check is None:
            text.stylize("dim")
            return text
        verdict, style = (_UNCHANGED, "bold green") if check.unchanged else (_CHANGED, "bold red")
        gap = self._console.width - text.cell_len - len(verdict)
        # On a narrow terminal the verdict goes on the next line.
        text.append(" " * gap if gap > 1 else f"\n{' ' * (self._console.width - len(verdict))}")
        return text.append(verdict, style)


def _returned(good: int, of: int) -> str:
    return f"{good} of {of} artifacts came back byte for byte."


class _EscapingConsole(Console):
    """A console that escapes all text, and so sends no control characters but its own."""

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render a renderable, with its text escaped."""
        escaper = Escaper()
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaper.feed(segment.text))


def stdout_console() -> Console:
    """Return a console for standard output; see `_console`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return _console(stderr=False)


def stderr_console() -> Console:
    """Return a console for standard error; see `_console`."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """Return a console with colors on terminals, and elsewhere if FORCE_COLOR is set; NO_COLOR wins."""
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
