"""What changes inside a thread survives the client: the effort, and what signed blocks are bound to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, pairwise
from typing import Any

import pytest
from ag_ui.core import Tool

from agui_reasoning import ConfigurationError, Conversation, Run, build_request, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta, FinishDelta, ResponseStart
from agui_reasoning.parts import (
    EffortChange,
    Opaque,
    Origin,
    Part,
    Prefix,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.testing import FRONT_ENDS
from tests.internals.envelopes import read_envelope
from tests.support.strict_providers import STRICT

Json = dict[str, Any]

KEYS = KeyRing({"k1": bytes(32)}, primary="k1")
OPUS = Origin("anthropic", "anthropic-messages", "claude-opus-5-5")
GPT = Origin("openai", "openai-responses", "gpt-6-astra")
STRICT_OF = {OPUS: "anthropic", GPT: "gpt-6"}
TOOL = Tool(name="get", description="Get.", parameters={"type": "object", "properties": {}})

both = pytest.mark.parametrize("target", [OPUS, GPT], ids=["claude", "gpt"])
sealed = pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "encrypted"])


def thinks(target: Origin, name: str) -> ReasoningPart:
    if target is OPUS:
        value = Opaque("anthropic.signature", f"SIG-{name}")
        return ReasoningPart((Segment("text", 0, f"Hm {name}."),), (value,))
    return ReasoningPart((), (Opaque("openai.encrypted_content", f"SIG-{name}"),), f"rs_{name}")


class Thread:
    """A client, and the runs of its agent."""

    def __init__(self, target: Origin, front_end: str | None = None, **options: Any) -> None:
        self.target, self.options = target, options
        self.front_end = FRONT_ENDS.get(front_end or "", lambda messages: messages)
        numbers = count(1)
        self.new_id = lambda: f"id-{next(numbers)}"
        self.conversation = Conversation("t", new_id=self.new_id)
        self.warnings: list[str] = []
        self.run: Run

    def ask(self, text: str) -> Run:
        asked = self.conversation.run_input(text).model_dump(mode="json", by_alias=True, exclude_none=True)
        asked["messages"] = self.front_end(asked["messages"])
        named = {"api": self.target.api, "provider": self.target.provider, "model": self.target.model}
        self.run = Run(asked, new_id=self.new_id, on_warning=self.warnings.append, **named, **self.options)
        self.show(self.run.start())
        return self.run

    def show(self, events: Sequence[Any]) -> None:
        for event in events:
            self.conversation.receive(event)

    def hear(self, name: str, *parts: Part | Delta) -> None:
        for item in (ResponseStart(self.target, id=f"resp_{name}"), *parts, FinishDelta("stop")):
            self.show(self.run.receive(item))

    def end(self) -> None:
        self.show(self.run.finish())

    def body(self, **options: Any) -> Json:
        store = {} if self.target is OPUS else {"store": False}
        body = self.run.request(**store, **options).body
        conversation = {name: value for name, value in body.items() if name != "thinking"}
        assert STRICT[STRICT_OF[self.target]].refusals(conversation) == []
        return body


def listed(body: Json) -> list[Json]:
    found: list[Json] = body.get("messages") or body["input"]
    return found


def efforts(body: Json) -> list[str]:
    changes = (item.get("output_config") or item.get("reasoning") for item in listed(body))
    return [change["effort"] for change in changes if change]


@both
@sealed
@pytest.mark.parametrize("front_end", [None, "copilotkit", "assistant-ui"])  # TanStack merges the messages
def test_every_request_of_two_turns_with_a_tool_begins_with_the_one_before(
    target: Origin, keys: KeyRing | None, front_end: str | None
) -> None:
    thread = Thread(target, front_end, keys=keys)
    bodies = []
    for turn, (first, second) in enumerate([("high", "low"), ("low", "max")]):
        run = thread.ask("Weather?")
        run.change_effort(first)  # type: ignore[arg-type]
        bodies.append(thread.body(system="Be kind.", tools=[TOOL]))
        call = ToolCallPart(f"call_{turn}", "get", "{}", ext={"id": f"fc_{turn}"} if target is GPT else None)
        thread.hear(f"{turn}a", thinks(target, f"{turn}a"), call)
        thread.show(run.receive(ToolResultPart(f"call_{turn}", "4C")))
        run.change_effort(second)  # type: ignore[arg-type]
        bodies.append(thread.body(system="Be kind.", tools=[TOOL]))
        thread.hear(f"{turn}b", thinks(target, f"{turn}b"), TextPart("4 degrees."))
        thread.end()
    for before, after in pairwise(bodies):
        assert listed(after)[: len(listed(before))] == listed(before)
    assert [efforts(body) for body in bodies] == [
        ["high"],
        ["high", "low"],
        ["high", "low"],  # it is low already
        ["high", "low", "max"],
    ]
    assert thread.warnings == []


@both
@pytest.mark.parametrize(
    ("keys", "visibility"),
    # What is not shown is not kept without keys, and these models require it.
    [(None, "full"), (KEYS, "full"), (KEYS, "summary"), (KEYS, "hidden")],
    ids=["plain", "encrypted", "summary", "hidden"],
)
def test_a_change_survives_in_every_visibility_that_keeps_data(
    target: Origin, keys: KeyRing | None, visibility: Any
) -> None:
    thread = Thread(target, keys=keys, visibility=visibility)
    thread.ask("Weather?").change_effort("high")
    thread.hear("a", thinks(target, "a"), TextPart("4 degrees."))
    thread.end()
    history = thread.ask("And Rome?").history
    assert [type(item).__name__ for item in history.items] == [
        "UserMessage",
        "EffortChange",
        "Turn",
        "UserMessage",
    ]
    assert history.effort == "high"


@sealed
@pytest.mark.parametrize("front_end", [None, *FRONT_ENDS])
def test_a_change_survives_an_answer_that_has_no_other_value(
    keys: KeyRing | None, front_end: str | None
) -> None:
    thread = Thread(GPT, front_end, keys=keys)
    thread.ask("Weather?").change_effort("high")
    thread.hear("a", TextPart("4 degrees."))
    thread.end()
    history = thread.ask("And Rome?").history
    assert history.effort == "high"
    assert [turn.parts[-1].text for turn in history.turns if isinstance(turn.parts[-1], TextPart)] == [
        "4 degrees."
    ]
    assert efforts(thread.body()) == ["high"]


def test_nothing_is_added_to_an_answer_without_a_change() -> None:
    thread = Thread(GPT)
    thread.ask("Weather?").change_effort("high")
    thread.hear("a", TextPart("4 degrees."))
    thread.hear("b", TextPart("Rain."))
    thread.end()
    assert [message.role for message in thread.conversation.messages] == [
        *("user", "assistant", "reasoning", "assistant")
    ]


def test_a_change_waits_while_a_response_is_empty() -> None:
    thread = Thread(GPT)
    run = thread.ask("Weather?")
    run.change_effort("high")
    thread.hear("a")
    assert run.history.items[-1] == EffortChange("high")
    thread.hear("b", thinks(GPT, "b"), TextPart("4 degrees."))
    assert [type(item).__name__ for item in run.history.items] == ["UserMessage", "EffortChange", "Turn"]
    thread.end()
    assert thread.ask("And Rome?").history.effort == "high"


def test_a_change_during_a_response_stands_after_it() -> None:
    thread = Thread(GPT)
    run = thread.ask("Weather?")
    thread.show(run.receive(ResponseStart(GPT, id="resp_a")))
    thread.show(run.receive(thinks(GPT, "a")))
    run.change_effort("low")
    assert [type(item).__name__ for item in run.history.items] == ["UserMessage", "Turn", "EffortChange"]
    thread.show(run.receive(TextPart("4 degrees.")))
    thread.hear("b", thinks(GPT, "b"), TextPart("Rain."))
    names = [type(item).__name__ for item in run.history.items]
    assert names == ["UserMessage", "Turn", "EffortChange", "Turn"]
    thread.end()
    assert [type(item).__name__ for item in thread.ask("?").history.items][:4] == names


def test_the_latest_change_before_a_response_counts_and_the_same_effort_is_no_change() -> None:
    run = Thread(GPT).ask("Weather?")
    for effort in ("high", "low", "low"):
        run.change_effort(effort)  # type: ignore[arg-type]
    assert run.history.items[1:] == (EffortChange("low"),)
    with pytest.raises(ConfigurationError):
        run.change_effort("ultra")  # type: ignore[arg-type]


def test_a_subagent_has_its_own_effort() -> None:
    thread = Thread(GPT, keys=KEYS)
    run = thread.ask("Weather?")
    child = run.subagent("helper", id="sub-1")
    thread.show(child.start())
    child.change_effort("max")
    for item in (ResponseStart(GPT, id="resp_s"), thinks(GPT, "s"), TextPart("Rain."), FinishDelta("stop")):
        thread.show(child.receive(item))
    thread.show(child.finish())
    thread.hear("a", thinks(GPT, "a"), TextPart("4 degrees."))
    thread.end()
    again = thread.ask("And Rome?")
    assert again.history.effort is None
    own = restore(again.input, keys=KEYS, thread_id="t", subagent="sub-1")
    assert own.effort == "max"


def test_a_made_up_level_is_ignored() -> None:
    value = (
        '{"k":"agui-reasoning","v":2,"response":{"id":"r","messages":["a"],"effort":"ultra"},'
        '"origin":{"provider":"openai","api":"openai-responses","model":"gpt-6-astra"},"units":[]}'
    )
    messages = [
        {"id": "u", "role": "user", "content": "Hi."},
        {"id": "a", "role": "assistant", "content": "Hello.", "encryptedValue": value},
    ]
    assert read_envelope(value) is not None
    assert restore(messages).effort is None
    assert len(restore(messages).turns) == 1
    assert restore([messages[0], {**messages[1], "encryptedValue": value.replace("ultra", "max")}]).effort


# -- what signed blocks are bound to

OTHER = Tool(name="put", description="Put.", parameters={"type": "object", "properties": {}})


def bound(thread: Thread, **options: Any) -> list[str]:
    """Answer a first question, ask another with these options, and return the warnings."""
    thread.ask("Weather?")
    thread.body(system="Be kind.", tools=[TOOL])
    thread.hear("a", thinks(OPUS, "a"), TextPart("4 degrees."))
    thread.end()
    thread.ask("And Rome?")
    thread.body(**{"system": "Be kind.", "tools": [TOOL], **options})
    return thread.warnings


@sealed
@pytest.mark.parametrize("front_end", [None, *FRONT_ENDS])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"system": "Be brief."}, ["system text"]),
        ({"system": None}, ["system text"]),
        ({"tools": [TOOL, OTHER]}, ["tools"]),
        ({"tools": []}, ["tools"]),
        ({"system": "Be brief.", "tools": [OTHER], "apply_flags": True}, ["system text", "tools"]),
    ],
    ids=["nothing", "other text", "no text", "another tool", "no tools", "both"],
)
def test_what_invalidates_signed_blocks_is_said_before_the_request_is_sent(
    keys: KeyRing | None, front_end: str | None, options: Json, said: list[str]
) -> None:
    warnings = bound(Thread(OPUS, front_end, keys=keys), **options)
    assert [text.partition(":")[0] for text in warnings] == [
        f"1 reasoning unit(s) are no longer valid, because the {what} changed since they were made"
        for what in said
    ]


def test_it_is_said_within_a_run_too() -> None:
    thread = Thread(OPUS)
    run = thread.ask("Weather?")
    thread.body(tools=[TOOL])
    thread.hear("a", thinks(OPUS, "a"), ToolCallPart("call_1", "get", "{}"))
    thread.show(run.receive(ToolResultPart("call_1", "4C")))
    thread.body(tools=[TOOL])
    assert thread.warnings == []
    thread.body(tools=[OTHER])
    assert len(thread.warnings) == 1


def test_a_stored_conversation_keeps_its_instructions_and_tools() -> None:
    thread = Thread(OPUS)
    thread.ask("Weather?")
    thread.run.request(system="Be kind.", tools=[TOOL], store=True)
    thread.hear("a", thinks(OPUS, "a"), TextPart("4 degrees."))
    thread.end()
    run = thread.ask("And Rome?")
    continued = build_request(
        "anthropic-messages",
        run.history,
        provider="anthropic",
        model=OPUS.model,
        previous_response_id="resp_a",
        on_warning=thread.warnings.append,
    )
    assert "system" not in continued.body
    assert continued.prefix == run.history.turns[0].prefix
    assert thread.warnings == []


def test_marks_for_caching_are_no_change() -> None:
    written = {"name": "get", "description": "Get.", "input_schema": TOOL.parameters}
    marked = {**written, "cache_control": {"type": "ephemeral"}}
    thread = Thread(OPUS)
    assert bound(thread, tools=[marked]) == []


def test_models_that_bind_nothing_are_not_asked() -> None:
    thread = Thread(GPT)
    thread.ask("Weather?")
    assert thread.run.request(system="Be kind.").prefix is None
    thread.hear("a", thinks(GPT, "a"), TextPart("4 degrees."))
    thread.end()
    assert thread.ask("And Rome?").history.turns[0].prefix is None


def test_values_that_are_not_encrypted_do_not_confirm_a_guess_of_the_instructions() -> None:
    found: list[Prefix | None] = []
    for keys in (None, KEYS):
        thread = Thread(OPUS, keys=keys)
        bound(thread)
        found.append(thread.run.history.turns[0].prefix)
    plain, encrypted = found
    assert plain is not None
    assert encrypted is not None
    assert len(plain.system) == 2
    assert (len(encrypted.system), plain.tools) == (32, encrypted.tools)
    assert encrypted.system.startswith(plain.system)


def test_turns_are_equal_whatever_request_they_answer() -> None:
    assert Turn((), OPUS, "a", prefix=Prefix("a", "b")) == Turn((), OPUS, "a")
