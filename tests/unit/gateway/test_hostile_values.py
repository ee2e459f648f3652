"""Attack the gateway with values that clients made up, and read what reaches the provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agui_reasoning import Run, build_request
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.parts import Origin
from agui_reasoning.providers import provider_api, provider_apis
from agui_reasoning.request import restore
from tests.support.hostile import GOOGLE_FILE, HOSTILE, MARK, Attack, attacks, history
from tests.unit.gateway.http_client import INPUT, Answer, call
from tests.unit.gateway.provider import KEY, Provider, Reply

APIS = tuple(api.id for api in provider_apis())
SERVED = tuple(api.id for api in provider_apis() if api.http is not None)
REFUSED = Reply(status=401, content_type="application/json", pieces=(b"{}",))
Json = dict[str, Any]


def target(api: str) -> Origin:
    provider, model = provider_api(api).example
    return Origin(provider, api, model)


@contextmanager
def gateway(api: str, **options: Any) -> Iterator[tuple[str, Provider]]:
    origin = target(api)
    provider = Provider(REFUSED)
    with local_server(provider) as url:
        upstream = HTTPUpstream(
            api, base_url=url, model=str(origin.model), provider=origin.provider, api_key=KEY, attempts=1
        )
        with local_server(create_app(upstream, page=False, **options)) as served:
            yield f"{served}/agent", provider


def ask(url: str, messages: list[Json]) -> Answer:
    return call(url, INPUT | {"messages": messages})


def quiet(warning: str) -> None:
    """Ignore a warning."""


def test_every_api_is_attacked() -> None:
    assert set(HOSTILE) == set(APIS)


@pytest.mark.parametrize("api", SERVED)
def test_nothing_that_a_client_made_up_reaches_the_provider(api: str) -> None:
    reached: dict[str, Any] = {}
    with gateway(api) as (url, provider):
        for name, attack in attacks(api):
            before = len(provider.asked)
            ask(url, history(attack, target(api)))
            (asked,) = provider.asked[before:]  # the conversation goes on without it
            if MARK in json.dumps(asked.body):
                reached[name] = asked.body
    assert reached == {}


@pytest.mark.parametrize("api", APIS)
def test_nothing_that_a_client_made_up_is_in_a_request_without_a_gateway(api: str) -> None:
    origin = target(api)
    written = {}
    for name, attack in attacks(api):
        request = build_request(
            api, history(attack, origin), provider=origin.provider, model=origin.model, on_warning=quiet
        )
        if MARK in json.dumps(request.body, default=str):
            written[name] = request.body
    assert written == {}


@pytest.mark.parametrize("api", [api for api in APIS if not provider_api(api).plain.unwritten])
def test_restored_parts_hold_nothing_of_it_either(api: str) -> None:
    kept = {
        name: turn
        for name, attack in attacks(api)
        for turn in restore(history(attack, target(api))).turns
        for part in turn.parts
        for field in ("payload", "native", "ext")
        # Without a type, a block is refused when a request is written.
        if "type" not in name and name != "instructions" and MARK in json.dumps(getattr(part, field, None))
    }
    assert kept == {}


@pytest.mark.parametrize("value", [GOOGLE_FILE, "gs://bucket/x", "s3://bucket/x", "files/abc", "https:files"])
@pytest.mark.parametrize("role", ["user", "tool"])
def test_an_address_of_a_stored_object_is_a_file_id(role: str, value: str) -> None:
    part = {"type": "document", "source": {"type": "url", "value": value, "mimeType": "application/pdf"}}
    message = {"id": "m", "role": role, "content": [part], **({"toolCallId": "c"} if role == "tool" else {})}
    with gateway("gemini") as (url, provider):
        answer = ask(url, [*INPUT["messages"], message])
        assert (answer.status, answer.error["code"]) == (422, "file_not_allowed")
        assert provider.asked == []
    with gateway("gemini", allow_file_ids=True) as (url, provider):
        assert ask(url, [*INPUT["messages"], message]).status == 200


SCREENSHOT = Attack(
    call={"ext": {"type": "computer_call", "id": "cu_1"}, "name": "computer"},
    text={},
)


def with_screenshot() -> list[Json]:
    messages = history(SCREENSHOT, target("openai-responses"))
    [result] = [message for message in messages if message["role"] == "tool"]
    result["content"] = json.dumps({"type": "computer_screenshot", "file_id": MARK})
    return messages


def test_a_result_of_the_client_that_names_a_file_stops_the_run_before_the_provider_is_asked() -> None:
    with gateway("openai-responses") as (url, provider):
        events = ask(url, with_screenshot()).events
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "file_not_allowed")
    assert provider.asked == []
    assert MARK not in json.dumps(events)


def test_files_are_named_where_every_client_may_read_every_file() -> None:
    attack = HOSTILE["openai-responses"]["container"]
    with gateway("openai-responses", allow_file_ids=True) as (url, provider):
        ask(url, with_screenshot())
        ask(url, history(attack, target("openai-responses")))
    screenshot, container = (asked.body["input"] for asked in provider.asked)
    assert {"type": "computer_screenshot", "file_id": MARK} in [item.get("output") for item in screenshot]
    assert attack.result in container


@pytest.mark.parametrize("allowed", [None, False, True])
def test_a_run_of_your_own_checks_its_requests_if_told_to(allowed: bool | None) -> None:
    image = {"type": "image", "source": {"type": "file", "value": MARK, "mimeType": "image/png"}}
    run_input = INPUT | {"messages": [{"id": "u", "role": "user", "content": [image]}]}
    run = Run(
        run_input, api="anthropic-messages", provider="anthropic", model="claude", allow_file_ids=allowed
    )
    if allowed is False:
        with pytest.raises(RemoteProtocolError) as caught:
            run.request()
        assert caught.value.code == "file_not_allowed"
        assert MARK not in str(caught.value)
    else:
        assert MARK in json.dumps(run.request().body)


def test_arguments_and_schemas_may_speak_of_files() -> None:
    attack = Attack(call={"name": "read_file"})
    messages = history(attack, target("anthropic-messages"))
    messages[2]["toolCalls"][0]["function"]["arguments"] = '{"file_id": "local-1"}'
    tool = {"name": "read_file", "description": "Read.", "parameters": {"properties": {"file_id": {}}}}
    with gateway("anthropic-messages") as (url, provider):
        call(url, INPUT | {"messages": messages, "tools": [tool]})
    (asked,) = provider.asked
    assert "local-1" in json.dumps(asked.body["messages"])


def test_entries_of_a_gateway_have_only_its_fields() -> None:
    origin = Origin("openrouter", "openai-chat", "anthropic/claude-sonnet-4.6")
    entry = {"type": "reasoning.text", "format": "unknown", "index": 0, "cache_control": MARK, "role": MARK}
    attack = Attack(thought={"ext": {"field": "reasoning_details", "details": [entry]}})
    request = build_request(
        "openai-chat",
        history(attack, origin),
        provider=origin.provider,
        model=origin.model,
        on_warning=quiet,
    )
    [details] = [m["reasoning_details"] for m in request.body["messages"] if "reasoning_details" in m]
    assert details == [{"type": "reasoning.text", "format": "unknown", "index": 0}]
