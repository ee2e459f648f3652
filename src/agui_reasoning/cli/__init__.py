"""The command ``agui-reasoning``: a module per subcommand, and `main`, its entry point.

Imports happen inside `main`, so that Ctrl-C during an import does not print a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]

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
            _ignore_interrupts()


def _ignore_interrupts() -> None:
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
        from agui_reasoning.cli._report import complain
        from agui_reasoning.errors import MissingExtraError

        return complain(MissingExtraError("The command line", "cli"))
