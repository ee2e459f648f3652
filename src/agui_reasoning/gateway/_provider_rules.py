"""Validation of replayed requests by the rules of a provider.

Without the provider's keys, an opaque value counts as genuine if the replay has sent it before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agui_reasoning._scripted._exchange import Exchange
from agui_reasoning._scripted._transcript import read_answer, read_request
from agui_reasoning.providers import provider_api
from agui_reasoning.providers.transcript import (
    CALL_ID,
    ENCRYPTED_CONTENT,
    REDACTED,
    RESULT,
    SIGNATURE,
    Entry,
)

__all__ = ["Rules"]

_SEALED: Final = frozenset({SIGNATURE, REDACTED, ENCRYPTED_CONTENT})
"""The values that only a provider can create. Anthropic's signature covers the thinking next to it."""


class Rules:
    """The rules of the provider of some exchanges."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._answers = [read_answer(exchange) for exchange in exchanges]
        transcript = provider_api(exchanges[0]["api"]).load_transcript()
        self._bond, self._bound = transcript.bond, transcript.bound
        self._given = {value for exchange in exchanges for value in _given(exchange)}

    def broken_by(self, entries: Sequence[Entry], *, stored: bool = False) -> str | None:
        """Return the violation in a request, or ``None``.

        Args:
            entries: The entries of the request.
            stored: Whether the provider has stored the conversation before them.
        """
        calls: set[str] = set()
        for entry in entries:
            if entry.kind == RESULT and entry.value not in calls and not stored:
                return f"{entry.path} is a result without a preceding call."
            if entry.kind in _SEALED and entry.value not in self._given:
                return f"{entry.path} was not created here, or was changed."
            calls |= {entry.value} if entry.kind == CALL_ID else set()
        return self._torn(entries) if entries and entries[-1].speaker == "tool" else None

    def _torn(self, entries: Sequence[Entry]) -> str | None:
        """Return the violation if a call lacks its reasoning while the model waits for a result."""
        returned = {(entry.kind, entry.value) for entry in entries}
        for answer in self._answers:
            if not any(one.kind == self._bond and (one.kind, one.value) in returned for one in answer):
                continue
            for one in answer:
                if one.kind in self._bound and (one.kind, one.value) not in returned:
                    return f"A call came back without its {one.kind}."
        return None


def _given(exchange: Exchange) -> Iterator[str]:
    """Yield all strings of an exchange, including opaque values of earlier responses."""
    request = exchange.get("request")
    earlier = read_request(exchange["api"], request) if isinstance(request, Mapping) else []
    yield from (entry.value for entry in (*earlier, *read_answer(exchange)) if entry.kind in _SEALED)
    yield from _strings(exchange.get("events") or exchange.get("response"))


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value. Streams repeat an item with different values."""
    if isinstance(value, str) and value:  # values are empty at the start of a block
        yield value
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for member in members:
        yield from _strings(member)
