"""Rewrite source code without the command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["migrated"]


def migrated(sources: Mapping[str, bytes]) -> list[Any]:
    """Rewrite files; libcst is imported with the first."""
    from agui_reasoning._migrate import migrate_sources

    return list(migrate_sources(sources))
