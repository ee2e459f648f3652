"""A provider that plays a script inside the gateway, for APIs that only an SDK speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from agui_reasoning import aio
from agui_reasoning._scripted._exchange import Exchange, payloads
from agui_reasoning._scripted._sequence import choose
from agui_reasoning._scripted._transcript import read_request
from agui_reasoning._shells.driver import AgentItem, ModelStream
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.errors import ProviderError
from agui_reasoning.gateway import Upstream
from agui_reasoning.gateway._provider_rules import Rules
from agui_reasoning.run import Run

__all__ = ["ScriptedProvider"]


class ScriptedProvider(Upstream):
    """Builds the request that an SDK would send, judges it as a replayed provider does, and answers it."""

    live = True

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        parameters: Mapping[str, Any],
        on_request: Callable[[JSONObject], None],
    ) -> None:
        """Create a provider.

        Args:
            exchanges: The exchanges of a script, in conversation order.
            parameters: More fields of every request.
            on_request: Called with each request before it is answered or refused.
        """
        first = exchanges[0]
        self.api, self.provider, self.model = first["api"], first["provider"], first["model"]
        self.name = f"replay:{first['id']}"
        self._named = first["request"]["model"]  # LiteLLM's name of the model has a prefix
        self._exchanges = exchanges
        self._rules = Rules(exchanges)
        self._parameters = parameters
        self._on_request = on_request

    async def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Answer with the exchange that fits the request."""
        request = await aio.request(run, apply_flags=True)
        body = request.merged({"model": self._named, "stream": True, **self._parameters})
        self._on_request(body)
        entries = read_request(str(self.api), body)
        if fault := self._rules.broken_by(entries):
            raise ProviderError(provider_type="invalid_request_error", provider_message=f"replay: {fault}")
        exchange = choose(self._exchanges, (entry.speaker for entry in entries))
        yield ModelStream(_stream(exchange), api=self.api, provider=self.provider, model=self.model)


async def _stream(exchange: Exchange) -> AsyncIterator[Any]:
    for payload in payloads(exchange):
        yield payload
