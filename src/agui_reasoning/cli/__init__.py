"""The command ``agui-reasoning``: a module per subcommand, and `main`, its entry point.

Imports happen inside `main`, so that Ctrl-C during an import does not print a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:  # for the reference of the command, which is generated, and for tests
    from agui_reasoning._catalog import FINDINGS as FINDINGS
    from agui_reasoning.cli._app import load_command as load_command
    from agui_reasoning.cli._help import COMMANDS as COMMANDS
    from agui_reasoning.cli._help import EXIT_CODES as EXIT_CODES
    from agui_reasoning.cli._help import Example as Example
    from agui_reasoning.cli._help import exit_codes as exit_codes
    from agui_reasoning.cli._help import options as options
    from agui_reasoning.cli._help import usage as usage

__all__ = ["main"]

_HOMES: Final = {
    "agui_reasoning.cli._app": "load_command",
    "agui_reasoning._catalog": "FINDINGS",
    "agui_reasoning.cli._help": "COMMANDS EXIT_CODES Example exit_codes options usage",
}

_EXTRA_MODULES = frozenset({"typer", "rich", "click"})
_INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        args: The command-line arguments; defaults to ``sys.argv[1:]``.

    Returns:
        The exit status: 0 for success, 1 if the input breaks the protocol, 2 for unreadable input or a
        usage error.
    """
    try:
        from agui_reasoning.cli._signals import ends_cleanly

        with ends_cleanly():
            return _run(args)
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        if args is None:  # the process ends now
            import signal

            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(args: Sequence[str] | None) -> int:
    try:
        from agui_reasoning.cli._app import run

        return run(args)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRA_MODULES:
            raise
        from agui_reasoning.cli._output import complain
        from agui_reasoning.errors import MissingExtraError

        return complain(MissingExtraError("The command line", "cli"))


if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
