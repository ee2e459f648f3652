"""Hypothesis strategies for responses of Chat Completions (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import Origin, Part, ReasoningPart, Segment, Turn
from agui_reasoning.providers.strategies import CLEAN, Draw, Strategy, call, text, turn

__all__ = ["chat_turns"]


@st.composite
def chat_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses in the normal form of a flat API: reasoning, text, calls."""
    reasoning = _field(origin) if origin.provider != "google" else call(origin, "call", signed=True)
    pieces = [
        draw(st.lists(one, min_size=low, max_size=high))
        for one, low, high in (
            (reasoning, 1, 1),
            (text(origin), 0, 1),
            (call(origin, "call"), 0, 3),
        )
    ]
    return turn(draw, origin, st.just([group for groups in pieces for group in groups]))


def _field(origin: Origin) -> Strategy[list[Part]]:
    return CLEAN.map(
        lambda text: [
            ReasoningPart((Segment("text", 0, text),), origin=origin, ext={"field": "reasoning_content"})
        ]
    )
