"""What frameworks and their clients warn of, and leave open, is not this package's."""

import pytest

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
