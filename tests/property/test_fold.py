"""Test the laws of deltas and parts."""

from __future__ import annotations

from hypothesis import assume, given

from agui_reasoning.deltas import Delta, OpaqueDelta, ReasoningDelta, TextDelta, fold, unfold
from agui_reasoning.parts import Part, ReasoningPart, TextPart, ToolCallPart
from tests.laws import law
from tests.support.strategies import delta_lists, turns, with_results


@given(turns())
def test_unfolding_and_folding_gives_the_same_parts(parts: list[Part]) -> None:
    parts = with_results(parts)
    assert fold(unfold(parts)) == parts


@given(delta_lists)
def test_what_any_deltas_fold_to_folds_to_itself_again(deltas: list[Delta]) -> None:
    parts = fold(deltas)
    ids = [part.id for part in parts if isinstance(part, ToolCallPart)]
    assume("" not in ids)
    assume(len(set(ids)) == len(ids))
    # A unit of which there was nothing but the fragment of a value is empty when it is cut, and stays so.
    assume(not any(part == ReasoningPart(status="incomplete", origin=part.origin) for part in parts))
    assert fold(unfold(parts)) == parts


@law("E15")
@given(delta_lists)
def test_no_reasoning_or_answer_text_is_lost_but_surrogates(deltas: list[Delta]) -> None:
    sent = "".join(d.text for d in deltas if isinstance(d, ReasoningDelta | TextDelta))
    kept = "".join(
        segment.text
        for part in fold(deltas)
        for segment in (
            part.segments if isinstance(part, ReasoningPart) else [part] if isinstance(part, TextPart) else []
        )
    )
    assert sorted(_solid(sent)) == sorted(_solid(kept))


@law("secrecy")
@given(delta_lists)
def test_nothing_shows_its_text_in_a_repr(deltas: list[Delta]) -> None:
    shown = repr(deltas) + repr(fold(deltas))
    assert "Hm" not in shown
    assert "SIG" not in shown
    assert not any(isinstance(d, OpaqueDelta) and "gAAAA" in repr(d) for d in deltas)


def _solid(text: str) -> str:
    """What cannot be changed by joining or replacing surrogates."""
    return "".join(c for c in text if not "\ud800" <= c <= "\udfff" and c not in "😀�")
