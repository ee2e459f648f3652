"""Generate deltas, and turns with any value on any part, whatever the origin."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

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


def _base64(value: Any) -> str:
    return b64encode(json.dumps(value).encode()).decode()


NATIVES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "anthropic-messages": (
        "anthropic.compaction",
        lambda value: {"type": "compaction", "content": json.dumps(value)},
    ),
    "openai-responses": (
        "openai.compaction",
        lambda value: {"type": "compaction", "encrypted_content": json.dumps(value)},
    ),
    "openai-chat": ("openrouter.server_tool_call", lambda value: value),
    "gemini": (
        "gemini.inlineData",
        lambda value: {"inlineData": {"mimeType": "image/png", "data": _base64(value)}},
    ),
    "gemini-interactions": (
        "gemini.image",
        lambda value: {"type": "image", "mime_type": "image/png", "data": _base64(value)},
    ),
}
"""A kind of block of each API, and a block of that kind with any value in it: plain values hold no others."""
RESULTS: dict[str | None, Callable[[str], Any]] = {
    "anthropic-messages": lambda call: {"type": "web_search_tool_result", "tool_use_id": call},
    "openai-responses": lambda call: {"type": "web_search_call", "id": call, "action": {"type": "search"}},
    "gemini": lambda call: {"codeExecutionResult": {"id": call}},
    "gemini-interactions": lambda call: {"type": "google_search_result", "call_id": call},
}
"""The block of a server tool's result, by API."""


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
        kind, block = NATIVES[origin.api or ""]
        choices.append(st.builds(NativePart, st.just(kind), json_values().map(block), st.just(origin)))
    parts = draw(st.lists(st.one_of(choices), max_size=6))
    return [part if part != "call" else _call(draw, number, origin) for number, part in enumerate(parts)]


def _call(draw: st.DrawFn, number: int, origin: Origin | None) -> Part:
    return ToolCallPart(
        f"call_{number}", "get", draw(clean_texts), draw(st.booleans()), (), "complete", origin, draw(exts)
    )


def _any_result(call: str) -> Any:
    return {"native": call}


def with_results(parts: list[Part]) -> list[Part]:
    """Answer every server call right behind it."""
    answered: list[Part] = []
    for number, part in enumerate(parts):
        answered.append(part)
        if isinstance(part, ToolCallPart) and part.server:
            error = ("It failed.", None, "")[number % 3]
            native = RESULTS.get(part.origin and part.origin.api, _any_result)(part.id)
            answered.append(ToolResultPart(part.id, "found", error, native, part.origin))
    return answered
