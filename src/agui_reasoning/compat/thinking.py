"""The five THINKING_* events of AG-UI 0.x, and the machine that turns them into REASONING_*.

The protocol's own models dropped them with 1.0, so they are declared here. They never had ids: which span
and which message an event belongs to is only told by what came before it.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from agui_reasoning.errors import AGUIReasoningWarning

__all__ = [
    "ThinkingEndEvent",
    "ThinkingEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
    "ThinkingUpgrader",
]

JSONObject: TypeAlias = dict[str, Any]

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
    whoever verifies the stream refuses it there. Nothing is closed that the producer left open.

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
    ) -> None:
        """Prepare for one stream.

        Args:
            on_warning: Called with each warning; default is Python's ``warnings``.
            new_id: Makes the ids that 0.x did not have; default is a random UUID.
        """
        self._warn = on_warning or _python_warning
        self._new_id = new_id or _random_id
        self._span: str | None = None
        self._message: str | None = None

    def receive(self, event: BaseModel | Mapping[str, Any]) -> list[JSONObject]:
        """Translate one event.

        Args:
            event: A model or its JSON; it is not changed.

        Returns:
            The event as it goes on: always one.
        """
        if isinstance(event, BaseModel):
            event = event.model_dump(by_alias=True, warnings=False)
        members = dict(event)
        kind = members.get("type")
        upgrade = _UPGRADES.get(kind) if isinstance(kind, str) else None
        return [members if upgrade is None else upgrade(self, members)]

    def close(self) -> list[JSONObject]:
        """Say that the stream ended. Forgets what is open and makes up no end for it: no events."""
        self._span = self._message = None
        return []

    # -- one function per event

    def _start(self, event: JSONObject) -> JSONObject:
        self._span = self._new_id()
        upgraded = self._rename(event, "REASONING_START", self._span)
        title = upgraded.pop("title", None)
        if title is not None:
            shown = str(title)[:_TITLE_CHARS]
            self._warn(f"THINKING_START.title {shown!r} is dropped: REASONING_START has no title.")
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
        self._warn(f"{event['type']} left the protocol with 1.0; it is read as {kind}.")
        return event | {"type": kind, "messageId": entity}

    def _continued(self, event: JSONObject, entity: str | None) -> str:
        if entity is not None:
            return entity
        invented = self._new_id()
        self._warn(
            f"{event['type']} continues nothing: no opener came before it. Its id {invented!r} is invented "
            f"here, and a consumer that verifies will refuse it."
        )
        return invented


_UPGRADES: dict[str, Callable[[ThinkingUpgrader, JSONObject], JSONObject]] = {
    "THINKING_START": ThinkingUpgrader._start,
    "THINKING_TEXT_MESSAGE_START": ThinkingUpgrader._text_start,
    "THINKING_TEXT_MESSAGE_CONTENT": ThinkingUpgrader._text_content,
    "THINKING_TEXT_MESSAGE_END": ThinkingUpgrader._text_end,
    "THINKING_END": ThinkingUpgrader._end,
}


def _random_id() -> str:
    return str(uuid.uuid4())


def _python_warning(message: str) -> None:
    warnings.warn(message, AGUIReasoningWarning, stacklevel=4)
