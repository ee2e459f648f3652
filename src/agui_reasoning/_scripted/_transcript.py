"""Reads requests and responses as transcripts, using the reader in the API's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agui_reasoning._scripted._exchange import Exchange, is_whole, payloads
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.providers.registry import provider_api
from agui_reasoning.providers.transcript import Entry

__all__ = ["read_answer", "read_request"]


def read_request(api: str, body: Mapping[str, Any]) -> list[Entry]:
    """List the entries of a request in order, skipping what cannot be read.

    Args:
        api: The API ID; its descriptor must have a ``transcript``.
        body: The request.

    Examples:
        >>> thinking = {"type": "thinking", "thinking": "Wet?", "signature": "U0lH"}
        >>> messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [thinking]}]
        >>> for entry in read_request("anthropic-messages", {"messages": messages}):
        ...     print(entry.speaker, entry.kind, entry.path)
        user words /messages/0
        model thinking /messages/1/content/0/thinking
        model signature /messages/1/content/0/signature
    """
    return list(provider_api(api).load_transcript().request(body))


def read_answer(exchange: Exchange) -> list[Entry]:
    """List the entries of the provider's response, as they would appear in a request."""
    transcript = provider_api(exchange["api"]).load_transcript()
    if is_whole(exchange):
        repeated = transcript.whole(next(_objects([exchange["response"]]), {}))
    else:
        repeated = transcript.streamed(_objects(payloads(exchange)))
    return read_request(exchange["api"], repeated)


def _objects(found: Iterable[Any]) -> Iterator[JSONObject]:
    return (payload for payload in found if isinstance(payload, dict))
