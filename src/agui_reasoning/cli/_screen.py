"""Displays playbacks on a terminal: the conversation, its events, and the request to the provider.

The conversation is derived from the AG-UI events, as in a front end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import Event
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from agui_reasoning.providers import provider_api
from agui_reasoning.replay import Check

if TYPE_CHECKING:
    from agui_reasoning.cli._demo import Playback

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


def conversation(playback: Playback) -> list[ScreenBlock]:
    """Return the blocks of a conversation, including the front end's input before each run.

    The demo has no interleaved messages.
    """
    found: list[ScreenBlock] = []
    event: Any
    for (kind, words), run in zip(playback.inputs, playback.runs, strict=False):
        found.append(ScreenBlock(kind, [words]))
        for event in run:
            if (start := _STARTS.get(event.type.value)) is not None:
                label, pieces = start
                found.append(ScreenBlock(label, pieces(event)))
            elif event.type.value in _DELTAS:
                found[-1].pieces.append(event.delta)
    return found


def _first_question(shown: Sequence[ScreenBlock]) -> Sequence[ScreenBlock]:
    """Return the blocks before the second question."""
    questions = [number for number, block in enumerate(shown) if block.kind == "you"]
    return shown[: questions[1]] if len(questions) > 1 else shown


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
    rows: list[Row] = []
    depth = 0
    for _, numbered in groupby(enumerate(events), _row_of):
        group = [event for _, event in numbered]
        kind = group[0].type.value
        depth -= kind.endswith(("_END", "_FINISHED"))
        what = _ABOUT[kind](group) if kind in _ABOUT else ""
        rows.append(Row(kind, short(_entity(group[0])), what, depth))
        depth += kind.endswith(("_START", "_STARTED"))
    return rows


def _row_of(numbered: tuple[int, Any]) -> object:
    """Return a value that is the same for the events of one row."""
    number, event = numbered
    return (event.type, _entity(event)) if event.type.value in _DELTAS else number


def _entity(event: Any) -> str:
    names = ("entity_id", "tool_call_id", "message_id", "run_id")
    return next((value for name in names if (value := getattr(event, name, None))), "")


def short(identifier: str) -> str:
    """Shorten an ID in the middle, so that IDs with the same prefix stay distinct."""
    return identifier if len(identifier) <= 11 else f"{identifier[:6]}…{identifier[-4:]}"


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
    """Writes to a console, streaming only on terminals, with a pause after each streamed piece."""

    def __init__(self, console: Console, pause: Callable[[], None]) -> None:
        self._console = console
        self._pause = pause
        self._streams = console.is_terminal and not console.is_dumb_terminal

    def intro(self) -> None:
        self._line(("agui-reasoning", "bold magenta"), ("  two turns, any provider, one protocol", "bold"))
        self._line(("front end ⇄ gateway ⇄ scripted provider, on this machine: no key, no network.", "dim"))

    def play(self, playback: Playback, *, list_events: bool = True) -> None:
        """Show one conversation, with a list of its events or only their number."""
        self._title(playback)
        for block in conversation(playback):
            self._show(block)
        if playback.failure is not None:
            self._line((f"{'failed':>9}  ", "bold red"), (playback.failure, ""))
        self._line()
        self._line(
            (f"As {len(playback.events)} AG-UI events in {len(playback.runs)} runs", "bold"),
            ("  adjacent deltas are joined" if list_events else "", "dim"),
        )
        if list_events:
            self._line(("A tool's result starts a run of its own.", "dim"))
        for row in event_rows(playback.events) if list_events else ():
            kind = f"{'  ' * row.depth}{row.type}"
            color = _TYPE_COLORS[row.type.partition("_")[0]]
            self._line((f"  {kind:<32}", color), (f"{row.id:<13}", ""), (row.what, "dim"))
        self._show_request(playback)

    def glance(self, playback: Playback, *, first: bool) -> None:
        """Show a line about the last request of a conversation; of the first one, also its first question."""
        if first:
            self._title(playback)
            for block in _first_question(conversation(playback)):
                self._show(block)
            self._line()
            self._line(("Values of each provider that the next request brings back unchanged:", "bold"))
        if playback.failure is not None:
            self._line((f"{'failed':>9}  ", "bold red"), (playback.failure, ""))
        good = sum(check.unchanged for check in playback.checks)
        kinds = ", ".join(dict.fromkeys(check.kind for check in playback.checks))
        self._line(
            (f"  {provider_api(playback.api).title:<24}", ""),
            (f"{f'{good} of {len(playback.checks)}':<10}", "green" if playback.ok else "bold red"),
            (kinds, "dim"),
        )
        if not playback.ok:
            self._show_request(playback)

    def outro(self, playbacks: Sequence[Playback], *, verbose: bool = True) -> None:
        """Print the summary, and what to try next."""
        checks = [check for playback in playbacks for check in playback.checks]
        good = sum(check.unchanged for check in checks)
        fine = all(playback.ok for playback in playbacks)
        self._console.print(Rule(style="dim"))
        self._line((_returned(good, len(checks)), "bold green" if fine else "bold red"))
        for failed in (playback for playback in playbacks if playback.failure is not None):
            self._line((f"A run of {failed.name} failed.", "bold red"))
        if not verbose:
            self._line(("Events and requests:   ", "dim"), (" agui-reasoning demo --verbose", ""))
        self._line(("The complete requests: ", "dim"), (" agui-reasoning demo --json", ""))
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
        lines = body.wrap(self._console, max(20, self._console.width - _INDENT))
        whole = Text()
        for number, line in enumerate(lines):
            line.rstrip()
            whole.append("\n" if number else "").append(" " * _INDENT if number and line else "")
            whole.append_text(line)
        return Text.assemble((f"{kind:>9}  ", label), whole)

    def _show_request(self, playback: Playback) -> None:
        """Print the last request with a verdict for each value of the provider, and the missing ones."""
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
    return f"{good} of {of} values came back byte for byte."


# -- JSON: short values on one line, long strings shortened, selected values marked

_STEP: Final = "  "
_HEAD: Final = 10
_TAIL: Final = 6
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of JSON.

    Attributes:
        text: The text; shortened strings contain an ellipsis.
        size: The full size of a shortened string, such as ``"296 bytes"``.
        path: The JSON pointer of the value if it is marked, else empty.
    """

    text: str
    size: str = ""
    path: str = ""


def marked_lines(value: Any, width: int, marked: Collection[str] = (), *, mark: int = 0) -> list[Line]:
    """Format a JSON value as lines that are at most ``width`` wide.

    Each value whose JSON pointer is in ``marked`` gets a line of its own, with room for a mark.

    Examples:
        >>> for line in marked_lines({"a": [1, 2], "b": "x" * 50, "c": {"d": "y"}}, 40, ["/c/d"]):
        ...     print(line.text, line.size, line.path)  # doctest: +NORMALIZE_WHITESPACE
        {
          "a": [1, 2],
          "b": "xxxxxxxxxx…xxxxxx", 50 bytes
          "c": {
            "d": "y" /c/d
          }
        }
    """
    return list(_LineWriter(width, frozenset(marked), mark).value(value, "", "", "", ""))


@dataclass(frozen=True, slots=True)
class _LineWriter:
    """Writes values recursively; ``key`` precedes a value on its line, ``end`` follows it."""

    width: int
    marked: frozenset[str]
    mark: int

    def value(self, value: Any, indent: str, key: str, path: str, end: str) -> Iterator[Line]:
        marked_path = path if path in self.marked else ""
        room = self.width - (self.mark if marked_path else 0)
        whole = f"{indent}{key}{_dump(value)}{end}"
        if isinstance(value, dict | list) and value and (self._holds_mark(path) or len(whole) > room):
            yield from self._container(value, indent, key, path, end)
        elif isinstance(value, str) and len(whole) > room:
            yield _cut(value, f"{indent}{key}", end, room, marked_path)
        else:
            yield Line(whole, path=marked_path)

    def _container(self, value: Any, indent: str, key: str, path: str, end: str) -> Iterator[Line]:
        named = isinstance(value, dict)
        opening, closing = "{}" if named else "[]"
        yield Line(f"{indent}{key}{opening}")
        members = list(value.items() if named else enumerate(value))
        for number, (name, member) in enumerate(members, 1):
            member_key = f"{_dump(name)}: " if named else ""
            comma = "," if number < len(members) else ""
            yield from self.value(member, indent + _STEP, member_key, f"{path}/{_escaped(name)}", comma)
        yield Line(f"{indent}{closing}{end}")

    def _holds_mark(self, path: str) -> bool:
        return any(pointer.startswith(f"{path}/") for pointer in self.marked)


def _cut(value: str, before: str, end: str, room: int, path: str) -> Line:
    """Shorten prose at its end, and other strings in the middle so that both ends can be compared."""
    size = f"{len(value.encode(errors='replace'))} bytes"
    if " " in value:
        left = room - len(f'{before}""{_ELLIPSIS}{end}  {size}')
        shortened = f"{value[: max(_HEAD, left)].rstrip()}{_ELLIPSIS}"
        while len(_dump(shortened)) - 3 > max(_HEAD, left):  # escape sequences are longer than one character
            shortened = f"{shortened[:-2]}{_ELLIPSIS}"
    else:
        shortened = f"{value[:_HEAD]}{_ELLIPSIS}{value[-_TAIL:]}"
    return Line(f"{before}{_dump(shortened)}{end}", size, path)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escaped(name: str | int) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
