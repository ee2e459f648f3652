"""Leaves out the turns that a provider refused, because it refuses every later request that contains one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

from ag_ui.core import DeveloperMessage, SystemMessage, UserMessage

from agui_reasoning.errors import ConfigurationError, did_you_mean
from agui_reasoning.parts import Turn
from agui_reasoning.request._history import HistoryItem

__all__ = ["RefusedTurns", "check_refused_turns", "left_out"]

RefusedTurns: TypeAlias = Literal["drop", "keep"]
"""What to do with turns that the provider refused."""

_CHOICES: Final = get_args(RefusedTurns)
_INSTRUCTIONS = (SystemMessage, DeveloperMessage)


def check_refused_turns(chosen: str) -> None:
    """Raise `ConfigurationError` for an unknown choice (``wrong_option``)."""
    if chosen not in _CHOICES:
        raise ConfigurationError(
            f"refused_turns={chosen!r} is unknown.",
            code="wrong_option",
            hint=f"{did_you_mean(str(chosen), _CHOICES)}Use one of: {', '.join(_CHOICES)}.",
        )


def left_out(items: Sequence[HistoryItem], chosen: RefusedTurns) -> frozenset[int]:
    """Return the indexes of the items that are not sent because the provider refused them.

    A user's message and everything up to the next one form a group. A group that ended with a refusal is left
    out, except for instructions. If another model answered after the refusal, or if the user has not written
    since, only the refused response is left out: the rest of the group is still to be answered, or was.
    """
    refused = {index for index, item in enumerate(items) if isinstance(item, Turn) and item.refused}
    if chosen == "keep" or not refused:
        return frozenset()
    users = [index for index, item in enumerate(items) if isinstance(item, UserMessage)]
    for start, end in pairwise(users):
        turns = [index for index in range(start, end) if isinstance(items[index], Turn)]
        if turns and turns[-1] in refused:
            refused |= {index for index in range(start, end) if not isinstance(items[index], _INSTRUCTIONS)}
    return frozenset(refused)
