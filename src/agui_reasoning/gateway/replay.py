"""The upstream that replays: scripted streams of the package, or one recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio

from agui_reasoning.driver import Item, ModelStream
from agui_reasoning.providers import decoder
from agui_reasoning.run import Run
from agui_reasoning.scripted import load, names
from agui_reasoning.scripted.exchange import Exchange, check_exchange, is_whole, payloads

__all__ = ["ReplayUpstream"]


class ReplayUpstream:
    """Answers from exchanges that are there already: no key, no network.

    A script that comes in a pair thinks and calls a tool for a question, and thinks and answers when the
    last message of the input is the tool's result. Everything else is the same for every request.
    """

    def __init__(
        self, exchange: str | Mapping[str, Any] = "anthropic-weather", *, delay_s: float = 0.0
    ) -> None:
        """Choose what to play.

        Args:
            exchange: The name of a script (`agui_reasoning.scripted.names`), or a recording.
            delay_s: Seconds to wait before each payload.

        Raises:
            ConfigurationError: There is no script of that name (``unknown_script``), or the recording is one
                of an API that cannot be decoded (``unknown_api``).
            DecodeError: It is no recording (``bad_recording``).
        """
        if isinstance(exchange, str):
            self.name = f"replay:{exchange}"
            self._question: Exchange = load(exchange)
            second = f"{exchange}-2"
            self._result: Exchange = load(second) if second in names() else self._question
        else:
            self.name = "replay"
            self._question = self._result = check_exchange(exchange)
        decoder(self._question["api"])  # an API without a decoder shall fail here, not in every run
        self._delay_s = delay_s

    async def agent(self, run: Run) -> AsyncIterator[Item]:
        """Play the exchange that fits the input."""
        exchange = self._choose(run)
        source = exchange["response"] if is_whole(exchange) else self._paced(exchange)
        yield ModelStream(
            source, api=exchange["api"], provider=exchange.get("provider"), model=exchange.get("model")
        )

    def _choose(self, run: Run) -> Exchange:
        messages = run.input.messages
        return self._result if messages and messages[-1].role == "tool" else self._question

    async def _paced(self, exchange: Exchange) -> AsyncIterator[Any]:
        for payload in payloads(exchange):
            if self._delay_s:
                await anyio.sleep(self._delay_s)
            yield payload
