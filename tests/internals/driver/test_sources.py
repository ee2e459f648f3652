"""Test what is read of a source: payloads out of pairs, and whole responses."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import ModelStream, Run
from tests.internals.sources import Reading, WholeResponse, open_source, open_source_sync

pytestmark = pytest.mark.anyio

API = "anthropic-messages"
INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


class Snapshot:
    """Shaped like what the SDK of xAI gives: the message of protocol buffers is inside."""

    def __init__(self, payload: Any) -> None:
        self.proto = payload


async def deltas_of(source: Any) -> list[Any]:
    """What a source gives, read by a decoder that keeps what it is given."""
    reading = Reading(Run(INPUT, api=API), ModelStream(source, api=API))
    reading._decoder = Kept()  # type: ignore[assignment]
    async with open_source(source) as payloads:
        if isinstance(payloads, WholeResponse):
            return reading.whole(payloads.response)
        return [delta async for payload in payloads for delta in reading.receive(payload)]


class Kept:
    warnings: tuple[str, ...] = ()

    def receive(self, payload: Any) -> list[Any]:
        return [payload]

    def whole(self, response: Any) -> list[Any]:
        return [("whole", response)]


SNAPSHOT, CHUNK = Snapshot("all so far"), Snapshot("new")
PAIRS: dict[str, tuple[Any, Any]] = {
    "chunk, metadata": (("chunk", {"langgraph_node": "model"}), "chunk"),
    "chunk as a mapping, metadata": (({"type": "ping"}, {}), {"type": "ping"}),
    "mode, (chunk, metadata)": (("messages", ("chunk", {})), "chunk"),
    "namespace, (chunk, metadata)": ((("node:1",), ("chunk", {})), "chunk"),
    "response, chunk": ((SNAPSHOT, CHUNK), CHUNK),
    "no pair": ((1, 2, 3), (1, 2, 3)),
    "no tuple": ({"stream": "no"}, {"stream": "no"}),
}


@pytest.mark.parametrize(("item", "payload"), PAIRS.values(), ids=PAIRS)
async def test_the_payload_is_taken_out_of_a_pair(item: Any, payload: Any) -> None:
    assert await deltas_of([item]) == [payload]
    assert await deltas_of(iter([item])) == [payload]


@pytest.mark.parametrize(
    "response", [SNAPSHOT, {"stream": True}, {"stream": "text"}, {"stream": {"a": 1}}, {}]
)
async def test_what_holds_no_stream_is_a_whole_response(response: Any) -> None:
    assert await deltas_of(response) == [("whole", response)]
    with open_source_sync(response) as opened:
        assert opened == WholeResponse(response)
