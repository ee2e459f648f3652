"""Sources, keys and failures, as runs open, fetch and explain them."""

from agui_reasoning._driver import (
    Reading,
    WholeResponse,
    causes,
    explain,
    explain_elsewhere,
    hold_keys,
    open_source,
    open_source_sync,
    read_failure,
    retry_after,
)

__all__ = [
    "Reading",
    "WholeResponse",
    "causes",
    "explain",
    "explain_elsewhere",
    "hold_keys",
    "open_source",
    "open_source_sync",
    "read_failure",
    "retry_after",
]
