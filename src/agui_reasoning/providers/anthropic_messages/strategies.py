"""Hypothesis strategies for responses of Anthropic Messages (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import (
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, text, turn

__all__ = ["anthropic_turns"]


@st.composite
def anthropic_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses of thinking, redacted thinking, text, calls and searches."""
    choices = [_signed(origin), _redacted(origin), text(origin), call(origin, "toolu"), _search(origin)]
    return turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


def _signed(origin: Origin) -> Strategy[list[Part]]:
    """Generate a thinking block, possibly without text."""
    segments = (st.just("") | CLEAN).map(lambda text: (Segment("text", 0, text),) if text else ())
    signature = TOKENS.map(lambda token: (Opaque("anthropic.signature", token),))
    return st.builds(ReasoningPart, segments, signature, origin=st.just(origin)).map(alone)


def _redacted(origin: Origin) -> Strategy[list[Part]]:
    return TOKENS.map(
        lambda token: [ReasoningPart((), (Opaque("anthropic.redacted_thinking", token),), origin=origin)]
    )


def _search(origin: Origin) -> Strategy[list[Part]]:
    """Generate a search that the provider runs, with its results."""

    def build(token: str) -> list[Part]:
        call = ToolCallPart(f"srvtoolu_{token[:-2]}", "web_search", '{"query":"x"}', True, origin=origin)
        block = {"type": "web_search_tool_result", "tool_use_id": call.id, "content": []}
        return [call, ToolResultPart(call.id, "", native=block, origin=origin)]

    return st.text("abcdef", min_size=6, max_size=6).map(lambda text: build(f"{text}=="))
