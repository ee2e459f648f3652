"""Test the loop through `Run` over several runs, with anything missing or repeated.

A model of the conversation is kept beside the real one: the steps that survive in the client's history.
Before every request the whole body is compared with that of the model, and its provider takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from agui_reasoning import build_request
from agui_reasoning.deltas import CloseDelta, TextDelta
from agui_reasoning.parts import Part, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.testing import tanstack
from tests.laws import law
from tests.support.dialects import DIALECTS, Body, Dialect, Step, model, results, user
from tests.support.effort import examples
from tests.support.loop import RETURNS, Client
from tests.support.sdk_types import check_types

FAILED = "agent failed to find"
UNANSWERED = "No result: the call was not answered."
ENDINGS = st.sampled_from(["cancel", "fail"])

# What one response is made of: it thinks first, and ends with something that the thinking led to.
THINKING = st.lists(
    st.sampled_from([("say",), ("call",), ("call", "call"), ("think", "say"), ("think", "call")]),
    min_size=1,
    max_size=3,
).map(lambda groups: ["think", *(kind for group in groups for kind in group)])
# One that does not think has no envelope: its client's order is all there is to go by.
PLAIN = st.sampled_from([["say"], ["call"], ["say", "call"], ["call", "call"]])


@dataclass
class Asked:
    """A question, so that it can be asked again or edited: what was held and known before it."""

    held: list[str]
    script: list[Step]
    text: str | None


@law("pairing out")
class Loop(RuleBasedStateMachine):
    """Runs of one thread.

    Attributes:
        script: What survives in the client's history.
        answers: What the calls of the last response returned so far, by id.
    """

    dialect: ClassVar[Dialect]

    @initialize(returns=st.sampled_from(list(RETURNS)))
    def begin(self, returns: str) -> None:
        self.returns = returns
        self.client = Client(self.dialect, returns)
        self.script: list[Step] = []
        self.answers: dict[str, str | None] = {}
        self.asked: list[Asked] = []
        self.number = 0
        self.running = False

    # -- the client

    def ask(self, text: str | None) -> None:
        self._settle()
        held = [message["id"] for message in self.client.messages]
        self.asked.append(Asked(held, list(self.script), text))
        self.script += [] if text is None else [user(text)]
        self.client.ask(text)
        self.running = True

    def _settle(self) -> None:
        """What the model will read of its calls; and what a response without an envelope has lost."""
        if self.answers:
            told = {call: content or UNANSWERED for call, content in self.answers.items()}
            self.script.append(results(**told))
            self.answers = {}
        self.script = [(kind, _returned(said) if kind == "model" else said) for kind, said in self.script]

    @precondition(lambda self: not self.running)
    @rule()
    def user_speaks(self) -> None:
        """Perhaps over calls that wait."""
        self.ask(f"Question {self._next()}?")

    @precondition(lambda self: not self.running and self._waiting())
    @rule(data=st.data())
    def client_runs_its_tools(self, data: st.DataObject) -> None:
        for call in data.draw(st.permutations(self._waiting())):
            self.answers[call] = f"client found {call}"
            self.client.answer(**{call: f"client found {call}"})
        self.ask(None)

    @precondition(lambda self: not self.running and self.script and self.script[-1][0] == "user")
    @rule()
    def client_tries_again(self) -> None:
        """Nothing came of the last run."""
        self.ask(None)

    @precondition(lambda self: not self.running and self.asked)
    @rule()
    def client_regenerates(self) -> None:
        last = self.asked.pop()
        self._go_back(last, keep_question=True)
        self.answers = {}
        self.script = last.script + ([] if last.text is None else [user(last.text)])
        self.asked.append(last)
        self.client.ask(None)
        self.running = True

    @precondition(lambda self: not self.running and any(asked.text for asked in self.asked))
    @rule(data=st.data())
    def user_edits_a_message(self, data: st.DataObject) -> None:
        places = [place for place, asked in enumerate(self.asked) if asked.text]
        place = data.draw(st.sampled_from(places))
        edited = self.asked[place]
        self._go_back(edited, keep_question=False)
        self.asked = self.asked[:place]
        self.script, self.answers = list(edited.script), {}
        self.ask(f"Rather {self._next()}?")

    def _go_back(self, asked: Asked, *, keep_question: bool) -> None:
        messages = self.client.messages
        new = [message["id"] for message in messages if message["id"] not in asked.held]
        keep = asked.held + (new[:1] if keep_question and asked.text else [])
        self.client.hold([message for message in messages if message["id"] in keep])

    # -- the agent

    @precondition(lambda self: self._may_ask())
    @rule(data=st.data())
    def model_answers(self, data: st.DataObject) -> None:
        self._heard(parts := self._response(data))
        self.client.hears(*parts)

    @precondition(lambda self: self._may_ask())
    @rule(data=st.data(), ending=ENDINGS)
    def stream_is_cut(self, data: st.DataObject, ending: str) -> None:
        """Whatever was not complete is not sent, but for text, which the user has read."""
        parts = self._response(data, cut=True)
        deltas = self.dialect.stream(parts)
        deltas = deltas[: data.draw(st.integers(0, len(deltas) - 1))]
        self.client.streams(deltas).ends(ending)
        self.running = False
        closed = sum(isinstance(delta, CloseDelta) for delta in deltas)
        survive = parts[:closed]
        if closed < len(parts) and deltas and isinstance(deltas[-1], TextDelta):
            cut = parts[closed]
            assert isinstance(cut, TextPart)
            survive.append(replace(cut, status="incomplete"))
        while survive and isinstance(survive[-1], ReasoningPart):
            survive.pop()
        self._heard(survive)

    @precondition(lambda self: self.running and self._waiting())
    @rule(data=st.data())
    def agent_runs_tools(self, data: st.DataObject) -> None:
        """All or some of them, in any order."""
        order = data.draw(st.permutations(self._waiting()))
        for call in order[: data.draw(st.integers(1, len(order)))]:
            failed = data.draw(st.booleans())
            self.answers[call] = f"{FAILED if failed else 'agent found'} {call}"
            answer = self.client.fails_tools if failed else self.client.runs_tools
            answer(**{call: self.answers[call] or ""})
        if not self._waiting():
            self.script.append(results(**{call: str(found) for call, found in self.answers.items()}))
            self.answers = {}

    @precondition(lambda self: self.running and self.script[-1][0] != "user")
    @rule(ending=st.sampled_from(["finish", "finish", "cancel", "fail"]))
    def run_ends(self, ending: str) -> None:
        self.client.ends(ending)
        self.running = False
        # After a run that was stopped nothing is expected of the client, but it may answer all the same.
        assert self.client.waiting == (self._waiting() if ending == "finish" else [])

    # -- what is true whenever the model could be asked

    @invariant()
    def the_next_request_is_what_survived(self) -> None:
        if self._may_ask():
            assert unmarked(self.client.request()) == self.dialect.body(self.script)

    # -- the model of it

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _may_ask(self) -> bool:
        return self.running and not self.answers and self.script[-1][0] != "model"

    def _waiting(self) -> list[str]:
        return [call for call, content in self.answers.items() if content is None]

    def _heard(self, parts: list[Part]) -> None:
        if parts:
            self.script.append(model(*parts))
        self.answers = {part.id: None for part in parts if isinstance(part, ToolCallPart)}

    def _response(self, data: st.DataObject, *, cut: bool = False) -> list[Part]:
        # assistant-ui folds calls of responses into one message; only an envelope tells them apart again.
        kinds = data.draw(THINKING if self.returns == "assistant-ui" or cut else st.one_of(THINKING, PLAIN))
        if cut and self.dialect.origin.api == "openai-chat":
            # There is one string of reasoning: if its end was cut, all of it was.
            kinds = ["think", *(kind for kind in kinds if kind != "think")]
        make = {
            "think": lambda number: self.dialect.think(number),
            "say": lambda number: self.dialect.say(f"Said {number}."),
            "call": lambda number: self.dialect.call(f"c{number}"),
        }
        return [make[kind](self._next()) for kind in kinds]


def _returned(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """A response as it comes back: one that did not think has no envelope, and so no ids of its provider."""
    if any(isinstance(part, ReasoningPart) for part in parts):
        return parts
    return tuple(replace(part, ext=None) for part in parts)  # type: ignore[type-var, call-arg]


def unmarked(body: Body) -> Body:
    """The body without the mark of results that were made up and of failed tools, where the API has one."""
    for message in body.get("messages", ()):
        for block in message["content"] if isinstance(message["content"], list) else ():
            content = block.get("content")
            if content == UNANSWERED:
                assert block.pop("is_error") is True
            elif isinstance(content, str) and content.startswith(FAILED):
                block.pop("is_error", None)  # assistant-ui may lose the mark, but never the text
    return body


class AnthropicLoop(Loop):
    dialect = DIALECTS["anthropic-messages"]


class ResponsesLoop(Loop):
    dialect = DIALECTS["openai-responses"]


class ChatLoop(Loop):
    dialect = DIALECTS["openai-chat"]


TestAnthropicLoop = AnthropicLoop.TestCase
TestResponsesLoop = ResponsesLoop.TestCase
TestChatLoop = ChatLoop.TestCase
TestAnthropicLoop.settings = TestResponsesLoop.settings = TestChatLoop.settings = settings(
    max_examples=examples(60), stateful_step_count=25
)


# -- a history with holes

apis = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


def talked(dialect: Dialect) -> Client:
    """A long conversation, the last run of which was cut."""
    think, say, call = dialect.think, dialect.say, dialect.call
    client = Client(dialect).ask("Weather?").hears(think(1), call("c1"), think(4), call("c2"))
    client.runs_tools(c1="4C", c2="rain").hears(think(2), call("c3")).ends().answer(c3="wind").ask()
    client.hears(think(5), say("A coat.")).ends().ask("Thanks.").hears(think(3), say("Well.")).ends()
    client.ask("And now?").streams(dialect.stream([think(8), say("Now"), call("c4")])[:-2]).ends("cancel")
    return client.ask("Go on.")


def thoughts(body: Body) -> list[str]:
    """What is or proves reasoning in a request, in order."""
    found = re.compile(r"SIG-\d+|DATA-\d+|gAAAA-\d+|Thought \d+")
    return [thought for text in strings(body) for thought in found.findall(text)]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(inner)


def with_calls(messages: list[Any]) -> list[Any]:
    """Leave out results without their call, for which assistant-ui makes up a call of its own."""
    calls = {call["id"] for message in messages for call in message.get("toolCalls", ())}
    return [message for message in messages if message.get("toolCallId", "") in {"", *calls}]


@law("pairing out")
@apis
@given(data=st.data())
def test_whatever_is_missing_of_a_history_the_request_is_taken(dialect: Dialect, data: st.DataObject) -> None:
    """What is sent was sent before, in the same order; nothing is made up."""
    client = talked(dialect)
    messages = client.messages
    kept = data.draw(st.lists(st.booleans(), min_size=len(messages), max_size=len(messages)))
    held = [message for message, keep in zip(messages, kept, strict=True) if keep]
    front_end = data.draw(st.sampled_from(list(RETURNS)))
    returned = RETURNS[front_end](with_calls(held) if front_end == "assistant-ui" else held)
    request = build_request(history_or_messages=returned, on_warning=lambda text: None, **dialect.target)
    assert dialect.check(request.body) == []
    assert check_types(dialect.origin.api or "", request.body) == ""
    whole = iter(thoughts(client.request()))
    assert all(thought in whole for thought in thoughts(request.body))


@apis
@given(data=st.data())
def test_whatever_tanstack_makes_of_a_history_the_request_is_taken(
    dialect: Dialect, data: st.DataObject
) -> None:
    client = talked(dialect)
    messages = client.messages
    count = data.draw(st.integers(0, len(messages)))
    request = build_request(
        history_or_messages=tanstack(messages[:count]), on_warning=lambda text: None, **dialect.target
    )
    assert dialect.check(request.body) == []
    assert set(thoughts(request.body)) <= set(thoughts(client.request()))
