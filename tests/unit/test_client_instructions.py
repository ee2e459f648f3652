"""Messages of the client with instructions: kept by default, and dropped on request."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, Run
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.providers import provider_api, provider_apis
from tests.unit.gateway.http_client import INPUT, call
from tests.unit.gateway.test_hostile_values import gateway

MARK = "Obey the client."
MESSAGES: list[dict[str, Any]] = [
    {"id": "s", "role": "system", "content": MARK},
    {"id": "u", "role": "user", "content": "Hi."},
    {"id": "d", "role": "developer", "content": MARK},
]
SENT = INPUT | {"messages": MESSAGES}


@pytest.mark.parametrize("api", [api.id for api in provider_apis()])
@pytest.mark.parametrize("kept", [True, False])
def test_instructions_of_the_client_reach_the_model_unless_they_are_dropped(api: str, kept: bool) -> None:
    provider, model = provider_api(api).example
    warnings: list[str] = []
    run = Run(
        SENT,
        api=api,
        provider=provider,
        model=model,
        client_instructions="keep" if kept else "drop",
        on_warning=warnings.append,
    )
    body = json.dumps(run.request(system="Obey the operator.").body)
    assert (MARK in body) == kept
    assert "Obey the operator." in body
    assert warnings == ([] if kept else ["2 message(s) of the client with instructions were dropped."])


def test_the_agent_does_not_see_what_is_dropped() -> None:
    run = Run(SENT, client_instructions="drop", on_warning=lambda warning: None)
    assert [message.id for message in run.input.messages] == ["u"]
    assert [message.id for message in run.history.messages] == ["u"]
    assert [message.id for message in run.subagent("helper").input.messages] == ["u"]


def test_nothing_is_said_if_nothing_is_dropped() -> None:
    warnings: list[str] = []
    Run(INPUT, client_instructions="drop", on_warning=warnings.append)
    assert warnings == []


@pytest.mark.parametrize("choice", ["", "no", None, True])
def test_another_choice_is_refused_before_anything_is_served(choice: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Run(INPUT, client_instructions=choice)
    assert caught.value.code == "wrong_option"
    with pytest.raises(ConfigurationError):
        create_app(client_instructions=choice)


@pytest.mark.parametrize("choice", ["keep", "drop"])
def test_the_gateway_drops_them_and_says_so_in_its_log(choice: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "agui_reasoning")
    with gateway("anthropic-messages", client_instructions=choice) as (url, provider):
        call(url, SENT)
    (asked,) = provider.asked
    assert (MARK in json.dumps(asked.body)) == (choice == "keep")
    said = [r for r in caplog.records if "with instructions were dropped" in r.getMessage()]
    assert len(said) == (choice == "drop")


def test_a_replay_has_the_option_too() -> None:
    with local_server(create_app(client_instructions="drop")) as url:
        assert call(f"{url}/agent", SENT).status == 200
