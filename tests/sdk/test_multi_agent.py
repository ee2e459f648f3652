"""OpenAI's multi-agent beta through its SDK over HTTP: two runs, the second with what the first one said."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import Conversation, ModelStream, Run, run_agent
from tests.support.replay_server import replaying
from tests.support.verifier import plain
from tests.unit.driver.test_model_agents import ANSWER, GPT, ITEMS, STRICT_GPT, stream, without

openai: Any = pytest.importorskip("openai", reason="OpenAI's SDK is not installed")


def test_two_runs_with_subagents_of_the_model() -> None:
    thread = Conversation("t")

    def agent(run: Run) -> Any:
        body = run.request(store=False, tools=()).body
        yield ModelStream(
            lambda: client.beta.responses.create(
                model="gpt-5.6", stream=True, betas=["responses_multi_agent=v1"], **body
            )
        )

    with (
        replaying("openai-responses") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        for items in (ITEMS, (ANSWER,)):
            server.exchange = {"stream": True, "events": [{"data": one} for one in stream(*items)]}
            for event in plain(run_agent(thread.run_input("Rain?"), agent, **GPT)):
                thread.receive(event)
    sent = {name: server.asked[1][name] for name in ("input", "store")}
    assert STRICT_GPT.reject(sent) is None
    assert sent["input"][1:-1] == [without(item, "status") if "summary" in item else item for item in ITEMS]
    assert {message.subagent_run_id is None for message in thread.messages} == {True, False}
