"""Finds the artifacts of a provider in requests, and compares them with what the provider sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agui_reasoning.providers.transcript import ARTEFACTS, Entry

__all__ = ["Check", "artifacts", "checked", "compare"]


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one artifact from the provider against the last request.

    Attributes:
        kind: The kind of artifact; see `agui_reasoning.providers.transcript`.
        bytes: Its length in UTF-8.
        fingerprint: The first 8 hexadecimal digits of its SHA-256.
        path: Its JSON pointer in the request; ``None`` if it is missing.
        unchanged: Whether it came back byte for byte and in the same order.
    """

    kind: str
    bytes: int
    fingerprint: str
    path: str | None
    unchanged: bool


def compare(given: Iterable[Entry], returned: Iterable[Entry]) -> Iterator[Check]:
    """Search for each artifact in order; unexpected artifacts count as failures too."""
    remaining = artifacts(returned)
    start = 0
    for entry in artifacts(given):
        positions = (
            position for position in range(start, len(remaining)) if _same(remaining[position], entry)
        )
        if (position := next(positions, None)) is None:
            yield checked(entry, None, unchanged=False)
        else:
            start = position
            yield checked(entry, remaining.pop(position).path, unchanged=True)
    for entry in remaining:
        yield checked(entry, entry.path, unchanged=False)


def _same(one: Entry, other: Entry) -> bool:
    return (one.kind, one.value) == (other.kind, other.value)


def artifacts(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that a provider requires back."""
    return [entry for entry in entries if entry.kind in ARTEFACTS and entry.value]


def checked(entry: Entry, path: str | None, *, unchanged: bool) -> Check:
    """Describe an artifact without its value."""
    value = entry.value.encode()
    return Check(entry.kind, len(value), hashlib.sha256(value).hexdigest()[:8], path, unchanged)
