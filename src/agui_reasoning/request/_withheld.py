"""Leaves out reasoning that the provider did not show to the model when it was sent before."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from agui_reasoning._envelope import unit_digest
from agui_reasoning.parts import Origin, ReasoningPart, Turn
from agui_reasoning.policy import EchoRule

__all__ = ["Withheld", "reasoning_at", "withheld_from"]


class Withheld(Struct):
    """Decides about the units of a request, in their order.

    Attributes:
        digests: The units that the model was not shown.
        bound: Whether a model accepts thinking only in the order in which it came: a unit between others
            stays, because those after it might be dropped too if it was missing. It is dropped again instead,
            which costs nothing.
        follows: Whether a unit is sent already.
    """

    digests: frozenset[str]
    bound: bool
    follows: bool = False

    def hides(self, part: ReasoningPart, *, required: bool) -> bool:
        """Return whether to leave out a unit that may be sent. One that is required here is not left out."""
        known = bool(self.digests) and unit_digest(part) in self.digests
        hidden = known and not required and not (self.bound and self.follows)
        self.follows = self.follows or not hidden
        return hidden


def withheld_from(turns: Iterable[Turn], target: Origin, rule: EchoRule) -> Withheld:
    """Return what a model was not shown, by the reports in its responses.

    Another model may be able to read it, so it counts only for the model that was asked, at this provider.
    """
    return Withheld(
        frozenset(
            unit.digest
            for turn in turns
            if turn.origin is not None and turn.origin.provider == target.provider
            for unit in turn.withheld
            if unit.model == target.model
        ),
        rule.prefix_bound,
    )


def reasoning_at(body: Any, path: str, units: Iterable[ReasoningPart]) -> ReasoningPart | None:
    """Return the unit whose value is at a place of a body, or whose ID the place is.

    Args:
        body: The body of the request.
        path: The names and indexes from the body to a block, separated by dots; or an ID.
        units: The units that are in the body.
    """
    found = set(_strings(_block(body, path.split("."))))
    for unit in units:
        if unit.item_id == path or any(opaque.value in found for opaque in unit.opaque):
            return unit
    return None


def _block(body: Any, path: list[str]) -> Any:
    for step in path:
        if isinstance(body, Mapping):
            body = body.get(step)
        elif isinstance(body, list) and step.isascii() and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
        else:
            return None
    return body


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield b64encode(value).decode("ascii")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
