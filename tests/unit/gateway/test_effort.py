"""The gateway sends a changed effort as its provider takes it over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from tests.unit.gateway.http_client import INPUT, call
from tests.unit.gateway.provider import KEY, Provider, Reply

REFUSED = Reply(status=401, content_type="application/json", pieces=(b"{}",))
BETA = "mid-conversation-output-config-2026-07-01"


def messages(api: str, provider: str, model: str) -> list[dict[str, Any]]:
    """A thread whose answer came with another effort, as its client returns it."""
    value = {
        "k": "agui-reasoning",
        "v": 2,
        "origin": {"provider": provider, "api": api, "model": model},
        "response": {"id": "r1", "messages": ["a1"], "effort": "high"},
        "units": [],
    }
    return [
        {"id": "u1", "role": "user", "content": "Weather in Oslo?"},
        {"id": "a1", "role": "assistant", "content": "4 degrees.", "encryptedValue": json.dumps(value)},
        {"id": "u2", "role": "user", "content": "And in Rome?"},
    ]


@pytest.mark.parametrize(
    ("api", "provider", "model", "parameters", "sent", "betas"),
    [
        (
            "anthropic-messages",
            "anthropic",
            "claude-opus-5-5",
            {},
            {"messages": ["user", "system", "assistant", "user"]},
            ["thinking-binding-controls-2026-08-01", BETA],
        ),
        (
            "openai-responses",
            "openai",
            "gpt-6-astra",
            {"reasoning": {"effort": "low", "summary": "auto"}},
            {
                "input": ["user", "configuration_update", "assistant", "user"],
                "reasoning": {"effort": "low", "summary": "auto"},
            },
            [],
        ),
        (
            "openai-responses",
            "openai",
            "gpt-5.6",
            {"reasoning": {"effort": "low", "summary": "auto"}},
            {
                "input": ["user", "assistant", "user"],
                "reasoning": {"effort": "high", "summary": "auto"},
            },
            [],
        ),
    ],
    ids=["claude", "gpt-6", "gpt-5.6"],
)
def test_a_changed_effort_reaches_the_provider(
    api: str, provider: str, model: str, parameters: Any, sent: dict[str, Any], betas: list[str]
) -> None:
    asked = Provider(REFUSED)
    with local_server(asked) as url:
        upstream = HTTPUpstream(
            api, base_url=url, model=model, provider=provider, api_key=KEY, attempts=1, parameters=parameters
        )
        with local_server(create_app(upstream, page=False)) as served:
            call(f"{served}/agent", INPUT | {"messages": messages(api, provider, model)})
    (request,) = asked.asked
    for name, value in sent.items():
        found = request.body[name]
        kinds = [item.get("role") or item["type"] for item in found] if isinstance(found, list) else found
        assert kinds == value
    assert sorted(filter(None, request.headers.get("anthropic-beta", "").split(","))) == sorted(betas)
    assert "extra_headers" not in request.body
