"""Turns changes of units into events: spans, messages, calls and values, in an order that all clients accept.

There is one handler per change and kind of unit. The writer keeps at most one assistant message open, any
number of reasoning messages, and one span around consecutive reasoning.

The first reasoning of a response opens a message at once, to show that the model is thinking. Without text
this message stays open, and the next unit with text uses it, unless text or a call came between. Each later
unit opens a message when it has text to show; until then the previous message carries its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ag_ui.core import Event

from agui_reasoning._failed_tools import error_sentence, told
from agui_reasoning._hint import error_hint, hint
from agui_reasoning._media import text_of
from agui_reasoning.attribution import Shared
from agui_reasoning.deltas._assembler import clean
from agui_reasoning.deltas._units import (
    Answered,
    Appeared,
    CallUnit,
    Change,
    Ended,
    Grew,
    NativeUnit,
    ReasoningUnit,
    ResponseBuffer,
    ResponseEnded,
    ResponseOpened,
    ResultUnit,
    Resumed,
    TextUnit,
    UnitBuffer,
    Valued,
)
from agui_reasoning.emitter import _events as make
from agui_reasoning.emitter._disclosure import Disclosure
from agui_reasoning.emitter._entities import (
    AssistantMessage,
    EmittedCall,
    ReasoningMessage,
    ResponseState,
    Stretch,
)
from agui_reasoning.emitter._produced import Produced
from agui_reasoning.emitter._summaries import SummaryDue
from agui_reasoning.emitter._values import Values
from agui_reasoning.parts import (
    CUT_CALL_RESULT,
)

__all__ = ["Writer"]

NAMELESS = "unknown"
"""The tool name of a call whose name never arrived: clients reject a chunk without one."""

REFUSED = "The provider declined to continue this answer."
"""What users read if the provider refuses to finish a response and does not say why."""


class Writer:
    """Writes the events of consecutive model responses."""

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        now_ms: Callable[[], int] | None,
        disclosure: Disclosure,
        values: Values,
        used_call_ids: Iterable[str],
        takes_media: bool,
        warn: Callable[[str], None],
    ) -> None:
        self._new_id = new_id
        self._takes_media, self._warn = takes_media, warn
        self._now_ms = now_ms
        self._disclosure = disclosure
        self._shows_all = disclosure.full
        self._values = values
        values.empty_span = partial(_empty_span, now_ms)  # no method, which would be a reference cycle
        self._bubble: str | None = None
        """The newest text, else the parent of the first call: assistant-ui opens a bubble at other text."""
        self._out: list[Event | SummaryDue] = []
        self._span: str | None = None
        self._leaving = False
        self._reasoned = False
        self._speaking: dict[ReasoningUnit, Stretch] = {}
        self._open: set[ReasoningMessage | Stretch] = set()
        """The messages that keep the span open, or the reasoning units if no messages are shown."""
        self._empty: ReasoningMessage | None = None
        """The first message of the response, while it is open and has no text."""
        self._claimants: set[Stretch] = set()
        """Units that may still add text to it after other text or a call, because they started before."""
        self._is_past = False
        """Whether text or a call followed its opening."""
        self._overtaken: dict[ReasoningMessage, None] = {}
        """The messages for which a unit ended that may not be in their value."""
        self.used_call_ids = set(used_call_ids)
        self.listeners: tuple[set[str], ...] = ()
        """Sets that receive the IDs of the written messages and calls."""
        self.concealed: set[str | None] = set()
        """The IDs of calls with concealed arguments and results."""
        self._state: ResponseState
        self.produced = Produced()

    def write(self, changes: Iterable[Change]) -> list[Event | SummaryDue]:
        """Return the events that changes cause."""
        for change in changes:
            _CHANGES[type(change)](self, change)
        return self._flush()

    def catch_up(self, grew: Grew, pieces: Sequence[str]) -> None:
        """Note text that was added and sent like that of ``grew``."""
        _CATCH_UP[type(grew.unit)](self, grew.unit, pieces)

    def finish(self) -> list[Event | SummaryDue]:
        """Answer the calls that the client must not run: cut ones, and the provider's own."""
        for call_id, (unit, _) in list(self.produced.unanswered.items()):
            if unit.status == "incomplete":
                self._answer(call_id, CUT_CALL_RESULT)
            elif unit.server:
                self._answer(call_id, "")
        return self._flush()

    def _answer(self, call_id: str, content: str) -> None:
        unit, _ = self.produced.unanswered.pop(call_id)
        message_id = self._new_id()
        self._out.append(make.call_result(message_id, call_id, content, None, self._now()))
        if not unit.server:
            self.produced.note_result(message_id, call_id, content)

    @property
    def has_reasoned(self) -> bool:
        """Whether a reasoning message was sent."""
        return self._reasoned

    def _note_id(self, entity_id: str) -> None:
        for ids in self.listeners:
            ids.add(entity_id)

    def _flush(self) -> list[Event | SummaryDue]:
        out, self._out = self._out, []
        return out

    def _now(self) -> int | None:
        return self._now_ms() if self._now_ms else None

    def _hint(self, seq: int | None, **more: Any) -> dict[str, Any]:
        """Structure for readers that cannot open envelopes; two of three front ends drop it."""
        place: dict[str, Any] = {"response": self._state.id}
        if self._disclosure.hidden:
            return hint(place)  # no counts of units, and no durations
        return hint(place | ({} if seq is None else {"seq": seq}) | more)

    # -- responses

    def _response_opened(self, change: ResponseOpened) -> None:
        self._state = self.produced.open_response(change.response, self._new_id(), self._disclosure)
        self._empty, self._is_past = None, False
        self._claimants.clear()
        self._overtaken.clear()
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
        text = clean(said) if isinstance(said, str) and said.strip() else REFUSED
        message = self._open_message_of_text(None)
        message.open, message.length = False, len(text)
        self._state.refused = message.id
        self._out.append(make.text_content(message.id, text))
        self._out.append(make.text_end(message.id, self._now()))

    def _open_anchor(self) -> tuple[str, list[Event]]:
        """Open an empty reasoning message, the only carrier whose value every front end keeps."""
        opening: list[Event] = []
        if self._span is None:
            self._span = self._new_id()
            opening.append(make.span_start(self._span, self._now()))
        self._leaving, self._reasoned = False, True
        message_id, now = self._new_id(), self._now()
        self._note_id(message_id)
        return message_id, [
            *opening,
            make.reasoning_message_start(message_id, self._hint(None), now),
            make.reasoning_message_end(message_id, None, now),
        ]

    def _answered(self, change: Answered) -> None:
        content, metadata = _told(change.unit)
        message_id, call_id = self._result(change.unit, content, metadata)
        self.produced.note_result(message_id, call_id, content, metadata)

    # -- reasoning

    def _reasoning_appeared(self, unit: ReasoningUnit) -> None:
        self._state.attributor.reasoning(str(unit.seq))
        self._begin(unit)

    def _reasoning_resumed(self, unit: ReasoningUnit) -> None:
        self._begin(unit)

    def _begin(self, unit: ReasoningUnit) -> None:
        self._end_text()
        self._fresh_assistant()
        self._reasoned = True
        stretch = self._speaking[unit] = self._state.begin(unit)
        if not self._disclosure.opens_messages:
            self._enter_span()
            self._open.add(stretch)
            stretch.withheld = True
            return
        if not self._state.reasoning:
            if unit.says_nothing:
                return  # it rides in the last value
            self._empty, self._is_past = self._open_message(unit), False
        carrier = self._state.carried_by[stretch] = self._state.reasoning[-1]
        carrier.riders[stretch] = None
        if self._empty is not None and not self._is_past:
            self._claimants.add(stretch)

    def _open_message(self, unit: ReasoningUnit) -> ReasoningMessage:
        self._carry_riders()
        span_id, now = self._enter_span(), self._now()
        message = ReasoningMessage(self._new_id(), span_id, now)
        self._note_id(message.id)
        self._open.add(message)
        self._state.reasoning.append(message)
        self._out.append(make.reasoning_message_start(message.id, self._hint(unit.seq), now))
        return message

    def _show(self, stretch: Stretch) -> ReasoningMessage:
        """Return the message of a stretch that has something to show."""
        state = self._state
        if stretch in state.shown_by:
            return state.shown_by[stretch]
        if (carrier := state.carried_by.pop(stretch, None)) is not None:
            del carrier.riders[stretch]
        message = self._empty
        if message is None or (self._is_past and stretch not in self._claimants):
            message = self._open_message(stretch.unit)
        else:
            self._empty = None
        message.own = stretch
        state.shown_by[stretch] = message
        return message

    def _reasoning_grew(self, unit: ReasoningUnit, change: Grew) -> None:
        stretch = self._speaking[unit]
        assert change.segment is not None
        if not (self._shows_all or self._disclosure.shows(change.segment)):
            stretch.withhold(change.segment)
            if not (self._disclosure.hidden or change.text.isspace()):
                self._show(stretch)  # not the text, but a summary of it when it ends
            return
        sent = stretch.add(change.text, change.segment)
        if sent:
            self._out.append(make.reasoning_content(self._show(stretch).id, sent))

    def _note_reasoning(self, unit: ReasoningUnit, pieces: Sequence[str]) -> None:
        self._speaking[unit].text.pieces += pieces

    def _reasoning_ended(self, unit: ReasoningUnit) -> None:
        stretch = self._speaking.pop(unit)
        self._claimants.discard(stretch)
        self._open.discard(stretch)
        if (message := self._state.shown_by.get(stretch)) is not None:
            self._end_reasoning(message)
        elif self._is_past:
            self._end_empty()
        if (carrier := self._state.carried_by.get(stretch)) is not None:
            self._overtaken[carrier] = None
        if self._leaving:
            self._leave_span()

    def _end_empty(self) -> None:
        """End the message without text, unless an open unit may still give it some."""
        if self._empty is not None and not self._claimants:
            message, self._empty = self._empty, None
            self._end_reasoning(message)

    def _end_reasoning(self, message: ReasoningMessage) -> None:
        self._open.discard(message)
        own = message.own
        if own is not None and own.withheld and not own.text.visible:
            self._out.append(SummaryDue(message.id, own.part(self._state.response.origin)))
        now = self._now()
        metadata = None
        if now is not None and message.started_ms is not None and not self._disclosure.hidden:
            metadata = self._hint(message.seq, durationMs=max(0, now - message.started_ms))
        self._out.append(make.reasoning_message_end(message.id, metadata, now))
        self._out += self._values.of_reasoning(self._state, message)

    def _enter_span(self) -> str:
        self._leaving = False
        if self._span is None:
            self._span = self._new_id()
            self._out.append(make.span_start(self._span, self._now()))
        return self._span

    def _carry_riders(self) -> None:
        """Send values again whose riders ended, before something else follows: the client may stop there."""
        carried = {self._state.carried_by.get(stretch) for stretch in self._speaking.values()}
        for message in [message for message in self._overtaken if message not in carried]:
            del self._overtaken[message]
            self._out += self._values.of_riders(self._state, message)

    def _leave_reasoning(self) -> None:
        """End what text, a call or a result follows."""
        self._carry_riders()
        self._leave_span()

    def _leave_span(self) -> None:
        """End the span, now or as soon as the last reasoning message in it ends."""
        self._is_past = True
        self._end_empty()
        if self._span is None:
            return
        self._leaving = bool(self._open)
        if not self._leaving:
            self._out.append(make.span_end(self._span, self._now()))
            self._span = None

    # -- text

    def _text_grew(self, unit: TextUnit, change: Grew) -> None:
        message = self._message
        if message.open:
            self._show_text(message, unit, change.text)
            return
        self._state.hold(unit, change.text)
        if change.text.isspace():
            return
        self._leave_reasoning()
        message = self._open_text(unit)
        held, self._state.held = self._state.held, []
        self._out.append(make.text_content(message.id, "".join(text for _, text in held)))
        for holder, text in held:
            self._state.place(holder, message, len(text))

    def _note_text(self, unit: TextUnit, pieces: Sequence[str]) -> None:
        self._state.place(unit, self._message, sum(map(len, pieces)))

    def _show_text(self, message: AssistantMessage, unit: TextUnit, text: str) -> None:
        self._state.place(unit, message, len(text))
        self._out.append(make.text_content(message.id, text))

    def _open_text(self, unit: TextUnit) -> AssistantMessage:
        message = self._open_message_of_text(unit.seq)
        self._state.attributor.text()
        return message

    def _open_message_of_text(self, seq: int | None) -> AssistantMessage:
        self._fresh_assistant()
        message = self._message
        message.open = message.used = True
        self._note_id(message.id)
        if self._bubble is not None:
            self._state.leave_behind()
        self._bubble = message.id
        self._out.append(make.text_start(message.id, self._hint(seq), self._now()))
        return message

    def _end_text(self) -> None:
        self._state.held.clear()
        message = self._message
        if not message.open:
            return
        message.open = False
        self._out.append(make.text_end(message.id, self._now()))
        self._out += self._values.of_text(self._state, message)

    @property
    def _message(self) -> AssistantMessage:
        return self._state.messages[-1]

    def _fresh_assistant(self) -> None:
        """Choose the ID of the next assistant message, unless it has one already.

        This happens early so that the envelope of the preceding reasoning can name it.
        """
        messages = self._state.messages
        if not messages or messages[-1].used:
            messages.append(AssistantMessage(self._new_id()))

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
        if not native_id or native_id in self.used_call_ids:
            wire_id = self._new_id()
        self.used_call_ids.add(wire_id)
        parent = self._message
        parent.used = True
        owns = self._state.attributor.call(wire_id)
        after = () if owns is None or isinstance(owns, Shared) else tuple(int(seq) for seq in owns)
        return EmittedCall(wire_id, unit, parent, owns, after, conceals=not self._disclosure.full)

    def _start_call(self, call: EmittedCall) -> None:
        self._note_id(call.id)
        self._bubble = self._bubble or call.parent.id
        self._note_concealed(call)
        metadata = self._hint(call.unit.seq, **self._owned(call))
        name = call.unit.name or NAMELESS
        self._out.append(make.call_start(call.id, name, call.parent.id, metadata, self._now()))

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
        self._note_concealed(call)
        if not call.concealed:
            self._out.append(make.call_args(call.id, change.text))

    def _note_concealed(self, call: EmittedCall) -> None:
        if call.concealed:
            self.concealed.add(call.id)

    def _call_ended(self, unit: CallUnit) -> None:
        call = self._state.calls[unit]
        self._out.append(make.call_end(call.id, self._now()))
        self._out += self._values.of_call(self._state, call)

    def _server_result(self, unit: ResultUnit) -> None:
        self._end_text()
        self._leave_reasoning()
        self._state.attributor.result()
        message_id, call_id = self._result(unit, *(_told(unit) if self._disclosure.full else ("", None)))
        self._state.results[unit] = (message_id, call_id)
        # Later text needs another message, or the client would put it before the result.
        self._fresh_assistant()

    def _result(
        self, unit: ResultUnit, content: str | list[Any], metadata: dict[str, Any] | None
    ) -> tuple[str, str]:
        call_id = self.produced.client_id(unit.call_id)
        message_id = self._new_id()
        self.produced.unanswered.pop(call_id, None)
        shown = content if self._takes_media else self._as_text(content)
        self._out.append(make.call_result(message_id, call_id, shown, metadata, self._now()))
        return message_id, call_id

    def _as_text(self, content: str | list[Any]) -> str:
        """Return content for clients that predate content parts in results, and reject the whole run."""
        if not isinstance(content, str):
            self._warn(
                "A tool result contains media. The client declares no protocol version, so it gets their "
                "types and sizes only, and the media are missing in later runs."
            )
        return text_of(content)


def _empty_span(now_ms: Callable[[], int] | None, span_id: str) -> tuple[Event, ...]:
    now = now_ms() if now_ms else None
    return make.span_start(span_id, now), make.span_end(span_id, now)


def _told(unit: ResultUnit) -> tuple[str | list[Any], dict[str, Any] | None]:
    """Return the content and the metadata of a result."""
    return told(unit.content, unit.error), error_hint(error_sentence(unit.error))


def _appeared(writer: Writer, change: Appeared) -> None:
    _APPEARED[type(change.unit)](writer, change.unit)


def _resumed(writer: Writer, change: Resumed) -> None:
    _RESUMED[type(change.unit)](writer, change.unit)


def _grew(writer: Writer, change: Grew) -> None:
    _GREW[type(change.unit)](writer, change.unit, change)


def _ended(writer: Writer, change: Ended) -> None:
    _ENDED[type(change.unit)](writer, change.unit)


def _nothing(writer: Writer, unit: UnitBuffer, pieces: Sequence[str] = ()) -> None:
    """Leave text open until something else follows; late values are sent with the response."""


_CHANGES: dict[type, Callable[[Writer, Any], None]] = {
    ResponseOpened: Writer._response_opened,
    Appeared: _appeared,
    Grew: _grew,
    Resumed: _resumed,
    Valued: _nothing,
    Ended: _ended,
    ResponseEnded: Writer._response_ended,
    Answered: Writer._answered,
}
_APPEARED: dict[type, Callable[[Writer, Any], None]] = {
    ReasoningUnit: Writer._reasoning_appeared,
    TextUnit: _nothing,
    CallUnit: Writer._call_appeared,
    ResultUnit: Writer._server_result,
    NativeUnit: _nothing,
}
_RESUMED: dict[type, Callable[[Writer, Any], None]] = {
    ReasoningUnit: Writer._reasoning_resumed,
    TextUnit: _nothing,
    CallUnit: Writer._call_resumed,
}
_GREW: dict[type, Callable[[Writer, Any, Grew], None]] = {
    ReasoningUnit: Writer._reasoning_grew,
    TextUnit: Writer._text_grew,
    CallUnit: Writer._call_grew,
}
_CATCH_UP: dict[type, Callable[[Writer, Any, Sequence[str]], None]] = {
    ReasoningUnit: Writer._note_reasoning,
    TextUnit: Writer._note_text,
    CallUnit: _nothing,
}
_ENDED: dict[type, Callable[[Writer, Any], None]] = {
    ReasoningUnit: Writer._reasoning_ended,
    TextUnit: _nothing,
    CallUnit: Writer._call_ended,
}
