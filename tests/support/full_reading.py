"""Decoders that read every payload in full, to compare with those that read text in a shape."""

from __future__ import annotations

from typing import Any

from agui_reasoning.providers.base import Decoder

__all__ = ["reading"]


def reading(machine: Decoder) -> Decoder:
    """The decoder, so that it reads every payload in full."""
    kind = type(machine)
    members = {"__module__": kind.__module__, "more": property(_none, _none)}
    machine.__class__ = type(kind.__name__, (kind,), members)
    return machine


def _none(*given: Any) -> None:
    """Nothing continues."""
