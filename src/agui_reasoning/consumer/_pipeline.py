"""The stages of the consumer before reduction, in the order of the specification.

Compatibility upgrades the events of older producers. Enforcement removes unknown material with a notice, and
validates known material by the table in `_schema`; values are never coerced. Chunk expansion and verification
have a module each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._thinking import ThinkingUpgrader
from agui_reasoning.consumer import _faults as faults
from agui_reasoning.consumer._expand import Expander
from agui_reasoning.consumer._faults import Notice, NoticeSink, cut
from agui_reasoning.consumer._models import plain_json
from agui_reasoning.consumer._schema import EVENTS, MEDIA_KINDS
from agui_reasoning.consumer._schema_types import DROP, inspect
from agui_reasoning.consumer._verify import Phase, Verifier
from agui_reasoning.errors import LocalProtocolError, RemoteProtocolError

_ENDED: Final = frozenset({Phase.FINISHED, Phase.FAILED})


class Pipeline:
    """Runs compatibility, enforcement, expansion and verification for one stream after another.

    Source:
        AG-UI 1.1, C1: this order on every path. C3: strictly event by event.
    """

    def __init__(
        self,
        warn: NoticeSink,
        *,
        thread_id: str | None = None,
        new_id: Callable[[], str] | None = None,
        strict_identity: bool = False,
    ) -> None:
        self._warn = warn
        self._boundary = Boundary(warn, new_id)
        self._expander = Expander()
        self._verifier = Verifier(warn, thread_id, strict_identity=strict_identity)

    @property
    def phase(self) -> Phase:
        return self._verifier.phase

    def receive(self, event: object) -> list[JSONObject]:
        """Process one event.

        Returns:
            The delivered events, in order, which share no objects with the argument.

        Raises:
            RemoteProtocolError: The event breaks the protocol. Nothing is delivered, and only RUN_STARTED may
                follow.
            LocalProtocolError: The argument is not an event (``not_an_event``); the state is unchanged.
        """
        try:
            return self.stages(self.upgrade(event))
        except RemoteProtocolError:
            self._verifier.phase = Phase.FAILED  # only a new run may follow
            self._expander.close()
            raise

    def upgrade(self, event: object) -> Mapping[str, Any]:
        """Return an event in its current form.

        Raises:
            LocalProtocolError: The argument is not an event (``not_an_event``).
        """
        members = plain_json(event)
        if members is None:
            raise LocalProtocolError(
                f"{type(event).__name__} is not an event.",
                code="not_an_event",
                hint="Pass an `ag_ui.core` event, or a mapping with its JSON.",
            )
        return self._boundary.receive(members)

    def close(self) -> bool:
        """Signal the end of the stream.

        Returns:
            Whether the stream was complete: a run began, and none is open. Unknown events begin no run.
        """
        whole = self.phase in _ENDED
        self._boundary.close()
        self._expander.close()
        self._verifier.phase = Phase.NEW
        return whole

    def stages(self, members: Mapping[str, Any]) -> list[JSONObject]:
        """Process an event in its current form. Later events can be processed even after a violation.

        Raises:
            RemoteProtocolError: The event breaks the protocol.
        """
        known = enforce(members, self._warn, self._verifier.state)
        if known is None:
            return []
        events = self._expander.receive(known, self._verifier.state)
        for event in events:
            self._verifier.receive(event)
        return events


_MODERN = "Send the form of AG-UI 1.0; support for the old one will be removed."

# Fields that older versions set to null instead of omitting them (C4). Other nulls are malformed.
_NULLS: Final[dict[str, tuple[str, ...]]] = {
    "RUN_FINISHED": ("result", "outcome"),
    "SUBAGENT_FINISHED": ("result",),
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
}


class Boundary:
    """Upgrades one stream; keeps track of the open THINKING_* phase.

    Source:
        AG-UI 1.1: C4, C5, V6 to V10.
    """

    def __init__(self, warn: NoticeSink, new_id: Callable[[], str] | None = None) -> None:
        self._old = partial(_warn_old, warn)
        self._thinking = ThinkingUpgrader(self._old, new_id=new_id)

    def receive(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the event in its current form: unchanged, or a changed copy."""
        kind = event.get("type")
        if not isinstance(kind, str):
            return event
        if kind.startswith("THINKING_"):
            (event,) = self._thinking.receive(event)
        event = self._without_nulls(event, kind, ("rawEvent", *_NULLS.get(kind, ())))
        if kind == "MESSAGES_SNAPSHOT":
            return self._each(event, "messages", self._message)
        if kind == "RUN_STARTED" and isinstance(event.get("input"), Mapping):
            return {**event, "input": self._run_input(event["input"])}
        return event

    def close(self) -> None:
        """Discard the open phase at the end of the stream."""
        self._thinking.close()

    def _run_input(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        value = self._without_nulls(value, "RunAgentInput", ("forwardedProps",))
        without_nulls = self._without_nulls
        value = self._each(value, "tools", partial(without_nulls, where="A tool", names=("parameters",)))
        value = self._each(
            value, "resume", partial(without_nulls, where="A resume entry", names=("payload",))
        )
        return self._each(value, "messages", self._message)

    def _message(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        upgraded, binaries = upgrade_message(self._each(message, "content", self._part))
        if binaries:
            self._old(f"{binaries} binary content part(s) of a message are read as media parts.")
        return upgraded

    def _part(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        kind = part.get("type")
        if isinstance(kind, str) and kind in MEDIA_KINDS:
            return self._without_nulls(part, "A media part", ("metadata",))
        return part

    def _without_nulls(
        self, value: Mapping[str, Any], where: str, names: tuple[str, ...]
    ) -> Mapping[str, Any]:
        nulls = [name for name in names if name in value and value[name] is None]
        if not nulls:
            return value
        for name in nulls:
            self._old(f"{where}.{name} is null and is read as absent.")
        return {name: member for name, member in value.items() if name not in nulls}

    def _each(
        self, value: Mapping[str, Any], field: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        """Change the objects in a list."""
        entries = value.get(field)
        if not isinstance(entries, (list, tuple)):
            return value
        changed = [change(entry) if isinstance(entry, Mapping) else entry for entry in entries]
        same = all(new is old for new, old in zip(changed, entries, strict=True))
        return value if same else {**value, field: changed}


def _warn_old(warn: NoticeSink, message: str) -> None:
    warn(Notice("legacy_shape", message, _MODERN))


def upgrade_message(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Replace the ``binary`` parts of a message by media parts, and count them.

    A part is dropped if the message also contains the equivalent media part, because some producers sent
    both. A part without data or a URL is kept, so that enforcement removes it.

    Source:
        AG-UI 1.1, C5.
    """
    parts = message.get("content")
    if not isinstance(parts, (list, tuple)):
        return message, 0
    upgraded = [(part, _media_part(part)) for part in parts]
    count = sum(media is not None for _, media in upgraded)
    if not count:
        return message, 0
    kept = [
        part if media is None else media for part, media in upgraded if media is None or media not in parts
    ]
    return {**message, "content": kept}, count


def _media_part(part: Any) -> JSONObject | None:
    if not isinstance(part, Mapping) or part.get("type") != "binary":
        return None
    mime = part.get("mimeType")
    where = next((name for name in ("data", "url") if part.get(name)), None)
    if not isinstance(mime, str) or where is None:
        return None
    family, slash, _ = mime.partition("/")
    media: JSONObject = {
        "type": family if slash and family in MEDIA_KINDS else "document",
        "source": {"type": where, "value": part[where], "mimeType": mime},
    }
    if part.get("filename"):
        media["metadata"] = {"filename": part["filename"]}
    return media


_LEAVE_OUT = "Send only known events and fields; put private data into CUSTOM or metadata."


def enforce(event: Mapping[str, Any], warn: NoticeSink, state: str = "") -> dict[str, Any] | None:
    """Validate an event, and remove unknown material.

    The event is not modified. ``warn`` is called with a notice for each removal.

    Returns:
        A copy of the event's known members; ``None`` if the event is unknown.

    Raises:
        RemoteProtocolError: A known field is missing or invalid (``malformed_event``).

    Source:
        AG-UI 1.1: C7 (unknown event), C8 (unknown property), C9 (unknown union member), C10 (malformed),
        C11 (closed sets), C12 (open objects).
    """
    name = event.get("type")
    if not isinstance(name, str) or not name:
        raise faults.malformed(event, "/type", "a string that is not empty", state)
    kind = EVENTS.get(str.__str__(name))
    if kind is None:
        message = f"{cut(faults.type_of(event))} is not an AG-UI event and is dropped."
        warn(Notice("unknown_event", message, _LEAVE_OUT))
        return None
    known, removed, fault = inspect(kind, event)
    if fault is not None:
        raise faults.malformed(event, fault.path, fault.expected, state)
    if known is DROP:
        message = (
            f"{faults.type_of(event)} has an unknown value in a required field, so the event is dropped."
        )
        warn(Notice("unknown_event", message, _LEAVE_OUT))
        return None
    for path in removed:
        warn(unknown_member(event, path))
    members: dict[str, Any] = known
    return members


def unknown_member(event: Mapping[str, Any], path: str) -> Notice:
    """Return the notice of a member that consumers remove."""
    message = f"{faults.type_of(event)}{cut(path)} is unknown and is removed."
    return Notice("unknown_member", message, _LEAVE_OUT)
