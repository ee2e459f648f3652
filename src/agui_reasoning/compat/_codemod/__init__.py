"""Rewrites Python source away from the THINKING_* events (extra ``migrate``).

The steps for one file: resolve names (`facts`), find the events it makes (`sites`), give them ids
(`carriers`), and rename the rest (`imports`, `references`, `strings`). What cannot be decided is listed.
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
