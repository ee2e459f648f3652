"""Options shared by the commands that use keys."""

from __future__ import annotations

import os
from typing import Annotated, TypeAlias

import typer

from agui_reasoning.cli._report import warn
from agui_reasoning.crypto import KeyRing
from agui_reasoning.crypto._keys import DEFAULT_VARIABLE
from agui_reasoning.errors import ConfigurationError

__all__ = ["KeysEnv", "KeysFile", "TenantOption", "key_ring", "key_ring_if_any", "not_empty"]

_KEYS = "Keys"

KeysEnv: TypeAlias = Annotated[
    str,
    typer.Option(
        "--keys-env",
        metavar="NAME",
        help="The environment variable that holds the keys; see keygen.",
        rich_help_panel=_KEYS,
    ),
]
KeysFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--keys-file",
        metavar="PATH",
        help="A file that holds the keys, instead of the variable.",
        rich_help_panel=_KEYS,
    ),
]
TenantOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The tenant that owns the thread.")
]


def key_ring(variable: str, path: str | None) -> KeyRing:
    """Load the key ring from a file or an environment variable."""
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
    if path is None and variable == DEFAULT_VARIABLE and not os.environ.get(variable):
        return None
    return key_ring(variable, path)


def not_empty(value: str | None) -> str | None:
    """Reject an empty name, which usually is an unset shell variable."""
    if value == "":
        raise typer.BadParameter("The value is empty.")
    return value
