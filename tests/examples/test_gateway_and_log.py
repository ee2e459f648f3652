"""Run the examples that are no agents: a gateway that stores nothing, and a reader of stored logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import Conversation
from agui_reasoning.gateway import local_server, provider_app
from tests.docs.markdown import ROOT
from tests.unit.gateway.http_client import INPUT, call

EXAMPLES = ROOT / "examples"


def gateway(name: str = "zdr_gateway") -> Any:
    names: dict[str, Any] = {"__name__": name}
    exec(compile((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), f"{name}.py", "exec"), names)
    return names["app"]


@pytest.fixture
def requests() -> list[dict[str, Any]]:
    """What reaches the provider."""
    return []


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch, requests: list[dict[str, Any]]) -> Iterator[str]:
    """The gateway in front of a provider that refuses changed reasoning."""
    monkeypatch.delenv("AGUI_REASONING_KEYS", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with local_server(provider_app("anthropic-weather", on_request=requests.append)) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider)
        with local_server(gateway()) as address:
            yield address


def ask(url: str, conversation: Conversation, token: str, question: str | None = None) -> str:
    """Return what a turn sends to the browser."""
    run_input = conversation.run_input(question).model_dump(mode="json", by_alias=True, exclude_none=True)
    answer = call(f"{url}/agent", run_input, authorization=f"Bearer {token}")
    assert answer.status == 200
    for event in answer.events:
        conversation.receive(event)
    return json.dumps(answer.events, ensure_ascii=False)


def test_reasoning_comes_back_to_its_tenant_and_no_client_reads_it(url: str, requests: list[Any]) -> None:
    alice = Conversation("thread")
    sent = ask(url, alice, "alice-token", "Umbrella or raincoat?")
    assert "gusts" not in sent
    assert "signature" not in sent
    alice.add_tool_result(alice.pending_calls[0].id, "Rain.")
    assert "raincoat" in ask(url, alice, "alice-token")
    assert alice.status == "finished"
    assert "gusts decide it" in json.dumps(requests[1])


def test_users_choose_the_effort_and_what_they_see(url: str, requests: list[Any]) -> None:
    asked = INPUT | {"forwardedProps": {"reasoning": {"effort": "max", "display": "none"}}}
    with local_server(gateway("choose_effort")) as choosing:
        answer = call(f"{choosing}/agent", asked)
    assert b"gusts" not in answer.body
    assert requests[0]["output_config"] == {"effort": "high"}


def test_another_tenant_and_strangers_get_nothing(url: str, requests: list[Any]) -> None:
    alice = Conversation("thread")
    ask(url, alice, "alice-token", "Umbrella or raincoat?")
    alice.add_tool_result(alice.pending_calls[0].id, "Rain.")
    ask(url, alice, "bob-token")
    assert "gusts decide it" not in json.dumps(requests[1])
    assert call(f"{url}/agent", authorization="Bearer mallory").status == 401
    assert call(f"{url}/agent").status == 401
    assert len(requests) == 2


def test_the_gateway_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("AGUI_REASONING_KEYS", raising=False)
    with local_server(gateway()) as url:
        conversation = Conversation("thread")
        ask(url, conversation, "bob-token", "Umbrella or raincoat?")
        assert conversation.status == "finished"


def reduced(*arguments: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / "reduce_log.py"), *arguments]
    environ = os.environ | {"PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, encoding="utf-8", check=True)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_a_log_becomes_messages() -> None:
    reasoning, answer, waiting = reduced()
    assert reasoning.startswith("reasoning  Umbrella or raincoat:")
    assert reasoning.endswith("characters to send back]")
    assert answer == "assistant  Let me look at this afternoon's forecast."
    assert waiting == 'waiting for get_forecast({"place": "Bergen", "hours": 6})'


def test_a_log_that_ends_early_keeps_what_it_has(tmp_path: Path) -> None:
    frames = (EXAMPLES / "weather.sse").read_text(encoding="utf-8").split("\n\n")
    cut = tmp_path / "cut.sse"
    cut.write_text("\n\n".join(frames[:12]) + "\n\n", encoding="utf-8")
    *findings, ends, reasoning = reduced(str(cut))
    assert "error" in findings[0]
    assert ends.startswith("The log ends before the run does.")
    assert reasoning.startswith("reasoning  Umbrella")
