"""Options that several commands share, and the values of options that shells complete."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from agui_reasoning.cli._output import warn
from agui_reasoning.errors import ConfigurationError

# Imported on first use: most commands need no keys.
if TYPE_CHECKING:
    from agui_reasoning.crypto import KeyRing


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


_KEYS = "Keys"

File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A path, or - for standard input.")]

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
