"""LiteLLM asks a provider on this machine, and its objects go into the decoder.

`test_litellm` runs these tests in an environment with LiteLLM.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks for prices on the network
litellm: Any = pytest.importorskip("litellm", reason="LiteLLM has its own environment: see test_litellm")

from agui_reasoning.deltas import Delta, fold  # noqa: E402
from agui_reasoning.parts import Part, ReasoningPart, TextPart, ToolCallPart  # noqa: E402
from agui_reasoning.providers import decode_response, decoder  # noqa: E402
from agui_reasoning.replay import load_script, script_names  # noqa: E402
from tests.support.replay_server import replaying  # noqa: E402

# LiteLLM's own: what its types and its use of pydantic warn of, and what its HTTP clients leave open.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Items? .*ReadOnly:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

API = "litellm"
SCRIPTS = ["litellm-weather", "litellm-weather-2", "litellm-weather-3"]


def decode(payloads: Any, provider: str = "anthropic") -> list[Delta]:
    made = decoder(API, provider=provider)
    return [delta for payload in payloads for delta in made.receive(payload)] + made.close()


@pytest.mark.parametrize("name", SCRIPTS)
def test_chunks_as_objects_give_the_deltas_of_their_json(name: str) -> None:
    payloads = [event["data"] for event in load_script(name)["events"]]
    objects = [litellm.ModelResponseStream(**json.loads(json.dumps(payload))) for payload in payloads]
    assert fold(decode(objects)) == fold(decode(payloads))


def test_a_whole_response_as_an_object_gives_the_parts_of_its_json() -> None:
    message = {
        "role": "assistant",
        "content": "Yes.",
        "reasoning_content": "Hm.",
        "thinking_blocks": [
            {"type": "thinking", "thinking": "Hm.", "signature": "SIG"},
            {"type": "redacted_thinking", "data": "DATA"},
        ],
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    response = {"id": "r", "model": "claude", "object": "chat.completion", "choices": [choice]}
    made = litellm.ModelResponse(**json.loads(json.dumps(response)))
    found = decode_response(API, made, provider="anthropic")
    assert found == decode_response(API, response, provider="anthropic")
    assert [type(part) for part in found] == [ReasoningPart, ReasoningPart, TextPart, ToolCallPart]


@dataclass(frozen=True, slots=True)
class Upstream:
    """How LiteLLM is sent to a provider on this machine.

    Attributes:
        provider: Its name.
        model: The model, with LiteLLM's prefix.
        place: What tells LiteLLM the URL, with what must follow the URL.
        more: What else it demands.
        loses: What LiteLLM does not hand on.
    """

    provider: str
    model: str
    place: tuple[str, str] = ("api_base", "")
    more: dict[str, str] = field(default_factory=dict)
    loses: str = ""


_AWS = {f"aws_{name}": "none" for name in ("access_key_id", "secret_access_key")}
# Cohere is not among them: LiteLLM cannot read its stream.
UPSTREAMS = {
    "anthropic-messages": Upstream("anthropic", "anthropic/claude-sonnet-4-6"),
    "bedrock-converse": Upstream(
        "bedrock",
        "bedrock/converse/us.anthropic.claude-sonnet-4-6",
        ("aws_bedrock_runtime_endpoint", ""),
        {**_AWS, "aws_region_name": "eu-north-1"},
    ),
    "gemini": Upstream("google", "gemini/gemini-3-flash-preview"),
    "mistral-chat": Upstream("mistral", "mistral/mistral-small-latest", ("api_base", "/v1"), loses="values"),
    "ollama": Upstream("ollama", "ollama_chat/qwen3:4b", loses="call ids"),
    "openai-chat": Upstream("deepseek", "deepseek/deepseek-v4-flash", ("api_base", "/v1")),
}
ASKED = [name for name in script_names() if load_script(name)["api"] in UPSTREAMS]


def options(upstream: Upstream, url: str) -> dict[str, Any]:
    name, path = upstream.place
    messages = [{"role": "user", "content": "Hi."}]
    place = {name: f"{url}{path}", "api_key": "none", **upstream.more}
    return {"model": upstream.model, "messages": messages, "stream": True, "max_retries": 0, **place}


def told(parts: Iterable[Part], loses: str) -> dict[str, Any]:
    """What parts tell, in the normal form of flat APIs: LiteLLM has lists of its own for everything."""
    found = list(parts)
    calls = [part for part in found if isinstance(part, ToolCallPart)]
    everything = {
        "reasoning": "".join(part.text for part in found if isinstance(part, ReasoningPart)),
        "text": "".join(part.text for part in found if isinstance(part, TextPart)),
        "calls": [(part.name, part.args) for part in calls],
        "call ids": [part.id for part in calls],
        "values": [opaque.value for part in found for opaque in getattr(part, "opaque", ())],
    }
    return {name: value for name, value in everything.items() if name != loses}


async def gathered(stream: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["completion", "acompletion"])
@pytest.mark.parametrize("name", ASKED)
def test_what_a_provider_streams_through_litellm_is_what_it_streams(name: str, asynchronous: bool) -> None:
    exchange = load_script(name)
    upstream = UPSTREAMS[exchange["api"]]

    async def ask(url: str) -> list[Any]:
        try:
            return await gathered(await litellm.acompletion(**options(upstream, url)))
        finally:
            await litellm.close_litellm_async_clients()

    with replaying(exchange["api"]) as server:
        server.exchange = exchange
        if asynchronous:
            chunks = anyio.run(ask, server.url)
        else:
            chunks = list(litellm.completion(**options(upstream, server.url)))
    direct = decoder(exchange["api"], provider=upstream.provider)
    wire = [delta for event in exchange["events"] for delta in direct.receive(event["data"])]
    found, expected = fold(decode(chunks, upstream.provider)), fold(wire + direct.close())
    assert told(found, upstream.loses) == told(expected, upstream.loses)


@pytest.mark.parametrize("name", SCRIPTS)
def test_litellm_counts_the_messages_that_we_write(name: str) -> None:
    messages = load_script(name)["request"]["messages"]
    assert litellm.token_counter(model="anthropic/claude-sonnet-4-6", messages=messages) > 0
