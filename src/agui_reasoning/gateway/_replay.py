"""The upstream that replays: scripted streams of the package, or one recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import anyio

from agui_reasoning._scripted._exchange import Exchange, is_whole, payloads
from agui_reasoning._scripted._sequence import choose, sequence
from agui_reasoning._shells.driver import Item, ModelStream
from agui_reasoning.deltas import Delta, ReasoningDelta
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.providers import decoder
from agui_reasoning.providers.transcript import Speaker
from agui_reasoning.run import Run

__all__ = ["ReplayUpstream"]

_IDS: Final = frozenset({"id", "call_id", "item_id"})
_SPEAKERS: dict[str, Speaker] = {"user": "user", "assistant": "model", "tool": "tool"}


class ReplayUpstream(Upstream):
    """Answers from exchanges that are there already: no key, no network.

    A script thinks and calls a tool for a question, thinks and answers when the last message of the input is
    the tool's result, and does so once more for a question after an answer; its ids are new in each run. A
    recording is the same for every request.
    """

    def __init__(
        self, exchange: str | Mapping[str, Any] = "anthropic-weather", *, delay_s: float = 0.0
    ) -> None:
        """Choose what to play.

        Args:
            exchange: The name of a script (`agui_reasoning._scripted.names`), or a recording.
            delay_s: Seconds to wait before each payload.

        Raises:
            ConfigurationError: There is no script of that name (``unknown_script``), or the recording is one
                of an API that cannot be decoded (``unknown_api``).
            DecodeError: It is no recording (``bad_recording``).
        """
        self.name = f"replay:{exchange}" if isinstance(exchange, str) else "replay"
        self._exchanges = sequence(exchange)
        first = self._exchanges[0]
        self.api, self.provider, self.model = first["api"], first.get("provider"), first.get("model")
        self.reasons = _reasons(first)
        self._delay_s = delay_s
        self._is_script = isinstance(exchange, str)

    async def agent(self, run: Run) -> AsyncIterator[Item]:
        """Play the exchange that fits the input."""
        roles = (message.role for message in run.input.messages)
        exchange = choose(self._exchanges, [_SPEAKERS[role] for role in roles if role in _SPEAKERS])
        if self._is_script:
            exchange = _with_fresh_ids(exchange, uuid4().hex[:8])
        source = exchange["response"] if is_whole(exchange) else self._paced(exchange)
        yield ModelStream(
            source, api=exchange["api"], provider=exchange.get("provider"), model=exchange.get("model")
        )

    async def _paced(self, exchange: Exchange) -> AsyncIterator[Any]:
        for payload in payloads(exchange):
            if self._delay_s:
                await anyio.sleep(self._delay_s)
            yield payload


def _with_fresh_ids(value: Any, run: str, name: str = "") -> Any:
    """The same exchange with the ids of one run: front ends do not answer a call whose id they have seen."""
    if isinstance(value, str):
        return f"{value}_{run}" if name in _IDS and value else value
    if isinstance(value, list):
        return [_with_fresh_ids(member, run) for member in value]
    if isinstance(value, dict):
        return {key: _with_fresh_ids(member, run, key) for key, member in value.items()}
    return value


def _reasons(exchange: Exchange) -> bool:
    """Whether there is reasoning in an exchange, as far as it can be read.

    Raises:
        ConfigurationError: Its API cannot be decoded: that shall fail now, not in every run.
    """
    reader = decoder(exchange["api"])
    with suppress(DecodeError, ProviderError):
        if is_whole(exchange):
            return any(map(_is_reasoning, reader.whole(exchange["response"])))
        return any(_is_reasoning(delta) for item in payloads(exchange) for delta in reader.receive(item))
    return False


def _is_reasoning(delta: Delta) -> bool:
    return isinstance(delta, ReasoningDelta) and delta.text != ""
