"""The models of the five THINKING_* events of AG-UI 0.x, which ``ag_ui`` 1.0 removed.

The consumer reads these events without them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from agui_reasoning._strict_json import JSONObject

__all__ = [
    "ThinkingEndEvent",
    "ThinkingEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
]

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
