"""What the commands about keys and tokens share: where the keys are, and what a token is bound to."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

from agui_reasoning.cli._report import warn
from agui_reasoning.crypto import KeyRing
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.errors import ConfigurationError

__all__ = ["KeysEnv", "KeysFile", "TenantOption", "key_ring", "key_ring_if_any", "named"]

KeysEnv: TypeAlias = Annotated[
    str, typer.Option("--keys-env", metavar="NAME", help="The environment variable with the keys.")
]
KeysFile: TypeAlias = Annotated[
    str | None, typer.Option("--keys-file", metavar="PATH", help="A file with the keys, instead.")
]
TenantOption: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="Who owns the thread.")]


def key_ring(variable: str, path: str | None) -> KeyRing:
    """The ring that was asked for."""
    if path is not None:
        return KeyRing.from_file(path, on_warning=warn)
    if not os.environ.get(variable, "").strip():
        raise ConfigurationError(
            f"The environment variable {variable} is not set, or empty.",
            code="no_keys",
            hint="Set it, or use a file of keys (--keys-file); `agui-reasoning keygen` makes a first key.",
        )
    return KeyRing.from_env(variable)


def key_ring_if_any(variable: str, path: str | None) -> KeyRing | None:
    """The ring that was asked for; ``None`` when nobody named one and the usual variable is not set."""
    if path is None and variable == DEFAULT_VARIABLE and not os.environ.get(variable):
        return None
    return key_ring(variable, path)


def named(value: str | None) -> str | None:
    """Refuse an empty name: it is a variable of the shell that is not set."""
    if value == "":
        raise typer.BadParameter("It is empty.")
    return value
