"""The command ``agui-reasoning``: a module per subcommand, and `main`, its entry point."""

from __future__ import annotations

from collections.abc import Sequence

from agui_reasoning.cli.report import complain
from agui_reasoning.errors import MissingExtraError

__all__ = ["main"]

_EXTRA = frozenset({"typer", "rich", "click"})


def main(args: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        args: The words after the command's name; default is ``sys.argv[1:]``.

    Returns:
        The exit status: 0 fine, 1 the input breaks the protocol, 2 unreadable input or wrong usage.
    """
    try:
        from agui_reasoning.cli.app import run

        return run(args)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRA:
            raise
        return complain(MissingExtraError("The command line", "cli"))
