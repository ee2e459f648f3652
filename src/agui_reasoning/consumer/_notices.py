"""Notices: problems of a stream that do not end the run."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from agui_reasoning._escaping import one_line
from agui_reasoning.errors import AGUIReasoningWarning

__all__ = ["Notice", "NoticeSink", "cut", "notice_sink", "quoted"]

_MAX_NAME_CHARS: Final = 120


def cut(name: str) -> str:
    """Shorten a path or type for messages."""
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}…"


def quoted(name: str) -> str:
    """Shorten and quote an ID or name for messages."""
    return repr(cut(name))


@dataclass(frozen=True, slots=True)
class Notice:
    """A problem that does not end the run, such as a removed member.

    Attributes:
        code: A stable identifier, and the name of its page under ``docs/reference/findings``.
        message: The problem in one sentence, without reasoning text or values.
        remedy: The solution for the producer, in one sentence.
    """

    code: str
    message: str
    remedy: str


NoticeSink: TypeAlias = Callable[[Notice], None]
"""Receives notices."""


def notice_sink(on_warning: Callable[[str], None] | None) -> NoticeSink:
    """Return a sink that passes each message to ``on_warning``, or to Python's ``warnings``."""

    def sink(notice: Notice) -> None:
        if on_warning is None:
            warnings.warn(notice.message, AGUIReasoningWarning, stacklevel=2)
        else:
            on_warning(one_line(notice.message))  # it may quote a type or an ID, and goes to logs

    return sink
