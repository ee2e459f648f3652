"""``upgrade``: THINKING_* to REASONING_*."""

from __future__ import annotations

from typing import Annotated

import typer

from agui_reasoning.cli._translate import AsJSON, File, InPlace, translate_file
from agui_reasoning.compat import ThinkingUpgrader

__all__ = ["KeepTitle", "Repair", "upgrade"]

Repair = Annotated[
    bool,
    typer.Option("--repair/--no-repair", help="Put right what 1.0 refuses, such as ends that are missing."),
]
KeepTitle = Annotated[bool, typer.Option("--keep-title", help="Keep titles of THINKING_START as metadata.")]


def upgrade(
    file: File,
    repair: Repair = False,
    keep_title: KeepTitle = False,
    in_place: InPlace = False,
    as_json: AsJSON = False,
) -> None:
    """Turn the THINKING_* events of a stream into REASONING_*.

    FILE holds the events as server-sent events, JSON lines or a JSON array, of any size; what comes out has
    the same form, and every byte that is not of such an event stays. What is lost is told on standard error.
    """
    translate_file(
        "upgrade",
        file,
        lambda tell: ThinkingUpgrader(tell, repair=repair, keep_title=keep_title, tell="losses"),
        in_place=in_place,
        as_json=as_json,
    )
