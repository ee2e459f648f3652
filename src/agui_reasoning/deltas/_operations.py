"""The operations of a model output stream.

Decoders produce them, and they can be built by hand: units need not be opened or closed. ``key`` names the
provider's unit and is unique within a response; ``None`` means the open unit of that kind, or a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, TypeAlias, get_args

from msgspec import Struct

from agui_reasoning.parts import (
    Channel,
    Ext,
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Status,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Value,
    WithheldUnit,
)

# Decoders make a delta per token, and a Struct is made ten times faster than a frozen dataclass. Keyword-only
# fields are chosen per class, so that a base class holds the positional ones.


class _ResponseStart(Struct, frozen=True):
    origin: Origin | None


class ResponseStart(_ResponseStart, frozen=True, kw_only=True, repr_omit_defaults=True, dict=True):
    """Start of a model response; ends an open one.

    ``conversation`` is the ID of the conversation in which the provider stores the response.
    """

    id: str | None = None
    conversation: str | None = None


class _ReasoningDelta(Value, frozen=True):
    text: str = ""


class ReasoningDelta(_ReasoningDelta, frozen=True, kw_only=True):
    """A piece of reasoning. An item ID or ``ext={"explicit_empty": True}`` alone creates a unit too."""

    key: str | None = None
    channel: Channel = "text"
    index: int = 0
    item_id: str | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"text", "ext"})


class _OpaqueDelta(Struct, frozen=True):
    opaque: Opaque


class OpaqueDelta(_OpaqueDelta, frozen=True, kw_only=True):
    """An opaque value or, with ``append``, a fragment that is complete when its unit ends.

    ``key`` names the unit it belongs to; without a key ``opaque.attach`` decides. Values for a call or text
    that has not started are kept until it does.
    """

    key: str | None = None
    append: bool = False


class _TextDelta(Value, frozen=True):
    text: str


class TextDelta(_TextDelta, frozen=True, kw_only=True):
    """A piece of the answer."""

    key: str | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"text", "ext"})


class _ToolCallDelta(Value, frozen=True):
    id: str
    name: str = ""
    arguments: str = ""


class ToolCallDelta(_ToolCallDelta, frozen=True, kw_only=True):
    """A tool call, or a fragment of its arguments.

    The ID is the key. An empty ID with a name starts a call without a provider ID; an empty ID without a name
    continues that call. A name for a call that has ended starts another call with the same ID.
    """

    server: bool = False
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"arguments", "ext"})


class _ToolResultDelta(Value, frozen=True):
    tool_call_id: str
    content: str | list[Any]


class ToolResultDelta(_ToolResultDelta, frozen=True, kw_only=True):
    """The result of a tool; for server tools, ``native`` is the provider's verbatim block.

    ``content`` is text, or AG-UI content parts if the tool returned media.
    ``error`` is the sentence that tells the model why the tool failed.
    """

    error: str | None = None
    native: Any = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"content", "error", "native", "ext"})


class CloseDelta(Struct, frozen=True, kw_only=True):
    """End of a unit, or without a key of all open units; ``"incomplete"`` if truncated.

    Units that have ended can still be marked incomplete, because length limits are reported after the block.
    """

    key: str | None = None
    status: Status = "complete"


class NativeDelta(Value, frozen=True):
    """A block without a call ID that must be returned verbatim.

    Attributes:
        kind: Its type, with that of the API.
        payload: The block.
        model: The model that goes on after the block in place of the one that began the response; ``None``
            if it is the same. The response is then that model's.
    """

    kind: str
    payload: Any
    model: str | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"payload"})


class UsageDelta(Struct, frozen=True, kw_only=True):
    """Token counts as AG-UI defines them: totals include their parts. Unknown counts are ``None``.

    Within a response the last value of each field wins. Counts of another model that worked for the response,
    such as an advisor, are ``apart``: they are added to its own, and the last ones of each model win.
    """

    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    apart: bool = False


class InputTransformation(Struct, frozen=True):
    """What a provider did with a reasoning unit of the request.

    Attributes:
        path: The place of the unit in the request, such as ``messages.1.content.0``, or its ID.
        reason: The provider's reason.
        dropped: Whether the model was not shown the unit; otherwise it was, although it failed a check.
    """

    path: str
    reason: str
    dropped: bool = True


class _InputTransformationsDelta(Struct, frozen=True):
    entries: tuple[InputTransformation, ...]


class InputTransformationsDelta(_InputTransformationsDelta, frozen=True, kw_only=True):
    """What the provider did with the reasoning in the request.

    ``model`` is the model that was asked, if it is not the one that the request names. `Run` adds ``units``:
    the units that the model was not shown.
    """

    model: str | None = None
    units: tuple[WithheldUnit, ...] = ()


class _FinishDelta(Value, frozen=True):
    reason: str | None = None


class FinishDelta(_FinishDelta, frozen=True, kw_only=True):
    """End of the response; ``reason`` is the provider's finish reason, ``details`` is what it says about it.

    ``refused`` marks a response that the provider declined to finish: its units become incomplete, and the
    user is shown the member ``explanation`` of the details, or else a fixed sentence.
    """

    details: Mapping[str, Any] | None = None
    refused: bool = False

    _private: ClassVar[frozenset[str]] = frozenset({"details"})


Delta: TypeAlias = (
    ResponseStart
    | ReasoningDelta
    | OpaqueDelta
    | TextDelta
    | ToolCallDelta
    | ToolResultDelta
    | CloseDelta
    | NativeDelta
    | UsageDelta
    | InputTransformationsDelta
    | FinishDelta
)

DELTA_TYPES = get_args(Delta)


ReadCounts: TypeAlias = Callable[[], UsageDelta | None]
"""Returns the counts of one response that no delta has reported yet; ``None`` if there are none."""

_NAME: Final = "counts"


def counted(start: ResponseStart, read: ReadCounts | None) -> ResponseStart:
    """Attach what reads the counts to the start of a response, and return the start.

    It is no member of the value: starts are equal without it, and copies lack it.
    """
    if read is not None:
        vars(start)[_NAME] = read
    return start


def counts_of(start: ResponseStart) -> ReadCounts | None:
    """Return what reads the counts of a response."""
    return vars(start).get(_NAME)


# -- parts to deltas


def unfold(parts: Iterable[Part]) -> list[Delta]:
    """Return deltas that fold into these parts, with a `ResponseStart` per origin.

    The parts belong to one response; a change of origin starts another response.
    """
    deltas: list[Delta] = []
    origin: object = ...
    for number, part in enumerate(parts):
        if part.origin != origin:
            origin = part.origin
            deltas.append(ResponseStart(part.origin))
        deltas.extend(deltas_of(part, f"part {number}"))
    return deltas


def deltas_of(part: Part, key: str) -> Iterator[Delta]:
    """Yield the deltas of one part. ``key`` names its unit, except for calls, whose key is their ID."""
    return _UNFOLD[type(part)](part, key)


def _reasoning(part: ReasoningPart, key: str) -> Iterator[Delta]:
    yield ReasoningDelta("", key=key, item_id=part.item_id, ext=part.ext)
    before = None
    for segment in part.segments:
        if (segment.channel, segment.index) == before:
            # A repeated segment means that reasoning resumed: close the previous stretch.
            yield CloseDelta(key=key)
        before = (segment.channel, segment.index)
        yield ReasoningDelta(segment.text, key=key, channel=segment.channel, index=segment.index)
    yield from (OpaqueDelta(opaque, key=key) for opaque in part.opaque)
    yield CloseDelta(key=key, status=part.status)


def _text(part: TextPart, key: str) -> Iterator[Delta]:
    yield TextDelta(part.text, key=key, ext=part.ext)
    yield from (OpaqueDelta(opaque, key=key) for opaque in part.opaque)
    yield CloseDelta(key=key, status=part.status)


def _call(part: ToolCallPart, key: str) -> Iterator[Delta]:
    yield ToolCallDelta(part.id, part.name, part.arguments, server=part.server, ext=part.ext)
    yield from (OpaqueDelta(opaque, key=part.id) for opaque in part.opaque)
    yield CloseDelta(key=part.id, status=part.status)


def _result(part: ToolResultPart, key: str) -> Iterator[Delta]:
    yield ToolResultDelta(part.tool_call_id, part.content, error=part.error, native=part.native, ext=part.ext)


_UNFOLD: dict[type, Callable[[Any, str], Iterator[Delta]]] = {
    ReasoningPart: _reasoning,
    TextPart: _text,
    ToolCallPart: _call,
    ToolResultPart: _result,
    NativePart: lambda part, key: iter([NativeDelta(part.kind, part.payload)]),
}
