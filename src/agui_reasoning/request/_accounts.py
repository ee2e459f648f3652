"""Finds the responses whose values only another account of the same provider reads."""

from __future__ import annotations

from typing import Final

from agui_reasoning.parts import NativePart, Origin, Part, ReasoningPart, ToolResultPart, Turn
from agui_reasoning.providers.echo import kinship

__all__ = ["OTHER_ACCOUNT", "is_of_other_account"]

OTHER_ACCOUNT: Final = "other_account"
"""The reason of units that another account of the provider made."""


def is_of_other_account(turn: Turn, target: Origin) -> bool:
    """Return whether a response has values or IDs that the target's account cannot use.

    It then goes back as that of another provider: IDs of stored items belong to the account, too. A response
    without any, such as plain reasoning, belongs to no account.
    """
    origins = (part.origin or turn.origin for part in turn.parts if _is_bound(part))
    return any(origin is not None and _differ(origin, target) for origin in origins)


def _is_bound(part: Part) -> bool:
    if isinstance(part, ToolResultPart):
        return part.native is not None
    bound = isinstance(part, NativePart) or bool(part.opaque)
    return bound or (isinstance(part, ReasoningPart) and part.item_id is not None)


def _differ(origin: Origin, target: Origin) -> bool:
    if origin.account is None or target.account is None or origin.account == target.account:
        return False
    return kinship(origin, target) == "same"
