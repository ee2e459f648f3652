"""The operations a stream of model output is made of.

Decoders produce them, and anyone may build them by hand: nothing has to be opened or closed. ``key`` names
the provider's unit, is unique within a response and forgotten at its end; ``None`` means the open unit of
that kind, else a new one.
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
    """A model response begins; one that is still open ends before it."""

    origin: Origin | None
    _: KW_ONLY
    id: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class ReasoningDelta(RedactedRepr):
    """A piece of reasoning; an item id or ``ext={"explicit_empty": True}`` alone makes a unit too."""

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
    """An opaque value, whole or (``append``) a fragment of it that ends when its unit ends.

    ``key`` names the unit it sat on; without one ``opaque.attach`` decides. A value for a call or a text that
    has not begun waits for it.
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

    The id is the key. An empty id with a name is a new call whose id the provider did not send; an empty id
    without a name continues that call. A name for a call that has ended is another call of the same id.
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
    """The result of a tool; for a server tool ``native`` is the provider's block, verbatim."""

    tool_call_id: str
    content: str
    _: KW_ONLY
    native: Any = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"content", "native", "ext"})


@dataclass(frozen=True, slots=True)
class CloseDelta:
    """A unit ended, or (without a key) everything that is open; ``"incomplete"`` when it was cut.

    A unit that has already ended can still be marked incomplete: a length limit is reported after the block.
    """

    _: KW_ONLY
    key: str | None = None
    status: Status = "complete"


@dataclass(frozen=True, slots=True, repr=False)
class NativeDelta(RedactedRepr):
    """A block without a call id that must go back verbatim."""

    kind: str
    payload: Any

    _private: ClassVar[frozenset[str]] = frozenset({"payload"})


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """Token counts, in AG-UI's accounting: parts are included in totals. Unknown counts stay ``None``.

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
    """The response ended; ``reason`` is the provider's own word."""

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
