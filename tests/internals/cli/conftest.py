"""The command is run as the tests of its outside run it."""

from tests.unit.cli.conftest import at_once as at_once
from tests.unit.cli.conftest import cli as cli
from tests.unit.cli.conftest import process as process
