"""Downgrade current events for peers before 1.0: to THINKING_*, or to the REASONING_* of their version.

The translation is lossy. The five THINKING_* events have no IDs and allow one open text in one open phase, so
parallel messages are serialized. Data that cannot be represented is dropped, with one warning per kind.
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

# Members that a THINKING_* event keeps from its source event.
_KEPT: Final = ("timestamp", "rawEvent")
_OUTCOMES: Final = ("success", "interrupt")
_NAMES: Final = ("messageId", "toolCallId", "subagentRunId")


class ThinkingDowngrader:
    """Translates a current stream for an older peer.

    Chunks are expanded first. For a peer that supports REASONING_*, those events keep their types and IDs,
    and their roles and deltas are adapted to its version. For other peers they become THINKING_*. Each kind
    of loss is reported once per stream.

    Examples:
        >>> downgrader = ThinkingDowngrader(on_warning=print)
        >>> downgrader.receive({"type": "REASONING_START", "messageId": "span-1"})
        The IDs of reasoning are lost: THINKING_* has none.
        [{'type': 'THINKING_START'}]
        >>> downgrader.receive({"type": "REASONING_END", "messageId": "span-1"})
        [{'type': 'THINKING_END'}]
    """

    def __init__(self, peer: str | None = None, on_warning: Callable[[str], None] | None = None) -> None:
        """Prepare for one stream.

        Args:
            peer: The peer's version of ag-ui-protocol: "0.1.10" receives THINKING_* without empty deltas,
                "0.1.11" and later receive REASONING_* adapted to their version, "1.0.0" receives everything.
                Defaults to a peer of unknown version that supports THINKING_*.
            on_warning: Called with each warning; defaults to Python's ``warnings``.

        Raises:
            ConfigurationError: The version is invalid or too old (``unknown_peer``).
        """
        self._peer = peer_of(peer)
        self._warn = on_warning or python_warning
        self._warned: set[str] = set()
        self._expander = Expander()
        self._histories = Histories(self._peer, self._warn_once)
        self._phase = _Phase(self._warn_once)

    def receive(self, event: BaseModel | Mapping[str, Any]) -> list[JSONObject]:
        """Translate one event.

        Args:
            event: A model or its JSON; it is not modified.

        Returns:
            The events to send, in order: usually one, none if the peer cannot represent the event.

        Raises:
            RemoteProtocolError: A chunk matches no open message or call; see `Conversation`.
        """
        members = members_of(event)
        if not self._peer.old or not _is_trackable(members):
            return [members]
        expanded = self._expander.receive(_chunk(members)) if self._expands else [members]
        return [sent for one in expanded for known in self._adapted(one) for sent in self._translated(known)]

    def close(self) -> list[JSONObject]:
        """Signal the end of the stream. Discards open state without closing it; returns no events."""
        self._expander.close()
        self._phase.close()
        return []

    @property
    def _expands(self) -> bool:
        return self._peer.thinking or not self._peer.empty_deltas

    def _adapted(self, event: JSONObject) -> list[JSONObject]:
        """Adapt everything but reasoning to the peer's models; empty if the event cannot be represented."""
        adapt = _ADAPTERS.get(event["type"])
        return [event] if adapt is None else adapt(self, event)

    def _translated(self, event: JSONObject) -> list[JSONObject]:
        """Translate a reasoning event for the peer."""
        if not self._peer.thinking:
            return [event]
        translate = _TRANSLATORS.get(event["type"])
        return [event] if translate is None else translate(self._phase, event)

    # -- adaptations for every older peer

    def _delta(self, event: JSONObject) -> list[JSONObject]:
        if event.get("delta") != "" or self._peer.empty_deltas:
            return [event]
        if "metadata" in event:
            self._warn_once("empty", "The metadata of empty deltas is lost: the peer rejects empty deltas.")
        return []

    def _message_start(self, event: JSONObject) -> list[JSONObject]:
        if self._peer.thinking:
            return [event]
        return [event | {"role": self._peer.role}]

    def _subagent(self, event: JSONObject) -> list[JSONObject]:
        if self._peer.subagents:
            return [event]
        self._warn_once("subagents", "SUBAGENT_* events are dropped: the peer does not support subagents.")
        return []

    def _finished(self, event: JSONObject) -> list[JSONObject]:
        outcome = event.get("outcome")
        if not isinstance(outcome, Mapping):
            return [event]
        kind = outcome.get("type")
        if kind in _OUTCOMES:
            # Clients of 0.x reject any other member; pending calls are visible in the stream (C55).
            known = {name: outcome[name] for name in ("type", "interrupts") if name in outcome}
            return [event | {"outcome": known}]
        if kind != "cancelled":
            self._warn_once("outcome", "An outcome that the peer does not support is dropped.")
            return [{name: value for name, value in event.items() if name != "outcome"}]
        # Without its outcome the run would look like a success, which AG-UI 1.1, P7 forbids.
        self._warn_once(
            "cancelled", "A cancelled run ends with RUN_ERROR: the peer does not support that outcome."
        )
        error = {"type": "RUN_ERROR", "message": "The run was cancelled.", "code": "cancelled"}
        return [error | {name: event[name] for name in ("usage", *_KEPT) if name in event}]

    def _result(self, event: JSONObject) -> list[JSONObject]:
        return [dict(self._histories.adapt_result(event))]

    def _snapshot(self, event: JSONObject) -> list[JSONObject]:
        return [self._histories.adapt(event)]

    def _run_started(self, event: JSONObject) -> list[JSONObject]:
        echo = event.get("input")
        if not isinstance(echo, Mapping):
            return [event]
        # Older peers require all of these; absent means empty (P24).
        whole = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, **echo}
        return [event | {"input": self._histories.adapt(whole)}]

    def _value(self, event: JSONObject) -> list[JSONObject]:
        if not self._peer.thinking:
            return [event]
        self._warn_once("values", "Encrypted values are dropped: THINKING_* cannot carry them.")
        return []

    def _warn_once(self, kind: str, message: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(message)


class _Phase:
    """Serializes spans and messages into one phase with one open text.

    When parallel messages alternate, the current text is closed and a new one is opened for the other
    message: content is neither delayed nor attributed to the wrong message.
    """

    def __init__(self, warn_once: Callable[[str, str], None]) -> None:
        self._warn_once = warn_once
        self._spans: set[str] = set()
        self._messages: dict[str, bool] = {}  # open messages, and whether each has been opened for the peer
        self._text: str | None = None
        self._phase_open = False

    def span_start(self, event: JSONObject) -> list[JSONObject]:
        self._spans.add(_id(event))
        if self._phase_open:
            self._warn_once(
                "spans", "Overlapping spans are merged into one phase: THINKING_* has one at a time."
            )
            return []
        return [self._open_phase(event)]

    def span_end(self, event: JSONObject) -> list[JSONObject]:
        if _id(event) not in self._spans:
            self._warn_once("stray", "An end of reasoning without a start is dropped.")
            return []
        self._spans.remove(_id(event))
        return [] if self._spans else self._close_phase(event)

    def message_start(self, event: JSONObject) -> list[JSONObject]:
        self._messages[_id(event)] = False
        return [] if self._text is not None else self._open_text(event)

    def content(self, event: JSONObject) -> list[JSONObject]:
        if _id(event) not in self._messages:
            self._warn_once("orphan", "Reasoning content without a start gets one.")
        opened = [] if self._text == _id(event) else self._open_text(event)
        return [*opened, {**self._event("THINKING_TEXT_MESSAGE_CONTENT", event), "delta": event.get("delta")}]

    def message_end(self, event: JSONObject) -> list[JSONObject]:
        name = _id(event)
        if name not in self._messages:
            self._warn_once("stray", "An end of reasoning without a start is dropped.")
            return []
        events = [] if self._messages[name] else self._open_text(event)
        if self._text == name:
            events += self._close_text(event)
        del self._messages[name]
        return events if self._spans or self._messages else [*events, *self._close_phase({})]

    def run_started(self, event: JSONObject) -> list[JSONObject]:
        self.close()
        return [event]

    def run_ended(self, event: JSONObject) -> list[JSONObject]:
        """Close the open phase: for these peers it would outlive the run and block the next one."""
        ends = [*self._close_text({}), *self._close_phase({})]
        self.close()
        return [*ends, event]

    def close(self) -> None:
        """Discard open state."""
        self._spans.clear()
        self._messages.clear()
        self._text, self._phase_open = None, False

    # -- the one phase and the one text

    def _open_phase(self, event: JSONObject) -> JSONObject:
        self._phase_open = True
        title = _title(event)
        return {**self._event("THINKING_START", event), **({} if title is None else {"title": title})}

    def _close_phase(self, event: JSONObject) -> list[JSONObject]:
        if not self._phase_open:
            return []
        self._phase_open = False
        return [self._event("THINKING_END", event)]

    def _open_text(self, event: JSONObject) -> list[JSONObject]:
        """Open a text for the event's message, and the phase that clients of 0.x require around it."""
        name = _id(event)
        if self._text is not None or self._messages.get(name):
            self._warn_once("parallel", "Parallel reasoning messages are serialized in pieces.")
        started = [] if self._phase_open else [self._open_phase({})]
        ended = self._close_text({})
        self._text, self._messages[name] = name, True
        # The timestamp and raw event of other events do not belong on the opener.
        opener = event if event["type"] == "REASONING_MESSAGE_START" else {}
        return [*started, *ended, self._event("THINKING_TEXT_MESSAGE_START", opener)]

    def _close_text(self, event: JSONObject) -> list[JSONObject]:
        if self._text is None:
            return []
        self._text = None
        return [self._event("THINKING_TEXT_MESSAGE_END", event)]

    def _event(self, kind: str, source: JSONObject) -> JSONObject:
        if "messageId" in source:
            self._warn_once("ids", "The IDs of reasoning are lost: THINKING_* has none.")
        if "subagentRunId" in source:
            self._warn_once("owners", "The subagent of reasoning is lost: THINKING_* does not name it.")
        if _other_metadata(source):
            self._warn_once("metadata", "The metadata of reasoning is lost: THINKING_* has none.")
        return {"type": kind, **{name: source[name] for name in _KEPT if name in source}}


def _is_trackable(event: JSONObject) -> bool:
    """Return whether an event can be tracked; malformed ones are passed on for the consumer to reject."""
    return isinstance(event.get("type"), str) and all(
        isinstance(event.get(name), str | None) for name in _NAMES
    )


def _chunk(event: JSONObject) -> JSONObject:
    """Remove the nulls that old producers write for absent members of chunks; keep other events as is."""
    if not event["type"].endswith("_CHUNK"):
        return event
    return {name: value for name, value in event.items() if value is not None}


def _id(event: JSONObject) -> str:
    return event.get("messageId") or ""


def _title(event: JSONObject) -> str | None:
    title = hint_of(event).get("title")
    return title if isinstance(title, str) else None


def _other_metadata(event: JSONObject) -> bool:
    """Return whether there is metadata besides a kept title."""
    metadata = event.get("metadata")
    kept = 0 if _title(event) is None else 1
    return isinstance(metadata, Mapping) and len(metadata) > kept


_ADAPTERS: Final[dict[str, Callable[[ThinkingDowngrader, JSONObject], list[JSONObject]]]] = {
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
_TRANSLATORS: Final[dict[str, Callable[[_Phase, JSONObject], list[JSONObject]]]] = {
    "REASONING_START": _Phase.span_start,
    "REASONING_MESSAGE_START": _Phase.message_start,
    "REASONING_MESSAGE_CONTENT": _Phase.content,
    "REASONING_MESSAGE_END": _Phase.message_end,
    "REASONING_END": _Phase.span_end,
    "RUN_STARTED": _Phase.run_started,
    "RUN_FINISHED": _Phase.run_ended,
    "RUN_ERROR": _Phase.run_ended,
}
