"""The overview of the frameworks counts the lines of their examples."""

from tests.docs.markdown import ROOT
from tests.frameworks.pages import length
from tests.frameworks.table import FRAMEWORKS

OVERVIEW = ROOT / "docs" / "how-to" / "frameworks" / "index.md"
EXAMPLES = ROOT / "examples" / "frameworks"


def test_the_overview_counts_the_lines_of_each_example() -> None:
    lines = OVERVIEW.read_text(encoding="utf-8").splitlines()
    shown = sorted(int(line.split("|")[-2]) for line in lines if line.startswith("| ["))
    assert shown == sorted(length(EXAMPLES / f"fastapi_{name}.py") for name in FRAMEWORKS)
