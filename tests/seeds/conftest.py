"""Share the command with the tests of the command itself."""

from tests.unit.cli.conftest import cli

__all__ = ["cli"]
