"""The overview of the frameworks counts the lines of their examples, and shows which scenarios are tested."""

import re

import pytest

from tests.docs.markdown import ROOT
from tests.frameworks.pages import length
from tests.frameworks.scenarios import COLUMNS, SCENARIOS, rows
from tests.frameworks.table import FRAMEWORKS

OVERVIEW = ROOT / "docs" / "how-to" / "frameworks" / "index.md"
EXAMPLES = ROOT / "examples" / "frameworks"


def test_the_overview_counts_the_lines_of_each_example() -> None:
    lines = OVERVIEW.read_text(encoding="utf-8").splitlines()
    shown = sorted(int(line.split("|")[-2]) for line in lines if line.startswith("| ["))
    assert shown == sorted(length(EXAMPLES / f"fastapi_{name}.py") for name in FRAMEWORKS)


def test_the_overview_shows_the_scenarios() -> None:
    assert "\n".join(rows()) in OVERVIEW.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COLUMNS)
def test_every_scenario_that_is_said_to_work_is_a_test(name: str) -> None:
    source = (ROOT / "tests" / "frameworks" / f"test_{name}.py").read_text(encoding="utf-8")
    found = {*re.findall(r"^def (test_\w+)", source, re.MULTILINE)}
    named = {tests[name] for tests in SCENARIOS.values() if tests[name].startswith("test_")}
    assert named - found == set()
