"""The five THINKING_* events of AG-UI 0.x, and the machine that turns them into REASONING_*.

The protocol's own models dropped them with 1.0, so they are declared here. They never had ids: which span
and which message an event belongs to is only told by what came before it.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from agui_reasoning._hint import hint
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.errors import AGUIReasoningWarning, LocalProtocolError

__all__ = [
    "ThinkingEndEvent",
    "ThinkingEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
    "ThinkingUpgrader",
    "members_of",
    "python_warning",
]

_TITLE_CHARS = 80
_OPTIONAL = frozenset({"timestamp", "rawEvent", "raw_event", "title"})


class _ThinkingBase(BaseModel):
    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)

    timestamp: int | None = None
    raw_event: Any | None = None

    @model_serializer(mode="wrap")
    def _omit_what_has_no_value(self, handler: SerializerFunctionWrapHandler) -> JSONObject:
        members: JSONObject = handler(self)
        return {name: value for name, value in members.items() if value is not None or name not in _OPTIONAL}


class ThinkingStartEvent(_ThinkingBase):
    """A phase of thinking begins; now REASONING_START."""

    type: Literal["THINKING_START"] = "THINKING_START"
    title: str | None = None


class ThinkingTextMessageStartEvent(_ThinkingBase):
    """A text of that phase begins; now REASONING_MESSAGE_START."""

    type: Literal["THINKING_TEXT_MESSAGE_START"] = "THINKING_TEXT_MESSAGE_START"


class ThinkingTextMessageContentEvent(_ThinkingBase):
    """A piece of that text; now REASONING_MESSAGE_CONTENT."""

    type: Literal["THINKING_TEXT_MESSAGE_CONTENT"] = "THINKING_TEXT_MESSAGE_CONTENT"
    delta: str = Field(repr=False)


class ThinkingTextMessageEndEvent(_ThinkingBase):
    """That text ends; now REASONING_MESSAGE_END."""

    type: Literal["THINKING_TEXT_MESSAGE_END"] = "THINKING_TEXT_MESSAGE_END"


class ThinkingEndEvent(_ThinkingBase):
    """The phase ends; now REASONING_END."""

    type: Literal["THINKING_END"] = "THINKING_END"


ThinkingEvent: TypeAlias = Annotated[
    ThinkingStartEvent
    | ThinkingTextMessageStartEvent
    | ThinkingTextMessageContentEvent
    | ThinkingTextMessageEndEvent
    | ThinkingEndEvent,
    Field(discriminator="type"),
]
"""Any of the five."""


class ThinkingUpgrader:
    """Turn the THINKING_* events of a stream into REASONING_*, and pass on everything else.

    It translates and does not judge: content without an opener gets an id of our own, with a warning, and
    whoever verifies the stream refuses it there. Nothing is closed that the producer left open. With
    ``repair`` what the producer did wrong is put right instead, so that a strict consumer can read it.

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
            on_warning: Called with each warning; default is Python's ``warnings``.
            new_id: Makes the ids that 0.x did not have; default is a random UUID.
            repair: Put right what 1.0 refuses: an orphan is opened (content) or left out (an end), what is
                still open is closed before the next of its kind and before the run ends, and the role
                "assistant" that 0.1.11 to 0.1.13 wrote on REASONING_MESSAGE_START becomes "reasoning".
            keep_title: Keep the title of THINKING_START as ``metadata["agui-reasoning"]["title"]`` of
                REASONING_START, where the downgrader finds it again. Default is to drop it, with a warning.
            tell: "everything" tells of each event that is translated, as the official client does; "losses"
                of what is lost, invented or repaired, each kind once, and never quotes a title.
        """
        self._warn = on_warning or python_warning
        self._new_id = new_id or _random_id
        self._keep_title = keep_title
        self._told: set[str] | None = set() if tell == "losses" else None
        self._before = _REPAIRS if repair else {}
        self._span: str | None = None
        self._message: str | None = None

    def receive(self, event: BaseModel | Mapping[str, Any]) -> list[JSONObject]:
        """Translate one event.

        Args:
            event: A model or its JSON; it is not changed.

        Returns:
            The event as it goes on: always one, unless something is repaired.
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
        """Say that the stream ended. Forgets what is open and makes up no end for it: no events."""
        self._span = self._message = None
        return []

    # -- one function per event

    def _start(self, event: JSONObject) -> JSONObject:
        self._span = self._new_id()
        upgraded = self._rename(event, "REASONING_START", self._span)
        title = upgraded.pop("title", None)
        if title is None:
            return upgraded
        if self._keep_title:
            return _with_title(upgraded, title)
        shown = "" if self._told is not None else f" {str(title)[:_TITLE_CHARS]!r}"
        self._tell("title", f"THINKING_START.title{shown} is dropped: REASONING_START has no title.")
        return upgraded

    def _text_start(self, event: JSONObject) -> JSONObject:
        self._message = self._new_id()
        return self._rename(event, "REASONING_MESSAGE_START", self._message) | {"role": "reasoning"}

    def _text_content(self, event: JSONObject) -> JSONObject:
        return self._rename(event, "REASONING_MESSAGE_CONTENT", self._continued(event, self._message))

    def _text_end(self, event: JSONObject) -> JSONObject:
        message, self._message = self._continued(event, self._message), None
        return self._rename(event, "REASONING_MESSAGE_END", message)

    def _end(self, event: JSONObject) -> JSONObject:
        span, self._span = self._continued(event, self._span), None
        return self._rename(event, "REASONING_END", span)

    def _rename(self, event: JSONObject, kind: str, entity: str) -> JSONObject:
        # The other members stay: whoever does not describe them strips them, and says so.
        if self._told is None:
            self._warn(f"{event['type']} left the protocol with 1.0; it is read as {kind}.")
        return event | {"type": kind, "messageId": entity}

    def _continued(self, event: JSONObject, entity: str | None) -> str:
        if entity is not None:
            return entity
        invented = self._new_id()
        self._tell(
            "orphan",
            f"{event['type']} continues nothing: no opener came before it. Its id {invented!r} is invented "
            f"here, and a consumer that verifies will refuse it.",
        )
        return invented

    # -- repairs: what goes before the event, or None to leave the event out

    def _end_phase(self, event: JSONObject) -> list[JSONObject]:
        if self._span is None:
            return []
        self._tell("open span", f"{event['type']} came while a phase was open; REASONING_END is added.")
        span, self._span = self._span, None
        return [{"type": "REASONING_END", "messageId": span}]

    def _end_text(self, event: JSONObject) -> list[JSONObject]:
        if self._message is None:
            return []
        ending = "REASONING_MESSAGE_END is added"
        self._tell("open text", f"{event['type']} came while a text was open; {ending}.")
        message, self._message = self._message, None
        return [{"type": "REASONING_MESSAGE_END", "messageId": message}]

    def _end_all(self, event: JSONObject) -> list[JSONObject]:
        return [*self._end_text(event), *self._end_phase(event)]

    def _open_text(self, event: JSONObject) -> list[JSONObject]:
        if self._message is not None:
            return []
        self._tell("no opener", f"{event['type']} has no opener; REASONING_MESSAGE_START is added.")
        self._message = self._new_id()
        return [{"type": "REASONING_MESSAGE_START", "messageId": self._message, "role": "reasoning"}]

    def _only_open_text(self, event: JSONObject) -> list[JSONObject] | None:
        return self._only_open(self._message, event)

    def _only_open_phase(self, event: JSONObject) -> list[JSONObject] | None:
        return self._only_open(self._span, event)

    def _only_open(self, entity: str | None, event: JSONObject) -> list[JSONObject] | None:
        if entity is not None:
            return []
        self._tell(f"stray {event['type']}", f"{event['type']} ends nothing that is open; it is left out.")
        return None

    def _forget(self, event: JSONObject) -> list[JSONObject]:
        return self.close()

    def _mend_role(self, event: JSONObject) -> list[JSONObject]:
        if event.get("role") == "assistant":
            event["role"] = "reasoning"
            self._tell("role", 'The role "assistant" of REASONING_MESSAGE_START is now "reasoning".')
        return []

    def _tell(self, kind: str, message: str) -> None:
        if self._told is not None:
            if kind in self._told:
                return
            self._told.add(kind)
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
    "THINKING_TEXT_MESSAGE_END": ThinkingUpgrader._only_open_text,
    "THINKING_END": ThinkingUpgrader._only_open_phase,
    "REASONING_MESSAGE_START": ThinkingUpgrader._mend_role,
    "RUN_STARTED": ThinkingUpgrader._forget,
    "RUN_FINISHED": ThinkingUpgrader._end_all,
    "RUN_ERROR": ThinkingUpgrader._end_all,
}


def members_of(event: BaseModel | Mapping[str, Any]) -> JSONObject:
    """Give an event's members under their wire names, in a dict of their own.

    Raises:
        LocalProtocolError: It is no event at all (``not_an_event``).
    """
    if isinstance(event, BaseModel):
        event = event.model_dump(by_alias=True, warnings=False)
    if not isinstance(event, Mapping):
        raise LocalProtocolError(
            f"{type(event).__name__} is no event.",
            code="not_an_event",
            hint="Pass an event of `ag_ui.core`, or a mapping with its JSON.",
        )
    members = dict(event)
    kind = members.get("type")
    if isinstance(kind, str):
        members["type"] = str.__str__(kind)  # an enum member: its value
    return members


def _with_title(event: JSONObject, title: Any) -> JSONObject:
    metadata = event.get("metadata")
    kept = dict(metadata) if isinstance(metadata, Mapping) else {}
    return event | {"metadata": {**kept, **hint({"title": str(title)})}}


def _random_id() -> str:
    return str(uuid.uuid4())


def python_warning(message: str) -> None:
    """Warn with Python's ``warnings``."""
    warnings.warn(message, AGUIReasoningWarning, stacklevel=5)
