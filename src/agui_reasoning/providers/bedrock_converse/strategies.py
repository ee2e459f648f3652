"""Hypothesis strategies for responses of Bedrock Converse (extra ``testing``)."""

from __future__ import annotations

from base64 import b64encode

from hypothesis import strategies as st

from agui_reasoning.parts import Opaque, Origin, Part, ReasoningPart, Segment, Turn
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, text, turn

__all__ = ["bedrock_turns"]


@st.composite
def bedrock_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses of signed and redacted thinking, text and calls."""
    choices = [_signed(origin), _redacted(origin), text(origin), call(origin, "tooluse")]
    return turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


def _signed(origin: Origin) -> Strategy[list[Part]]:
    """Generate a thinking block, possibly without text."""
    segments = (st.just("") | CLEAN).map(lambda text: (Segment("text", 0, text),) if text else ())
    signature = TOKENS.map(lambda token: (Opaque("anthropic.signature", token),))
    return st.builds(ReasoningPart, segments, signature, origin=st.just(origin)).map(alone)


def _redacted(origin: Origin) -> Strategy[list[Part]]:
    value = st.binary(min_size=3, max_size=12).map(
        lambda blob: Opaque("bedrock.redacted_content", b64encode(blob).decode("ascii"), "base64")
    )
    return value.map(lambda opaque: [ReasoningPart((), (opaque,), origin=origin)])
