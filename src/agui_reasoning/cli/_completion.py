"""Values that shells complete: API IDs, provider IDs and codes of findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

__all__ = ["complete_api", "complete_codes", "complete_provider"]


def complete_api(incomplete: str) -> list[str]:
    """Return the API IDs that begin with a text."""
    from agui_reasoning.providers.registry import API_IDS

    return _beginning(incomplete, API_IDS)


def complete_provider(context: typer.Context, incomplete: str) -> list[str]:
    """Return the provider IDs that begin with a text; with ``--api``, those of the API."""
    from agui_reasoning.providers.registry import API_IDS
    from agui_reasoning.providers.vendors import known_providers

    api: Any = context.params.get("api")
    names = {name for one in ([api] if api in API_IDS else API_IDS) for name in known_providers(one)}
    return _beginning(incomplete, sorted(names))


def complete_codes(incomplete: str) -> list[str]:
    """Return the codes that begin with the text after the last comma, with what comes before it."""
    from agui_reasoning.cli._findings import FINDINGS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{code}" for code in _beginning(last, FINDINGS)]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
