"""Runs that outlive their connection, their page, and the worker that others watch them from.

Each run has a log in a store. A client that was cut, a second tab and another worker join the log; with keys,
the store holds nothing that can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.durable._log import LogStream
    from agui_reasoning.durable._redis import RedisRuns
    from agui_reasoning.durable._runs import Runs, ThreadInfo
    from agui_reasoning.durable._sqlite import SQLiteRuns
    from agui_reasoning.durable.store import RunStore

__all__ = ["LogStream", "RedisRuns", "RunStore", "Runs", "SQLiteRuns", "ThreadInfo"]

_HOMES: Final = {
    "agui_reasoning.durable._redis": "RedisRuns",
    "agui_reasoning.durable._runs": "Runs ThreadInfo",
    "agui_reasoning.durable._sqlite": "SQLiteRuns",
    "agui_reasoning.durable._log": "LogStream",
    "agui_reasoning.durable.store": "RunStore",
}

if not TYPE_CHECKING:  # a type checker would accept any attribute
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
