"""Events as wire JSON, and as models of ``ag_ui`` made from it; the content of messages and tool results.

Wire JSON has the names of the protocol, in the order of its models, and no nulls.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from struct import iter_unpack
from typing import Any, Final, TypeAlias, cast, get_args

from ag_ui.core import Event, InputContent, TextPart
from msgspec import Struct
from pydantic import BaseModel, TypeAdapter, ValidationError

from agui_reasoning._strict_json import JSONObject, well_formed
from agui_reasoning.errors import LocalProtocolError

Written: TypeAlias = JSONObject | Event
"""An event to send: wire JSON if it is ours, the model if it is the application's."""

EVENT_MODELS: Final[dict[str, type[BaseModel]]] = {
    model.model_fields["type"].default.value: model for model in get_args(get_args(Event)[0])
}
"""The models of ``ag_ui``, by the type of the event."""

_VALIDATORS: Final[dict[str, Callable[[JSONObject], Event]]] = {
    kind: model.__pydantic_validator__.validate_python for kind, model in EVENT_MODELS.items()
}


def wire_event(
    kind: str,
    timestamp: int | None = None,
    metadata: JSONObject | None = None,
    subagent: str | None = None,
    **members: Any,
) -> JSONObject:
    """Return the wire JSON of an event, without members that are ``None``."""
    event: JSONObject = {"type": kind}
    if timestamp is not None:
        event["timestamp"] = timestamp
    if metadata is not None:
        event["metadata"] = metadata
    if subagent is not None:
        event["subagentRunId"] = subagent
    for name, value in members.items():
        if value is not None:
            event[name] = value
    return event


NOW: Final[Any] = object()
"""Stands for the time at which an event is made."""


class WireEvents(Struct, eq=False):
    """Creates the events of a run or a subagent.

    Attributes:
        now_ms: Returns the Unix time in milliseconds; without it, events have no timestamps.
        subagent: The ID of the subagent's run, which its events carry.
    """

    now_ms: Callable[[], int] | None = None
    subagent: str | None = None

    def now(self) -> int | None:
        """Return the time, if there is a clock."""
        return self.now_ms() if self.now_ms else None

    def at(self, now: int | None, metadata: JSONObject | None = None, /, **members: Any) -> JSONObject:
        """Return an event of some time, or without one. The first member is the type."""
        if now is NOW:
            now = self.now_ms() if self.now_ms else None
        if now is None and self.subagent is None:
            return members if metadata is None else {"type": members["type"], "metadata": metadata, **members}
        return wire_event(members.pop("type"), now, metadata, self.subagent, **members)

    def delta(self, kind: str, id_name: str, entity_id: str, text: str) -> JSONObject:
        """Return an event that adds text to a message or call."""
        event = {"type": kind, id_name: entity_id, "delta": text}
        return event if self.subagent is None else self.at(None, **event)


def event_model(event: JSONObject) -> Event:
    """Return the model of an event."""
    validate = _VALIDATORS[event["type"]]
    try:
        return validate(event)
    except ValidationError:  # pydantic rejects some lone surrogates
        repaired: Any = validate(well_formed(event))
    if isinstance(event.get("delta"), str):
        # A character may be split between this delta and the next, so it is delivered as it is.
        repaired.delta = event["delta"]
    return cast("Event", repaired)


def models_of(events: Iterable[Written]) -> list[Event]:
    """Return the models of events; those of the application are models already."""
    return [event_model(event) if type(event) is dict else cast("Event", event) for event in events]


def template_of(event: JSONObject) -> Callable[[str, int | None], Event]:
    """Return what makes events that differ from an event in delta and timestamp, which must be valid.

    They are models made without validation, which takes several times as long. Only this function knows how
    pydantic stores a model. The timestamp is ignored if the event has none.
    """
    is_timed = "timestamp" in event
    first = event_model(event)
    model, members_of, given_of = type(first), first.__dict__.copy, first.__pydantic_fields_set__.copy

    def another(delta: str, timestamp: int | None) -> Event:
        members = members_of()
        members["delta"] = delta
        if is_timed:
            members["timestamp"] = timestamp
        made: Event = _new(model)
        _set_members(made, members)
        _set_given(made, given_of())
        _set_extra(made, {})
        _set_private(made, None)
        return made

    return another


_new: Any = object.__new__
_SLOTS = vars(BaseModel)
_set_members = _SLOTS["__dict__"].__set__
_set_given = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__


# -- the hint in ``metadata``: what clients read without an envelope; assistant-ui and TanStack drop it

HINT_KEY: Final = "agui-reasoning"
"""The member of ``metadata`` that holds the hint.

The hint contains the response and the position in it, the reasoning that preceded a call, the error of a
tool, durations, the finish reason of the last response, and the title of a THINKING_* phase.
"""


def hint(members: Mapping[str, Any]) -> JSONObject:
    """Return metadata that contains only a hint."""
    return {HINT_KEY: dict(members)}


def hint_of(entity: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the hint of an event, message or call; empty if there is none. Clients control its content."""
    metadata = entity.get("metadata")
    found = metadata.get(HINT_KEY) if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def hint_of_call(call: Mapping[str, Any], message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the hint of a call, or the one that TanStack moved to the message of the call."""
    found: Any = message.get("metadata")
    for member in ("tanstack", "toolCallMetadata", call.get("id")):
        found = found.get(member) if isinstance(found, Mapping) and isinstance(member, str) else None
    return hint_of(call) or hint_of({"metadata": found})


def error_hint(error: str | None) -> JSONObject | None:
    """Return the metadata of a result; TOOL_CALL_RESULT, unlike the message it becomes, has no error."""
    return None if error is None else hint({"error": error})


def hinted_error(metadata: object) -> str | None:
    """Return the error in the metadata of a result."""
    error = hint_of({"metadata": metadata}).get("error")
    return error if isinstance(error, str) and error.strip() else None


def without_hint(metadata: Mapping[str, Any]) -> JSONObject | None:
    """Return metadata without the hint, or ``None`` if nothing is left."""
    return {name: value for name, value in metadata.items() if name != HINT_KEY} or None


# -- IDs and times

_VERSION: Final = bytes(byte & 0x0F | 0x40 for byte in range(256))
_VARIANT: Final = bytes(byte & 0x3F | 0x80 for byte in range(256))
_UNUSED: Final[list[str]] = []
"""IDs for `new_uuid`: the system returns the bytes of many almost as fast as those of one."""


def new_uuid() -> str:
    """Return a random UUID of version 4, as `uuid.uuid4` does in many times the time."""
    try:
        return _UNUSED.pop()
    except IndexError:  # also if another thread took the last one
        random = bytearray(os.urandom(16 * 64))
        random[6::16] = random[6::16].translate(_VERSION)
        random[8::16] = random[8::16].translate(_VARIANT)
        digits = iter_unpack("8s4s4s4s12s", random.hex().encode())
        _UNUSED.extend([b"-".join(groups).decode() for groups in digits])
    return new_uuid()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_UNUSED.clear)  # two processes must not use the same


def is_expired(expires_at: object, now: float) -> bool:
    """Return whether an interrupt can no longer be answered.

    Args:
        expires_at: The ``expiresAt`` of the interrupt. If it is absent or not a date, it never expires;
            without a time zone, it is UTC.
        now: Unix time in seconds.

    Source:
        AG-UI 1.1, C56.
    """
    try:
        expires = datetime.fromisoformat(expires_at)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return expires.timestamp() <= now


# -- content: media, the text that takes their place, errors of tools


def content_parts(content: list[Any]) -> list[Any]:
    """Return content parts as models; they can be models or JSON.

    Raises:
        LocalProtocolError: They are not AG-UI content parts (``not_an_item``).
    """
    try:
        return _parts().validate_python(content)
    except ValidationError:
        pass  # its text quotes the content
    raise LocalProtocolError(
        "The content of a tool result is a list, but not of AG-UI content parts.",
        code="not_an_item",
        hint="Pass text, or parts such as ag_ui.core.TextPart and ImagePart.",
    )


@cache
def _parts() -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[InputContent])


def source_of(part: Any) -> tuple[str, str]:
    """Return the kind of a content part's source (``data``, ``url``, ``file``), and its value."""
    return part.source.type, part.source.value


def media_type(part: Any, default: str) -> str:
    """Return the media type of a content part, without parameters."""
    given = (getattr(part.source, "mime_type", None) or default).partition(";")[0].strip().lower()
    return "image/jpeg" if given == "image/jpg" else given


def data_of(part: Any) -> bytes:
    """Return the data of a content part; empty if there is none, or if it is not base64."""
    kind, value = source_of(part)
    return from_base64(value) if kind == "data" else b""


def from_base64(value: str) -> bytes:
    """Return the bytes of base64 text; empty if it is something else."""
    try:
        return b64decode(value, validate=True)
    except ValueError:
        return b""


def stand_in(part: Any) -> str:
    """Say what is missing in a tool result, which must neither be empty nor seem to have been."""
    size = f", {len(data):,} bytes" if (data := data_of(part)) else ""
    return f"(Not sent in a tool result: {media_type(part, part.type)}{size}.)"


def text_of(content: str | list[Any]) -> str:
    """Return the content of a tool result as text."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text if part.type == "text" else stand_in(part) for part in content)


# -- failed tools: ``error`` is ``None`` unless the tool failed; a blank one says that it failed, but not why


TOOL_FAILED: Final = "The tool failed."
"""The error of a failed tool whose own error is blank."""


def error_sentence(error: str | None) -> str | None:
    """Return the sentence that says why a tool failed, which is never blank; ``None`` if it did not."""
    return TOOL_FAILED if error is not None and not error.strip() else error


def told(content: str | list[Any], error: str | None) -> str | list[Any]:
    """Return the content of a result: what the tool returned, then the error."""
    sentence = error_sentence(error)
    if sentence is None:
        return content
    if isinstance(content, list):
        said = [part.text for part in content if isinstance(part, TextPart)]
        return content if said[-1:] == [sentence] else [*content, TextPart(text=sentence)]
    if content.endswith(sentence):
        return content
    return f"{content}\n\n{sentence}" if content.strip() else sentence
