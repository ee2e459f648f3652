"""Hypothesis strategies for responses of Ollama (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import Origin, Part, ReasoningPart, Segment, Turn
from agui_reasoning.providers.strategies import CLEAN, Draw, Strategy, call, text, turn

__all__ = ["ollama_turns"]


@st.composite
def ollama_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses in the normal form of a flat API: thinking, text, calls."""
    pieces = [
        draw(st.lists(one, min_size=low, max_size=high))
        for one, low, high in ((_thinking(origin), 1, 1), (text(origin), 0, 1), (call(origin, "call"), 0, 3))
    ]
    return turn(draw, origin, st.just([group for groups in pieces for group in groups]))


def _thinking(origin: Origin) -> Strategy[list[Part]]:
    return CLEAN.map(lambda text: [ReasoningPart((Segment("text", 0, text),), origin=origin)])
