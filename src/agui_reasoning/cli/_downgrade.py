"""``downgrade``: REASONING_* to what an older peer reads."""

from __future__ import annotations

from typing import Annotated

import typer

from agui_reasoning.cli._translate import AsJSON, File, InPlace, translate_file
from agui_reasoning.compat._downgrade import ThinkingDowngrader

__all__ = ["downgrade"]


def downgrade(
    file: File,
    peer: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The peer's ag-ui-protocol; default is any with THINKING_*."),
    ] = None,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Turn a stream into what an older peer reads: THINKING_*, or the REASONING_* of its time.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; what comes out has
    the same form. This loses what the peer has no place for: each kind of loss is told on standard error.
    """
    translate_file(
        "downgrade",
        file,
        lambda tell: ThinkingDowngrader(peer, tell),
        in_place=in_place,
        as_json=as_json,
    )
