"""Decoders that read every payload in full, to compare with those that read text in a shape."""

from __future__ import annotations

from functools import cache
from typing import Any

from agui_reasoning.providers.base import Decoder

__all__ = ["reading"]


def reading(machine: Decoder) -> Decoder:
    """The decoder, so that it reads every payload in full."""
    machine.__class__ = _in_full(type(machine))
    return machine


@cache
def _in_full(kind: type[Decoder]) -> type[Decoder]:
    members = {"__module__": kind.__module__, "more": property(_none, _none)}
    return type(kind.__name__, (kind,), members)


def _none(*given: Any) -> None:
    """Nothing continues."""
