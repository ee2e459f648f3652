"""The figures of the house: none gets worse than its ceiling."""

from __future__ import annotations

import pytest

from scripts.house import CEILINGS, count, figures


@pytest.fixture(scope="module")
def found() -> dict[str, int | list[str]]:
    return figures()


@pytest.mark.parametrize("figure", CEILINGS)
def test_no_figure_is_worse_than_its_ceiling(figure: str, found: dict[str, int | list[str]]) -> None:
    assert count(found[figure]) <= CEILINGS[figure], found[figure]


def test_only_tests_of_the_inside_look_inside(found: dict[str, int | list[str]]) -> None:
    inside = found["tests' imports of private modules"]
    assert isinstance(inside, list)
    assert [one for one in inside if not one.startswith("tests.internals.")] == []
