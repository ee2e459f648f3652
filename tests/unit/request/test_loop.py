"""Test the loop through `Run`: what the model is asked next.

Each situation is played for three APIs, and the client sends its history back as three front ends do. The
whole request is compared with one that is written by hand.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import pytest
from ag_ui.core import Interrupt, ResumeEntry, UserMessage
from msgspec.structs import replace

from agui_reasoning import build_request, check_events, restore
from agui_reasoning.deltas import Delta, ReasoningDelta
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.parts import Part, TextPart, ToolResultPart
from tests.support.dialects import DIALECTS, Dialect, Step, model, results, user
from tests.support.loop import RETURNS, Client
from tests.support.verifier import plain

UNANSWERED = "No result: the call was not answered."

apis = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
front_ends = pytest.mark.parametrize("returns", RETURNS)


def expect(client: Client, *script: Step) -> None:
    """The next request is this conversation, and nothing was warned about but blocks without text."""
    assert client.request() == client.dialect.body(script)
    assert [warning for warning in client.warnings if "was signed but had no text" not in warning] == []


# -- one run


@apis
def test_an_agent_asks_again_after_its_own_tools(dialect: Dialect) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    client = Client(dialect).ask("Weather?")
    expect(client, user("Weather?"))
    first = [think(1), say("I will look."), call("c1")]
    client.hears(*first).runs_tools(c1="4C")
    expect(client, user("Weather?"), model(*first), results(c1="4C"))
    second = [think(2), call("c2")]
    client.hears(*second).runs_tools(c2="rain")
    expect(client, user("Weather?"), model(*first), results(c1="4C"), model(*second), results(c2="rain"))


@apis
@front_ends
def test_a_run_of_several_responses_comes_back_as_several(dialect: Dialect, returns: str) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    first, second = [think(1), call("c1")], [think(2), call("c2")]
    last = [think(3), say("A coat.")]
    client = Client(dialect, returns).ask("Weather?")
    client.hears(*first).runs_tools(c1="4C").hears(*second).runs_tools(c2="rain").hears(*last).ends()
    expect(
        client.ask("And tomorrow?"),
        user("Weather?"),
        model(*first),
        results(c1="4C"),
        model(*second),
        results(c2="rain"),
        model(*last),
        user("And tomorrow?"),
    )


# -- front-end tools


@apis
@front_ends
@pytest.mark.parametrize("order", [("c1", "c2", "c3"), ("c3", "c1", "c2"), ("c2", "c3", "c1")], ids="".join)
def test_parallel_calls_are_answered_in_their_own_order(
    dialect: Dialect, returns: str, order: tuple[str, ...]
) -> None:
    contents = {"c1": "4C", "c2": "rain", "c3": "wind"}
    calling = [dialect.think(1), *(dialect.call(name) for name in contents)]
    client = Client(dialect, returns).ask("Weather?").hears(*calling).ends()
    assert client.waiting == list(contents)
    client.answer(**{name: contents[name] for name in order}).ask()
    expect(client, user("Weather?"), model(*calling), results(**contents))


@apis
@front_ends
def test_reasoning_between_calls_stays_between_them(dialect: Dialect, returns: str) -> None:
    think, call = dialect.think, dialect.call
    calling = [think(1), call("c1"), think(4), call("c2")]
    client = Client(dialect, returns).ask("Weather?").hears(*calling).ends()
    client.answer(c2="rain", c1="4C").ask()
    expect(client, user("Weather?"), model(*calling), results(c1="4C", c2="rain"))


@apis
@front_ends
def test_a_loop_over_several_runs_keeps_every_response_apart(dialect: Dialect, returns: str) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    script: list[Step] = [user("Weather?")]
    client = Client(dialect, returns).ask("Weather?")
    for number in range(1, 4):
        calling = [think(number), call(f"c{number}")]
        client.hears(*calling).ends().answer(**{f"c{number}": "4C"}).ask()
        script += [model(*calling), results(**{f"c{number}": "4C"})]
        expect(client, *script)
    answer = [think(4), say("A coat.")]
    client.hears(*answer).ends().ask("Thanks.")
    expect(client, *script, model(*answer), user("Thanks."))


@apis
@front_ends
def test_server_and_client_tools_in_one_thread(dialect: Dialect, returns: str) -> None:
    think, call = dialect.think, dialect.call
    mixed = [think(1), call("c1"), call("c2")]
    client = Client(dialect, returns).ask("Weather?").hears(*mixed).runs_tools(c2="rain").ends()
    assert client.waiting == ["c1"]
    client.answer(c1="4C").ask()
    expect(client, user("Weather?"), model(*mixed), results(c1="4C", c2="rain"))


@apis
@front_ends
def test_a_call_that_the_user_talks_over_is_answered_for_the_model(dialect: Dialect, returns: str) -> None:
    calling = [dialect.think(1), dialect.call("c1"), dialect.call("c2")]
    client = Client(dialect, returns).ask("Weather?").hears(*calling).ends()
    client.answer(c2="rain").ask("Never mind.")
    body = client.request()
    expected = dialect.body(
        [user("Weather?"), model(*calling), results(c1=UNANSWERED, c2="rain"), user("Never mind.")]
    )
    # Where the API can say so, the made-up result is an error.
    for message in body.get("messages", ()):
        for block in message["content"] if isinstance(message["content"], list) else ():
            assert block.pop("is_error", True) is True
    assert body == expected


# -- what goes wrong


def cut_thought(dialect: Dialect) -> list[Delta]:
    """The stream stops inside a unit: whatever was to prove it has not come."""
    deltas = dialect.stream([dialect.think(1)])
    shown = next(n for n, delta in enumerate(deltas) if isinstance(delta, ReasoningDelta) and delta.text)
    return deltas[: shown + 1]


ENDINGS = ["cancel", "fail"]


@apis
@front_ends
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_thought_that_was_cut_is_not_sent(dialect: Dialect, returns: str, ending: str) -> None:
    client = Client(dialect, returns).ask("Weather?")
    client.streams(cut_thought(dialect)).ends(ending)
    assert [message["role"] for message in client.messages] == ["user", "reasoning"]
    client.ask("Go on.")
    assert [text for text in said(client) if "Thought" in text] == []
    assert client.request() == dialect.body([user("Weather?"), user("Go on.")])


def said(client: Client) -> list[str]:
    """Every string of the next request."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    walk(client.request())
    return found


@apis
@front_ends
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_call_that_was_cut_goes_with_what_led_to_it(dialect: Dialect, returns: str, ending: str) -> None:
    """The complete response before it stays as it was."""
    think, say, call = dialect.think, dialect.say, dialect.call
    whole = [think(1), call("c1")]
    client = Client(dialect, returns).ask("Weather?").hears(*whole).runs_tools(c1="4C")
    deltas = dialect.stream([think(2), call("c2")])
    client.streams(deltas[:-2]).ends(ending)
    client.ask("Go on.")
    expect(client, user("Weather?"), model(*whole), results(c1="4C"), user("Go on."))
    client.hears(think(4), say("A coat.")).ends().ask("Thanks.")
    expect(
        client,
        user("Weather?"),
        model(*whole),
        results(c1="4C"),
        user("Go on."),
        model(think(4), say("A coat.")),
        user("Thanks."),
    )


@apis
@front_ends
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_answer_that_was_cut_is_sent_as_far_as_the_user_read_it(
    dialect: Dialect, returns: str, ending: str
) -> None:
    think, say = dialect.think, dialect.say
    deltas = dialect.stream([think(1), say("A coat, and")])
    client = Client(dialect, returns).ask("Weather?").streams(deltas[:-2]).ends(ending)
    client.ask("Go on.")
    cut = say("A coat, and")
    assert isinstance(cut, TextPart)
    cut = replace(cut, status="incomplete")
    expect(client, user("Weather?"), model(think(1), cut), user("Go on."))


# -- what the user takes back


@apis
@front_ends
def test_a_regenerated_answer_leaves_nothing_of_the_one_before(dialect: Dialect, returns: str) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    asking = [think(1), call("c1")]
    client = Client(dialect, returns).ask("Weather?").hears(*asking).ends().answer(c1="4C").ask()
    client.hears(think(2), say("A hat.")).ends()
    client.forget(client.places("tool")[-1] + 1).ask()
    expect(client, user("Weather?"), model(*asking), results(c1="4C"))
    client.hears(think(5), say("A coat.")).ends().ask("Thanks.")
    expect(
        client,
        user("Weather?"),
        model(*asking),
        results(c1="4C"),
        model(think(5), say("A coat.")),
        user("Thanks."),
    )


@apis
@front_ends
def test_a_whole_turn_can_be_asked_again(dialect: Dialect, returns: str) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    client = Client(dialect, returns).ask("Weather?").hears(think(1), say("Cold.")).ends().ask("Where?")
    client.hears(think(2), call("c1")).runs_tools(c1="4C").hears(say("In Oslo.")).ends()
    client.forget(client.places("user")[-1] + 1).ask()
    expect(client, user("Weather?"), model(think(1), say("Cold.")), user("Where?"))


@apis
@front_ends
def test_an_edited_message_takes_everything_after_it_away(dialect: Dialect, returns: str) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    client = Client(dialect, returns).ask("Weather?").hears(think(1), say("Cold.")).ends().ask("In Oslo?")
    client.hears(think(2), call("c1")).ends().answer(c1="4C").ask().hears(think(4), say("Yes.")).ends()
    client.forget(client.places("user")[1]).ask("In Rome?")
    expect(client, user("Weather?"), model(think(1), say("Cold.")), user("In Rome?"))
    client.forget(0).ask("Hello.")
    expect(client, user("Hello."))


@apis
@front_ends
def test_an_answer_that_is_taken_away_alone_takes_its_reasoning_out_of_the_request(
    dialect: Dialect, returns: str
) -> None:
    """Some clients remove the bubble and leave the reasoning."""
    think, say = dialect.think, dialect.say
    client = Client(dialect, returns).ask("Weather?").hears(think(1), say("Cold.")).ends()
    client.forget(client.places("assistant")[0]).ask()
    assert [message["role"] for message in client.messages] == ["user", "reasoning"]
    assert client.request() == dialect.body([user("Weather?")])


# -- interrupts


@apis
@front_ends
def test_a_call_that_waits_for_approval_is_answered_in_the_run_that_resumes(
    dialect: Dialect, returns: str
) -> None:
    calling = [dialect.think(1), dialect.call("c1")]
    client = Client(dialect, returns).ask("Weather?").hears(*calling)
    client.ends(interrupts=[Interrupt(id="i1", reason="approve", tool_call_id="c1")])
    client.ask(resume=[ResumeEntry(interrupt_id="i1", status="resolved", payload={"approved": True})])
    assert client.agent.resume["i1"].payload == {"approved": True}
    client.runs_tools(c1="4C")
    expect(client, user("Weather?"), model(*calling), results(c1="4C"))


# -- subagents

SUBAGENTS = {"L": 2, "R": 5}
"""Two subagents, and the numbers of their first thoughts."""


def subagent_parts(dialect: Dialect, name: str) -> tuple[list[Part], list[Part]]:
    """The two responses of a subagent."""
    number = SUBAGENTS[name]
    first = [dialect.think(number), dialect.call(f"{name}1")]
    return first, [dialect.think(number + 2), dialect.say(f"{name}: south.")]


def delegate(client: Client) -> None:
    """Two subagents at once, their events mixed, inside a run that thinks itself."""
    dialect = client.dialect
    client.hears(dialect.think(1), dialect.call("c1"))
    children = [client.agent.subagent(f"agent {name}", id=name) for name in SUBAGENTS]
    steps = []
    for name in SUBAGENTS:
        first, last = subagent_parts(dialect, name)
        steps.append([*dialect.stream(first), ToolResultPart(f"{name}1", "found"), *dialect.stream(last)])
    for child in children:
        client.relays(child.start())
    for both in zip_longest(*steps):
        for child, step in zip(children, both, strict=True):
            client.relays([] if step is None else child.receive(step))
    for child in reversed(children):
        client.relays(child.finish())
    client.runs_tools(c1="4C").hears(dialect.think(8), dialect.say("A coat.")).ends()


@apis
@front_ends
def test_what_subagents_thought_is_not_in_the_request_of_their_parent(dialect: Dialect, returns: str) -> None:
    think, say, call = dialect.think, dialect.say, dialect.call
    client = Client(dialect, returns).ask("Weather?")
    delegate(client)
    expect(
        client.ask("Thanks."),
        user("Weather?"),
        model(think(1), call("c1")),
        results(c1="4C"),
        model(think(8), say("A coat.")),
        user("Thanks."),
    )


@apis
@pytest.mark.parametrize("returns", ["as it is", "copilotkit"])
@pytest.mark.parametrize("name", SUBAGENTS)
def test_a_subagent_that_is_asked_again_gets_its_own_conversation(
    dialect: Dialect, returns: str, name: str
) -> None:
    client = Client(dialect, returns).ask("Weather?")
    delegate(client)
    client.ask("Thanks.")
    restored = restore(client.agent.input, subagent=name)
    assert client.agent.subagent("again", id=name).history.items == restored.items
    asked = UserMessage(id="u9", content="Go on.")
    request = build_request(history_or_messages=restored.with_items([asked]), **dialect.target)
    first, last = subagent_parts(dialect, name)
    script = [model(*first), results(**{f"{name}1": "found"}), model(*last), user("Go on.")]
    assert request.body == dialect.body([*unseen(dialect), *script])
    assert dialect.check(request.body) == []


def unseen(dialect: Dialect) -> list[Step]:
    """A conversation of Anthropic's begins with the user; what a subagent was asked the client never saw."""
    begins = dialect.origin.api == "anthropic-messages"
    return [user("(The conversation begins with the assistant.)")] if begins else []


@apis
def test_the_events_of_parallel_subagents_are_valid_and_attributed(dialect: Dialect) -> None:
    client = Client(dialect).ask("Weather?")
    delegate(client)
    assert check_events(client.events) == []
    assert {event.get("subagentRunId") for event in plain(client.events)} == {None, "L", "R"}
    thinking = [message for message in client.messages if message["role"] == "reasoning"]
    assert [message.get("subagentRunId") for message in thinking] == [None, "L", "R", "L", "R", None]
    called = [(m.get("subagentRunId"), c["id"]) for m in client.messages for c in m.get("toolCalls", ())]
    assert called == [(None, "c1"), ("L", "L1"), ("R", "R1")]


@apis
@pytest.mark.parametrize("stages", [[Chunks], [Steps], [Coalesce], [Steps, Coalesce, Chunks]], ids=str)
def test_stages_keep_the_lanes_of_parallel_subagents_apart(dialect: Dialect, stages: list[Any]) -> None:
    bare, staged = Client(dialect), Client(dialect, stages=[stage() for stage in stages])
    for client in (bare, staged):
        delegate(client.ask("Weather?"))
    assert check_events(staged.events) == []
    assert contents(staged) == contents(bare)
    chunks = [event for event in plain(staged.events) if event["type"].endswith("_CHUNK")]
    assert bool(chunks) == (Chunks in stages)
    # Every chunk of a subagent says so, the later ones too (P19).
    assert {event.get("subagentRunId") for event in chunks} in ({None, "L", "R"}, set())
    assert staged.ask("Thanks.").request() == bare.ask("Thanks.").request()


def contents(client: Client) -> list[Any]:
    """What is held, without the ids, which stages mint too."""
    names = ("role", "content", "subagentRunId")
    return [[message.get(name) for name in names] for message in client.messages]
