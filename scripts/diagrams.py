"""Write the diagrams of the pages, and the table of a span's life, from what the code does.

``python scripts/diagrams.py`` writes them; `tests/docs/test_diagrams.py` compares them.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

sys.path.insert(0, str(Path(__file__).parent))  # also when the tests import this file

import svg

from agui_reasoning import Emitter, ModelStream, Run, reduce_events, restore, telemetry
from agui_reasoning.aio import run_agent, tool_loop
from agui_reasoning.consumer._verify import _NEXT, Phase
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import CloseDelta, Delta, OpaqueDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.emitter._span import NEXT, SpanState, sent_between
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.replay import load_script

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

BESIDE: Final = "text, while a unit with a key is open"
INPUTS: Final[dict[str, Callable[[], Delta]]] = {
    "reasoning": lambda: ReasoningDelta("Hm."),
    "signature": lambda: OpaqueDelta(Opaque("anthropic.signature", "c2ln")),
    "end of unit": CloseDelta,
    "text": lambda: TextDelta("Yes."),
    "tool call": lambda: ToolCallDelta("call_1", "search", "{}"),
    "reasoning with a key": lambda: ReasoningDelta("Hm.", key="a"),
    BESIDE: lambda: TextDelta("Yes."),
    "reasoning with another key": lambda: ReasoningDelta("Hm.", key="b"),
    "end of the unit with a key": lambda: CloseDelta(key="a"),
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
    ("reasoning with a key", BESIDE),
    ("reasoning with a key", BESIDE, "reasoning with a key"),
    ("reasoning with a key", BESIDE, "reasoning with another key"),
    ("reasoning with a key", BESIDE, "end of the unit with a key"),
)
"""Ways to each state; the last step of each is a row of the table."""


def steps() -> Iterator[tuple[SpanState, str, list[str], SpanState]]:
    """Yield, for each way, the state, what arrives, the events it causes and the next state."""
    for way in WAYS:
        emitter = Emitter(new_id=map(str, count()).__next__)
        span = emitter._writer._span
        before, events = span.state, list[str]()
        for name in way:
            before = span.state
            events = [event.type.value for event in emitter.receive(INPUTS[name]())]
        yield before, way[-1], events, span.state


def life_table() -> str:
    """Return the table of the page."""
    rows = [
        f"| {before.value} | {name} | {caused} | {after.value} |\n"
        for before, name, events, after in steps()
        for caused in [", ".join(f"`{kind}`" for kind in events) or "none"]
    ]
    return "| state | arrives | events | next state |\n|---|---|---|---|\n" + "".join(rows)


PLACES: Final[dict[SpanState, tuple[int, int, svg.Tone]]] = {
    SpanState.NONE: (8, 96, "plain"),
    SpanState.THINKING: (300, 96, "main"),
    SpanState.BETWEEN: (592, 96, "plain"),
    SpanState.ENDING: (300, 236, "plain"),
}
SPAN_PATHS: Final[dict[tuple[SpanState, SpanState], tuple[str, int, int, svg.Anchor]]] = {
    (SpanState.NONE, SpanState.THINKING): ("M128 124H298", 213, 100, "middle"),
    (SpanState.THINKING, SpanState.BETWEEN): ("M420 112H590", 505, 102, "middle"),
    (SpanState.BETWEEN, SpanState.THINKING): ("M592 138H422", 505, 156, "middle"),
    (SpanState.BETWEEN, SpanState.NONE): ("M652 96V48H68V94", 360, 24, "middle"),
    (SpanState.THINKING, SpanState.ENDING): ("M340 152V234", 332, 198, "end"),
    (SpanState.ENDING, SpanState.THINKING): ("M380 236V154", 388, 198, "start"),
    (SpanState.ENDING, SpanState.NONE): ("M300 264H68V154", 184, 240, "middle"),
}


def life() -> str:
    """Draw the states of a span, with what leads from one to the next and the event that the step sends."""
    elements: list[str] = []
    for (before, what), after in NEXT.items():
        if before is after:
            continue
        path, x, y, anchor = SPAN_PATHS[before, after]
        elements += [svg.arrow(path), svg.label(x, y, what.value, "title", anchor)]
        if (kind := sent_between(before, after)) is not None:
            elements.append(svg.label(x, y + 14, kind, "code", anchor))
    boxes = [svg.Box(x, y, 120, 56, state.value, (), tone) for state, (x, y, tone) in PLACES.items()]
    title = "The states of a span: no span, thinking, between units and ending, with the steps between them."
    return svg.document(720, 304, title, [*elements, *(box.draw() for box in boxes)])


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


# -- a trace

ASKED: Final = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "u1", "role": "user", "content": "Umbrella?"}],
}
TONES: Final[dict[str, svg.Tone]] = {"invoke_agent": "main", "chat": "warm", "execute_tool": "good"}
COUNTS: Final = ("input_tokens", "output_tokens", "reasoning.output_tokens")


async def recorded_run(tracers: TracerProvider) -> None:
    """Run an agent with a tool between the spans of a server and of HTTP clients, as their own would be."""
    others = tracers.get_tracer("others")
    scripts = iter(("anthropic-weather", "anthropic-weather-2"))

    async def turn(run: Run) -> AsyncGenerator[Any, None]:
        def ask() -> list[Any]:
            with others.start_as_current_span("POST /v1/messages"):
                return [event["data"] for event in load_script(next(scripts))["events"]]

        yield ModelStream(ask)

    async def get_forecast(**arguments: Any) -> str:
        with others.start_as_current_span("GET /forecast"):
            return "4 degrees, rain"

    origin = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
    with others.start_as_current_span("POST /agent"):
        async for _ in run_agent(ASKED, tool_loop(turn, {"get_forecast": get_forecast}), origin=origin):
            pass


def trace() -> str:
    """Draw the spans of a run, in the order in which they begin and end."""
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.instrument(tracer_provider=tracers)
    try:
        asyncio.run(recorded_run(tracers))
    finally:
        telemetry.uninstrument()
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    moments = sorted(time or 0 for span in spans for time in (span.start_time, span.end_time))
    places = {time: 16 + 688 * number / (len(moments) - 1) for number, time in enumerate(moments)}
    bars = [_bar(span, number, places) for number, span in enumerate(spans)]
    title = (
        "The spans of a run: the server's contains invoke_agent, which contains chat, execute_tool and chat "
        "again; requests of HTTP clients are below chat and execute_tool."
    )
    note = svg.label(704, 26 + 34 * len(spans), "time runs to the right, not to scale", anchor="end")
    return svg.document(720, 36 + 34 * len(spans), title, [*bars, note])


def _bar(span: ReadableSpan, number: int, places: dict[int, float]) -> str:
    left, right = (places[time or 0] for time in (span.start_time, span.end_time))
    top = 8 + 34 * number
    tone = TONES.get(span.name.partition(" ")[0], "plain")
    given = span.attributes or {}
    counts = [given.get(f"gen_ai.usage.{name}") for name in COUNTS]
    bar = (
        f'<rect class="box" x="{left:g}" y="{top}" width="{right - left:g}" height="28" rx="5" '
        f'fill="var(--{tone})"/>'
    )
    says = span.name if None in counts else "{} · {} in, {} out ({} reasoning)".format(span.name, *counts)
    fits = right - left > 6.8 * len(says)
    beside = right + 8 + 6.8 * len(says) < 712
    at, anchor = (left + 8, "start") if fits else (right + 6, "start") if beside else (left - 6, "end")
    return bar + svg.label(at, top + 18.5, says, "code", cast("svg.Anchor", anchor))


DIAGRAMS: Final = {
    "loop": loop,
    "life-of-a-span": life,
    "life-of-a-run": run,
    "trace": trace,
    "values": values,
}
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
