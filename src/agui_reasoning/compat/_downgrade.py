"""Downgrade current events for peers before 1.0: to THINKING_*, or to the REASONING_* of their version.

The translation is lossy. The five THINKING_* events have no IDs and allow one open text in one open phase, so
parallel messages are serialized. Data that cannot be represented is dropped, with one warning per kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._thinking import members_of, python_warning
from agui_reasoning._wire_events import hint_of
from agui_reasoning.consumer import MEDIA_KINDS, Expander
from agui_reasoning.errors import ConfigurationError

_Version: TypeAlias = tuple[int, int, int]
_FORM: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Peer:
    """Capabilities of one version.

    Attributes:
        thinking: Supports THINKING_* but not REASONING_*.
        role: The only role accepted on REASONING_MESSAGE_START.
        empty_deltas: Accepts an empty ``delta`` in text and reasoning.
        media: Supports image, audio, video and document parts; earlier versions have "binary" only.
        subagents: Supports SUBAGENT_* events.
        old: Predates 1.0: no cancelled runs, no tool results with parts.
    """

    thinking: bool = False
    role: str = "reasoning"
    empty_deltas: bool = True
    media: bool = True
    subagents: bool = False
    old: bool = True


# Newest first; each entry applies from its version on.
_SINCE: Final[tuple[tuple[_Version, Peer], ...]] = (
    ((1, 0, 0), Peer(subagents=True, old=False)),
    ((0, 1, 21), Peer(subagents=True)),
    ((0, 1, 16), Peer()),
    ((0, 1, 15), Peer(empty_deltas=False)),
    ((0, 1, 14), Peer(empty_deltas=False, media=False)),
    ((0, 1, 11), Peer(role="assistant", empty_deltas=False, media=False)),
    ((0, 1, 10), Peer(thinking=True, empty_deltas=False, media=False)),
)


def peer_of(version: str | None) -> Peer:
    """Look up the capabilities of a version; ``None`` means an unknown one that supports THINKING_*.

    Raises:
        ConfigurationError: The version is invalid, or earlier than 0.1.10 (``unknown_peer``).
    """
    if version is None:
        return Peer(thinking=True, media=False)
    form = _FORM.fullmatch(version)
    if form is not None:
        major, minor, patch = (int(number) for number in form.groups())
        for since, peer in _SINCE:
            if (major, minor, patch) >= since:
                return peer
    raise ConfigurationError(
        f"{version[:40]!r} is not a version of ag-ui-protocol that streams can be downgraded to.",
        code="unknown_peer",
        # Older versions reject unknown members, and 1.0 has many.
        hint="Use 0.1.10 or later, or omit it for any peer that supports THINKING_*.",
    )


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
        expands = self._peer.thinking or not self._peer.empty_deltas
        expanded = self._expander.receive(_chunk(members)) if expands else [members]
        return [sent for one in expanded for known in self._adapted(one) for sent in self._translated(known)]

    def close(self) -> list[JSONObject]:
        """Signal the end of the stream. Discards open state without closing it; returns no events."""
        self._expander.close()
        self._phase.close()
        return []

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
        return [event if self._peer.thinking else event | {"role": self._peer.role}]

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

    def _run_started(self, event: JSONObject) -> list[JSONObject]:
        echo = event.get("input")
        if not isinstance(echo, Mapping):
            return [event]
        # Older peers require all of these; absent means empty (P24).
        whole = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, **echo}
        return [event | {"input": self._with_messages(whole)}]

    def _value(self, event: JSONObject) -> list[JSONObject]:
        if not self._peer.thinking:
            return [event]
        self._warn_once("values", "Encrypted values are dropped: THINKING_* cannot carry them.")
        return []

    # -- histories

    def _with_messages(self, holder: JSONObject) -> JSONObject:
        """Return a copy with adapted ``messages``, or the argument if nothing changes."""
        messages = holder.get("messages")
        if not isinstance(messages, (list, tuple)):
            return holder
        adapted = [self._message(message) for message in messages if self._is_supported(message)]
        same = len(adapted) == len(messages) and all(map(is_, adapted, messages))
        return holder if same else holder | {"messages": adapted}

    def _result(self, holder: Mapping[str, Any]) -> Mapping[str, Any]:
        """Reduce a tool result to text, the only kind older peers support."""
        content = holder.get("content")
        if not isinstance(content, (list, tuple)):
            return holder
        given = (
            part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"
        )
        texts = [text for text in given if isinstance(text, str)]
        if len(texts) < len(content):
            self._warn_once(
                "results",
                "Parts of tool results other than text are dropped: the peer does not support them.",
            )
        return {**holder, "content": "".join(texts)}

    def _is_supported(self, message: Any) -> bool:
        if not self._peer.thinking or not isinstance(message, Mapping) or message.get("role") != "reasoning":
            return True
        self._warn_once(
            "messages", "Reasoning messages in histories are dropped: the peer does not support the role."
        )
        return False

    def _message(self, message: Any) -> Any:
        if not isinstance(message, Mapping):
            return message
        if "toolCallId" in message:
            return self._result(message)
        content = message.get("content")
        if not isinstance(content, (list, tuple)):
            return message
        parts = [adapted for part in content if (adapted := self._part(part)) is not None]
        same = len(parts) == len(content) and all(map(is_, parts, content))
        return message if same else {**message, "content": parts}

    def _part(self, part: Any) -> Any:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("text", "binary"):
            return part
        if isinstance(kind, str) and kind in MEDIA_KINDS and (binary := _binary(part)) is not None:
            return part if self._peer.media else binary
        self._warn_once("parts", "Parts of messages are dropped: the peer does not support their type.")
        return None

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
        metadata, kept = source.get("metadata"), 0 if _title(source) is None else 1
        if isinstance(metadata, Mapping) and len(metadata) > kept:
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


_ADAPTERS: Final[dict[str, Callable[[ThinkingDowngrader, JSONObject], list[JSONObject]]]] = {
    "RUN_STARTED": ThinkingDowngrader._run_started,
    "RUN_FINISHED": ThinkingDowngrader._finished,
    "TEXT_MESSAGE_CONTENT": ThinkingDowngrader._delta,
    "REASONING_MESSAGE_START": ThinkingDowngrader._message_start,
    "REASONING_MESSAGE_CONTENT": ThinkingDowngrader._delta,
    "THINKING_TEXT_MESSAGE_CONTENT": ThinkingDowngrader._delta,
    "REASONING_ENCRYPTED_VALUE": ThinkingDowngrader._value,
    "TOOL_CALL_RESULT": lambda downgrader, event: [dict(downgrader._result(event))],
    "MESSAGES_SNAPSHOT": lambda downgrader, event: [downgrader._with_messages(event)],
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


def _binary(part: Mapping[str, Any]) -> JSONObject | None:
    """Convert a media part to the older "binary" kind; ``None`` if its source cannot be represented.

    This is the inverse of the compatibility boundary (AG-UI 1.1, C5).
    """
    source = part.get("source")
    where = source.get("type") if isinstance(source, Mapping) else None
    if not isinstance(source, Mapping) or where not in ("data", "url"):
        return None
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, Mapping) else None
    named = {"filename": name} if isinstance(name, str) else {}
    mime = source.get("mimeType") or f"{part['type']}/*"
    return {"type": "binary", "mimeType": mime, where: source.get("value"), **named}
