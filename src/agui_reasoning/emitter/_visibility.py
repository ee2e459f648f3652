"""Decides how much of a model's reasoning the client sees, in every channel.

A `Disclosure` has the rules. Summaries replace what is not shown, and events of the application lose what the
client must not see.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Container, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

from ag_ui.core import (
    Event,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessage,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallResultEvent,
)
from pydantic import BaseModel

from agui_reasoning._envelope import looks_like_token
from agui_reasoning._wire_events import WireEvents, Written
from agui_reasoning.deltas import SegmentBuffer, Unshown
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin, ReasoningPart

if TYPE_CHECKING:  # imported with the first policy
    from agui_reasoning.policy import EchoRule


Visibility: TypeAlias = Literal["full", "summary", "hidden"]
"""``full``: everything the provider shows. ``summary``: what its API labels a summary, or one made on the
server. ``hidden``: only the fact that there was reasoning."""

VISIBILITIES: Final[tuple[Visibility, ...]] = get_args(Visibility)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The rules of one visibility.

    Attributes:
        visibility: How much is shown.
        sealed: Whether there are keys, so that hidden data is kept in encrypted form.
        full: Whether everything is shown.
        hidden: Whether nothing is shown.
        keeps: Whether everything comes back on the next turn, shown or not.
        opens_messages: Whether reasoning units have messages; hidden ones need one only to carry their value.
    """

    visibility: Visibility
    sealed: bool
    full: bool
    hidden: bool
    keeps: bool
    opens_messages: bool

    @classmethod
    def of(cls, visibility: Visibility, *, sealed: bool) -> Disclosure:
        """Return the rules of a visibility, with or without keys; raises what `check_visibility` raises."""
        check_visibility(visibility)
        return _DISCLOSURES[visibility, sealed]

    def shows(self, segment: SegmentBuffer) -> bool:
        """Return whether the text of a segment is shown."""
        return self.full or (self.visibility == "summary" and segment.channel == "summary")

    def check(self, origin: Origin | None, rule_of: Callable[[Origin], EchoRule]) -> None:
        """Reject responses that could not be continued on the next turn.

        Raises:
            ConfigurationError: The provider requires its reasoning back, and it is neither shown nor kept
                (``visibility_without_keys``).
        """
        if self.keeps or origin is None:
            return
        rule = rule_of(origin)
        if rule.status != "required" or (rule.summaries and not self.hidden):
            return
        raise ConfigurationError(
            f"{origin.provider or origin.api} requires its reasoning back, but visibility "
            f"{self.visibility!r} without keys would lose it.",
            code="visibility_without_keys",
            hint='Pass keys= (agui_reasoning.crypto.KeyRing), or use visibility="full".',
        )


_DISCLOSURES: Final = {
    (visibility, sealed): Disclosure(
        visibility,
        sealed,
        full=visibility == "full",
        hidden=visibility == "hidden",
        keeps=visibility == "full" or sealed,
        opens_messages=visibility != "hidden" or sealed,
    )
    for visibility in VISIBILITIES
    for sealed in (False, True)
}


def check_visibility(visibility: Visibility) -> None:
    """Reject an unknown visibility, because a typo must not show everything.

    Raises:
        ConfigurationError: The visibility is unknown (``unknown_visibility``).
    """
    if visibility not in VISIBILITIES:
        raise ConfigurationError(
            f"Unknown visibility {visibility!r}.",
            code="unknown_visibility",
            hint=f"Use one of: {', '.join(VISIBILITIES)}.",
        )


PLACEHOLDER: Final = "The reasoning is not shown."
"""The text shown for reasoning that has no summary."""

Summarize: TypeAlias = Callable[[ReasoningPart], str | Awaitable[str]]
"""Returns the summary of a finished unit; asynchronous shells await it."""

_T = TypeVar("_T")

Settling: TypeAlias = Generator[Awaitable[Any], Any, _T]
"""Work that needs summaries: yields each awaitable, and is sent (or thrown) its result."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """Marks the position, among events, of a reasoning message's content until its summary is made."""

    message_id: str
    part: ReasoningPart


class Summaries(Unshown, gc=True, eq=False):
    """Replaces each `SummaryDue` by a summary, or by a placeholder if there is none."""

    summarize: Summarize | None
    _events: WireEvents
    _warn: Callable[[str], None]

    def settle(self, written: Iterable[Written | SummaryDue]) -> Settling[list[Written]]:
        """Replace summaries that are due by message content; an empty summary gives no event."""
        events: list[Written] = []
        for event in written:
            if isinstance(event, SummaryDue):
                text = yield from self._text(event.part)
                content = self._events.delta("REASONING_MESSAGE_CONTENT", "messageId", event.message_id, text)
                events += [content] if text else []
            else:
                events.append(event)
        return events

    def _text(self, part: ReasoningPart) -> Settling[str]:
        """Return the text shown for a unit. Incomplete units are not summarized.

        The error of a summarizer is not reported in full, because it may quote the reasoning.
        """
        if self.summarize is None or part.status == "incomplete":
            return PLACEHOLDER
        try:
            made = self.summarize(part)
            made = (yield made) if inspect.isawaitable(made) else made
        except Exception as error:
            self._warn(f"`summarize` raised {type(error).__name__}; a placeholder is shown.")
            return PLACEHOLDER
        return made.encode("utf-8", "replace").decode() if isinstance(made, str) else PLACEHOLDER


def settle_now(settling: Settling[_T]) -> _T:
    """Run work that needs summaries where nothing can be awaited.

    Raises:
        ConfigurationError: A summary is awaitable (``async_summarize``).
    """
    try:
        made = next(settling)
    except StopIteration as done:
        return cast("_T", done.value)
    settling.close()
    if inspect.iscoroutine(made):
        made.close()
    raise ConfigurationError(
        "`summarize` is asynchronous, but the run is synchronous.",
        code="async_summarize",
        hint="Use agui_reasoning.aio, or a synchronous function.",
    )


_VALUE_TYPE: Final = "encryptedValueType"

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Viewer:
    """What is known of the client: the messages that it has, and the calls whose details it must not see.

    Attributes:
        has: Returns whether the client already has exactly this message.
        hidden_calls: The IDs of the calls whose arguments and results it must not see.
    """

    has: Callable[[Any], bool]
    hidden_calls: Container[str | None]


def shown_to(event: Event, viewer: Viewer) -> list[Event]:
    """Return what a client may see of an event: no reasoning, no details of the provider's own tools."""
    if event.raw_event is not None:
        event = event.model_copy(update={"raw_event": None})
    show = _EVENTS.get(type(event))
    return [event] if show is None else show(event, viewer)


def _snapshot(event: MessagesSnapshotEvent, viewer: Viewer) -> list[Event]:
    messages = [
        message
        if viewer.has(message) or message.role not in _MESSAGES
        else _MESSAGES[message.role](message, viewer)
        for message in event.messages
    ]
    return [event.model_copy(update={"messages": messages})]


def _shown_reasoning(message: Any, viewer: Viewer) -> Any:
    """Return a message reduced to its ID, its subagent and an encrypted value."""
    kept = {name: getattr(message, name) for name in ("subagent_run_id", "encrypted_value")}
    shown = ReasoningMessage(
        id=message.id, role="reasoning", content="", **{k: v for k, v in kept.items() if v is not None}
    )
    return _without_value(shown)


def _shown_answer(message: Any, viewer: Viewer) -> Any:
    if not message.tool_calls:
        return _without_value(message)
    calls = [_shown_call(call, viewer) for call in message.tool_calls]
    return _without_value(message.model_copy(update={"tool_calls": calls}))


def _shown_call(call: Any, viewer: Viewer) -> Any:
    if call.id in viewer.hidden_calls:
        call = call.model_copy(update={"function": call.function.model_copy(update={"arguments": ""})})
    return _without_value(call)


def _shown_result(message: Any, viewer: Viewer) -> Any:
    if message.tool_call_id not in viewer.hidden_calls:
        return message
    return _bare(message, content="", error=None, encrypted_value=None, metadata=None)


_MESSAGES: dict[str, Callable[[Any, Viewer], Any]] = {
    "reasoning": _shown_reasoning,
    "assistant": _shown_answer,
    "tool": _shown_result,
}


def _without_value(entity: Any) -> Any:
    """Return a message or call without readable values and without fields unknown to the protocol."""
    value = entity.encrypted_value
    if value is None or looks_like_token(value):
        return _bare(entity)
    return _bare(entity, encrypted_value=None)


def _bare(model: _Model, **update: Any) -> _Model:
    """Return a copy without fields unknown to the protocol, where frameworks may put reasoning."""
    bare = model.model_copy(update=update)
    extra = model.model_extra or {}
    object.__setattr__(bare, "__pydantic_extra__", {k: v for k, v in extra.items() if k == _VALUE_TYPE})
    return bare


def _value(event: ReasoningEncryptedValueEvent, viewer: Viewer) -> list[Event]:
    return _frame(event, viewer) if looks_like_token(event.encrypted_value) else []


def _frame(event: Any, viewer: Viewer) -> list[Event]:
    return [_bare(event, metadata=None)]


def _arguments(event: ToolCallArgsEvent, viewer: Viewer) -> list[Event]:
    return [] if event.tool_call_id in viewer.hidden_calls else [event]


def _call_chunk(event: ToolCallChunkEvent, viewer: Viewer) -> list[Event]:
    return [_bare(event, delta=None) if event.tool_call_id in viewer.hidden_calls else event]


def _result(event: ToolCallResultEvent, viewer: Viewer) -> list[Event]:
    return [_bare(event, content="", metadata=None) if event.tool_call_id in viewer.hidden_calls else event]


_EVENTS: dict[type, Callable[[Any, Viewer], list[Event]]] = {
    MessagesSnapshotEvent: _snapshot,
    RawEvent: lambda event, viewer: [],
    ReasoningEncryptedValueEvent: _value,
    ReasoningEndEvent: _frame,
    ReasoningMessageChunkEvent: lambda event, viewer: [_bare(event, metadata=None, delta=None)],
    ReasoningMessageContentEvent: lambda event, viewer: [],
    ReasoningMessageEndEvent: _frame,
    ReasoningMessageStartEvent: _frame,
    ReasoningStartEvent: _frame,
    ToolCallArgsEvent: _arguments,
    ToolCallChunkEvent: _call_chunk,
    ToolCallResultEvent: _result,
}
