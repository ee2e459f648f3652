"""Test *pairing out* over a thread: strict providers answer, and the target changes from turn to turn.

The history is the client's: it goes through front ends, is edited, cut, asked again and reordered by
snapshots. The provider that is asked judges each request, and so does any other. It takes no value that was
not issued for its family, and no value beside another text than it was issued with.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from ag_ui.core import Event
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agui_reasoning import Conversation, Run, build_request, restore
from agui_reasoning.parts import Origin, ToolResultPart, Turn
from agui_reasoning.testing import FRONT_ENDS
from agui_reasoning.testing.strategies import stream, turns
from tests.support.effort import examples
from tests.support.histories import USER_CONTENT, marked, marks
from tests.support.strict_providers import STRICT, Issued, StrictProvider, family

Messages = list[dict[str, Any]]
TARGETS = st.sampled_from(sorted(STRICT))
QUIET: list[str] = []


def answers(target: Origin) -> st.SearchStrategy[Turn]:
    """What a provider answers, as the decoder of its API gives it."""
    return turns(target.api, provider=target.provider, model=target.model)


class Thread(RuleBasedStateMachine):
    """A thread, as its client holds it.

    Attributes:
        messages: What the client holds.
        issued: The values that providers have issued in the thread.
        readers: Who reads the parts of each answer, by the number of the answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: Messages = []
        self.issued = Issued()
        self.readers: dict[int, str | None] = {}
        numbers = count(1)
        self.new_id = lambda: f"id-{next(numbers)}"

    @initialize(
        front_end=st.sampled_from([None, *FRONT_ENDS]), names=st.lists(TARGETS, min_size=1, max_size=2)
    )
    def begin(self, front_end: str | None, names: list[str]) -> None:
        self.names = st.sampled_from(names)
        self.returned = FRONT_ENDS[front_end] if front_end else (lambda messages: messages)

    # -- a run

    @rule(data=st.data(), ending=st.sampled_from(["finish", "finish", "cancel", "fail"]))
    def somebody_asks(self, data: st.DataObject, ending: str) -> None:
        """The user says something, or lets the model go on; the agent may run its tools and ask others."""
        conversation = self._conversation()
        asked = conversation.run_input(data.draw(st.none() | USER_CONTENT))
        run_input = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
        run_input["messages"] = self.returned(run_input["messages"])
        run = Run(run_input, new_id=self.new_id, on_warning=QUIET.append)
        events = run.start()
        for name in data.draw(st.lists(self.names, min_size=1, max_size=2)):
            self._judge(run, STRICT[name])
            events += self._answer(data, run, STRICT[name].target)
            if not run.pending_calls:
                break
            for call in run.pending_calls:
                error = data.draw(st.sampled_from([None, None, "It failed."]))
                events += run.receive(ToolResultPart(call.id, "found", error=error))
        events += {"finish": run.finish, "cancel": run.cancel, "fail": lambda: run.fail("No.")}[ending]()
        self._hold(conversation, events, data)

    def _answer(self, data: st.DataObject, run: Run, target: Origin) -> list[Event]:
        """The provider answers, and remembers what it has issued; the stream may be cut."""
        number = len(self.readers)
        drawn = data.draw(answers(target))
        # A provider gives each call an ID of its own.
        parts = tuple(marked(part, (number, index)) for index, part in enumerate(drawn.parts))
        answer = Turn(parts, target, f"{drawn.id}-{number}")
        self.readers[number] = family(target)
        self.issued.add(answer)
        deltas = stream(answer)
        end = data.draw(st.sampled_from([len(deltas)] * 3 + [len(deltas) * 2 // 3]))
        return [event for delta in deltas[:end] for event in run.receive(delta)]

    def _hold(self, conversation: Conversation, events: list[Event], data: st.DataObject) -> None:
        for event in events:
            conversation.receive(event)
        conversation.end_of_stream()
        for call in conversation.pending_calls:
            if data.draw(st.booleans()):
                conversation.add_tool_result(call.id, "The client found it.")
        self.messages = [
            message.model_dump(mode="json", by_alias=True, exclude_none=True)
            for message in conversation.messages
        ]

    def _conversation(self) -> Conversation:
        return Conversation("t", messages=self.messages, new_id=self.new_id, on_warning=QUIET.append)

    # -- what clients do to a history

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), number=st.integers(0, 5))
    def something_happens_to_the_history(self, data: st.DataObject, number: int) -> None:
        happenings = (
            self._is_asked_again,
            self._is_reordered,
            self._loses_a_message,
            self._has_a_text_edited,
            self._has_values_swapped,
            self._has_a_value_damaged,
        )
        happenings[number](data)

    def _is_asked_again(self, data: st.DataObject) -> None:
        """The client regenerates from some message on."""
        self.messages = self.messages[: data.draw(st.integers(0, len(self.messages)))]

    def _is_reordered(self, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(self.messages) - 1))
        part = self.messages[start : start + 3]
        self.messages[start : start + 3] = data.draw(st.permutations(part))

    def _loses_a_message(self, data: st.DataObject) -> None:
        self.messages.pop(data.draw(st.integers(0, len(self.messages) - 1)))

    def _has_a_text_edited(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from(self.messages))
        assume(isinstance(message.get("content"), str))
        message["content"] = data.draw(st.sampled_from(["Edited.", ""]))

    def _has_values_swapped(self, data: st.DataObject) -> None:
        assume(len(self._valued()) > 1)
        one, other = data.draw(st.permutations(self._valued()))[:2]
        one["encryptedValue"], other["encryptedValue"] = other["encryptedValue"], one["encryptedValue"]

    def _has_a_value_damaged(self, data: st.DataObject) -> None:
        assume(self._valued())
        damaged = data.draw(st.sampled_from(["", "SIG", "{}", '{"v":2}']))
        data.draw(st.sampled_from(self._valued()))["encryptedValue"] = damaged

    def _valued(self) -> Messages:
        calls = [call for message in self.messages for call in message.get("toolCalls", ())]
        return [held for held in (*self.messages, *calls) if held.get("encryptedValue")]

    # -- what providers say

    @rule(data=st.data(), other=TARGETS, keep=st.none() | st.integers(0, 2))
    def any_provider_takes_it(self, data: st.DataObject, other: str, keep: int | None) -> None:
        name = data.draw(self.names | st.just(other))
        history = restore(self.returned(json.loads(json.dumps(self.messages))))
        if keep is not None:
            history = history.trim(keep_turns=keep)
        target = STRICT[name].target
        made = build_request(
            str(target.api),
            history,
            provider=target.provider,
            model=target.model,
            on_warning=QUIET.append,
        )
        self._check(STRICT[name], made.body)

    def _judge(self, run: Run, provider: StrictProvider) -> None:
        target = provider.target
        made = run.request(api=target.api, provider=target.provider, model=target.model)
        self._check(provider, made.body)

    def _check(self, provider: StrictProvider, body: dict[str, Any]) -> None:
        assert provider.refusals(body, self.issued) == []
        reader = family(provider.target)
        assert {number for number, _ in marks(body) if self.readers[number] != reader} == set()


TestThread = Thread.TestCase
TestThread.settings = settings(max_examples=examples(60), stateful_step_count=8)
