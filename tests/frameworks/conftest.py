"""The tests of a framework run in its own environment only: `make test-frameworks`.

What frameworks and their clients warn of is not this package's.
"""

import sys
from pathlib import Path

import pytest

from tests.frameworks.table import FRAMEWORKS

collect_ignore = [f"test_{name}.py" for name in FRAMEWORKS if Path(sys.prefix).name != name]

THEIRS = (
    "ignore::DeprecationWarning",
    "ignore::ResourceWarning",
    "ignore::UserWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore them in the tests of this folder."""
    for item in items:
        if "tests/frameworks/" in item.path.as_posix():
            for warning in THEIRS:
                item.add_marker(pytest.mark.filterwarnings(warning))
