"""The log of the servers, on standard error."""

from __future__ import annotations

import logging

from agui_reasoning._escaping import escaped

__all__ = ["log_to_stderr"]


def log_to_stderr() -> None:
    """Log warnings and errors, escaped."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Escaped("%(asctime)s %(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _Escaped(logging.Formatter):
    """Indents all lines of a record but the first, so that none looks like another record."""

    def format(self, record: logging.LogRecord) -> str:
        return escaped(super().format(record)).replace("\n", "\n  ")
