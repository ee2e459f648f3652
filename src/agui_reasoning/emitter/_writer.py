"""Turns changes of units into events: spans, messages, calls and values, in an order that all clients accept.

There is one handler per change and kind of unit. The writer keeps at most one assistant message open, any
number of reasoning messages, and one span around consecutive reasoning.

The first reasoning of a response opens a message at once, to show that the model is thinking. Without text
this message stays open, and the next unit with text uses it, unless text or a call came between. Each later
unit opens a message when it has text to show; until then the previous message carries its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from ag_ui.core import Interrupt
from msgspec import field

from agui_reasoning._strict_json import JSONObject, well_formed
from agui_reasoning._wire_events import HINT_KEY, NOW, WireEvents, error_hint, error_sentence, text_of, told
from agui_reasoning.attribution import Shared
from agui_reasoning.deltas import (
    Answered,
    Appeared,
    CallUnit,
    Change,
    Ended,
    Grew,
    ReasoningUnit,
    ResponseBuffer,
    ResponseEnded,
    ResponseOpened,
    ResultUnit,
    Resumed,
    TextUnit,
    Unshown,
    Valued,
)
from agui_reasoning.emitter._produced import Produced
from agui_reasoning.emitter._response import (
    AssistantMessage,
    EmittedCall,
    ReasoningMessage,
    ResponseState,
    Stretch,
)
from agui_reasoning.emitter._span import NO_SPAN, EmptyMessage, ReasoningSpan
from agui_reasoning.emitter._values import Values
from agui_reasoning.emitter._visibility import Disclosure, SummaryDue
from agui_reasoning.parts import CUT_CALL_RESULT

NAMELESS = "unknown"
"""The tool name of a call whose name never arrived: clients reject a chunk without one."""

REFUSED = "The provider declined to continue this answer."
"""What users read if the provider refuses to finish a response and does not say why."""


class Writer(Unshown, gc=True, eq=False):
    """Writes the events of consecutive model responses.

    Attributes:
        used_call_ids: The IDs of calls that must not be used again.
        listeners: Sets that receive the IDs of the written messages and calls.
        hidden_calls: The IDs of calls with hidden arguments and results.
        has_reasoned: Whether a reasoning message was sent.
    """

    _new_id: Callable[[], str]
    _events: WireEvents
    _disclosure: Disclosure
    _values: Values
    _takes_media: bool
    _warn: Callable[[str], None]
    used_call_ids: set[str]
    _span: ReasoningSpan
    produced: Produced = field(default_factory=Produced)
    listeners: tuple[set[str], ...] = ()
    hidden_calls: dict[str | None, None] = field(default_factory=dict)
    has_reasoned: bool = False
    _state: ResponseState = cast("ResponseState", None)
    """The response that began last."""
    _bubble: str | None = None
    """The newest text, else the parent of the first call: assistant-ui opens a bubble at other text."""
    _out: list[JSONObject | SummaryDue] = field(default_factory=list)
    _empty: EmptyMessage = field(default_factory=EmptyMessage)

    def write(self, changes: Iterable[Change]) -> list[JSONObject | SummaryDue]:
        """Return the events that changes cause."""
        change: Any
        for change in changes:
            kind = type(change)
            if kind is Grew:
                _GREW[type(change.unit)](self, change.unit, change)
            elif (handlers := _OF_UNITS.get(kind)) is None:
                _OF_RESPONSES[kind](self, change)
            elif (handler := handlers.get(type(change.unit))) is not None:
                handler(self, change.unit)  # text stays open until something else follows
        return self._flush()

    def catch_up(self, grew: Grew, pieces: Sequence[str]) -> None:
        """Note text that was added and sent like that of ``grew``."""
        handler = _CATCH_UP.get(type(grew.unit))
        if handler is not None:
            handler(self, grew.unit, pieces)

    def finish(self) -> list[JSONObject | SummaryDue]:
        """Answer the calls that the client must not run: cut ones, and the provider's own."""
        for call_id, (unit, _) in list(self.produced.unanswered.items()):
            if unit.status == "incomplete":
                self._answer(call_id, CUT_CALL_RESULT)
            elif unit.server:
                self._answer(call_id, "")
        return self._flush()

    def ask(self, interrupts: Sequence[Interrupt]) -> list[JSONObject]:
        """Return the events that keep what the run asks about calls of its last response."""
        asked = [interrupt for interrupt in interrupts if interrupt.tool_call_id in self.produced.unanswered]
        return self._values.of_interrupts(self._state, asked) if asked else []

    def _answer(self, call_id: str, content: str) -> None:
        unit, _ = self.produced.unanswered.pop(call_id)
        message_id = self._new_id()
        self._send("TOOL_CALL_RESULT", messageId=message_id, toolCallId=call_id, content=content, role="tool")
        if not unit.server:
            self.produced.note_result(message_id, call_id, content)

    def _note_id(self, entity_id: str) -> None:
        for ids in self.listeners:
            ids.add(entity_id)

    def _flush(self) -> list[JSONObject | SummaryDue]:
        out, self._out = self._out, []
        return out

    def _send(self, kind: str, metadata: JSONObject | None = None, **members: Any) -> None:
        self._out.append(self._events.at(NOW, metadata, type=kind, **members))

    def _send_delta(self, kind: str, id_name: str, entity_id: str, text: str) -> None:
        self._out.append(self._events.delta(kind, id_name, entity_id, text))

    def _hint(self, seq: int | None, **more: Any) -> dict[str, Any]:
        """Structure for readers that cannot open envelopes; assistant-ui and TanStack drop it."""
        place: dict[str, Any] = {"response": self._state.id}
        if not self._disclosure.hidden:  # else no counts of units, and no durations
            if seq is not None:
                place["seq"] = seq
            place.update(more)
        return {HINT_KEY: place}

    # -- responses

    def _response_opened(self, change: ResponseOpened) -> None:
        self._state = self.produced.open_response(change.response, self._new_id(), self._disclosure)
        self._empty = EmptyMessage()
        self._fresh_assistant()

    def _response_ended(self, change: ResponseEnded) -> None:
        self._end_text()
        self._leave_span()
        if change.response.refused:
            self._explain_refusal(change.response)
        self._out += self._values.end(self._state, self._open_anchor)
        self._leave_span()
        self.produced.end_response(change.response)

    def _explain_refusal(self, response: ResponseBuffer) -> None:
        """Tell the user that the provider declined to finish, in a message that is no part of the answer."""
        details = response.finish_details or {}
        said = details.get("explanation")
        text = well_formed(said) if isinstance(said, str) and said.strip() else REFUSED
        message = self._open_message_of_text(None)
        message.open, message.length = False, len(text)
        self._state.refused = message.id
        self._send_delta("TEXT_MESSAGE_CONTENT", "messageId", message.id, text)
        self._send("TEXT_MESSAGE_END", messageId=message.id)

    def _open_anchor(self) -> tuple[str, list[JSONObject]]:
        """Open an empty reasoning message, the only carrier whose value every front end keeps.

        assistant-ui drops the values of assistant messages and of calls.
        """
        opening: list[Any] = []
        self._span.begin(opening)
        self._span.end(opening)
        self.has_reasoned = True
        message_id, now = self._new_id(), self._events.now()
        self._note_id(message_id)
        empty = {HINT_KEY: {"response": self._state.id, "empty": True}}
        opening.append(self._started_reasoning(message_id, empty, now))
        opening.append(self._events.at(now, type="REASONING_MESSAGE_END", messageId=message_id))
        return message_id, opening

    def _started_reasoning(self, message_id: str, hint: JSONObject, now: int | None) -> JSONObject:
        return self._events.at(
            now, hint, type="REASONING_MESSAGE_START", messageId=message_id, role="reasoning"
        )

    def _valued(self, change: Valued) -> None:
        """Note a change; late values are sent with the response."""
        self._state.late |= not change.unit.open

    def _answered(self, change: Answered) -> None:
        content, metadata = _told(change.unit)
        message_id, call_id = self._result(change.unit, content, metadata)
        self.produced.note_result(message_id, call_id, content, metadata)

    # -- reasoning

    def _reasoning_appeared(self, unit: ReasoningUnit) -> None:
        self._state.attributor.reasoning(str(unit.seq))
        self._begin(unit)

    def _reasoning_resumed(self, unit: ReasoningUnit) -> None:
        self._state.late = True
        self._begin(unit)

    def _begin(self, unit: ReasoningUnit) -> None:
        state = self._state
        if state.held or state.messages[-1].used:
            self._end_text()
            self._fresh_assistant()
        self.has_reasoned = True
        stretch = state.speaking[unit] = state.begin(unit)
        if not self._disclosure.opens_messages:
            self._span.begin(self._out)
            stretch.withheld = True
            return
        if not state.reasoning:
            if unit.says_nothing:
                return  # it rides in the last value: CopilotKit shows a row for a message without text
            self._empty = EmptyMessage(self._open_message(unit))
        carrier = state.carried_by[stretch] = state.reasoning[-1]
        carrier.carried[stretch] = None
        self._empty.begin(stretch)

    def _open_message(self, unit: ReasoningUnit) -> ReasoningMessage:
        self._send_carried()
        self._span.begin(self._out)
        # An ID of its own: Anthropic's is that of the answer as well, and clients that key by ID then show no
        # answer (ag-ui-protocol/ag-ui#2199).
        message = ReasoningMessage(self._new_id(), self._span.id, self._events.now())
        self._note_id(message.id)
        self._state.reasoning.append(message)
        self._out.append(self._started_reasoning(message.id, self._hint(unit.seq), message.started_ms))
        return message

    def _show(self, stretch: Stretch) -> ReasoningMessage:
        """Return the message of a stretch that has something to show."""
        state = self._state
        if stretch in state.shown_by:
            return state.shown_by[stretch]
        if (carrier := state.carried_by.pop(stretch, None)) is not None:
            del carrier.carried[stretch]
        message = self._empty.take(stretch) or self._open_message(stretch.unit)
        message.own = stretch
        state.shown_by[stretch] = message
        return message

    def _reasoning_grew(self, unit: ReasoningUnit, change: Grew) -> None:
        stretch = self._state.speaking[unit]
        assert change.segment is not None
        if not (self._disclosure.full or self._disclosure.shows(change.segment)):
            stretch.withhold(change.segment)
            if not (self._disclosure.hidden or change.text.isspace()):
                self._show(stretch)  # not the text, but a summary of it when it ends
            return
        sent = stretch.add(change.text, change.segment)
        if sent:
            message_id = self._show(stretch).id
            self._send_delta("REASONING_MESSAGE_CONTENT", "messageId", message_id, sent)

    def _note_reasoning(self, unit: ReasoningUnit, pieces: Sequence[str]) -> None:
        self._state.speaking[unit].shown += pieces

    def _reasoning_ended(self, unit: ReasoningUnit) -> None:
        state = self._state
        stretch = state.speaking.pop(unit)
        if (message := state.shown_by.get(stretch)) is not None:
            self._end_reasoning(message)
        if self._empty.message is not None and (empty := self._empty.end(stretch)) is not None:
            self._end_reasoning(empty)
        if (carrier := state.carried_by.get(stretch)) is not None:
            state.overtaken[carrier] = None
        if not self._disclosure.opens_messages:
            self._span.end(self._out)

    def _end_reasoning(self, message: ReasoningMessage) -> None:
        own = message.own
        if own is not None and own.withheld and not own.shown:
            self._out.append(SummaryDue(message.id, own.part(self._state.response.origin)))
        now = self._events.now()
        metadata = None
        if now is not None and message.started_ms is not None and not self._disclosure.hidden:
            metadata = self._hint(message.seq, durationMs=max(0, now - message.started_ms))
        self._out.append(self._events.at(now, metadata, type="REASONING_MESSAGE_END", messageId=message.id))
        self._out += self._values.of_reasoning(self._state, message)
        self._span.end(self._out)

    def _send_carried(self) -> None:
        """Send values again whose carried ended, before something else follows: the client may stop there."""
        state = self._state
        if not state.overtaken:
            return
        carried = {state.carried_by.get(stretch) for stretch in state.speaking.values()}
        for message in [message for message in state.overtaken if message not in carried]:
            del state.overtaken[message]
            self._out += self._values.of_carried(state, message)

    def _leave_reasoning(self) -> None:
        """End what text, a call or a result follows: clients of 0.x refuse or misplace what comes inside."""
        self._send_carried()
        self._leave_span()

    def _leave_span(self) -> None:
        """End the span, now or as soon as the last reasoning message in it ends."""
        if self._span.state is NO_SPAN:
            return
        if self._empty.message is not None and (empty := self._empty.leave()) is not None:
            self._end_reasoning(empty)
        self._span.leave(self._out)

    # -- text

    def _text_grew(self, unit: TextUnit, change: Grew) -> None:
        state, text, held = self._state, change.text, ""
        message = state.messages[-1]
        if not message.open:
            if text.isspace():
                state.held.append((unit, text))
                return
            self._leave_reasoning()
            message = self._open_message_of_text(unit.seq)
            state.attributor.text()
            held = state.release(message) if state.held else ""
        state.place(unit, message, len(text))
        self._send_delta("TEXT_MESSAGE_CONTENT", "messageId", message.id, held + text)

    def _note_text(self, unit: TextUnit, pieces: Sequence[str]) -> None:
        self._state.place(unit, self._state.messages[-1], sum(map(len, pieces)))

    def _open_message_of_text(self, seq: int | None) -> AssistantMessage:
        message = self._fresh_assistant()
        message.open = message.used = True
        self._note_id(message.id)
        if self._bubble is not None:
            self._state.leave_behind()
        self._bubble = message.id
        self._send("TEXT_MESSAGE_START", self._hint(seq), messageId=message.id, role="assistant")
        return message

    def _end_text(self) -> None:
        state = self._state
        state.held.clear()
        message = state.messages[-1]
        if message.open:
            message.open = False
            self._send("TEXT_MESSAGE_END", messageId=message.id)
            self._out += self._values.of_text(state, message)

    def _fresh_assistant(self) -> AssistantMessage:
        """Choose the ID of the next assistant message, unless it has one already, and return the message.

        This happens early so that the envelope of the preceding reasoning can name it. Each response has its
        own: under one ID for the whole run, even CopilotKit loses the order of thoughts and calls.
        """
        messages = self._state.messages
        if not messages or messages[-1].used:
            messages.append(AssistantMessage(self._new_id()))
        return messages[-1]

    # -- calls

    def _call_appeared(self, unit: CallUnit) -> None:
        self._end_text()
        self._leave_reasoning()
        call = self._new_call(unit)
        self._state.calls[unit] = call
        self._state.call_ids.append(call.id)
        self._start_call(call)
        self.produced.note_call(call.id, unit)

    def _new_call(self, unit: CallUnit) -> EmittedCall:
        native_id = unit.key or ""
        wire_id = native_id
        # Ollama's calls have no ID, and assistant-ui does not answer a call whose ID it has seen.
        if not native_id or native_id in self.used_call_ids:
            wire_id = self._new_id()
        self.used_call_ids.add(wire_id)
        parent = self._state.messages[-1]
        parent.used = True
        owns = self._state.attributor.call(wire_id)
        after = () if owns is None or isinstance(owns, Shared) else tuple(int(seq) for seq in owns)
        return EmittedCall(wire_id, unit, parent, owns, after, hides=not self._disclosure.full)

    def _start_call(self, call: EmittedCall) -> None:
        self._note_id(call.id)
        self._bubble = self._bubble or call.parent.id
        self._note_hidden(call)
        metadata = self._hint(call.unit.seq, **self._owned(call))
        name = call.unit.name or NAMELESS
        self._send(
            "TOOL_CALL_START", metadata, toolCallId=call.id, toolCallName=name, parentMessageId=call.parent.id
        )

    def _owned(self, call: EmittedCall) -> dict[str, Any]:
        """Return the ID of the reasoning message that a call followed, for display."""
        if isinstance(call.owns, Shared):
            return {"sharesReasoningOf": call.owns.owner}
        ids = self._state.reasoning_ids(call.after)
        return {"reasoning": ids} if ids else {}

    def _call_resumed(self, unit: CallUnit) -> None:
        self._end_text()
        self._leave_reasoning()
        self._start_call(self._state.calls[unit])

    def _call_grew(self, unit: CallUnit, change: Grew) -> None:
        call = self._state.calls[unit]
        self._note_hidden(call)
        if not call.hidden:
            self._send_delta("TOOL_CALL_ARGS", "toolCallId", call.id, change.text)

    def _note_hidden(self, call: EmittedCall) -> None:
        if call.hidden:
            self.hidden_calls[call.id] = None

    def _call_ended(self, unit: CallUnit) -> None:
        call = self._state.calls[unit]
        self._send("TOOL_CALL_END", toolCallId=call.id)
        self._out += self._values.of_call(self._state, call)

    def _server_result(self, unit: ResultUnit) -> None:
        self._end_text()
        self._leave_reasoning()
        self._state.attributor.result()
        message_id, call_id = self._result(unit, *(_told(unit) if self._disclosure.full else ("", None)))
        self._state.results[unit] = (message_id, call_id)
        # Later text needs another message: assistant-ui begins a bubble only at a new ID, and clients would
        # put the text before the result.
        self._fresh_assistant()

    def _result(
        self, unit: ResultUnit, content: str | list[Any], metadata: dict[str, Any] | None
    ) -> tuple[str, str]:
        call_id = self.produced.client_id(unit.call_id)
        message_id = self._new_id()
        self.produced.unanswered.pop(call_id, None)
        shown = content if self._takes_media else self._as_text(content)
        self._send(
            "TOOL_CALL_RESULT", metadata, messageId=message_id, toolCallId=call_id, content=shown, role="tool"
        )
        return message_id, call_id

    def _as_text(self, content: str | list[Any]) -> str:
        """Return content for clients that reject runs with parts in results, as `@ag-ui/client` 0.0.59."""
        if not isinstance(content, str):
            self._warn(
                "A tool result contains media. The client declares no protocol version, so it gets their "
                "types and sizes only, and the media are missing in later runs."
            )
        return text_of(content)


def _told(unit: ResultUnit) -> tuple[str | list[Any], dict[str, Any] | None]:
    """Return the content and the metadata of a result."""
    return told(unit.content, unit.error), error_hint(error_sentence(unit.error))


_OF_RESPONSES: dict[type, Callable[[Writer, Any], None]] = {
    ResponseOpened: Writer._response_opened,
    Valued: Writer._valued,
    ResponseEnded: Writer._response_ended,
    Answered: Writer._answered,
}
_OF_UNITS: dict[type, dict[type, Callable[[Writer, Any], None]]] = {
    Appeared: {
        ReasoningUnit: Writer._reasoning_appeared,
        CallUnit: Writer._call_appeared,
        ResultUnit: Writer._server_result,
    },
    Resumed: {ReasoningUnit: Writer._reasoning_resumed, CallUnit: Writer._call_resumed},
    Ended: {ReasoningUnit: Writer._reasoning_ended, CallUnit: Writer._call_ended},
}
_GREW: dict[type, Callable[[Writer, Any, Grew], None]] = {
    ReasoningUnit: Writer._reasoning_grew,
    TextUnit: Writer._text_grew,
    CallUnit: Writer._call_grew,
}
_CATCH_UP: dict[type, Callable[[Writer, Any, Sequence[str]], None]] = {
    ReasoningUnit: Writer._note_reasoning,
    TextUnit: Writer._note_text,
}
