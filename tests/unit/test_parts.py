"""Test parts: their contents, and a repr without text."""

from __future__ import annotations

import pytest

from agui_reasoning import DecodeError
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
)

SIGNATURE = Opaque("anthropic.signature", "top secret value")


def test_segments_are_joined_by_a_blank_line_and_resumed_ones_by_nothing() -> None:
    part = ReasoningPart(
        (
            Segment("summary", 0, "a"),
            Segment("summary", 1, "b"),
            Segment("summary", 1, "c"),
            Segment("raw", 1, "d"),
        )
    )
    assert part.text == "a\n\nbc\n\nd"


@pytest.mark.parametrize(
    ("part", "omitted", "redacted"),
    [
        (ReasoningPart((Segment("text", 0, "a"),)), False, False),
        (ReasoningPart(opaque=(SIGNATURE,)), True, False),
        (ReasoningPart(item_id="rs_1"), True, False),
        (ReasoningPart(opaque=(Opaque("anthropic.redacted_thinking", "x"),)), False, True),
    ],
)
def test_a_unit_without_text_is_omitted_or_redacted(
    part: ReasoningPart, omitted: bool, redacted: bool
) -> None:
    assert (part.omitted, part.redacted) == (omitted, redacted)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        ('{"a": "\\ud83d"}', {"a": "\ud83d"}),
    ],
)
def test_arguments_are_an_object(arguments: str, expected: object) -> None:
    assert ToolCallPart("c", "f", arguments).args == expected


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", '"text"', "NaN", "77"])
def test_arguments_that_are_no_object_are_refused_without_being_quoted(arguments: str) -> None:
    with pytest.raises(DecodeError) as caught:
        _ = ToolCallPart("c", "f", arguments, origin=Origin("acme", "openai-chat", "m")).args
    assert (caught.value.code, caught.value.provider) == ("bad_arguments", "acme")
    assert arguments not in str(caught.value)


SECRET = [
    ReasoningPart((Segment("text", 0, "top secret thought"),), (SIGNATURE,), ext={"k": "top secret"}),
    TextPart("top secret answer", (SIGNATURE,)),
    ToolCallPart("c", "f", '{"k": "top secret"}', opaque=(SIGNATURE,)),
    ToolResultPart("c", "top secret", native={"k": "top secret"}),
    NativePart("openai.compaction", {"k": "top secret"}),
]


@pytest.mark.parametrize("part", SECRET, ids=lambda part: type(part).__name__)
def test_a_repr_shows_lengths_and_kinds_only(part: Part) -> None:
    assert "secret" not in repr(part)
    assert type(part).__name__ in repr(part)


def test_a_repr_names_what_is_not_private() -> None:
    part = ReasoningPart((Segment("text", 0, "abc"),), (SIGNATURE,), item_id="rs_1", status="incomplete")
    assert repr(part) == (
        "ReasoningPart(segments=(Segment(channel='text', index=0, text=<3>),), "
        "opaque=(Opaque(kind='anthropic.signature', value=<16>),), item_id='rs_1', status='incomplete')"
    )
