"""Compare the emitter, step by step, with a small model of what a person must see."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from agui_reasoning import Emitter
from agui_reasoning.deltas import (
    CloseDelta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.errors import LocalProtocolError
from agui_reasoning.parts import CUT_CALL_RESULT, Opaque
from tests.internals.envelopes import read_envelope
from tests.laws import law
from tests.support.effort import examples
from tests.support.verifier import Client, plain

words = st.sampled_from(["one ", "two\n", " ", "\n\n", "three", "e\u0301"])


@law("pairing")
class EmitterMachine(RuleBasedStateMachine):
    """Feeds an emitter as a careful decoder does: every unit has a key, and is closed once."""

    units = Bundle("units")

    def __init__(self) -> None:
        super().__init__()
        ids, self.numbers = count(), count()
        self.emitter = Emitter(new_id=lambda: f"id{next(ids)}")
        self.client = Client(framed=False)
        self.closed = self.was_cut = False
        # The model: what each unit said, what it carries, and what every call was asked.
        self.said: dict[str, str] = {}
        self.signed: dict[str, str] = {}
        self.complete: dict[str, bool] = {}
        self.answer = ""
        self.asked: dict[str, str] = {}
        self.results: dict[str, str] = {}

    def send(self, item: object) -> None:
        self.client.feed(plain(self.emitter.receive(item)))  # type: ignore[arg-type]

    @precondition(lambda self: not self.closed)
    @rule(target=units, text=words)
    def begin(self, text: str) -> str:
        key = f"unit{next(self.numbers)}"
        self.send(ReasoningDelta(text, key=key))
        self.said[key] = text
        return key

    @precondition(lambda self: not self.closed)
    @rule(key=units, text=words)
    def go_on(self, key: str, text: str) -> None:
        if key in self.said and not self.complete.get(key):
            self.send(ReasoningDelta(text, key=key))
            self.said[key] += text

    @precondition(lambda self: not self.closed)
    @rule(key=units)
    def sign(self, key: str) -> None:
        if key in self.said:
            self.signed[key] = f"SIG-{key}-{next(self.numbers)}"
            self.send(OpaqueDelta(Opaque("anthropic.signature", self.signed[key]), key=key))

    @precondition(lambda self: not self.closed)
    @rule(key=consumes(units))
    def end(self, key: str) -> None:
        self.send(CloseDelta(key=key))
        self.complete[key] = True

    @precondition(lambda self: not self.closed)
    @rule(text=words)
    def say(self, text: str) -> None:
        self.send(TextDelta(text))
        self.answer += text

    @precondition(lambda self: not self.closed)
    @rule(arguments=st.sampled_from(["", "{}", '{"a": ']))
    def call(self, arguments: str) -> None:
        call_id = f"call{next(self.numbers)}"
        self.send(ToolCallDelta(call_id, "get", arguments))
        self.asked[call_id] = arguments

    @precondition(lambda self: not self.closed and set(self.asked) - set(self.results))
    @rule(data=st.data())
    def answer_call(self, data: st.DataObject) -> None:
        call_id = data.draw(st.sampled_from(sorted(set(self.asked) - set(self.results))))
        self.send(ToolResultDelta(call_id, "found"))
        self.results[call_id] = "found"
        self._response_is_over()

    @precondition(lambda self: not self.closed)
    @rule()
    def finish_response(self) -> None:
        self.send(FinishDelta("stop"))
        self._response_is_over()

    @precondition(lambda self: not self.closed)
    @rule(cut=st.booleans())
    def close(self, cut: bool) -> None:
        self.closed, self.was_cut = True, cut
        self.client.feed(plain(self.emitter.abort() if cut else self.emitter.close())).done()

    @precondition(lambda self: self.closed)
    @rule()
    def go_on_after_the_end(self) -> None:
        with pytest.raises(LocalProtocolError):
            self.emitter.receive(TextDelta("late"))
        assert self.emitter.close() == self.emitter.abort() == []

    def _response_is_over(self) -> None:
        """Keys are forgotten: what was said stays, what comes under the same key is another unit."""
        self._check_said()
        self._check_signed()
        self.said.clear()
        self.signed.clear()

    def _reasoning(self) -> list[dict[str, object]]:
        return [m for m in self.client.messages if m["role"] == "reasoning"]

    def _check_said(self) -> None:
        everything = ["".join(str(m["content"]).split()) for m in self._reasoning()]
        for text in self.said.values():
            assert "".join(text.split()) in "".join(everything)

    def _check_signed(self) -> None:
        carried = set()
        for message in self._reasoning():
            envelope = read_envelope(str(message["encryptedValue"]))
            assert envelope is not None
            carried |= {record.value for unit in envelope.units for record in unit.part.opaque}
        assert set(self.signed.values()) <= carried

    @invariant()
    def pending_calls_are_those_without_a_result(self) -> None:
        pending = {call.id for call in self.emitter.pending_calls}
        answers = {m["toolCallId"]: m["content"] for m in self.client.messages if m["role"] == "tool"}
        assert pending == set(self.asked) - set(answers)
        cut = {call_id for call_id, content in answers.items() if content == CUT_CALL_RESULT}
        assert set(answers) == set(self.results) | cut
        assert self.was_cut or not cut

    @invariant()
    def the_answer_is_whole(self) -> None:
        shown = "".join(m.get("content", "") for m in self.client.messages if m["role"] == "assistant")
        assert "".join(shown.split()) == "".join(self.answer.split())

    @invariant()
    def every_call_is_asked_as_it_was(self) -> None:
        for call_id, arguments in self.asked.items():
            call = self.client.tool_call(call_id)
            assert call is not None
            assert call["function"]["arguments"] == arguments

    def teardown(self) -> None:
        if not self.closed:
            self.client.feed(plain(self.emitter.close())).done()
        self._check_said()
        self._check_signed()


TestEmitter = EmitterMachine.TestCase
TestEmitter.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)
