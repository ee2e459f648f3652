"""``upgrade``: convert THINKING_* events to REASONING_*."""

from __future__ import annotations

from typing import Annotated

import typer

from agui_reasoning.cli._translate import AsJSON, File, InPlace, translate_file
from agui_reasoning.compat import ThinkingUpgrader

__all__ = ["KeepTitle", "Repair", "upgrade"]

Repair = Annotated[
    bool,
    typer.Option("--repair/--no-repair", help="Repair what AG-UI 1.0 rejects, such as missing end events."),
]
KeepTitle = Annotated[
    bool, typer.Option("--keep-title", help="Keep the titles of THINKING_START as metadata.")
]


def upgrade(
    file: File,
    repair: Repair = False,
    keep_title: KeepTitle = False,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Convert the THINKING_* events of a stream to REASONING_*.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; the output has the
    same format. Other events are kept as they are. Losses are reported on standard error.
    """
    translate_file(
        "upgrade",
        file,
        lambda tell: ThinkingUpgrader(tell, repair=repair, keep_title=keep_title, tell="losses"),
        in_place=in_place,
        as_json=as_json,
    )
