"""Prepares the old versions of `ag-ui-protocol` for `tests/differential`; `make` runs it before the tests.

Where pip cannot get them the tests skip and say so, so this succeeds.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.differential.peers import VERSIONS, UnavailableError, python_of


def main() -> int:
    """Returns the exit code."""
    for version in VERSIONS:
        try:
            python_of(version)
        except UnavailableError as error:
            sys.stderr.write(f"ag-ui-protocol {version} cannot be installed, its tests will skip: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
