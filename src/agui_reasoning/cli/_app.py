"""The Typer application: loads commands on demand and reports errors in one place."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from typing import Annotated, Any, Final

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from agui_reasoning import __version__
from agui_reasoning.cli._help import COMMANDS, INTERRUPTED
from agui_reasoning.cli._output import complain, point_out, put, put_safe, tell
from agui_reasoning.errors import AGUIReasoningError

_NAME = "agui-reasoning"
_NO_OUTPUT = "The output cannot be written"
_OUTPUT_HINT = "Check where the output is redirected. [unwritable_output]"
# UsageError itself has moved between Typer versions; its subclass has not.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
# What Pydantic calls the faults of a value, and how to say them on a command line.
_FAULTS: Final[Mapping[str, str]] = {
    "int_parsing": "{given!r} is not an integer",
    "greater_than_equal": "{given} is less than {ge}",
    "less_than_equal": "{given} is more than {le}",
}

app = typer.Typer(
    name=_NAME,
    help="Provider reasoning in, correct AG-UI events out, losing nothing.",
    pretty_exceptions_enable=False,
)


def run(args: Sequence[str] | None = None) -> int:
    """Run the application and return its exit status.

    Usage errors are printed as one line instead of Typer's box.
    """
    if sys.stdout is None:
        tell("error", f"{_NO_OUTPUT}: standard output is closed. {_OUTPUT_HINT}")
        return 2
    try:
        status = app(args=None if args is None else list(args), prog_name=_NAME, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # may come from the flush: output is buffered
        return _pipe_closed()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # Rich exits with status 1
            return _pipe_closed()
        raise
    except OSError as error:
        _discard_output()
        tell("error", f"{_NO_OUTPUT}: {error.strerror}. {_OUTPUT_HINT}")
        return 2
    except _UsageError as error:
        tell("error", f"{_reason(error)} See '{_command(error)} --help'. [usage]")
        point_out("usage")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def _reason(error: Any) -> str:
    """Return the message of a usage error, in words for people if Typer took them from Pydantic."""
    if faults := getattr(error.__cause__, "errors", None):
        (fault, *_) = faults()
        error.message = _in_words(fault)
    message = str(error.format_message()).strip()
    return message if message.endswith((".", "?")) else f"{message}."


def _in_words(fault: Mapping[str, Any]) -> str:
    words = _FAULTS.get(fault["type"])
    if words is None:
        return str(fault["msg"]).removeprefix("Value error, ")
    return words.format(given=fault["input"], **fault.get("ctx", {}))


def _command(error: Any) -> str:
    return error.ctx.command_path if error.ctx else _NAME


def _colored(ctx: Any, text: str) -> str:
    """Let colors pass if the text has any: it has been written for its terminal already."""
    ctx.color = "\x1b" in text
    return text


class _Group(TyperGroup):
    """Command group that imports a command's module on first use."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Only the names are needed: Typer suggests similar ones.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the command names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or ``None`` if the name is unknown."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def get_help(self, ctx: Any) -> str:
        """Return the help: the commands by task."""
        from agui_reasoning.cli._help import group_help

        return _colored(ctx, group_help(ctx))


class _Command(TyperCommand):
    """Command whose usage errors always refer to its own help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments after the command's name."""
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            vars(error)["ctx"] = vars(error).get("ctx") or ctx
            raise

    def get_help(self, ctx: Any) -> str:
        """Return the help, with examples and exit codes."""
        from agui_reasoning.cli._help import command_help

        return _colored(ctx, command_help(str(ctx.info_name), ctx))


@cache
def load_command(name: str) -> Any:
    """Return a command of Typer, whose module is imported now."""
    function = getattr(import_module(f"agui_reasoning.cli._{COMMANDS[name].module or name}"), name)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name, cls=_Command, help=_paragraphs(function))(_with_errors_reported(function))
    return typer.main.get_command(single)


def _paragraphs(command: Callable[..., None]) -> str:
    """Return the docstring with one line per paragraph, so that the terminal wraps it."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(command) or "").split("\n\n"))


def _with_errors_reported(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def call(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except AGUIReasoningError as error:
            status = complain(error)
            point_out(error.code)
            raise typer.Exit(status) from None

    return call


def _pipe_closed() -> int:
    """Return status 0 after the reader closed the pipe, as in ``| head``."""
    _discard_output()
    return 0


def _discard_output() -> None:
    """Redirect stdout to the null device, so that the flush at interpreter exit cannot fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(wanted: bool) -> None:
    if wanted:
        put(f"{_NAME} {__version__}")
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
        put_safe(f"{context.get_help()}\n")
