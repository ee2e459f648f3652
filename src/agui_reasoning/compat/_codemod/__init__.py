"""Rewrites Python source from THINKING_* to REASONING_* events (extra ``migrate``).

The steps for one file: resolve names (`facts`), find the events it creates (`sites`), give them IDs
(`carriers`), and rename the rest (`imports`, `references`, `strings`). Places that need a decision become
findings.
"""

from __future__ import annotations

from agui_reasoning.errors import MissingExtraError

try:
    import libcst  # noqa: F401
except ImportError:
    raise MissingExtraError("The command migrate", "migrate") from None

from agui_reasoning.compat._codemod.migrate import migrate_sources
from agui_reasoning.compat._codemod.report import ADVICE, Migration, MigrationFinding

__all__ = ["ADVICE", "Migration", "MigrationFinding", "migrate_sources"]
