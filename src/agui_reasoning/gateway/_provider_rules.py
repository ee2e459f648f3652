"""What a provider demands of a request, as far as a replay can judge it.

It knows what it gave out, and no keys: a value is genuine when it is one of those.
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
"""What only a provider can make. Anthropic's signature covers the thinking beside it."""


class Rules:
    """The demands of the provider of some exchanges."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._answers = [read_answer(exchange) for exchange in exchanges]
        transcript = provider_api(exchanges[0]["api"]).load_transcript()
        self._bond, self._bound = transcript.bond, transcript.bound
        self._given = {value for exchange in exchanges for value in _given(exchange)}

    def broken_by(self, said: Sequence[Entry], *, stored: bool = False) -> str | None:
        """Say what a request breaks; ``None`` when it is in order.

        Args:
            said: The entries of the request.
            stored: Whether the provider has what came before them.
        """
        calls: set[str] = set()
        for entry in said:
            if entry.kind == RESULT and entry.value not in calls and not stored:
                return f"{entry.path} is the result of a call that is not in the request before it."
            if entry.kind in _SEALED and entry.value not in self._given:
                return f"{entry.path} was not given out here, or it was changed."
            calls |= {entry.value} if entry.kind == CALL_ID else set()
        return self._torn(said) if said and said[-1].speaker == "tool" else None

    def _torn(self, said: Sequence[Entry]) -> str | None:
        """Reasoning must stand by what it led to, as long as the model waits for a result."""
        returned = {(entry.kind, entry.value) for entry in said}
        for answer in self._answers:
            if not any(one.kind == self._bond and (one.kind, one.value) in returned for one in answer):
                continue
            for one in answer:
                if one.kind in self._bound and (one.kind, one.value) not in returned:
                    return f"A call came back without the {one.kind} that led to it."
        return None


def _given(exchange: Exchange) -> Iterator[str]:
    """Every string that was given out, also what an earlier answer of the same conversation gave."""
    request = exchange.get("request")
    earlier = read_request(exchange["api"], request) if isinstance(request, Mapping) else []
    yield from (entry.value for entry in (*earlier, *read_answer(exchange)) if entry.kind in _SEALED)
    yield from _strings(exchange.get("events") or exchange.get("response"))


def _strings(value: Any) -> Iterator[str]:
    """The strings anywhere in a JSON value: an item is told several times, each time with another value."""
    if isinstance(value, str) and value:  # what is still empty when a block begins is no value
        yield value
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for member in members:
        yield from _strings(member)
