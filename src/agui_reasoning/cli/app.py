"""The typer application: its commands, and what they all do about errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any

import typer

from agui_reasoning.cli.check import check
from agui_reasoning.cli.demo import demo
from agui_reasoning.cli.downgrade import downgrade
from agui_reasoning.cli.encode import encode
from agui_reasoning.cli.keys import decrypt, encrypt, keygen
from agui_reasoning.cli.migrate import migrate
from agui_reasoning.cli.proxy import proxy
from agui_reasoning.cli.reduce import reduce
from agui_reasoning.cli.rekey import rekey
from agui_reasoning.cli.report import complain, line
from agui_reasoning.cli.request import request
from agui_reasoning.cli.serve import serve
from agui_reasoning.cli.upgrade import upgrade
from agui_reasoning.errors import AGUIReasoningError

__all__ = ["app", "run"]

_NAME = "agui-reasoning"
_INTERRUPTED = 130
_NO_OUTPUT = "The output cannot be written"
_OUTPUT_HINT = "Check where it goes. [unwritable_output]"
# The class itself has moved between typer's versions; this one has not.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name=_NAME,
    help="Provider reasoning in, correct AG-UI events out, losing nothing.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def run(args: Sequence[str] | None = None) -> int:
    """Run the application and give its exit status.

    Wrong usage is one line too, where typer would print a box.
    """
    if sys.stdout is None:
        line("error", f"{_NO_OUTPUT}: standard output is closed. {_OUTPUT_HINT}")
        return 2
    try:
        status = app(args=None if args is None else list(args), prog_name=_NAME, standalone_mode=False)
    except _UsageError as error:
        line("error", f"{_reason(error)} See '{_command(error)} --help'. [usage]")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    return status if isinstance(status, int) else 0


def _reason(error: Any) -> str:
    message = str(error.format_message()).strip()
    return message if message.endswith((".", "?")) else f"{message}."


def _command(error: Any) -> str:
    return error.ctx.command_path if error.ctx else _NAME


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def call(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except AGUIReasoningError as error:
            raise typer.Exit(complain(error)) from None
        except BrokenPipeError:  # the reader has seen enough, as in `| head`
            _discard_output()
            raise typer.Exit(0) from None
        except OSError as error:
            _discard_output()
            line("error", f"{_NO_OUTPUT}: {error.strerror}. {_OUTPUT_HINT}")
            raise typer.Exit(2) from None

    return call


def _discard_output() -> None:
    """Point stdout at nothing, or the interpreter would fail once more when it flushes at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"{_NAME} {version(_NAME)}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _main(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


for _command_function in (
    demo,
    serve,
    proxy,
    encode,
    check,
    reduce,
    request,
    upgrade,
    downgrade,
    migrate,
    keygen,
    encrypt,
    decrypt,
    rekey,
):
    app.command()(_guarded(_command_function))
