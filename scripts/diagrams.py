"""Write the diagrams of the pages, and the table of a span's life, from what the code does.

``python scripts/diagrams.py`` writes them; `tests/docs/test_diagrams.py` compares them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))  # also when the tests import this file

import svg

from agui_reasoning import Emitter, reduce_events, restore
from agui_reasoning.consumer._verify import _NEXT, Phase
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import CloseDelta, Delta, OpaqueDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.parts import Opaque

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "assets" / "diagrams"
LIFE = ROOT / "docs" / "explanation" / "life-of-a-span.md"

# -- the loop


def loop() -> str:
    """Draw the way of reasoning from the provider to the front end and back."""
    boxes = [
        svg.Box(8, 48, 112, 192, "Provider", ("any API,", "any SDK"), "warm"),
        svg.Box(220, 60, 104, 56, "Deltas", ("one meaning",), "main"),
        svg.Box(396, 60, 104, 56, "Events", ("AG-UI 1.0",), "main"),
        svg.Box(600, 48, 112, 192, "Front end", ("any AG-UI client",), "good"),
        svg.Box(396, 172, 104, 56, "Messages", ("its history",), "main"),
        svg.Box(220, 172, 104, 56, "Turns", ("of parts",), "main"),
    ]
    steps = [
        ("M120 88H218", 165, 80, "decoder"),
        ("M324 88H394", 360, 80, "Run"),
        ("M500 88H598", 555, 80, "SSEEncoder"),
        ("M600 200H502", 555, 192, "next run"),
        ("M396 200H326", 360, 192, "restore"),
        ("M220 200H122", 165, 192, "build_request"),
    ]
    notes = [
        svg.frame(210, 30, 300, 228),
        svg.label(360, 22, "your server, with agui-reasoning", "small"),
        svg.label(360, 148, "signatures and IDs: byte for byte"),
    ]
    arrows = [part for path, x, y, name in steps for part in (svg.arrow(path), svg.label(x, y, name, "code"))]
    title = (
        "A provider's stream becomes deltas, AG-UI events and the front end's messages. "
        "The messages of the next run become turns of parts and the provider's next request."
    )
    return svg.document(720, 268, title, [*notes, *arrows, *(box.draw() for box in boxes)])


# -- the life of a span

INPUTS: Final[dict[str, Callable[[], Delta]]] = {
    "reasoning": lambda: ReasoningDelta("Hm."),
    "signature": lambda: OpaqueDelta(Opaque("anthropic.signature", "c2ln")),
    "end of unit": CloseDelta,
    "text": lambda: TextDelta("Yes."),
    "tool call": lambda: ToolCallDelta("call_1", "search", "{}"),
}
SPAN = {"REASONING_START": {"span"}, "REASONING_MESSAGE_START": {"message"}}
SPAN_ENDS = {"REASONING_END": {"span"}, "REASONING_MESSAGE_END": {"message"}}
STATES: Final = {
    frozenset[str](): "no span",
    frozenset({"span", "message"}): "thinking",
    frozenset({"span"}): "between units",
}
WAYS: Final = (
    ("reasoning",),
    ("reasoning", "reasoning"),
    ("reasoning", "signature"),
    ("reasoning", "end of unit"),
    ("reasoning", "text"),
    ("reasoning", "tool call"),
    ("reasoning", "end of unit", "reasoning"),
    ("reasoning", "end of unit", "text"),
    ("reasoning", "end of unit", "tool call"),
)
"""Ways to each state; the last step of each is a row of the table."""


def steps() -> Iterator[tuple[str, str, list[str], str]]:
    """Yield, for each way, the state, what arrives, the events it causes and the next state."""
    for way in WAYS:
        emitter = Emitter(new_id=map(str, count()).__next__)
        is_open, before, events = frozenset[str](), "", list[str]()
        for name in way:
            before = STATES[is_open]
            events = [event.type.value for event in emitter.receive(INPUTS[name]())]
            for kind in events:
                is_open = (is_open | SPAN.get(kind, set())) - SPAN_ENDS.get(kind, set())
        yield before, way[-1], events, STATES[is_open]


def life_table() -> str:
    """Return the table of the page."""
    rows = [
        f"| {before} | {name} | {', '.join(f'`{kind}`' for kind in events) or 'none'} | {after} |\n"
        for before, name, events, after in steps()
    ]
    return "| state | arrives | events | next state |\n|---|---|---|---|\n" + "".join(rows)


def reasoning_events() -> dict[tuple[str, str], list[str]]:
    """Return the reasoning events of each step."""
    return {
        (before, name): [kind for kind in events if kind.startswith("REASONING")]
        for before, name, events, _ in steps()
    }


def life() -> str:
    """Draw the states of a span, with the reasoning events of each step."""
    caused = reasoning_events()
    places = {"no span": (8, 96), "thinking": (300, 96), "between units": (592, 96)}
    boxes = [svg.Box(*places[state], 120, 56, state, (), tone) for state, tone in TONES.items()]

    def event_lines(x: float, y: float, before: str, name: str, anchor: svg.Anchor = "middle") -> list[str]:
        kinds = caused[before, name]
        both = name == "text" and caused[before, "tool call"] == kinds
        return [
            svg.label(x, y, "text or tool call" if both else name, "title", anchor),
            *(svg.label(x, y + 14 * n, kind, "code", anchor) for n, kind in enumerate(kinds, 1)),
        ]

    elements = [
        svg.arrow("M128 112H298"),
        *event_lines(213, 48, "no span", "reasoning"),
        svg.arrow("M300 138H130"),
        *event_lines(213, 160, "thinking", "text"),
        svg.arrow("M420 112H590"),
        *event_lines(505, 62, "thinking", "end of unit"),
        svg.arrow("M592 138H422"),
        *event_lines(505, 160, "between units", "reasoning"),
        svg.arrow("M652 152V250H68V154"),
        *event_lines(360, 272, "between units", "text"),
        svg.arrow("M336 96C336 52 384 52 384 94"),
        *event_lines(360, 20, "thinking", "reasoning"),
    ]
    title = "The states of a span: no span, thinking, and between units, with the events of each step."
    return svg.document(720, 300, title, [*elements, *(box.draw() for box in boxes)])


TONES: Final[Mapping[str, svg.Tone]] = {"no span": "plain", "thinking": "main", "between units": "plain"}

# -- the life of a run

PHASES: Final[dict[Phase, tuple[int, int, str, svg.Tone]]] = {
    Phase.NEW: (8, 90, "no run yet", "plain"),
    Phase.OPEN: (282, 90, "in a run", "main"),
    Phase.FINISHED: (556, 20, "finished", "good"),
    Phase.FAILED: (556, 160, "failed", "warm"),
}
RUN_PATHS: Final = {
    (Phase.NEW, Phase.OPEN): ("M164 118H280", 222, 110),
    (Phase.NEW, Phase.FAILED): ("M86 146V208H554", 300, 226),
    (Phase.OPEN, Phase.FINISHED): ("M438 104C500 104 500 40 554 40", 446, 36),
    (Phase.OPEN, Phase.FAILED): ("M438 136C480 136 480 196 554 196", 434, 178),
    (Phase.FINISHED, Phase.OPEN): ("M556 62C520 62 520 112 440 112", 536, 122),
    (Phase.FAILED, Phase.OPEN): ("M556 174C520 174 520 124 440 124", 0, 0),
    (Phase.FINISHED, Phase.FAILED): ("M634 76V158", 676, 121),
}


def run() -> str:
    """Draw the phases of a stream, as clients check them."""
    elements: list[str] = []
    for (before, kind), after in _NEXT.items():
        if before is after:
            continue
        path, x, y = RUN_PATHS[before, after]
        elements.append(svg.arrow(path))
        if x:
            elements.append(svg.label(x, y, kind, "code"))
    boxes = [svg.Box(x, y, 156, 56, name, (), tone).draw() for x, y, name, tone in PHASES.values()]
    title = "The phases of an event stream: before any run, in a run, finished and failed."
    return svg.document(720, 236, title, [*elements, *boxes])


# -- where a value travels

TEXT, SIGNATURE = "The customer is angry.", "U0lHTkVE"
SETTINGS: Final = (
    ("full", False, 'visibility="full"', "no keys"),
    ("full", True, 'visibility="full"', "keys"),
    ("summary", True, 'visibility="summary"', "keys"),
    ("hidden", True, 'visibility="hidden"', "keys"),
)
COLUMNS: Final = ((186, "the user sees"), (370, "the client stores"), (554, "the provider gets"))


def travels() -> Iterator[tuple[str, str, tuple[str, svg.Tone], tuple[str, svg.Tone], tuple[str, svg.Tone]]]:
    """Yield what happens to the text and the signature of a unit, for each setting."""
    for visibility, encrypted, first, second in SETTINGS:
        keys = KeyRing({"k": bytes(32)}) if encrypted else None
        emitter = Emitter(
            thread_id="t",
            visibility=visibility,
            keys=keys,
            summarize=lambda part: "Thought about a customer.",
        )
        deltas = (
            ReasoningDelta(TEXT),
            OpaqueDelta(Opaque("anthropic.signature", SIGNATURE)),
            TextDelta("Yes."),
        )
        events = [event for delta in deltas for event in emitter.receive(delta)] + emitter.close()
        messages = reduce_events(_framed(events))
        history = restore(messages, keys=keys, thread_id="t")
        [unit] = [part for turn in history.turns for part in turn.parts if part.opaque]
        wire = "".join(event.model_dump_json() for event in events)
        shown = "".join(message.content for message in messages if message.role == "reasoning")
        yield (
            *(first, second),
            ("the reasoning", "warm")
            if TEXT in shown
            else ("a summary", "main")
            if shown
            else ("“Thinking…”", "good"),
            ("readable values", "warm") if "anthropic.signature" in wire else ("ciphertext", "good"),
            ("text and signature", "main")
            if (unit.text, unit.opaque[0].value) == (TEXT, SIGNATURE)
            else ("nothing", "warm"),
        )


def values() -> str:
    """Draw the settings as rows: what the user sees, the client stores and the provider gets back."""
    elements = [svg.label(x + 79, 24, title, "title") for x, title in COLUMNS]
    for row, (first, second, *cells) in enumerate(travels()):
        y = 42 + 62 * row
        elements += [svg.rule(8, y - 4, 704), svg.label(8, y + 24, first, "code", "start")]
        elements.append(svg.label(8, y + 42, second, "small", "start"))
        elements += [
            svg.Box(x, y + 6, 158, 42, text, (), tone).draw()
            for (x, _), (text, tone) in zip(COLUMNS, cells, strict=True)
        ]
        elements += [svg.arrow(f"M{x + 158} {y + 27}h24") for x, _ in COLUMNS[:-1]]
    title = "For each visibility: what the user sees, what the client stores and what the provider gets back."
    return svg.document(720, 296, title, elements)


def _framed(events: list[object]) -> list[object]:
    ids = {"threadId": "t", "runId": "r"}
    return [{"type": "RUN_STARTED", **ids}, *events, {"type": "RUN_FINISHED", **ids}]


DIAGRAMS: Final = {"loop": loop, "life-of-a-span": life, "life-of-a-run": run, "values": values}
TABLE = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)


def page(source: str) -> str:
    """Return the page of a span's life with its table."""
    return TABLE.sub(lambda found: f"{found[1]}\n{life_table()}\n{found[2]}", source)


def main() -> None:
    """Write everything."""
    for name, draw in DIAGRAMS.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
    LIFE.write_text(page(LIFE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
