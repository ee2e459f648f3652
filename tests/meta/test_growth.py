"""The measure of growth sees what is not linear."""

from __future__ import annotations

import pytest

from agui_reasoning.deltas import TextDelta, fold
from tests.support.growth import assert_linear


def texts(count: int) -> list[TextDelta]:
    return [TextDelta("a")] * count


def again_for_each(deltas: list[TextDelta]) -> None:
    for end in range(len(deltas)):
        fold(deltas[:end])


def test_work_that_is_linear_passes() -> None:
    assert_linear(texts, fold, 400)


def test_work_that_starts_again_for_each_element_fails() -> None:
    with pytest.raises(AssertionError, match=r"takes 1\d\.\d\d times the steps"):
        assert_linear(texts, again_for_each, 400)
