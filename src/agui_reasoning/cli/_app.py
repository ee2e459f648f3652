"""The typer application: its commands, and what they all do about errors."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from agui_reasoning.cli._report import complain, line
from agui_reasoning.cli._signals import ends_cleanly
from agui_reasoning.errors import AGUIReasoningError

__all__ = ["app", "run"]

_NAME = "agui-reasoning"
# The commands in the order of the help, each with the module that is imported when it is called.
_MODULES = {
    "demo": "demo",
    "serve": "serve",
    "proxy": "proxy",
    "encode": "encode",
    "check": "check",
    "reduce": "reduce",
    "request": "request",
    "upgrade": "upgrade",
    "downgrade": "downgrade",
    "migrate": "migrate",
    "keygen": "keys",
    "encrypt": "keys",
    "decrypt": "keys",
    "rekey": "rekey",
    "providers": "providers",
}
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
        with ends_cleanly():
            status = app(args=None if args is None else list(args), prog_name=_NAME, standalone_mode=False)
            sys.stdout.flush()
    except BrokenPipeError:  # that of the flush too: a command that ends early has not written all
        return _reader_left()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich's way to say so, with status 1
            return _reader_left()
        raise
    except OSError as error:
        _discard_output()
        line("error", f"{_NO_OUTPUT}: {error.strerror}. {_OUTPUT_HINT}")
        return 2
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


class _PlainFlags:
    """Shows flags without a type: they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


class _Group(_PlainFlags, TyperGroup):
    """The application: imports a command when it is called, and all of them to list them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Only for their names, from which typer suggests the one that was meant.
        self.commands = dict.fromkeys(_MODULES)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help."""
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, or None if there is none of this name."""
        return _load(cmd_name) if cmd_name in _MODULES else None


class _Command(_PlainFlags, TyperCommand):
    """A command whose wrong usage points to its own help, whoever finds it wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words behind the command's name."""
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            vars(error)["ctx"] = vars(error).get("ctx") or ctx
            raise


@cache
def _load(name: str) -> Any:
    function = getattr(import_module(f"agui_reasoning.cli._{_MODULES[name]}"), name)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, cls=_Command, help=_paragraphs(function))(_guarded(function))
    return typer.main.get_command(alone)


def _paragraphs(command: Callable[..., None]) -> str:
    """The docstring with a line for each paragraph: the lines of the source are not those of a terminal."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(command) or "").split("\n\n"))


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def call(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except AGUIReasoningError as error:
            raise typer.Exit(complain(error)) from None

    return call


def _reader_left() -> int:
    """The reader has seen enough, as in ``| head``: whatever was found out, nobody waits for it."""
    _discard_output()
    return 0


def _discard_output() -> None:
    """Point stdout at nothing, or the interpreter would fail once more when it flushes at the end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"{_NAME} {version(_NAME)}")
        raise typer.Exit


@app.callback(cls=_Group, invoke_without_command=True)
def _main(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
