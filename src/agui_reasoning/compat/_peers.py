"""What each version of ``ag-ui-protocol`` before 1.0 can read, as its own models say."""

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
    """How a version reads a stream.

    Attributes:
        thinking: It knows THINKING_* and not REASONING_*.
        role: The only role of REASONING_MESSAGE_START that it takes.
        empty_deltas: It takes an empty ``delta`` of text and of reasoning.
        media: It knows images, audio, video and documents, which were all "binary" before.
        subagents: It knows SUBAGENT_* events.
        old: It is from before 1.0: no cancelled runs, no tool results that are lists of parts.
    """

    thinking: bool = False
    role: str = "reasoning"
    empty_deltas: bool = True
    media: bool = True
    subagents: bool = False
    old: bool = True


DEFAULT: Final = Peer(thinking=True, media=False)
"""Something that speaks THINKING_*, version unknown."""

CURRENT: Final = Peer(subagents=True, old=False)
"""Something that speaks 1.0: nothing is downgraded."""

# The newest first; each holds from its version on.
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
    """Look up what a version reads.

    Args:
        version: For example "0.1.13"; ``None`` is `DEFAULT`.

    Raises:
        ConfigurationError: No version, or one before 0.1.10 (``unknown_peer``).
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
        f"{version[:40]!r} is no version of ag-ui-protocol that a stream can be downgraded for.",
        code="unknown_peer",
        # What is older refuses every member it does not know, and 1.0 has many.
        hint="Give 0.1.10 or a newer one, or nothing for any peer that speaks THINKING_*.",
    )
