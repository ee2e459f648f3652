"""Test that a tool loop stays with the upstream of a gateway whose values it contains."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ToolMessage, UserMessage

from agui_reasoning import Conversation, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import Part, Turn
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.request import History, ProviderRequest, build_request

MODEL = "google/gemini-3.7-pro"
TARGET: dict[str, Any] = {"api": "openai-chat", "provider": "openrouter", "model": MODEL}
DETAIL = {"type": "reasoning.encrypted", "data": "SIG", "format": "google-gemini-v1", "id": "call_1"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "forecast", "arguments": "{}"}}
VERTEX = {"order": ["google-vertex"], "allow_fallbacks": False}


def parts(upstream: Any = "Google", *, model: str = MODEL) -> list[Part]:
    message = {"role": "assistant", "content": None, "reasoning_details": [DETAIL], "tool_calls": [CALL]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    whole = {"id": "r", "model": model, "provider": upstream, "choices": [choice]}
    return decode_response("openai-chat", whole, provider="openrouter", model=model)


def looped(found: list[Part], *after: Any, model: str = MODEL, **options: Any) -> ProviderRequest:
    result = ToolMessage(id="t", tool_call_id="call_1", content="4C")
    items = (UserMessage(id="u", content="?"), Turn(tuple(found), found[0].origin), result, *after)
    target = {**TARGET, "model": model}
    return build_request(target.pop("api"), History(items), **target, **options, on_warning=lambda _: None)


def pins(request: ProviderRequest) -> list[Any]:
    return [flag.value for flag in request.flags if flag.name == "provider"]


@pytest.mark.parametrize(
    ("upstream", "slug"),
    [
        ("Google", "google-vertex"),
        ("Google AI Studio", "google-ai-studio"),
        ("Acme", None),
        (None, None),
        (7, None),
    ],
)
def test_a_tool_loop_stays_with_its_upstream(upstream: Any, slug: str | None) -> None:
    found = parts(upstream)
    assert [part.origin and part.origin.upstream for part in found] == [slug] * len(found)
    expected = [{"order": [slug], "allow_fallbacks": False}] if slug else []
    assert pins(looped(found)) == expected
    sent = looped(found, apply_flags=True).body.get("extra_body", {})
    assert sent == ({"provider": expected[0]} if expected else {})


def test_a_stream_names_its_upstream_in_each_chunk() -> None:
    reader = decoder("openai-chat", provider="openrouter", model=MODEL)
    delta = {"role": "assistant", "reasoning_details": [DETAIL]}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    (start, *_) = reader.receive({"id": "r", "model": MODEL, "provider": "Google", "choices": [choice]})
    assert start.origin.upstream == "google-vertex"


def test_another_turn_and_another_model_are_free() -> None:
    assert pins(looped(parts(), UserMessage(id="v", content="!"))) == []
    qwen = parts("Google", model="qwen/qwen3.7")
    assert pins(looped(qwen, model="qwen/qwen3.7")) == []


@pytest.mark.parametrize("keys", [KeyRing({"k": bytes(32)}), None])
def test_a_client_does_not_choose_the_upstream(keys: KeyRing | None) -> None:
    """The name comes back only in a value that nobody could write."""
    client = Conversation("t", on_warning=lambda _: None)
    run = Run(client.run_input("?"), **TARGET, keys=keys, on_warning=lambda _: None)
    events = run.start()
    for part in parts():
        events += run.receive(part)
    for event in [*events, *run.finish()]:
        client.receive(event)
    client.add_tool_result("call_1", "4C")
    again = Run(client.run_input(), **TARGET, keys=keys, on_warning=lambda _: None)
    request = again.request()
    assert [entry.outcome for entry in request.report] == ["echoed"]
    assert pins(request) == ([VERTEX] if keys else [])
