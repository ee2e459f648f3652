"""From today's events to those of peers before 1.0: THINKING_*, or the REASONING_* of their time.

Lossy, and it says so. The five THINKING_* events have no ids and hold one text at a time in one phase at a
time, so what runs in parallel is put in a row; what has no place at all is left out and told once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from agui_reasoning._hint import hint_of
from agui_reasoning._strict_json import JSONObject
from agui_reasoning._thinking import members_of, python_warning
from agui_reasoning.compat._histories import Histories
from agui_reasoning.compat._peers import peer_of
from agui_reasoning.consumer._expand import Expander

__all__ = ["ThinkingDowngrader"]

# What a THINKING_* event keeps of the event it comes from.
_KEPT: Final = ("timestamp", "rawEvent")
_OUTCOMES: Final = ("success", "interrupt")
_NAMES: Final = ("messageId", "toolCallId", "subagentRunId")


class ThinkingDowngrader:
    """Turn a stream of today into what an older peer reads.

    Chunks are expanded first. For a peer that knows REASONING_*, those events keep their names and ids and
    get the role and the deltas of its time; for any other they become THINKING_*. Each kind of loss is told
    once per stream.

    Examples:
        >>> downgrader = ThinkingDowngrader(on_warning=print)
        >>> downgrader.receive({"type": "REASONING_START", "messageId": "span-1"})
        The ids of reasoning are lost: THINKING_* has none.
        [{'type': 'THINKING_START'}]
        >>> downgrader.receive({"type": "REASONING_END", "messageId": "span-1"})
        [{'type': 'THINKING_END'}]
    """

    def __init__(self, peer: str | None = None, on_warning: Callable[[str], None] | None = None) -> None:
        """Prepare for one stream.

        Args:
            peer: A version of ag-ui-protocol: "0.1.10" gets THINKING_* without empty deltas, "0.1.11" and
                newer ones get REASONING_* as they want it, "1.0.0" gets everything. Default is a peer that
                speaks THINKING_*, whatever its version.
            on_warning: Called with each warning; default is Python's ``warnings``.

        Raises:
            ConfigurationError: The peer is unknown, or too old (``unknown_peer``).
        """
        self._peer = peer_of(peer)
        self._warn = on_warning or python_warning
        self._told: set[str] = set()
        self._expander = Expander()
        self._histories = Histories(self._peer, self._tell)
        self._phase = _Phase(self._tell)

    def receive(self, event: BaseModel | Mapping[str, Any]) -> list[JSONObject]:
        """Translate one event.

        Args:
            event: A model or its JSON; it is not changed.

        Returns:
            The events that go on, in order: often one, none for what the peer cannot know.

        Raises:
            RemoteProtocolError: A chunk that fits nothing; see `Conversation`.
        """
        members = members_of(event)
        if not self._peer.old or not _is_sound(members):
            return [members]
        expanded = self._expander.receive(_chunk(members)) if self._expands else [members]
        return [sent for one in expanded for known in self._known(one) for sent in self._spoken(known)]

    def close(self) -> list[JSONObject]:
        """Say that the stream ended. Forgets what is open and makes up no end for it: no events."""
        self._expander.close()
        self._phase.close()
        return []

    @property
    def _expands(self) -> bool:
        return self._peer.thinking or not self._peer.empty_deltas

    def _known(self, event: JSONObject) -> list[JSONObject]:
        """The event in a form that the peer's models take, apart from reasoning; nothing if there is none."""
        mend = _MENDS.get(event["type"])
        return [event] if mend is None else mend(self, event)

    def _spoken(self, event: JSONObject) -> list[JSONObject]:
        """The event as the peer speaks of reasoning."""
        if not self._peer.thinking:
            return [event]
        speak = _THINKING.get(event["type"])
        return [event] if speak is None else speak(self._phase, event)

    # -- what peers refuse, whatever they call reasoning

    def _delta(self, event: JSONObject) -> list[JSONObject]:
        if event.get("delta") != "" or self._peer.empty_deltas:
            return [event]
        if "metadata" in event:
            self._tell("empty", "The metadata of empty deltas is lost: the peer refuses such deltas.")
        return []

    def _message_start(self, event: JSONObject) -> list[JSONObject]:
        if self._peer.thinking:
            return [event]
        return [event | {"role": self._peer.role}]

    def _subagent(self, event: JSONObject) -> list[JSONObject]:
        if self._peer.subagents:
            return [event]
        self._tell("subagents", "SUBAGENT_* events are left out: the peer does not know subagents.")
        return []

    def _finished(self, event: JSONObject) -> list[JSONObject]:
        outcome = event.get("outcome")
        if not isinstance(outcome, Mapping):
            return [event]
        kind = outcome.get("type")
        if kind in _OUTCOMES:
            # Clients of 0.x refuse any other member; what is pending shows in the stream (C55).
            known = {name: outcome[name] for name in ("type", "interrupts") if name in outcome}
            return [event | {"outcome": known}]
        if kind != "cancelled":
            self._tell("outcome", "An outcome that the peer does not know is left out.")
            return [{name: value for name, value in event.items() if name != "outcome"}]
        # Without its outcome the run would look like a success, which it must never (AG-UI 1.1, P7).
        self._tell("cancelled", "A cancelled run ends in RUN_ERROR: the peer has no such outcome.")
        error = {"type": "RUN_ERROR", "message": "The run was cancelled.", "code": "cancelled"}
        return [error | {name: event[name] for name in ("usage", *_KEPT) if name in event}]

    def _result(self, event: JSONObject) -> list[JSONObject]:
        return [dict(self._histories.result(event))]

    def _snapshot(self, event: JSONObject) -> list[JSONObject]:
        return [self._histories.known(event)]

    def _run_started(self, event: JSONObject) -> list[JSONObject]:
        echo = event.get("input")
        if not isinstance(echo, Mapping):
            return [event]
        # They want all of these; absent means the same (P24).
        whole = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, **echo}
        return [event | {"input": self._histories.known(whole)}]

    def _value(self, event: JSONObject) -> list[JSONObject]:
        if not self._peer.thinking:
            return [event]
        self._tell("values", "Encrypted values are left out: nothing in THINKING_* holds them.")
        return []

    def _tell(self, kind: str, message: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self._warn(message)


class _Phase:
    """Today's spans and messages as one phase with one text in it, and what of them is open.

    A message that runs beside another is shown as soon as it has content, and the other goes on in a new
    text: nothing is held back and nothing is glued to what it does not belong to.
    """

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._spans: set[str] = set()
        self._messages: dict[str, bool] = {}  # open ones, and whether they have been shown
        self._text: str | None = None
        self._begun = False

    def span_start(self, event: JSONObject) -> list[JSONObject]:
        self._spans.add(_id(event))
        if self._begun:
            self._tell("spans", "Spans that overlap become one phase: THINKING_* has one at a time.")
            return []
        return [self._begin(event)]

    def span_end(self, event: JSONObject) -> list[JSONObject]:
        if _id(event) not in self._spans:
            self._tell("stray", "An end of reasoning that ends nothing is left out.")
            return []
        self._spans.remove(_id(event))
        return [] if self._spans else self._end(event)

    def message_start(self, event: JSONObject) -> list[JSONObject]:
        self._messages[_id(event)] = False
        return [] if self._text is not None else self._show(event)

    def content(self, event: JSONObject) -> list[JSONObject]:
        if _id(event) not in self._messages:
            self._tell("orphan", "Reasoning without an opener gets one.")
        shown = [] if self._text == _id(event) else self._show(event)
        return [*shown, {**self._event("THINKING_TEXT_MESSAGE_CONTENT", event), "delta": event.get("delta")}]

    def message_end(self, event: JSONObject) -> list[JSONObject]:
        name = _id(event)
        if name not in self._messages:
            self._tell("stray", "An end of reasoning that ends nothing is left out.")
            return []
        events = [] if self._messages[name] else self._show(event)
        if self._text == name:
            events += self._end_text(event)
        del self._messages[name]
        return events if self._spans or self._messages else [*events, *self._end({})]

    def run_started(self, event: JSONObject) -> list[JSONObject]:
        self.close()
        return [event]

    def run_ended(self, event: JSONObject) -> list[JSONObject]:
        """Close what is open: for these peers a phase outlives its run, and the next one could not open."""
        ends = [*self._end_text({}), *self._end({})]
        self.close()
        return [*ends, event]

    def close(self) -> None:
        """Forget what is open."""
        self._spans.clear()
        self._messages.clear()
        self._text, self._begun = None, False

    # -- the one phase and the one text

    def _begin(self, event: JSONObject) -> JSONObject:
        self._begun = True
        title = _title(event)
        return {**self._event("THINKING_START", event), **({} if title is None else {"title": title})}

    def _end(self, event: JSONObject) -> list[JSONObject]:
        if not self._begun:
            return []
        self._begun = False
        return [self._event("THINKING_END", event)]

    def _show(self, event: JSONObject) -> list[JSONObject]:
        """Open a text for the event's message; a phase around it too, which clients of 0.x insist on."""
        name = _id(event)
        if self._text is not None or self._messages.get(name):
            self._tell("parallel", "Reasoning messages that run in parallel are put in a row, in pieces.")
        begun = [] if self._begun else [self._begin({})]
        ended = self._end_text({})
        self._text, self._messages[name] = name, True
        # Only an opener has times and raw events of an opener.
        opener = event if event["type"] == "REASONING_MESSAGE_START" else {}
        return [*begun, *ended, self._event("THINKING_TEXT_MESSAGE_START", opener)]

    def _end_text(self, event: JSONObject) -> list[JSONObject]:
        if self._text is None:
            return []
        self._text = None
        return [self._event("THINKING_TEXT_MESSAGE_END", event)]

    def _event(self, kind: str, source: JSONObject) -> JSONObject:
        if "messageId" in source:
            self._tell("ids", "The ids of reasoning are lost: THINKING_* has none.")
        if "subagentRunId" in source:
            self._tell("owners", "Whose reasoning it is is lost: THINKING_* does not tell.")
        if _other_metadata(source):
            self._tell("metadata", "The metadata of reasoning is lost: THINKING_* has none.")
        return {"type": kind, **{name: source[name] for name in _KEPT if name in source}}


def _is_sound(event: JSONObject) -> bool:
    """Whether it can be followed at all; what is malformed goes on as it is, and is refused further on."""
    return isinstance(event.get("type"), str) and all(
        isinstance(event.get(name), str | None) for name in _NAMES
    )


def _chunk(event: JSONObject) -> JSONObject:
    """A chunk without nulls, which old producers write for what is absent; any other event as it is."""
    if not event["type"].endswith("_CHUNK"):
        return event
    return {name: value for name, value in event.items() if value is not None}


def _id(event: JSONObject) -> str:
    return event.get("messageId") or ""


def _title(event: JSONObject) -> str | None:
    title = hint_of(event).get("title")
    return title if isinstance(title, str) else None


def _other_metadata(event: JSONObject) -> bool:
    """Whether there is metadata that is no kept title."""
    metadata = event.get("metadata")
    kept = 0 if _title(event) is None else 1
    return isinstance(metadata, Mapping) and len(metadata) > kept


_MENDS: Final[dict[str, Callable[[ThinkingDowngrader, JSONObject], list[JSONObject]]]] = {
    "RUN_STARTED": ThinkingDowngrader._run_started,
    "RUN_FINISHED": ThinkingDowngrader._finished,
    "TEXT_MESSAGE_CONTENT": ThinkingDowngrader._delta,
    "REASONING_MESSAGE_START": ThinkingDowngrader._message_start,
    "REASONING_MESSAGE_CONTENT": ThinkingDowngrader._delta,
    "THINKING_TEXT_MESSAGE_CONTENT": ThinkingDowngrader._delta,
    "REASONING_ENCRYPTED_VALUE": ThinkingDowngrader._value,
    "TOOL_CALL_RESULT": ThinkingDowngrader._result,
    "MESSAGES_SNAPSHOT": ThinkingDowngrader._snapshot,
    "SUBAGENT_STARTED": ThinkingDowngrader._subagent,
    "SUBAGENT_FINISHED": ThinkingDowngrader._subagent,
    "SUBAGENT_ERROR": ThinkingDowngrader._subagent,
}
_THINKING: Final[dict[str, Callable[[_Phase, JSONObject], list[JSONObject]]]] = {
    "REASONING_START": _Phase.span_start,
    "REASONING_MESSAGE_START": _Phase.message_start,
    "REASONING_MESSAGE_CONTENT": _Phase.content,
    "REASONING_MESSAGE_END": _Phase.message_end,
    "REASONING_END": _Phase.span_end,
    "RUN_STARTED": _Phase.run_started,
    "RUN_FINISHED": _Phase.run_ended,
    "RUN_ERROR": _Phase.run_ended,
}
