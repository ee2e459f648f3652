"""Hypothesis strategies for responses of LiteLLM (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, Turn
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, text, turn

__all__ = ["litellm_turns"]


@st.composite
def litellm_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses in the normal form of a flat API: blocks or a string of reasoning, text, calls."""
    blocks = st.lists(_signed(origin) | _redacted(origin), min_size=1, max_size=3)
    pieces = [
        draw(blocks | _field(origin).map(lambda part: [part])),
        draw(st.lists(text(origin), max_size=1)),
        draw(st.lists(call(origin, "call"), max_size=3)),
    ]
    return turn(draw, origin, st.just([group for groups in pieces for group in groups]))


def _signed(origin: Origin) -> Strategy[list[Part]]:
    """Generate a signed block of thinking, with or without text."""

    def build(reasoning: str, token: str) -> list[Part]:
        segments = (Segment("text", 0, reasoning),) if reasoning else ()
        return alone(ReasoningPart(segments, (Opaque("anthropic.signature", token),), origin=origin))

    return st.builds(build, st.just("") | CLEAN, TOKENS)


def _redacted(origin: Origin) -> Strategy[list[Part]]:
    return TOKENS.map(
        lambda token: [ReasoningPart((), (Opaque("anthropic.redacted_thinking", token),), origin=origin)]
    )


def _field(origin: Origin) -> Strategy[list[Part]]:
    return CLEAN.map(
        lambda reasoning: [
            ReasoningPart((Segment("text", 0, reasoning),), origin=origin, ext={"field": "reasoning_content"})
        ]
    )
