"""Compare the diagrams, and the table of a span's life, with what the code does."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from scripts import diagrams


@pytest.mark.parametrize("name", diagrams.DIAGRAMS)
def test_a_diagram_shows_what_the_code_does(name: str) -> None:
    drawn = diagrams.DIAGRAMS[name]()
    file = diagrams.FOLDER / f"{name}.svg"
    assert file.read_text(encoding="utf-8") == drawn, "run: python scripts/diagrams.py"
    ElementTree.fromstring(drawn)


def test_the_table_of_a_span_shows_what_the_code_does() -> None:
    source = diagrams.LIFE.read_text(encoding="utf-8")
    assert source == diagrams.page(source), "run: python scripts/diagrams.py"


def test_every_state_of_a_span_is_in_the_table() -> None:
    assert {before for before, *_ in diagrams.steps()} == set(diagrams.SpanState)


def test_every_step_between_states_of_a_span_is_drawn_once() -> None:
    steps = [(before, after) for (before, _), after in diagrams.NEXT.items() if before is not after]
    assert sorted(steps, key=str) == sorted(diagrams.SPAN_PATHS, key=str)


def test_every_step_between_phases_of_a_run_is_drawn() -> None:
    steps = {(before, after) for (before, _), after in diagrams._NEXT.items() if before is not after}
    assert steps == diagrams.RUN_PATHS.keys()
