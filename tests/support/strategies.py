"""Generate deltas, and turns with any value on any part, whatever the origin."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.testing.strategies import deltas, json_values, opaques, texts

delta_lists = deltas()

clean_texts = texts(clean=True)
exts = st.sampled_from([None, {"explicit_empty": True}, {"id": "msg_1", "phase": "commentary"}])
origins = st.sampled_from(
    [
        None,
        Origin("anthropic", "anthropic-messages", "claude"),
        Origin("openai", "openai-responses", "gpt"),
        Origin("google", "openai-chat", "gemini"),
        Origin("google", "gemini", "gemini-3-pro"),
        Origin("google", "gemini-interactions", "gemini-3-pro"),
        Origin("acme", "openai-chat", "x"),
    ]
)
NATIVE_KINDS = {
    "anthropic-messages": "anthropic.fallback",
    "openai-responses": "openai.compaction",
    "openai-chat": "openrouter.server_tool_call",
    "gemini": "gemini.inlineData",
    "gemini-interactions": "gemini.image",
}


@st.composite
def turns(draw: st.DrawFn) -> list[Part]:
    """The parts of one response, as a decoder could produce them."""
    origin = draw(origins)
    own = opaques().map(lambda opaque: Opaque(opaque.kind, opaque.value, opaque.encoding))
    distinct = st.lists(own, max_size=2, unique_by=lambda opaque: opaque.kind).map(tuple)
    segments = st.lists(
        st.builds(Segment, st.sampled_from(["text", "summary", "raw"]), st.integers(0, 2), clean_texts),
        max_size=3,
    ).map(tuple)
    reasoning = st.builds(
        ReasoningPart,
        segments,
        distinct,
        st.sampled_from([None, "rs_1"]),
        st.just("complete"),
        st.just(origin),
        exts,
    ).filter(
        lambda part: part.segments or part.opaque or part.item_id or "explicit_empty" in (part.ext or ())
    )
    text = st.builds(TextPart, clean_texts, distinct, st.just("complete"), st.just(origin), exts)
    choices = [reasoning, text, st.just("call")]
    if origin is not None:
        kind = NATIVE_KINDS[origin.api or ""]
        choices.append(st.builds(NativePart, st.just(kind), json_values(), st.just(origin)))
    parts = draw(st.lists(st.one_of(choices), max_size=6))
    return [part if part != "call" else _call(draw, number, origin) for number, part in enumerate(parts)]


def _call(draw: st.DrawFn, number: int, origin: Origin | None) -> Part:
    return ToolCallPart(
        f"call_{number}", "get", draw(clean_texts), draw(st.booleans()), (), "complete", origin, draw(exts)
    )


def with_results(parts: list[Part]) -> list[Part]:
    """Answer every server call right behind it."""
    answered: list[Part] = []
    for number, part in enumerate(parts):
        answered.append(part)
        if isinstance(part, ToolCallPart) and part.server:
            error = ("It failed.", None, "")[number % 3]
            answered.append(ToolResultPart(part.id, "found", error, {"native": part.id}, part.origin))
    return answered
