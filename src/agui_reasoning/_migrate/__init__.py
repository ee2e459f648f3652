"""Rewrites Python source from THINKING_* to REASONING_* events (extra ``migrate``).

The steps for one file: resolve names (`_facts`), find the events it creates (`_sites`), give them IDs
(`_carriers`), and rename the rest (`_renames`). Places that need a decision become findings.
"""

from __future__ import annotations

from agui_reasoning.errors import MissingExtraError

try:
    import libcst  # noqa: F401
except ImportError:
    raise MissingExtraError("The command migrate", "migrate") from None

from agui_reasoning._migrate._facts import KINDS
from agui_reasoning._migrate._migrate import migrate_sources, too_deep
from agui_reasoning._migrate._session import ADVICE, Migration, MigrationFinding

__all__ = ["ADVICE", "KINDS", "Migration", "MigrationFinding", "migrate_sources", "too_deep"]
