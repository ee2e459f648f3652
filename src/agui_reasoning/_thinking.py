"""The five THINKING_* events of AG-UI 0.x: their models, and their translation to REASONING_*.

They have no IDs: the span and message of an event follow from the events before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import hint, new_uuid
from agui_reasoning.errors import AGUIReasoningWarning, LocalProtocolError

_OPTIONAL = frozenset({"timestamp", "rawEvent", "raw_event", "title"})


class _ThinkingBase(BaseModel):
    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)

    timestamp: int | None = None
    raw_event: Any | None = None

    @model_serializer(mode="wrap")
    def _omit_absent_members(self, handler: SerializerFunctionWrapHandler) -> JSONObject:
        members: JSONObject = handler(self)
        return {name: value for name, value in members.items() if value is not None or name not in _OPTIONAL}


class ThinkingStartEvent(_ThinkingBase):
    """Start of a thinking phase; replaced by REASONING_START."""

    type: Literal["THINKING_START"] = "THINKING_START"
    title: str | None = None


class ThinkingTextMessageStartEvent(_ThinkingBase):
    """Start of a text; replaced by REASONING_MESSAGE_START."""

    type: Literal["THINKING_TEXT_MESSAGE_START"] = "THINKING_TEXT_MESSAGE_START"


class ThinkingTextMessageContentEvent(_ThinkingBase):
    """A piece of a text; replaced by REASONING_MESSAGE_CONTENT."""

    type: Literal["THINKING_TEXT_MESSAGE_CONTENT"] = "THINKING_TEXT_MESSAGE_CONTENT"
    delta: str = Field(repr=False)


class ThinkingTextMessageEndEvent(_ThinkingBase):
    """End of a text; replaced by REASONING_MESSAGE_END."""

    type: Literal["THINKING_TEXT_MESSAGE_END"] = "THINKING_TEXT_MESSAGE_END"


class ThinkingEndEvent(_ThinkingBase):
    """End of a thinking phase; replaced by REASONING_END."""

    type: Literal["THINKING_END"] = "THINKING_END"


ThinkingEvent: TypeAlias = Annotated[
    ThinkingStartEvent
    | ThinkingTextMessageStartEvent
    | ThinkingTextMessageContentEvent
    | ThinkingTextMessageEndEvent
    | ThinkingEndEvent,
    Field(discriminator="type"),
]
"""Any THINKING_* event."""


_TITLE_CHARS = 80


class ThinkingUpgrader:
    """Translates the THINKING_* events of a stream to REASONING_*, and passes on all other events.

    The stream is not validated: content without a start gets a generated ID, with a warning, and a consumer
    that verifies the stream rejects it. Nothing is closed that the producer left open. With ``repair``, such
    mistakes are corrected instead, so that a strict consumer accepts the stream.

    Source:
        AG-UI 1.1, versioning: V6 to V10.

    Examples:
        >>> upgrader = ThinkingUpgrader(on_warning=print, new_id=iter(["span-1"]).__next__)
        >>> upgrader.receive({"type": "THINKING_START"})
        THINKING_START left the protocol with 1.0; it is read as REASONING_START.
        [{'type': 'REASONING_START', 'messageId': 'span-1'}]
    """

    def __init__(
        self,
        on_warning: Callable[[str], None] | None = None,
        *,
        new_id: Callable[[], str] | None = None,
        repair: bool = False,
        keep_title: bool = False,
        tell: Literal["everything", "losses"] = "everything",
    ) -> None:
        """Prepare for one stream.

        Args:
            on_warning: Called with each warning; defaults to Python's ``warnings``.
            new_id: Generates the IDs that 0.x events lack; defaults to random UUIDs.
            repair: Correct what 1.0 rejects: content without a start gets one, an end without a start is
                dropped, open spans and messages are closed before the next one and at the end of the run, and
                the role "assistant" that 0.1.11 to 0.1.13 wrote on REASONING_MESSAGE_START becomes
                "reasoning".
            keep_title: Keep the title of THINKING_START as ``metadata["agui-reasoning"]["title"]`` of
                REASONING_START, where the downgrader reads it. By default it is dropped, with a warning.
            tell: "everything" warns about each translated event, as the official client does; "losses" warns
                once about each kind of loss, generated ID or repair, and never quotes a title.
        """
        self._warn = on_warning or python_warning
        self._new_id = new_id or new_uuid
        self._keep_title = keep_title
        self._warned: set[str] | None = set() if tell == "losses" else None
        self._before = _REPAIRS if repair else {}
        self._span: str | None = None
        self._message: str | None = None

    def receive(self, event: BaseModel | Mapping[str, Any]) -> list[JSONObject]:
        """Translate one event.

        Args:
            event: A model or its JSON; it is not modified.

        Returns:
            The translated event: exactly one, unless a repair adds or drops events.
        """
        members = members_of(event)
        kind = members.get("type")
        if not isinstance(kind, str):
            return [members]
        repair = self._before.get(kind)
        repaired = [] if repair is None else repair(self, members)
        if repaired is None:
            return []
        upgrade = _UPGRADES.get(kind)
        return [*repaired, members if upgrade is None else upgrade(self, members)]

    def close(self) -> list[JSONObject]:
        """Signal the end of the stream. Discards open state without closing it; returns no events."""
        self._span = self._message = None
        return []

    # -- one function per event

    def _start(self, event: JSONObject) -> JSONObject:
        self._span = self._new_id()
        upgraded = self._renamed(event, "REASONING_START", self._span)
        title = upgraded.pop("title", None)
        if title is None:
            return upgraded
        if self._keep_title:
            metadata = upgraded.get("metadata")
            kept = metadata if isinstance(metadata, Mapping) else {}
            return upgraded | {"metadata": {**kept, **hint({"title": str(title)})}}
        label = "" if self._warned is not None else f" {str(title)[:_TITLE_CHARS]!r}"
        self._warn_once("title", f"THINKING_START.title{label} is dropped: REASONING_START has no title.")
        return upgraded

    def _text_start(self, event: JSONObject) -> JSONObject:
        self._message = self._new_id()
        return self._renamed(event, "REASONING_MESSAGE_START", self._message) | {"role": "reasoning"}

    def _text_content(self, event: JSONObject) -> JSONObject:
        return self._renamed(event, "REASONING_MESSAGE_CONTENT", self._continued(event, self._message))

    def _text_end(self, event: JSONObject) -> JSONObject:
        message, self._message = self._continued(event, self._message), None
        return self._renamed(event, "REASONING_MESSAGE_END", message)

    def _end(self, event: JSONObject) -> JSONObject:
        span, self._span = self._continued(event, self._span), None
        return self._renamed(event, "REASONING_END", span)

    def _renamed(self, event: JSONObject, kind: str, entity: str) -> JSONObject:
        # Other members are kept; the consumer strips unknown ones with a warning.
        if self._warned is None:
            self._warn(f"{event['type']} left the protocol with 1.0; it is read as {kind}.")
        return event | {"type": kind, "messageId": entity}

    def _continued(self, event: JSONObject, entity: str | None) -> str:
        if entity is not None:
            return entity
        generated = self._new_id()
        self._warn_once(
            "orphan",
            f"{event['type']} came without a start. It gets the generated ID {generated!r}, "
            f"and a consumer that verifies the stream will reject it.",
        )
        return generated

    # -- repairs: the events to insert before the event, or None to drop it

    def _end_phase(self, event: JSONObject) -> list[JSONObject]:
        if self._span is None:
            return []
        self._warn_once(
            "open span", f"{event['type']} came while a phase was open; REASONING_END is inserted."
        )
        span, self._span = self._span, None
        return [{"type": "REASONING_END", "messageId": span}]

    def _end_text(self, event: JSONObject) -> list[JSONObject]:
        if self._message is None:
            return []
        ending = "REASONING_MESSAGE_END is inserted"
        self._warn_once("open text", f"{event['type']} came while a text was open; {ending}.")
        message, self._message = self._message, None
        return [{"type": "REASONING_MESSAGE_END", "messageId": message}]

    def _end_all(self, event: JSONObject) -> list[JSONObject]:
        return [*self._end_text(event), *self._end_phase(event)]

    def _open_text(self, event: JSONObject) -> list[JSONObject]:
        if self._message is not None:
            return []
        self._warn_once("no opener", f"{event['type']} has no start; REASONING_MESSAGE_START is inserted.")
        self._message = self._new_id()
        return [{"type": "REASONING_MESSAGE_START", "messageId": self._message, "role": "reasoning"}]

    def _only_open(self, entity: str | None, event: JSONObject) -> list[JSONObject] | None:
        if entity is not None:
            return []
        self._warn_once(f"stray {event['type']}", f"{event['type']} has no start; it is dropped.")
        return None

    def _repair_role(self, event: JSONObject) -> list[JSONObject]:
        if event.get("role") == "assistant":
            event["role"] = "reasoning"
            self._warn_once("role", 'The role "assistant" of REASONING_MESSAGE_START is now "reasoning".')
        return []

    def _warn_once(self, kind: str, message: str) -> None:
        if self._warned is not None:
            if kind in self._warned:
                return
            self._warned.add(kind)
        self._warn(message)


_UPGRADES: Final[dict[str, Callable[[ThinkingUpgrader, JSONObject], JSONObject]]] = {
    "THINKING_START": ThinkingUpgrader._start,
    "THINKING_TEXT_MESSAGE_START": ThinkingUpgrader._text_start,
    "THINKING_TEXT_MESSAGE_CONTENT": ThinkingUpgrader._text_content,
    "THINKING_TEXT_MESSAGE_END": ThinkingUpgrader._text_end,
    "THINKING_END": ThinkingUpgrader._end,
}
_REPAIRS: Final[dict[str, Callable[[ThinkingUpgrader, JSONObject], list[JSONObject] | None]]] = {
    "THINKING_START": ThinkingUpgrader._end_phase,
    "THINKING_TEXT_MESSAGE_START": ThinkingUpgrader._end_text,
    "THINKING_TEXT_MESSAGE_CONTENT": ThinkingUpgrader._open_text,
    "THINKING_TEXT_MESSAGE_END": lambda upgrader, event: upgrader._only_open(upgrader._message, event),
    "THINKING_END": lambda upgrader, event: upgrader._only_open(upgrader._span, event),
    "REASONING_MESSAGE_START": ThinkingUpgrader._repair_role,
    "RUN_STARTED": lambda upgrader, event: upgrader.close(),
    "RUN_FINISHED": ThinkingUpgrader._end_all,
    "RUN_ERROR": ThinkingUpgrader._end_all,
}


def members_of(event: BaseModel | Mapping[str, Any]) -> JSONObject:
    """Return an event's members under their wire names, as a new dict.

    Raises:
        LocalProtocolError: The argument is not an event (``not_an_event``).
    """
    if isinstance(event, BaseModel):
        event = event.model_dump(by_alias=True, warnings=False)
    if not isinstance(event, Mapping):
        raise LocalProtocolError(
            f"{type(event).__name__} is not an event.",
            code="not_an_event",
            hint="Pass an event of `ag_ui.core`, or a mapping with its JSON.",
        )
    members = dict(event)
    kind = members.get("type")
    if isinstance(kind, str):
        members["type"] = str.__str__(kind)  # replaces an enum member by its value
    return members


def python_warning(message: str) -> None:
    """Issue a warning with Python's ``warnings``."""
    warnings.warn(message, AGUIReasoningWarning, stacklevel=5)
