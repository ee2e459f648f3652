"""Count the consumer's work, to measure growth without a clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Steps:
    """Counts the lines that the consumer runs."""

    def __init__(self) -> None:
        self.count = 0

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if "agui_reasoning/consumer" not in frame.f_code.co_filename.replace("\\", "/"):
            return None
        self.count += event == "line"
        return self._trace

    def of(self, work: Callable[..., object], *arguments: Any) -> int:
        """Call something, and count."""
        self.count, before = 0, sys.gettrace()
        sys.settrace(self._trace)
        try:
            work(*arguments)
        finally:
            sys.settrace(before)
        return self.count
