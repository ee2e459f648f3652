"""The option for rows of the user's own in the echo policy."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = ["PolicyFile"]

PolicyFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A TOML file with rows that come before those of the echo policy; or received: unknown "
        "providers of openai-chat get the field that they sent.",
    ),
]
