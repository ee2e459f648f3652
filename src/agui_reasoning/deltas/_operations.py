"""The operations of a model output stream.

Decoders produce them, and they can be built by hand: units need not be opened or closed. ``key`` names the
provider's unit and is unique within a response; ``None`` means the open unit of that kind, or a new one.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeAlias, get_args

from agui_reasoning.parts import Channel, Ext, Opaque, Origin, RedactedRepr, Status

__all__ = [
    "CloseDelta",
    "Delta",
    "FinishDelta",
    "NativeDelta",
    "OpaqueDelta",
    "ReasoningDelta",
    "ResponseStart",
    "TextDelta",
    "ToolCallDelta",
    "ToolResultDelta",
    "UsageDelta",
]


@dataclass(frozen=True, slots=True)
class ResponseStart:
    """Start of a model response; ends an open one."""

    origin: Origin | None
    _: KW_ONLY
    id: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ReasoningDelta(RedactedRepr):
    """A piece of reasoning. An item ID or ``ext={"explicit_empty": True}`` alone creates a unit too."""

    text: str = ""
    _: KW_ONLY
    key: str | None = None
    channel: Channel = "text"
    index: int = 0
    item_id: str | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"text", "ext"})


@dataclass(frozen=True, slots=True)
class OpaqueDelta:
    """An opaque value or, with ``append``, a fragment that is complete when its unit ends.

    ``key`` names the unit it belongs to; without a key ``opaque.attach`` decides. Values for a call or text
    that has not started are kept until it does.
    """

    opaque: Opaque
    _: KW_ONLY
    key: str | None = None
    append: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class TextDelta(RedactedRepr):
    """A piece of the answer."""

    text: str
    _: KW_ONLY
    key: str | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"text", "ext"})


@dataclass(frozen=True, slots=True, repr=False)
class ToolCallDelta(RedactedRepr):
    """A tool call, or a fragment of its arguments.

    The ID is the key. An empty ID with a name starts a call without a provider ID; an empty ID without a name
    continues that call. A name for a call that has ended starts another call with the same ID.
    """

    id: str
    name: str = ""
    arguments: str = ""
    _: KW_ONLY
    server: bool = False
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"arguments", "ext"})


@dataclass(frozen=True, slots=True, repr=False)
class ToolResultDelta(RedactedRepr):
    """The result of a tool; for server tools, ``native`` is the provider's verbatim block."""

    tool_call_id: str
    content: str
    _: KW_ONLY
    native: Any = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"content", "native", "ext"})


@dataclass(frozen=True, slots=True)
class CloseDelta:
    """End of a unit, or without a key of all open units; ``"incomplete"`` if truncated.

    Units that have ended can still be marked incomplete, because length limits are reported after the block.
    """

    _: KW_ONLY
    key: str | None = None
    status: Status = "complete"


@dataclass(frozen=True, slots=True, repr=False)
class NativeDelta(RedactedRepr):
    """A block without a call ID that must be returned verbatim."""

    kind: str
    payload: Any

    _private: ClassVar[frozenset[str]] = frozenset({"payload"})


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """Token counts as AG-UI defines them: totals include their parts. Unknown counts are ``None``.

    Within a response the last value of each field wins.
    """

    _: KW_ONLY
    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class FinishDelta:
    """End of the response; ``reason`` is the provider's finish reason."""

    reason: str | None = None


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
    | FinishDelta
)

DELTA_TYPES = get_args(Delta)
