"""Capabilities of the ``ag-ui-protocol`` versions before 1.0, taken from their own models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from agui_reasoning.errors import ConfigurationError

__all__ = ["CURRENT", "DEFAULT", "Peer", "peer_of"]

_Version: TypeAlias = tuple[int, int, int]
_FORM: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Peer:
    """Capabilities of one version.

    Attributes:
        thinking: Supports THINKING_* but not REASONING_*.
        role: The only role accepted on REASONING_MESSAGE_START.
        empty_deltas: Accepts an empty ``delta`` in text and reasoning.
        media: Supports image, audio, video and document parts; earlier versions have "binary" only.
        subagents: Supports SUBAGENT_* events.
        old: Predates 1.0: no cancelled runs, no tool results with parts.
    """

    thinking: bool = False
    role: str = "reasoning"
    empty_deltas: bool = True
    media: bool = True
    subagents: bool = False
    old: bool = True


DEFAULT: Final = Peer(thinking=True, media=False)
"""A peer of unknown version that supports THINKING_*."""

CURRENT: Final = Peer(subagents=True, old=False)
"""A peer that supports 1.0: nothing is downgraded."""

# Newest first; each entry applies from its version on.
_SINCE: Final[tuple[tuple[_Version, Peer], ...]] = (
    ((1, 0, 0), CURRENT),
    ((0, 1, 21), Peer(subagents=True)),
    ((0, 1, 16), Peer()),
    ((0, 1, 15), Peer(empty_deltas=False)),
    ((0, 1, 14), Peer(empty_deltas=False, media=False)),
    ((0, 1, 11), Peer(role="assistant", empty_deltas=False, media=False)),
    ((0, 1, 10), Peer(thinking=True, empty_deltas=False, media=False)),
)


def peer_of(version: str | None) -> Peer:
    """Look up the capabilities of a version.

    Args:
        version: For example "0.1.13"; ``None`` means `DEFAULT`.

    Raises:
        ConfigurationError: The version is invalid, or earlier than 0.1.10 (``unknown_peer``).
    """
    if version is None:
        return DEFAULT
    form = _FORM.fullmatch(version)
    if form is not None:
        major, minor, patch = (int(number) for number in form.groups())
        for since, peer in _SINCE:
            if (major, minor, patch) >= since:
                return peer
    raise ConfigurationError(
        f"{version[:40]!r} is not a version of ag-ui-protocol that streams can be downgraded to.",
        code="unknown_peer",
        # Older versions reject unknown members, and 1.0 has many.
        hint="Use 0.1.10 or later, or omit it for any peer that supports THINKING_*.",
    )
