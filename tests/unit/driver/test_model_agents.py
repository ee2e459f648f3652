"""Agents below the root of a response (OpenAI's multi-agent beta) are subagents of the run."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import Conversation, ModelStream, Run, build_request, run_agent, stream_run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.request import ProviderRequest
from tests.support.strict_providers import STRICT
from tests.support.vendor_shapes import (
    message_events,
    message_item,
    responses_event,
    responses_stream,
    summarized,
    summary_events,
)
from tests.support.verifier import plain

JSON = dict[str, Any]

GPT: JSON = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6"}
STRICT_GPT = STRICT["openai"]
RESEARCHER, CHECKER = "/root/researcher", "/root/researcher/checker"


def of(agent: str, item: JSON) -> JSON:
    return {**item, "agent": {"agent_name": agent}}


def native(kind: str, name: str, **fields: Any) -> JSON:
    return of("/root", {"type": kind, "id": name, **fields})


def thought(agent: str, name: str, text: str) -> JSON:
    return of(agent, summarized(name, text, encrypted_content=f"gAAAA{name}"))


SPAWN = native("multi_agent_call", "mac_1", call_id="m1", action="spawn_agent", arguments="{}")
SPAWNED = native("multi_agent_call_output", "mao_1", call_id="m1", action="spawn_agent", output=[])
ROOT_THOUGHT = thought("/root", "rs_0", "Someone should look.")
SUB_THOUGHT = thought(RESEARCHER, "rs_1", "Look at Oslo.")
SUB_TEXT = of(RESEARCHER, message_item("msg_1", "Rain in Oslo."))
SUB_CALL = of(
    RESEARCHER,
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get", "arguments": "{}"},
)
CHECK_THOUGHT = thought(CHECKER, "rs_2", "Is it so?")
CHECK_TEXT = of(CHECKER, message_item("msg_2", "It is so."))
TOLD = native(
    "agent_message",
    "am_1",
    author=RESEARCHER,
    recipient="/root",
    content=[{"type": "encrypted_content", "encrypted_content": "gAAAAam"}],
)
LAST_THOUGHT = thought("/root", "rs_3", "So it rains.")
ANSWER = of("/root", message_item("msg_3", "Take an umbrella."))


def done(index: int, item: JSON) -> list[JSON]:
    return [responses_event("output_item.done", index, item=item)]


def stream(*items: JSON) -> list[Any]:
    """A response, in the order of its items."""
    events: list[JSON] = []
    for index, item in enumerate(items):
        kind = item["type"]
        if kind == "reasoning":
            events += summary_events(index, item)
        elif kind == "message":
            events += message_events(index, item)
        else:
            events += done(index, item)
    return responses_stream(*events, output=items, model="gpt-5.6")


ITEMS = (ROOT_THOUGHT, SPAWN, SPAWNED, SUB_THOUGHT, SUB_TEXT, TOLD, LAST_THOUGHT, ANSWER)


def asked(conversation: Conversation, *items: JSON, **options: Any) -> list[JSON]:
    """The events of a run that answers with these items, which the conversation received."""
    run_input = conversation.run_input("Rain?")
    events = plain(
        stream_run(run_input, stream(*items), **{**GPT, "on_warning": lambda text: None}, **options)
    )
    for event in events:
        conversation.receive(event)
    return events


def request(messages: Any, **options: Any) -> ProviderRequest:
    given = {**GPT, **options}
    return build_request(given.pop("api"), messages, on_warning=lambda text: None, **given)


def named(body: JSON) -> list[str]:
    return [item.get("id") or item.get("role") or item["type"] for item in body["input"]]


def without(item: JSON, *names: str) -> JSON:
    return {name: value for name, value in item.items() if name not in names}


def test_an_agent_below_the_root_is_a_subagent_with_its_own_messages() -> None:
    conversation = Conversation("t")
    events = asked(conversation, *ITEMS)
    (started,) = [event for event in events if event["type"] == "SUBAGENT_STARTED"]
    assert started["name"] == "researcher"
    shown = [(message.role, message.content, message.subagent_run_id) for message in conversation.messages]
    whose = started["subagentRunId"]
    assert shown[1:] == [
        ("reasoning", "Someone should look.", None),
        ("reasoning", "Look at Oslo.", whose),
        ("assistant", "Rain in Oslo.", whose),
        ("reasoning", "So it rains.", None),
        ("assistant", "Take an umbrella.", None),
    ]
    kinds = [event["type"] for event in events]
    assert kinds.index("SUBAGENT_FINISHED") < kinds.index("RUN_FINISHED")


@pytest.mark.parametrize("keys", [None, KeyRing({"k": bytes(32)})])
@pytest.mark.parametrize("dropped", [False, True])
def test_its_items_go_back_in_their_places(keys: KeyRing | None, dropped: bool) -> None:
    conversation = Conversation("t")
    asked(conversation, *ITEMS, keys=keys)
    messages = [one for one in conversation.messages if not (dropped and one.subagent_run_id)]
    made = request([*messages, {"id": "u2", "role": "user", "content": "So?"}], keys=keys, thread_id="t")
    assert STRICT_GPT.reject(made.body) is None
    assert made.body["input"][1:-1] == [
        without(item, "status") if "summary" in item else item for item in ITEMS
    ]


def test_an_item_that_was_cut_does_not_go_back_as_it_was() -> None:
    conversation = Conversation("t")
    asked(conversation, ROOT_THOUGHT, SPAWN, SPAWNED, {**SUB_TEXT, "status": "incomplete"}, ANSWER)
    made = request([*conversation.messages, {"id": "u2", "role": "user", "content": "So?"}])
    assert STRICT_GPT.reject(made.body) is None
    assert "msg_1" not in named(made.body)
    assert "msg_3" in named(made.body)


def test_the_request_of_the_same_run_has_them_too() -> None:
    bodies = []

    def agent(run: Run) -> Any:
        yield ModelStream(stream(ROOT_THOUGHT, SUB_THOUGHT, SUB_CALL))
        (call,) = run.pending_calls
        yield ToolResultPart(call.id, "4C")
        bodies.append(run.request().body)
        yield ModelStream(stream(LAST_THOUGHT, ANSWER))

    conversation = Conversation("t")
    events = plain(run_agent(conversation.run_input("Rain?"), agent, **GPT))
    assert STRICT_GPT.reject(bodies[0]) is None
    output = {"type": "function_call_output", "call_id": "call_1", "output": "4C"}
    assert bodies[0]["input"][1:] == [ROOT_THOUGHT, SUB_THOUGHT, SUB_CALL, output]
    # The run answers the calls of all agents, so they are calls of the run.
    (call,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert "subagentRunId" not in call


def test_agents_may_speak_at_the_same_time_and_below_each_other() -> None:
    first, second = summary_events(0, CHECK_THOUGHT), summary_events(1, LAST_THOUGHT)
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    events = [*mixed, *message_events(2, CHECK_TEXT), *message_events(3, ANSWER)]
    whole = responses_stream(
        *events, output=(CHECK_THOUGHT, LAST_THOUGHT, CHECK_TEXT, ANSWER), model="gpt-5.6"
    )
    conversation = Conversation("t")
    for event in plain(stream_run(conversation.run_input("Rain?"), whole, **GPT)):
        conversation.receive(event)
    texts = {str(message.content): message.subagent_run_id for message in conversation.messages}
    assert texts["Is it so?"] == texts["It is so."] is not None
    assert texts["So it rains."] is texts["Take an umbrella."] is None
    made = request(conversation.messages)
    assert sorted(named(made.body)[1:]) == ["msg_2", "msg_3", "rs_2", "rs_3"]


def test_a_subagent_below_another_begins_after_it() -> None:
    events = asked(Conversation("t"), CHECK_TEXT, SUB_TEXT, ANSWER)
    started = [event for event in events if event["type"] == "SUBAGENT_STARTED"]
    assert [event["name"] for event in started] == ["researcher", "checker"]
    assert started[1]["parentSubagentRunId"] == started[0]["subagentRunId"]
    ended = [event["subagentRunId"] for event in events if event["type"] == "SUBAGENT_FINISHED"]
    assert ended == [event["subagentRunId"] for event in reversed(started)]


def test_a_whole_response_is_shown_like_its_stream() -> None:
    whole = stream(*ITEMS)[-1]["response"]
    numbers: JSON = {"new_id": iter(f"n{n}" for n in range(99)).__next__, "now_ms": None}
    events = plain(stream_run(Conversation("t").run_input("Rain?"), whole, **GPT, **numbers))
    told = [event["delta"] for event in events if event["type"].endswith("MESSAGE_CONTENT")]
    assert told == [
        "Someone should look.",
        "Look at Oslo.",
        "Rain in Oslo.",
        "So it rains.",
        "Take an umbrella.",
    ]
    assert sum(event["type"] == "SUBAGENT_STARTED" for event in events) == 1


@pytest.mark.parametrize("visibility", ["hidden", "summary"])
def test_reasoning_that_is_not_shown_is_in_nothing_that_the_client_could_read(visibility: str) -> None:
    conversation = Conversation("t")
    azure = {**GPT, "provider": "acme"}
    events = plain(
        stream_run(
            conversation.run_input("Rain?"),
            stream(*ITEMS),
            **{**azure, "visibility": visibility, "on_warning": lambda text: None},
        )
    )
    values = [event["encryptedValue"] for event in events if event["type"] == "REASONING_ENCRYPTED_VALUE"]
    assert "gAAAArs_1" not in str(values)
    assert "Look at Oslo." not in str(values)
    keyed = asked(Conversation("t"), *ITEMS, visibility=visibility, keys=KeyRing({"k": bytes(32)}))
    assert "Look at Oslo." not in str(keyed) or visibility == "summary"


def test_a_connection_that_breaks_ends_its_subagents() -> None:
    broken = stream(*ITEMS)[:14]
    events = plain(stream_run(Conversation("t").run_input("Rain?"), broken, **GPT))
    kinds = [event["type"] for event in events]
    assert kinds.count("SUBAGENT_STARTED") == 1
    assert kinds[-1] == "RUN_ERROR"
    assert sum(kind in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR") for kind in kinds) == 1


def test_where_reasoning_cannot_be_sent_its_followers_lose_their_ids() -> None:
    conversation = Conversation("t")
    bare = without(SUB_THOUGHT, "encrypted_content")
    asked(conversation, bare, SUB_CALL, LAST_THOUGHT, ANSWER)
    made = request(conversation.messages, store=False)
    assert STRICT_GPT.reject(made.body) is None
    call = next(item for item in made.body["input"] if item.get("type") == "function_call")
    assert "id" not in call
    rejecting = request(conversation.messages, model="gpt-4o")
    assert "reasoning" not in {item.get("type") for item in rejecting.body["input"]}
