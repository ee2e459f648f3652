"""Generated deltas and parts: nasty text, few keys so that they collide, every delta."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
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

PIECES = ["", " ", "\n\n", "Hm", "yes. ", "\ud83d", "\ude00", "😀", "e\u0301", "\u2028", "<think>", "a" * 50]
texts = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
clean_texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
keys = st.sampled_from([None, "a", "b"])
call_ids = st.sampled_from(["", "c1", "c2", "c3"])
statuses = st.sampled_from(["complete", "incomplete"])
channels = st.sampled_from(["text", "summary", "raw"])
indexes = st.integers(0, 2)
exts = st.sampled_from([None, {"explicit_empty": True}, {"id": "msg_1", "phase": "commentary"}])
origins = st.sampled_from(
    [
        None,
        Origin("anthropic", "anthropic-messages", "claude"),
        Origin("openai", "openai-responses", "gpt"),
        Origin("google", "openai-chat", "gemini"),
        Origin("acme", "openai-chat", "x"),
    ]
)
NATIVE_KINDS = {
    "anthropic-messages": "anthropic.fallback",
    "openai-responses": "openai.compaction",
    "openai-chat": "openrouter.server_tool_call",
}
attaches = st.sampled_from(["self", "text", "tool_call:c1", "tool_call:c2", "tool_call:nowhere"])
opaques = st.builds(
    Opaque,
    st.sampled_from(["anthropic.signature", "openai.encrypted_content", "anthropic.redacted_thinking"]),
    st.sampled_from(["SIG", "gAAAA==", "\ud83d", ""]),
    st.sampled_from(["utf8", "base64"]),
    attaches,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab\u2028", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)

deltas: st.SearchStrategy[Delta] = st.one_of(
    st.builds(
        ReasoningDelta,
        texts,
        key=keys,
        channel=channels,
        index=indexes,
        item_id=st.sampled_from([None, None, "rs_1", "rs_2"]),
        ext=exts,
    ),
    st.builds(OpaqueDelta, opaques, key=keys, append=st.booleans()),
    st.builds(TextDelta, texts, key=keys, ext=exts),
    st.builds(ToolCallDelta, call_ids, st.sampled_from(["", "get"]), texts, server=st.booleans(), ext=exts),
    st.builds(ToolResultDelta, call_ids, texts, native=st.none() | json_values),
    st.builds(CloseDelta, key=st.sampled_from([None, "a", "b", "c1", "c2"]), status=statuses),
    st.builds(NativeDelta, st.just("openai.compaction"), json_values),
    st.builds(UsageDelta, input_tokens=st.none() | st.integers(0, 9), model=st.sampled_from([None, "m"])),
    st.builds(FinishDelta, st.sampled_from([None, "stop"])),
    st.builds(ResponseStart, origins, id=st.sampled_from([None, "resp_1"])),
)
delta_lists = st.lists(deltas, max_size=25)


@st.composite
def turns(draw: st.DrawFn) -> list[Part]:
    """The parts of one response, as a decoder could produce them."""
    origin = draw(origins)
    own = opaques.map(lambda opaque: Opaque(opaque.kind, opaque.value, opaque.encoding))
    distinct = st.lists(own, max_size=2, unique_by=lambda opaque: opaque.kind).map(tuple)
    segments = st.lists(st.builds(Segment, channels, indexes, clean_texts), max_size=3).map(tuple)
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
        choices.append(st.builds(NativePart, st.just(kind), json_values, st.just(origin)))
    parts = draw(st.lists(st.one_of(choices), max_size=6))
    return [part if part != "call" else _call(draw, number, origin) for number, part in enumerate(parts)]


def _call(draw: st.DrawFn, number: int, origin: Origin | None) -> Part:
    return ToolCallPart(
        f"call_{number}", "get", draw(clean_texts), draw(st.booleans()), (), "complete", origin, draw(exts)
    )


def with_results(parts: list[Part]) -> list[Part]:
    """Answer every server call right behind it."""
    answered: list[Part] = []
    for part in parts:
        answered.append(part)
        if isinstance(part, ToolCallPart) and part.server:
            answered.append(ToolResultPart(part.id, "found", {"native": part.id}, part.origin))
    return answered
