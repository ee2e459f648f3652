"""Find interpreters that have an old ``ag-ui-protocol``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.differential.peers import UnavailableError, python_of


def peer_python(version: str) -> Path:
    """The interpreter of a virtual environment with that version and nothing else.

    It is made beside the packages of this interpreter's own environment on first use, and kept.
    """
    if sys.prefix == sys.base_prefix:
        pytest.skip("old versions of ag-ui-protocol are only installed inside a virtual environment")
    try:
        return python_of(version)
    except UnavailableError as error:
        pytest.skip(f"ag-ui-protocol {version} could not be installed: {error}")
