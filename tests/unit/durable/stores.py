"""Stores by their address."""

from __future__ import annotations

from agui_reasoning.durable import RedisRuns, RunStore, SQLiteRuns


def open_store(address: str) -> RunStore:
    """Open a store; several may be open at the same address."""
    if address.startswith("sqlite:"):
        return SQLiteRuns(address.removeprefix("sqlite:"))
    url, _, prefix = address.partition("#")
    return RedisRuns(url, prefix=f"{prefix}:")
