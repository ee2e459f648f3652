"""The upstream that replays a script of the package, or a recording."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import anyio

from agui_reasoning._scripted._artifacts import artifacts
from agui_reasoning._scripted._exchange import Exchange, is_whole, payloads
from agui_reasoning._scripted._sequence import choose, sequence
from agui_reasoning._scripted._transcript import read_answer
from agui_reasoning._shells.driver import AgentItem, ModelStream
from agui_reasoning.deltas import Delta, ReasoningDelta
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.providers import decoder
from agui_reasoning.providers.transcript import Speaker
from agui_reasoning.run import Run

__all__ = ["ReplayUpstream"]

_IDS: Final = frozenset({"id", "call_id", "item_id", "toolUseId"})
_SUFFIX: Final = re.compile(r"_[0-9a-f]{8}\Z")
_SPEAKERS: dict[str, Speaker] = {"user": "user", "assistant": "model", "tool": "tool"}


class ReplayUpstream(Upstream):
    """Replays recorded exchanges, without a key or network.

    A script answers a question with reasoning and a tool call, and a tool result with reasoning and text; it
    has exchanges for two questions. Its IDs are new in each run. A recording answers every request in the
    same way.

    Attributes:
        questions: The questions of the conversation that the exchanges belong to.
    """

    def __init__(
        self, exchange: str | Mapping[str, Any] = "anthropic-weather", *, delay_s: float = 0.0
    ) -> None:
        """Create an upstream.

        Args:
            exchange: The name of a script (`agui_reasoning._scripted.names`), or a recording.
            delay_s: Seconds to wait before each payload.

        Raises:
            ConfigurationError: The script is unknown (``unknown_script``), or the API of the recording cannot
                be decoded (``unknown_api``).
            DecodeError: The recording is malformed (``bad_recording``).
        """
        self.name = f"replay:{exchange}" if isinstance(exchange, str) else "replay"
        self._exchanges = sequence(exchange)
        first = self._exchanges[0]
        self.api, self.provider, self.model = first["api"], first.get("provider"), first.get("model")
        self.reasons = _reasons(first)
        self._delay_s = delay_s
        self._is_script = isinstance(exchange, str)
        self._artifacts: frozenset[tuple[str, str]] | None = None
        questions = (exchange.get("question") for exchange in self._exchanges)
        self.questions = tuple(dict.fromkeys(text for text in questions if isinstance(text, str)))

    async def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Replay the exchange that matches the input."""
        roles = (message.role for message in run.input.messages)
        exchange = choose(self._exchanges, [_SPEAKERS[role] for role in roles if role in _SPEAKERS])
        if self._is_script:
            exchange = _with_fresh_ids(exchange, uuid4().hex[:8])
        source = exchange["response"] if is_whole(exchange) else self._paced(exchange)
        yield ModelStream(
            source, api=exchange["api"], provider=exchange.get("provider"), model=exchange.get("model")
        )

    def has_sent(self, kind: str, value: str) -> bool:
        """Return whether a response contains an artifact of the provider.

        Args:
            kind: Its kind, such as ``"signature"`` or ``"call id"``.
            value: Its value; the ID of a script may have the suffix of a run.
        """
        if self._artifacts is None:
            self._artifacts = frozenset(_artifacts(self._exchanges))
        without_run = _SUFFIX.sub("", value) if self._is_script else value
        return not self._artifacts.isdisjoint({(kind, value), (kind, without_run)})

    async def _paced(self, exchange: Exchange) -> AsyncIterator[Any]:
        for payload in payloads(exchange):
            if self._delay_s:
                await anyio.sleep(self._delay_s)
            yield payload


def _artifacts(exchanges: Iterable[Exchange]) -> Iterator[tuple[str, str]]:
    """Yield kind and value of the artifacts in responses; incomplete recordings have fewer."""
    for exchange in exchanges:
        with suppress(DecodeError, ProviderError):
            yield from ((entry.kind, entry.value) for entry in artifacts(read_answer(exchange)))


def _with_fresh_ids(value: Any, run: str, name: str = "") -> Any:
    """Return an exchange with new IDs, because front ends do not answer calls with IDs they have seen."""
    if isinstance(value, str):
        return f"{value}_{run}" if name in _IDS and value else value
    if isinstance(value, list):
        return [_with_fresh_ids(member, run) for member in value]
    if isinstance(value, dict):
        return {key: _with_fresh_ids(member, run, key) for key, member in value.items()}
    return value


def _reasons(exchange: Exchange) -> bool:
    """Return whether an exchange contains reasoning, up to the first error in it.

    Raises:
        ConfigurationError: Its API cannot be decoded.
    """
    reader = decoder(exchange["api"])
    with suppress(DecodeError, ProviderError):
        if is_whole(exchange):
            return any(map(_is_reasoning, reader.whole(exchange["response"])))
        return any(_is_reasoning(delta) for item in payloads(exchange) for delta in reader.receive(item))
    return False


def _is_reasoning(delta: Delta) -> bool:
    return isinstance(delta, ReasoningDelta) and delta.text != ""
