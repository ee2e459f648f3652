"""``downgrade``: convert REASONING_* events for an older peer."""

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
        typer.Option(
            metavar="VERSION", help="The peer's ag-ui-protocol version; default: any with THINKING_*."
        ),
    ] = None,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Convert a stream for an older peer: to THINKING_*, or to the REASONING_* of its version.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; the output has the
    same format. Data that the peer cannot represent is dropped; each kind of loss is reported once on
    standard error.
    """
    translate_file(
        "downgrade",
        file,
        lambda tell: ThinkingDowngrader(peer, tell),
        in_place=in_place,
        as_json=as_json,
    )
