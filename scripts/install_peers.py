"""Prepares the environments that tests need beside their own; `make` runs it before the tests.

They have old versions of `ag-ui-protocol`, or LiteLLM with ``--all``. Where pip cannot get something, its
tests skip and say so, so this succeeds.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.differential.peers import VERSIONS, UnavailableError, python_of, python_of_litellm


def main() -> int:
    """Returns the exit code."""
    peers: dict[str, Callable[[], object]] = {
        f"ag-ui-protocol {version}": partial(python_of, version) for version in VERSIONS
    }
    if "--all" in sys.argv[1:]:
        peers["LiteLLM"] = python_of_litellm
    for name, make in peers.items():
        try:
            make()
        except UnavailableError as error:
            sys.stderr.write(f"{name} cannot be installed, its tests will skip: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
