"""Test the capabilities that a gateway announces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities

from agui_reasoning.emitter import Visibility
from agui_reasoning.gateway import HTTPUpstream, ReplayUpstream, capabilities, create_app, local_server
from agui_reasoning.policy import EchoRule
from agui_reasoning.replay import load_script
from tests.unit.gateway.http_client import call
from tests.unit.gateway.test_app import Fake
from tests.unit.gateway.test_replay import WHOLE


def asking(api: str, model: str = "m", provider: str | None = None, **parameters: Any) -> HTTPUpstream:
    return HTTPUpstream(
        api, base_url="http://localhost", model=model, provider=provider, parameters=parameters
    )


def reasoning(told: AgentCapabilities) -> dict[str, bool]:
    assert told.reasoning is not None
    return told.reasoning.model_dump(exclude_none=True)


def test_the_gateway_tells_them_over_http_as_ag_ui_spells_them() -> None:
    with local_server(create_app(asking("anthropic-messages", thinking={"type": "adaptive"}))) as url:
        answer = call(f"{url}/agent/capabilities", None, "GET")
    told = json.loads(answer.body)
    assert answer.status == 200
    assert told["reasoning"] == {"supported": True, "streaming": True, "encrypted": False}
    assert told["tools"] == {"supported": True, "clientProvided": True}
    assert told["transport"] == {"streaming": True}
    assert told["identity"]["name"] == "anthropic-messages:m"
    assert AgentCapabilities.model_validate(told).model_dump(by_alias=True, exclude_none=True) == told


def test_they_stand_beside_the_endpoint_wherever_it_is() -> None:
    with local_server(create_app(Fake(), path="/runs/")) as url:
        assert call(f"{url}/runs/capabilities", None, "GET").status == 200
        assert call(f"{url}/runs/capabilities", {}, "POST").status == 405


@pytest.mark.parametrize(
    ("upstream", "supported"),
    [
        (asking("anthropic-messages", thinking={"type": "enabled", "budget_tokens": 1024}), True),
        (asking("anthropic-messages", thinking={"type": "disabled"}), False),
        (asking("anthropic-messages"), None),
        # The policy asks for its thinking.
        (asking("anthropic-messages", "claude-opus-5-5"), True),
        (asking("anthropic-messages", "claude-opus-5-5", thinking={"type": "disabled"}), False),
        (asking("anthropic-messages", "claude-opus-5-5", thinking=None), None),
        (asking("openai-responses", "gpt-5.6", reasoning={"effort": "low", "summary": "auto"}), True),
        (asking("openai-responses", "gpt-5.6", reasoning={"effort": "low"}), None),
        (asking("openai-responses", "gpt-5.6", reasoning={"effort": "none", "summary": "auto"}), False),
        (asking("openai-chat", "deepseek-v4-flash", "deepseek"), True),
        (asking("openai-chat", "deepseek-v4-flash", "deepseek", thinking={"type": "disabled"}), False),
        (asking("openai-chat", "gpt-oss", "vllm", reasoning_effort="none"), False),
        (asking("openai-chat", "nobody-knows", "nobody"), None),
        (ReplayUpstream("chat-weather"), True),
        (ReplayUpstream(WHOLE), True),
        (ReplayUpstream({"api": "openai-chat", "response": {"choices": []}}), False),
        (ReplayUpstream({"api": "openai-chat", "events": [{"data": {"error": {"message": "no"}}}]}), False),
        (Fake(), None),
    ],
)
def test_reasoning_is_claimed_where_it_is_known(upstream: Any, supported: bool | None) -> None:
    told = reasoning(capabilities(upstream))
    assert told.get("supported") is supported
    assert ("streaming" in told) is (supported is not False)


def test_a_row_of_the_users_own_counts() -> None:
    upstream = asking("openai-chat", "m", "acme")
    row = EchoRule(
        api="openai-chat", provider=("acme",), status="accepted", field=("reasoning",), scope="all"
    )
    assert "supported" not in reasoning(capabilities(upstream))
    assert reasoning(capabilities(upstream, policy=[row]))["supported"] is True
    with local_server(create_app(upstream, policy=[row])) as url:
        told = json.loads(call(f"{url}/agent/capabilities", None, "GET").body)
    assert told["reasoning"]["supported"] is True


@pytest.mark.parametrize(
    ("visibility", "encrypted", "told"),
    [
        ("full", False, {"supported": True, "streaming": True, "encrypted": False}),
        # With keys too, what is shown is not encrypted.
        ("full", True, {"supported": True, "streaming": True, "encrypted": False}),
        ("summary", False, {"supported": True, "encrypted": False}),
        ("summary", True, {"supported": True, "encrypted": True}),
        ("hidden", False, {"supported": False, "streaming": False, "encrypted": False}),
        ("hidden", True, {"supported": False, "streaming": False, "encrypted": True}),
    ],
)
def test_what_is_hidden_is_not_claimed(
    visibility: Visibility, encrypted: bool, told: dict[str, bool]
) -> None:
    answer = capabilities(ReplayUpstream(), visibility=visibility, encrypted=encrypted)
    assert reasoning(answer) == told


def test_tools_of_the_front_end_are_claimed_where_a_model_gets_them() -> None:
    assert capabilities(ReplayUpstream(load_script("openai-weather"))).tools is None
