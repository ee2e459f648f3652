"""Beta features that requests must name, because of a block in the history or of what they ask for.

The rows are the ``[[beta]]`` tables in the ``vendors.toml`` of each API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from agui_reasoning.parts import Origin
from agui_reasoning.policy import Beta, BetaUse
from agui_reasoning.providers.registry import provider_apis, vendor_of
from agui_reasoning.providers.vendors import rows, spellings

__all__ = ["beta_rows", "betas", "betas_of"]


@cache
def beta_rows() -> tuple[Beta, ...]:
    """Return all rows, by API ID."""
    return tuple(
        Beta.model_validate({"api": api.id, **row}) for api in provider_apis() for row in rows(api.id, "beta")
    )


@lru_cache(maxsize=1024)
def betas(target: Origin) -> Mapping[BetaUse, Beta]:
    """Return the beta features of a target, by what requires them.

    Examples:
        >>> betas(Origin("anthropic", "anthropic-messages", "claude-opus-5"))["fallback"].header
        'server-side-fallback-2026-07-01'
    """
    names = spellings(replace(target, provider=target.provider or vendor_of(target.api)))
    return {row.use: row for row in beta_rows() if any(map(row.matches, names))}


def betas_of(body: Mapping[str, Any]) -> list[BetaUse]:
    """Return what a body of Anthropic Messages contains that requires a beta feature."""
    return list(dict.fromkeys(_uses(body)))


def _uses(body: Mapping[str, Any]) -> Iterator[BetaUse]:
    if body.get("thread"):
        yield "thread"
    contents = (message.get("content") for message in body.get("messages", ()))
    for block in (block for blocks in contents if isinstance(blocks, list) for block in blocks):
        if block.get("type") == "fallback":
            yield "fallback"
        elif block.get("type") == "compaction":
            yield "signed_compaction" if block.get("signature") else "compaction"
