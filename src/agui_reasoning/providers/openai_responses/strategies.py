"""Hypothesis strategies for responses of OpenAI Responses (extra ``testing``)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from agui_reasoning.parts import NativePart, Opaque, Origin, Part, ReasoningPart, Segment, TextPart, Turn
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, ids, turn

__all__ = ["responses_turns"]


@st.composite
def responses_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses in which every reasoning unit has a follower, except at a truncated end."""
    choices = [_item(origin), _message(origin), _function_call(origin), _compaction(origin)]
    return turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


@st.composite
def _item(draw: Draw, origin: Origin) -> list[Part]:
    """Generate a reasoning item with any number of summary parts."""
    summary = draw(st.lists(CLEAN, max_size=3))
    segments = tuple(Segment("summary", index, text) for index, text in enumerate(summary))
    content = Opaque("openai.encrypted_content", draw(TOKENS))
    return [ReasoningPart(segments, (content,), draw(ids("rs")), origin=origin)]


def _message(origin: Origin) -> Strategy[list[Part]]:
    phases = st.sampled_from([{}, {"phase": "commentary"}, {"phase": "final_answer"}])
    ext = st.builds(lambda name, phase: {"id": name, **phase}, ids("msg"), phases)
    return st.builds(TextPart, CLEAN, origin=st.just(origin), ext=ext).map(alone)


def _function_call(origin: Origin) -> Strategy[list[Part]]:
    return st.builds(
        lambda parts, name: [replace(parts[0], ext={"id": name})], call(origin, "call"), ids("fc")
    )


def _compaction(origin: Origin) -> Strategy[list[Part]]:
    def build(name: str, token: str) -> list[Part]:
        payload = {"type": "compaction", "id": name, "encrypted_content": token}
        return [NativePart("openai.compaction", payload, origin)]

    return st.builds(build, ids("cmp"), TOKENS)
