"""Hypothesis strategies for responses of Mistral's chat (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, Turn
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, text, turn

__all__ = ["mistral_turns"]


@st.composite
def mistral_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses in wire order: thinking, signed or unsigned, then text, then calls."""
    pieces = [
        draw(st.lists(one, min_size=low, max_size=high))
        for one, low, high in ((_thinking(origin), 1, 1), (text(origin), 0, 1), (call(origin, "call"), 0, 3))
    ]
    return turn(draw, origin, st.just([group for groups in pieces for group in groups]))


def _thinking(origin: Origin) -> Strategy[list[Part]]:
    segments = CLEAN.map(lambda text: (Segment("text", 0, text),))
    signature = st.just(()) | TOKENS.map(lambda token: (Opaque("mistral.signature", token),))
    return st.builds(ReasoningPart, segments, signature, origin=st.just(origin)).map(alone)
