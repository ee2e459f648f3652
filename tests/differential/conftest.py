from collections.abc import Iterator

import pytest

from tests.differential.judge import Judge
from tests.differential.node import find_node, packages_installed


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    node = find_node()
    if node is None:
        pytest.skip(
            "no Node here to run the official AG-UI client: run `make test`, which gets one where it can"
        )
    if not packages_installed():
        pytest.skip("the official AG-UI client is not installed: run `make test`")
    with Judge(node) as judge:
        yield judge
