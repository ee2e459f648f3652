"""What the consumer has to say about a stream that it goes on reading."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from agui_reasoning.errors import AGUIReasoningWarning

__all__ = ["Notice", "NoticeSink", "cut", "notice_sink", "quoted"]

_SHOWN: Final = 120


def cut(name: str) -> str:
    """A path or type as messages show it: not endless."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"


def quoted(name: str) -> str:
    """An id or name as messages show it."""
    return repr(cut(name))


@dataclass(frozen=True, slots=True)
class Notice:
    """Something was removed, invented or not done; the run goes on.

    Attributes:
        code: Stable identifier, the name of its page under ``docs/reference/findings``.
        message: What happened, one sentence. Never reasoning text, never a value.
        remedy: What the producer should do, one sentence.
    """

    code: str
    message: str
    remedy: str


NoticeSink: TypeAlias = Callable[[Notice], None]
"""Where notices go."""


def notice_sink(on_warning: Callable[[str], None] | None) -> NoticeSink:
    """Make the sink that hands each message to ``on_warning``, or to Python's ``warnings``."""

    def sink(notice: Notice) -> None:
        if on_warning is None:
            warnings.warn(notice.message, AGUIReasoningWarning, stacklevel=2)
        else:
            on_warning(notice.message)

    return sink
