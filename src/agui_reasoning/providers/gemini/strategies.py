"""Hypothesis strategies for responses of Gemini's ``generateContent`` (extra ``testing``)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers.gemini.parts import SIGNATURE
from agui_reasoning.providers.strategies import CLEAN, TOKENS, Draw, Strategy, alone, call, turn

__all__ = ["gemini_turns"]


@st.composite
def gemini_turns(draw: Draw, origin: Origin) -> Turn:
    """Generate responses of thoughts, text with and without signatures, calls, code and images."""
    choices = [_thought(origin), _text(origin), _calls(origin), _code(origin), _image(origin)]
    made = turn(draw, origin, st.lists(st.one_of(choices), min_size=1, max_size=5))
    return replace(made, parts=_joined(made.parts))


def _joined(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Let texts without a signature take in what continues them, as the decoder does."""
    joined: list[Part] = []
    for part in parts:
        before = joined[-1] if joined else None
        if isinstance(part, TextPart) and isinstance(before, TextPart) and not before.opaque:
            joined[-1] = replace(before, text=before.text + part.text, opaque=part.opaque)
        else:
            joined.append(part)
    return tuple(joined)


def _signed(token: str, attach: str) -> tuple[Opaque, ...]:
    return (Opaque(SIGNATURE, token, "base64", attach),)


def _thought(origin: Origin) -> Strategy[list[Part]]:
    return CLEAN.map(lambda text: [ReasoningPart((Segment("text", 0, text),), origin=origin)])


def _text(origin: Origin) -> Strategy[list[Part]]:
    """Generate a text, signed or unsigned, or only a signature."""
    plain = CLEAN.map(lambda text: TextPart(text, origin=origin))
    signed = st.builds(
        lambda text, token: TextPart(text, _signed(token, "text"), origin=origin), CLEAN, TOKENS
    )
    bare = TOKENS.map(
        lambda token: TextPart("", _signed(token, "text"), origin=origin, ext={"explicit_empty": True})
    )
    return st.one_of(plain, signed, bare).map(alone)


def _calls(origin: Origin) -> Strategy[list[Part]]:
    """Generate parallel calls; the first one is signed."""

    def sign(calls: list[list[Part]], token: str) -> list[Part]:
        first, *others = (part for one in calls for part in one)
        assert isinstance(first, ToolCallPart)
        return [replace(first, opaque=_signed(token, f"tool_call:{first.id}")), *others]

    calls = st.lists(call(origin, "fc"), min_size=1, max_size=3, unique_by=lambda one: _id(one[0]))
    return st.builds(sign, calls, TOKENS)


def _id(part: Part) -> str:
    return part.id if isinstance(part, ToolCallPart) else ""


def _code(origin: Origin) -> Strategy[list[Part]]:
    """Generate code that the provider runs, and its result."""

    def build(token: str) -> list[Part]:
        name = f"code_{token[:-2]}"
        ext = {"type": "executableCode"}
        written = '{"language":"PYTHON","code":"1"}'
        opaque = _signed(token, f"tool_call:{name}")
        code = ToolCallPart(name, "code_execution", written, True, opaque, origin=origin, ext=ext)
        part = {"codeExecutionResult": {"id": name, "outcome": "OUTCOME_OK", "output": "1"}}
        return [code, ToolResultPart(name, "1", native=part, origin=origin)]

    return TOKENS.map(build)


def _image(origin: Origin) -> Strategy[list[Part]]:
    def build(token: str) -> list[Part]:
        part = {"inlineData": {"mimeType": "image/png", "data": "eA=="}, "thoughtSignature": token}
        return [NativePart("gemini.inlineData", part, origin)]

    return TOKENS.map(build)
