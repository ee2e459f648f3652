"""Hypothesis strategies for responses of xAI's gRPC chat (extra ``testing``)."""

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

__all__ = ["xai_turns"]

_SEARCH = "TOOL_CALL_TYPE_WEB_SEARCH_TOOL"


@st.composite
def xai_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses of reasoning, text, calls and searches."""
    choices = [_thought(origin), text(origin), call(origin, "call"), _search(origin)]
    return turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))


def _thought(origin: Origin) -> Strategy[list[Part]]:
    """Generate reasoning with text, ciphertext, or both."""

    def build(reasoning: str, token: str) -> list[Part]:
        segments = (Segment("text", 0, reasoning),) if reasoning else ()
        opaque = (Opaque("xai.encrypted_content", token),) if token or not reasoning else ()
        return alone(ReasoningPart(segments, opaque, origin=origin))

    pairs = st.tuples(CLEAN, st.just("") | TOKENS) | st.tuples(st.just(""), TOKENS)
    return pairs.map(lambda pair: build(*pair))


def _search(origin: Origin) -> Strategy[list[Part]]:
    """Generate a search that the provider runs, and its encrypted result."""

    def build(number: int, token: str) -> list[Part]:
        name, arguments, call_id = "web_search", '{"query":"x"}', f"call_search_{number:08d}"
        call = {
            "id": call_id,
            "type": _SEARCH,
            "status": "TOOL_CALL_STATUS_COMPLETED",
            "function": {"name": name, "arguments": arguments},
        }
        message = {"role": "ROLE_TOOL", "tool_calls": [call], "encrypted_content": token}
        made = ToolCallPart(call_id, name, arguments, True, origin=origin, ext={"type": _SEARCH})
        return [made, ToolResultPart(call_id, "", native=message, origin=origin)]

    return st.builds(build, st.integers(0, 10**8), TOKENS)
