"""Who requires, accepts or rejects what when reasoning is sent back: a table kept as data.

``echo.toml`` holds the rows, with the evidence for each and its date; the first row that matches wins, and
what no row matches is stripped.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from agui_reasoning.parts import Origin

__all__ = ["EchoRule", "EchoStatus", "rule_for", "rules"]

EchoStatus: TypeAlias = Literal["required", "recommended", "accepted", "inert", "rejected", "unknown"]


class EchoRule(BaseModel):
    """One row of the table. Patterns are shell-style and compared in lower case.

    Attributes:
        api: The API id.
        provider: Providers the row is about.
        model: Models the row is about; a name matches with or without the vendor's prefix.
        status: What the provider does about reasoning that comes back.
        evidence: Where this is known from.
        checked: When it was last checked, ISO date.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    api: str
    provider: tuple[str, ...] = ("*",)
    model: tuple[str, ...] = ("*",)
    status: EchoStatus
    evidence: str
    checked: str

    def matches(self, origin: Origin) -> bool:
        """Whether the row is about this origin; an unknown name matches only ``*``."""
        model = (origin.model or "").lower()
        return (
            self.api == origin.api
            and _any(self.provider, [(origin.provider or "").lower()])
            and _any(self.model, [model, model.rpartition("/")[2]])
        )


_DEFAULT = EchoRule(api="*", status="unknown", evidence="no row", checked="")


def _any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


@cache
def rules() -> tuple[EchoRule, ...]:
    """The table, in order of precedence."""
    table = tomllib.loads(files(__package__).joinpath("echo.toml").read_text(encoding="utf-8"))
    return tuple(EchoRule.model_validate(row) for row in table["rule"])


@cache
def rule_for(origin: Origin) -> EchoRule:
    """The row for an origin; an unknown one gets the safe default, ``unknown``."""
    return next((rule for rule in rules() if rule.matches(origin)), _DEFAULT)
