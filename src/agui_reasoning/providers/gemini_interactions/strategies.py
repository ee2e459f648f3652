"""Hypothesis strategies for responses of Gemini Interactions (extra ``testing``)."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers.gemini_interactions.decode import SIGNATURE
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, text, turn

__all__ = ["interactions_turns"]


@st.composite
def interactions_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses of thoughts, text, calls, searches and images."""
    choices = [_thought(origin), text(origin), call(origin, "fc"), _search(origin), _image(origin)]
    return turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


def _thought(origin: Origin) -> Strategy[list[Part]]:
    """Generate a signed thought with any number of summary entries."""

    def build(texts: list[str], token: str) -> Part:
        segments = tuple(Segment("summary", index, text) for index, text in enumerate(texts))
        return ReasoningPart(segments, (Opaque(SIGNATURE, token, "base64"),), origin=origin)

    return st.builds(build, st.lists(CLEAN, max_size=2), TOKENS).map(alone)


def _search(origin: Origin) -> Strategy[list[Part]]:
    """Generate a search that the provider runs, and its result."""

    def build(token: str) -> list[Part]:
        name = f"search_{token[:-2]}"
        opaque = (Opaque(SIGNATURE, token, "base64", f"tool_call:{name}"),)
        ext = {"type": "google_search_call"}
        search = ToolCallPart(
            name, "google_search", '{"queries":["x"]}', True, opaque, origin=origin, ext=ext
        )
        step = {"type": "google_search_result", "call_id": name, "result": [], "signature": token}
        return [search, ToolResultPart(name, "[]", native=step, origin=origin)]

    return TOKENS.map(build)


def _image(origin: Origin) -> Strategy[list[Part]]:
    content = {"type": "image", "mime_type": "image/png", "data": "eA=="}
    return st.just(NativePart(f"gemini.{content['type']}", content, origin)).map(alone)
