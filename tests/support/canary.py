"""Look for hidden text in any output: a window of 12 characters of it counts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import agui_reasoning
from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.run import RunSettings

WINDOW = 12
# Names and ids of the provider's tell nothing, and some of them are sent back openly.
NAMES = frozenset({"id", "type", "name", "status", "call_id", "tool_use_id", "item_id", "object"})


def windows(texts: Iterable[str]) -> set[str]:
    """Every window of some texts. Those of one character only, such as rulers and blanks, tell nothing."""
    found = (text[at : at + WINDOW] for text in texts for at in range(len(text) - WINDOW + 1))
    return {window for window in found if len(set(window)) > 1}


@cache
def is_own(window: str) -> bool:
    """Tell whether tracebacks and reprs say this by themselves: the library, its tests or Python wrote it."""
    return window in _own_text()


@cache
def _own_text() -> str:
    sources = Path(agui_reasoning.__file__).parent.rglob("*.py")
    texts = [
        path.read_text(encoding="utf-8") for path in [*sources, *Path(__file__).parents[1].rglob("*.py")]
    ]
    lines = [f"\n    {line.strip()}\n" for text in texts for line in text.splitlines()]  # as tracebacks quote
    settings = repr(RunSettings())  # the names of its members, which a run shows
    return "\0".join([*texts, *lines, settings, "Traceback (most recent call last):"])


def hidden(parts: Iterable[Part], visibility: str) -> list[str]:
    """What a client must not see of some parts."""
    return [text for part in parts for text in _hidden(part, visibility)]


def _hidden(part: Part, visibility: str) -> list[str]:
    if isinstance(part, ReasoningPart):
        return [s.text for s in part.segments if visibility == "hidden" or s.channel != "summary"]
    if isinstance(part, ToolCallPart) and part.server:
        return list(strings(json_or_text(part.arguments)))
    if isinstance(part, ToolResultPart):
        return [*strings(json_or_text(part.content)), *strings(part.native)]
    return list(strings(part.payload)) if isinstance(part, NativePart) else []


def shown(parts: Iterable[Part], visibility: str) -> list[str]:
    """What a client sees anyway: answers with their leftovers, calls, and names and ids of all sorts."""
    return [text for part in parts for text in _shown(part, visibility)]


def _shown(part: Part, visibility: str) -> list[str]:
    origin = part.origin
    texts = [part.tool_call_id] if isinstance(part, ToolResultPart) else []
    texts += [name for name in (origin.provider, origin.api, origin.model) if name] if origin else []
    if isinstance(part, TextPart):
        texts += [part.text, *strings(dict(part.ext or {}))]
    if isinstance(part, ToolCallPart):
        texts += [part.id, part.name]
        texts += [] if part.server else [part.arguments, *strings(json_or_text(part.arguments))]
    if isinstance(part, ReasoningPart) and visibility == "summary":
        texts += [segment.text for segment in part.segments if segment.channel == "summary"]
    return texts


def json_or_text(text: str) -> Any:
    """JSON as a value; text that is none as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def strings(value: Any) -> Iterable[str]:
    """Every string in a JSON value, but for names and ids."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in NAMES:
                yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


class Canary:
    """Knows what must not be seen, and looks at outputs."""

    def __init__(self, parts: list[Part], visibility: str) -> None:
        self._open = sorted(set(shown(parts, visibility)), key=len, reverse=True)
        escaped = [json.dumps(text, ensure_ascii=False) for text in self._open]
        self.secrets = windows(hidden(parts, visibility)) - windows([*self._open, *escaped])

    def look(self, what: str, output: str) -> None:
        """Fail when hidden text is in an output, as it is or escaped as JSON or ``repr`` do."""
        for text in {output, _unescaped(output)}:
            leaked = self._secrets_in(self._without_open(text))
            assert not leaked, f"{what} shows {len(leaked)} windows of hidden text, such as {min(leaked)!r}"

    def _secrets_in(self, text: str) -> set[str]:
        each = (text[at : at + WINDOW] for at in range(len(text) - WINDOW + 1)) if self.secrets else ()
        return {window for window in each if window in self.secrets and not is_own(window)}

    def _without_open(self, text: str) -> str:
        """Cut out what may be seen: a quotation mark before it and its beginning are no hidden text."""
        for passage in self._open:
            if len(passage) > 3:
                text = text.replace(passage, "\0")
        return text


def _unescaped(text: str) -> str:
    """Text with the escapes of JSON and of ``repr`` undone, as far as it has any."""
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
