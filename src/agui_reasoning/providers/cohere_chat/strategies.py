"""Hypothesis strategies for responses of Cohere's chat (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import Origin, Part, ReasoningPart, Segment, Turn
from agui_reasoning.providers.strategies import CLEAN, Draw, Strategy, call, text, turn

__all__ = ["cohere_turns"]


@st.composite
def cohere_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses in wire order: thinking and an answer, or thinking or a plan and calls."""
    calls = draw(st.lists(call(origin, "call"), max_size=3))
    thought = _plan(origin) | _thinking(origin) if calls else _thinking(origin)
    texts = [] if calls else draw(st.lists(text(origin), min_size=1, max_size=1))
    return turn(draw, origin, st.just([draw(thought), *texts, *calls]))


def _thinking(origin: Origin) -> Strategy[list[Part]]:
    return CLEAN.map(lambda text: [ReasoningPart((Segment("text", 0, text),), origin=origin)])


def _plan(origin: Origin) -> Strategy[list[Part]]:
    return CLEAN.map(
        lambda text: [ReasoningPart((Segment("text", 0, text),), origin=origin, ext={"field": "tool_plan"})]
    )
