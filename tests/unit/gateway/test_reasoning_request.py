"""A front end chooses effort and display over HTTP, where the gateway allows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning import ConfigurationError
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import OpaqueDelta, ReasoningDelta, TextDelta
from agui_reasoning.gateway import HTTPUpstream, Upstream, create_app, local_server
from agui_reasoning.parts import Opaque
from agui_reasoning.run import Run
from tests.unit.gateway.http_client import INPUT, call
from tests.unit.gateway.provider import KEY, Provider, Reply

Json = dict[str, Any]

REFUSED = Reply(status=401, content_type="application/json", pieces=(b"{}",))


def asking(**reasoning: str) -> Json:
    return INPUT | {"forwardedProps": {"reasoning": reasoning}}


@pytest.mark.parametrize(
    ("api", "provider", "model", "parameters", "effort", "sent"),
    [
        (
            "anthropic-messages",
            "anthropic",
            "claude-sonnet-4-6",
            {"thinking": {"display": "omitted"}},
            "low",
            {"output_config": {"effort": "low"}, "thinking": {"type": "adaptive", "display": "omitted"}},
        ),
        (
            "anthropic-messages",
            "anthropic",
            "claude-sonnet-4-6",
            {},
            "none",
            {"thinking": {"type": "disabled"}},
        ),
        (
            "anthropic-messages",
            "anthropic",
            "claude-sonnet-4-5",
            {},
            "max",
            {"max_tokens": 16_384, "thinking": {"type": "enabled", "budget_tokens": 12_288}},
        ),
        (
            "anthropic-messages",
            "anthropic",
            "claude-sonnet-4-5",
            {"max_tokens": 8192},
            "max",
            {"max_tokens": 8192, "thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        (
            "gemini",
            "google",
            "gemini-3-flash-preview",
            {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"}}},
            "high",
            {
                "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"}},
                "config": None,
            },
        ),
        ("openai-chat", "deepseek", "deepseek-v4", {}, "none", {"thinking": {"type": "disabled"}}),
        ("openai-responses", "openai", "gpt-5.6", {}, "high", {"reasoning": {"effort": "high"}}),
        ("ollama", None, "qwen3:4b", {}, "none", {"think": False}),
    ],
)
def test_the_effort_reaches_the_provider(
    api: str, provider: str | None, model: str, parameters: Json, effort: str, sent: Json
) -> None:
    asked = Provider(REFUSED)
    with local_server(asked) as url:
        options: Json = {"base_url": url, "model": model, "provider": provider, "parameters": parameters}
        upstream = HTTPUpstream(api, **options, api_key=KEY, attempts=1)
        app = create_app(upstream, page=False, allow_reasoning_request=True, keys=KeyRing.generate())
        with local_server(app) as served:
            call(f"{served}/agent", asking(effort=effort))
    (request,) = asked.asked
    assert {name: request.body.get(name) for name in sent} == sent


class Thinker(Upstream):
    """Thinks, and shows what the run was asked for."""

    name = "thinker"

    async def agent(self, run: Run) -> Any:
        yield ReasoningDelta("SECRET")
        yield OpaqueDelta(Opaque("anthropic.signature", "SIGNED"))
        yield TextDelta(repr(run.reasoning_request))


@pytest.mark.parametrize(("display", "seen"), [("full", True), ("summary", False), ("none", False)])
def test_the_display_hides_reasoning(display: str, seen: bool) -> None:
    app = create_app(Thinker(), allow_reasoning_request=("low", "high"), keys=KeyRing.generate())
    with local_server(app) as url:
        answer = call(f"{url}/agent", asking(display=display, effort="max"))
    assert (b"SECRET" in answer.body) is seen
    assert b"SIGNED" not in answer.body
    said = "".join(one["delta"] for one in answer.events if one["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == f"ReasoningRequest(effort='high', display='{display}')"


def test_the_display_does_not_widen_what_the_gateway_hides() -> None:
    options: Json = {"visibility": "hidden", "keys": KeyRing.generate(), "allow_reasoning_request": True}
    with local_server(create_app(Thinker(), **options)) as url:
        assert b"SECRET" not in call(f"{url}/agent", asking(display="full")).body


def test_an_unknown_value_is_refused_before_a_run_begins() -> None:
    with local_server(create_app(Thinker(), allow_reasoning_request=True)) as url:
        answer = call(f"{url}/agent", asking(effort="huge"))
    assert (answer.status, answer.error["code"]) == (422, "bad_input")
    assert answer.error["message"].startswith("`forwardedProps.reasoning` has the unknown effort 'huge'.")


def test_without_permission_it_is_ignored() -> None:
    with local_server(create_app(Thinker())) as url:
        body = call(f"{url}/agent", asking(effort="huge", display="none")).body
    assert b"SECRET" in body
    assert b"None" in body


def test_the_page_offers_what_is_allowed() -> None:
    options: Json = {"visibility": "summary", "keys": KeyRing.generate()}
    allowed = {"effort": ["low", "medium", "high"], "display": ["summary", "none"]}
    for allow, offered in ((("low", "high"), allowed), (None, None)):
        with local_server(create_app(Thinker(), allow_reasoning_request=allow, **options)) as url:
            config = json.loads(call(f"{url}/_page/config.json", None, "GET").body)
        assert config["reasoningRequest"] == offered


def test_a_gateway_without_keys_does_not_start_where_reasoning_must_come_back() -> None:
    upstream = HTTPUpstream(
        "openai-chat", base_url="http://127.0.0.1:9", model="deepseek-v4", provider="deepseek", api_key=KEY
    )
    create_app(upstream)
    with pytest.raises(ConfigurationError) as caught:
        create_app(upstream, allow_reasoning_request=True)
    assert caught.value.code == "visibility_without_keys"
