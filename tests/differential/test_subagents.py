"""Judge parallel subagents with both versions of the official client: accepted, attributed, kept apart."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import build_request, restore, stream_run
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from tests.differential.judge import Judge, Verdict, Version
from tests.differential.test_emitted import by_id, encoded, versions
from tests.support.dialects import DIALECTS, Dialect, model, results, user
from tests.support.loop import Client
from tests.unit.driver.test_model_agents import CHECK_TEXT, GPT, ITEMS, stream
from tests.unit.request.test_loop import SUBAGENTS, apis, delegate, subagent_parts, unseen

RUN_INPUT = {"threadId": "thread-1", "messages": []}


def delegated(dialect: Dialect, **options: Any) -> Client:
    """A run with two subagents at once."""
    client = Client(dialect, **options).ask("Weather?")
    delegate(client)
    return client


def assert_agreed(verdict: Verdict, client: Client) -> None:
    """Both clients hold the same, and the official one has nothing to say about it."""
    assert (verdict.error, verdict.warnings) == (None, [])
    assert verdict.accepted
    ours = by_id(message for message in client.messages if message["role"] != "user")
    assert by_id(verdict.messages) == ours


def owners(messages: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(message["role"], message.get("subagentRunId")) for message in messages]


@versions
@apis
def test_the_client_takes_mixed_subagents_and_attributes_them(
    judge: Judge, version: Version, dialect: Dialect
) -> None:
    client = delegated(dialect)
    verdict = judge.run(encoded(client.events), version=version)
    assert_agreed(verdict, client)
    assert verdict.finished
    thinking = [owner for role, owner in owners(verdict.messages) if role == "reasoning"]
    assert sorted(thinking, key=str) == ["L", "L", None, None, "R", "R"]
    answers = [owner for role, owner in owners(verdict.messages) if role == "assistant"]
    assert sorted(answers, key=str) == ["L", "L", None, None, "R", "R"]


@versions
@apis
def test_the_clients_next_request_has_the_parents_conversation_and_each_subagents(
    judge: Judge, version: Version, dialect: Dialect
) -> None:
    verdict = judge.run(
        encoded(delegated(dialect).events), version=version, run_input=RUN_INPUT, follow_up="Thanks."
    )
    assert verdict.next_input is not None, verdict.next_error
    think, say, call = dialect.think, dialect.say, dialect.call
    parents = [
        model(think(1), call("c1")),
        results(c1="4C"),
        model(think(8), say("A coat.")),
        user("Thanks."),
    ]
    request = build_request(history_or_messages=verdict.next_input, **dialect.target)
    assert request.body == dialect.body([*unseen(dialect), *parents])
    for name in SUBAGENTS:
        first, last = subagent_parts(dialect, name)
        history = restore(verdict.next_input, subagent=name)
        body = build_request(history_or_messages=history, **dialect.target).body
        script = [model(*first), results(**{f"{name}1": "found"}), model(*last)]
        assert body == dialect.body([*unseen(dialect), *script])


@versions
@pytest.mark.parametrize("stages", [[Chunks], [Steps], [Steps, Coalesce, Chunks]], ids=str)
def test_stages_leave_the_lanes_apart(judge: Judge, version: Version, stages: list[Any]) -> None:
    dialect = DIALECTS["anthropic-messages"]
    staged = delegated(dialect, stages=[stage() for stage in stages])
    verdict = judge.run(encoded(staged.events), version=version, next_turn=False)
    assert verdict.error is None
    bare = judge.run(encoded(delegated(dialect).events), version=version, next_turn=False)
    assert owners(verdict.messages) == owners(bare.messages)


@pytest.mark.parametrize(("version", "ending"), [("1.0.0", "cancel"), ("1.0.0", "fail"), ("0.0.59", "fail")])
def test_subagents_that_are_cut_are_ended_with_their_run(judge: Judge, version: Version, ending: str) -> None:
    dialect = DIALECTS["anthropic-messages"]
    client = Client(dialect).ask("Weather?")
    child = client.agent.subagent("left", id="L")
    client.relays(child.start())
    for delta in dialect.stream([dialect.think(1), dialect.say("Cold.")])[:4]:
        client.relays(child.receive(delta))
    client.ends(ending)
    verdict = judge.run(encoded(client.events), version=version, next_turn=False)
    assert_agreed(verdict, client)


@versions
def test_the_client_takes_the_agents_of_a_model(judge: Judge, version: Version) -> None:
    events = list(stream_run({**RUN_INPUT, "runId": "run-1"}, stream(CHECK_TEXT, *ITEMS), **GPT))
    verdict = judge.run(encoded(events), version=version)
    assert (verdict.error, verdict.warnings, verdict.finished) == (None, [], True)
    whose = {message["content"]: message.get("subagentRunId") for message in verdict.messages}
    assert whose["Rain in Oslo."] == whose["Look at Oslo."] != whose["It is so."]
    assert whose["Take an umbrella."] is None
