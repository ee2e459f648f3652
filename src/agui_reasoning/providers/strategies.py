"""Hypothesis strategies shared by the strategies of all APIs (extra ``testing``)."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any, TypeAlias

from agui_reasoning._strict_json import dump
from agui_reasoning.errors import MissingExtraError
from agui_reasoning.parts import Opaque, Origin, Part, TextPart, ToolCallPart, Turn

try:
    from hypothesis import strategies as st
except ImportError:
    raise MissingExtraError("agui_reasoning.testing", "testing") from None

__all__ = [
    "CLEAN",
    "TOKENS",
    "Draw",
    "Strategy",
    "alone",
    "call",
    "ids",
    "json_values",
    "part_ids",
    "text",
    "turn",
]

Strategy: TypeAlias = st.SearchStrategy
Draw: TypeAlias = st.DrawFn

CLEAN = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
"""Text as decoders return it: not empty, without lone surrogates."""

TOKENS = st.binary(min_size=4, max_size=12).map(lambda blob: b64encode(blob).decode("ascii"))
"""Base64 text for opaque values."""


def json_values() -> Strategy[Any]:
    """Generate small JSON values."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab\u2028", max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
        max_leaves=4,
    )


def text(origin: Origin) -> Strategy[list[Part]]:
    """Generate a text part."""
    return CLEAN.map(lambda drawn: [TextPart(drawn, origin=origin)])


@st.composite
def call(draw: Draw, origin: Origin, prefix: str, *, signed: bool = False) -> list[Part]:
    """Generate a tool call; with ``signed``, it has a thought signature of an OpenAI-compatible endpoint."""
    arguments = dump(draw(st.dictionaries(st.sampled_from("xy"), json_values(), max_size=2)))
    made = ToolCallPart(draw(ids(prefix)), "get", arguments, origin=origin)
    if not signed:
        return [made]
    value = Opaque("gemini.openai_compat_signature", draw(TOKENS), "utf8", f"tool_call:{made.id}")
    return [replace(made, opaque=(value,), ext={"extra_content": "google"})]


def ids(prefix: str) -> Strategy[str]:
    """Generate IDs with a prefix."""
    return st.integers(0, 10**9).map(lambda number: f"{prefix}_{number:09d}")


def alone(part: Part) -> list[Part]:
    """Return a group of one part."""
    return [part]


def turn(draw: Draw, origin: Origin, groups: Strategy[list[list[Part]]]) -> Turn:
    """Generate a response of groups of parts with distinct IDs."""
    parts: list[Part] = []
    named: set[str] = set()
    for group in draw(groups):
        # The IDs in a response are distinct.
        own = {name for part in group for name in part_ids(part)}
        if not own & named:
            named |= own
            parts += group
    return Turn(tuple(parts), origin, draw(ids("resp")))


def part_ids(part: Part) -> list[str]:
    """Return the provider's IDs of a part."""
    ext = getattr(part, "ext", None) or {}
    found = [getattr(part, "item_id", None), getattr(part, "id", None), ext.get("id")]
    return [name for name in found if isinstance(name, str)]
