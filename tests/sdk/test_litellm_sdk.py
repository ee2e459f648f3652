"""LiteLLM asks a provider on this machine, and its objects go into the decoder."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks for prices on the network
litellm: Any = pytest.importorskip("litellm", reason="LiteLLM is not installed: it pins an older openai")

from agui_reasoning import _scripted as scripted  # noqa: E402
from agui_reasoning.deltas import Delta, fold  # noqa: E402
from agui_reasoning.gateway._provider_replay import provider_app  # noqa: E402
from agui_reasoning.gateway._serving import local_server  # noqa: E402
from agui_reasoning.parts import ReasoningPart, TextPart, ToolCallPart  # noqa: E402
from agui_reasoning.providers import decode_response, decoder  # noqa: E402

# LiteLLM's own: a warning of its types, and what its HTTP clients leave open.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Item .*ReadOnly:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

API = "litellm"
SCRIPTS = ["litellm-weather", "litellm-weather-2", "litellm-weather-3"]


def decode(payloads: Any) -> list[Delta]:
    made = decoder(API, provider="anthropic")
    return [delta for payload in payloads for delta in made.receive(payload)] + made.close()


@pytest.mark.parametrize("name", SCRIPTS)
def test_chunks_as_objects_give_the_deltas_of_their_json(name: str) -> None:
    payloads = [event["data"] for event in scripted.load_script(name)["events"]]
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


@pytest.mark.parametrize("name", ["anthropic-weather-2", "anthropic-weather"])
def test_what_anthropic_streams_through_litellm_is_whole(name: str) -> None:
    exchange = scripted.load_script(name)
    with local_server(provider_app({**exchange, "request": {}})) as url:
        stream = litellm.completion(
            model="anthropic/claude-sonnet-4-6",
            messages=[{"role": "user", "content": "Hi."}],
            api_base=url,
            api_key="none",
            stream=True,
        )
        found = fold(decode(stream))
    direct = decoder("anthropic-messages")
    events = [delta for event in exchange["events"] for delta in direct.receive(event["data"])]
    parts = [*fold(events + direct.close())]

    def values(given: Any) -> list[str]:
        return [opaque.value for part in given for opaque in getattr(part, "opaque", ())]

    def reasoned(given: Any) -> str:
        return "".join(part.text for part in given if isinstance(part, ReasoningPart))

    assert (reasoned(found), values(found)) == (reasoned(parts), values(parts))


@pytest.mark.parametrize("name", SCRIPTS)
def test_litellm_counts_the_messages_that_we_write(name: str) -> None:
    messages = scripted.load_script(name)["request"]["messages"]
    assert litellm.token_counter(model="anthropic/claude-sonnet-4-6", messages=messages) > 0
