"""The Typer application: loads commands on demand, reports errors, has the options that commands share."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from agui_reasoning import __version__
from agui_reasoning.cli._help import COMMANDS, INTERRUPTED, command_help, group_help
from agui_reasoning.cli._output import complain, point_out, put, put_safe, tell, warn
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError

if TYPE_CHECKING:  # imported on first use: most commands need no keys
    from agui_reasoning.crypto import KeyRing


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
    except BrokenPipeError:  # the reader closed it, as in `| head`; may come from the flush of the buffer
        _discard_output()
        return 0
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):  # Rich exits with status 1
            raise
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        tell("error", f"{_NO_OUTPUT}: {error.strerror}. {_OUTPUT_HINT}")
        return 2
    except _UsageError as error:
        tell("error", _reason(error))
        point_out("usage")
        return 2
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def _reason(error: Any) -> str:
    """Return the message of a usage error, in words for people if Typer took them from Pydantic."""
    if faults := getattr(error.__cause__, "errors", None):
        (fault, *_) = faults()
        plain = str(fault["msg"]).removeprefix("Value error, ")
        words = _FAULTS.get(fault["type"])
        error.message = words.format(given=fault["input"], **fault.get("ctx", {})) if words else plain
    message = str(error.format_message()).strip()
    ended = message if message.endswith((".", "?")) else f"{message}."
    return f"{ended} See '{error.ctx.command_path if error.ctx else _NAME} --help'. [usage]"


def _colored(ctx: Any, text: str) -> str:
    """Let colors pass if the text has any: it has been written for its terminal already."""
    ctx.color = "\x1b" in text
    return text


class _Group(TyperGroup):
    """Command group that imports a command's module on first use."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Only the names are needed: Typer lists them, and suggests similar ones.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or ``None`` if the name is unknown."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def get_help(self, ctx: Any) -> str:
        """Return the help: the commands by task."""
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
        return _colored(ctx, command_help(str(ctx.info_name), ctx))


@cache
def load_command(name: str) -> Any:
    """Return a command of Typer, whose module is imported now."""
    function = getattr(import_module(f"agui_reasoning.cli._{COMMANDS[name].module or name}"), name)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    # One line per paragraph, so that the terminal wraps it.
    paragraphs = (" ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n"))
    single.command(name, cls=_Command, help="\n\n".join(paragraphs))(_with_errors_reported(function))
    return typer.main.get_command(single)


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


# -- options that commands share, and their values that shells complete


def complete_api(incomplete: str) -> list[str]:
    """Return the API IDs that begin with a text."""
    from agui_reasoning.providers.registry import API_IDS

    return _beginning(incomplete, API_IDS)


def complete_provider(context: typer.Context, incomplete: str) -> list[str]:
    """Return the provider IDs that begin with a text; with ``--api``, those of the API."""
    from agui_reasoning.providers.registry import API_IDS
    from agui_reasoning.providers.vendors import known_providers

    api: Any = context.params.get("api")
    names = {name for one in ([api] if api in API_IDS else API_IDS) for name in known_providers(one)}
    return _beginning(incomplete, sorted(names))


def complete_codes(incomplete: str) -> list[str]:
    """Return the codes that begin with the text after the last comma, with what comes before it."""
    from agui_reasoning._catalog import FINDINGS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{code}" for code in _beginning(last, FINDINGS)]


def complete_explained(incomplete: str) -> list[str]:
    """Return the codes of findings and errors that begin with a text."""
    from agui_reasoning._catalog import explained

    return _beginning(incomplete, explained())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


_of_keys = partial(typer.Option, rich_help_panel="Keys")

File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")]

KeysEnv: TypeAlias = Annotated[
    str,
    _of_keys("--keys-env", metavar="NAME", help="The environment variable that holds the keys; see keygen."),
]
KeysFile: TypeAlias = Annotated[
    str | None,
    _of_keys("--keys-file", metavar="PATH", help="A file that holds the keys, instead of the variable."),
]
TenantOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The tenant that owns the thread.")
]
ProviderName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        autocompletion=complete_provider, help="The provider that serves the model, such as openrouter."
    ),
]
PolicyFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A TOML file with rows that come before those of the echo policy; or received: unknown "
        "providers of openai-chat get the field that they sent.",
    ),
]


def key_ring(variable: str, path: str | None) -> KeyRing:
    """Load the key ring from a file or an environment variable."""
    from agui_reasoning.crypto import KeyRing

    if path is not None:
        return KeyRing.from_file(path, on_warning=warn)
    if not os.environ.get(variable, "").strip():
        raise ConfigurationError(
            f"The environment variable {variable} is not set or is empty.",
            code="no_keys",
            hint="Set it, or pass --keys-file. `agui-reasoning keygen` generates a key.",
        )
    return KeyRing.from_env(variable)


def key_ring_if_any(variable: str, path: str | None) -> KeyRing | None:
    """Load the key ring, or return ``None`` if no source is given and the default variable is not set."""
    from agui_reasoning.crypto import DEFAULT_VARIABLE

    if path is None and variable == DEFAULT_VARIABLE and not os.environ.get(variable):
        return None
    return key_ring(variable, path)


def not_empty(value: str | None) -> str | None:
    """Reject an empty name, which usually is an unset shell variable."""
    if value == "":
        raise typer.BadParameter("The value is empty.")
    return value
