"""What an envelope says, in version 2 of the format.

``encryptedValue`` is a single opaque string per message or tool call. Ours is self-describing JSON: a place,
and units with what must go back verbatim. A unit is where it stands and how it is shown, and the part.
Without keys the visible text is not repeated; its SHA-256 is, so that a text that was altered on the way
loses its signature. The hash detects accidents, not attackers. With keys the whole envelope is encrypted and
holds the reasoning's text too.

::

    {"k": "agui-reasoning", "v": 2,
     "origin":   {"provider": …, "api": …, "model": …},
     "response": {"id": …, "number": 0, "native_id": …, "messages": […], "calls": […]},
     "units":    [{"seq": 0, "lengths": […], "sha256": …, "part": {"kind": "reasoning", "opaque": […]}}, …]}
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from agui_reasoning.parts import Channel, Encoding, Opaque, Origin, Status

__all__ = [
    "CallRecord",
    "Envelope",
    "Fragment",
    "NativeRecord",
    "OpaqueRecord",
    "OriginRecord",
    "PartRecord",
    "ReasoningRecord",
    "ResponsePlace",
    "ResultRecord",
    "SegmentRecord",
    "Span",
    "TextRecord",
    "UnitRecord",
    "WireRecord",
    "digest",
]


class WireRecord(BaseModel):
    """What is read strictly and shows nothing of itself."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show nothing: a record holds what nobody but its reader may see."""
        return ()


class OriginRecord(WireRecord):
    """An `Origin`."""

    provider: str | None = None
    api: str | None = None
    model: str | None = None

    @classmethod
    def of(cls, origin: Origin) -> OriginRecord:
        """Record an origin."""
        return cls(provider=origin.provider, api=origin.api, model=origin.model)

    def value(self) -> Origin:
        """The origin again."""
        return Origin(self.provider, self.api, self.model)


class OpaqueRecord(WireRecord):
    """An `Opaque`."""

    kind: str
    value: str
    encoding: Encoding = "utf8"
    attach: str = "self"

    @classmethod
    def of(cls, opaque: Opaque) -> OpaqueRecord:
        """Record an opaque value."""
        return cls(kind=opaque.kind, value=opaque.value, encoding=opaque.encoding, attach=opaque.attach)

    def opaque(self) -> Opaque:
        """The value again."""
        return Opaque(self.kind, self.value, self.encoding, self.attach)


class SegmentRecord(WireRecord):
    """A segment, with its text where the message does not show it."""

    channel: Channel = "text"
    index: int = 0
    text: str | None = None


class Span(WireRecord):
    """A stretch of an assistant message: code points from ``start``."""

    message: str
    start: int = Field(ge=0)
    length: int = Field(ge=0)


class ResponsePlace(WireRecord):
    """Which response this is, and the ids under which it is seen.

    Attributes:
        id: Our id of the response.
        number: Which of its values this is, in the order in which they were sent; what a later one says of a
            unit holds.
        native_id: The provider's.
        after: Our id of the response before it in the run. Nothing else tells where a response stands of
            which only reasoning is seen, because front ends move that.
        messages: Assistant messages that no value before this one named, and in the last value all of them;
            the last may be announced before it is used.
        calls: Its tool calls, likewise.
        subagent: The run of the subagent it is of; the thread is the same, and the conversation another.
    """

    id: str
    number: int = Field(default=0, ge=0)
    native_id: str | None = None
    after: str | None = None
    messages: tuple[str, ...] = Field(default=(), strict=False)
    calls: tuple[str, ...] = Field(default=(), strict=False)
    subagent: str | None = None


class _PartRecord(WireRecord):
    status: Status = "complete"
    opaque: tuple[OpaqueRecord, ...] = Field(default=(), strict=False)
    ext: dict[str, Any] | None = None


class ReasoningRecord(_PartRecord):
    """A reasoning part, or one stretch of a unit that resumed."""

    kind: Literal["reasoning"]
    item_id: str | None = None
    segments: tuple[SegmentRecord, ...] = Field(default=(), strict=False)


class TextRecord(_PartRecord):
    """A text part, with its text where it is not shown whole."""

    kind: Literal["text"]
    text: str | None = None


class CallRecord(_PartRecord):
    """A tool call; ``id`` is the provider's where it differs, ``arguments`` are those of its own tools."""

    kind: Literal["call"]
    id: str | None = None
    server: bool = False
    arguments: str | None = None


class ResultRecord(_PartRecord):
    """The result of a server tool; its content is in a tool message, or here."""

    kind: Literal["result"]
    native: Any = None
    content: str | None = None


class NativeRecord(_PartRecord):
    """A block that goes back verbatim."""

    kind: Literal["native"]
    name: str
    payload: Any = None


PartRecord: TypeAlias = Annotated[
    ReasoningRecord | TextRecord | CallRecord | ResultRecord | NativeRecord, Field(discriminator="kind")
]


class UnitRecord(WireRecord):
    """A unit: where it stands and how it is shown, and the part.

    Attributes:
        seq: Its number in the response.
        stretch: Which stretch of it this is, if it resumed.
        id: The call, under the id the client knows: of a call, or of the result.
        message: The tool message of a result; of reasoning the message that shows it, where that is not the
            one with this value.
        spans: Where a text is shown.
        lengths: Code points of each segment of reasoning that is shown.
        sha256: Of the text that is shown; reasoning that has none shows nothing, or is encrypted.
        after: The ``seq`` of the reasoning that a call followed.
        shares: The call whose reasoning it shares.
        part: What it is.
    """

    seq: int = Field(ge=0)
    stretch: int = Field(default=0, ge=0)
    id: str | None = None
    message: str | None = None
    spans: tuple[Span, ...] = Field(default=(), strict=False)
    lengths: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), strict=False)
    sha256: str | None = None
    after: tuple[int, ...] = Field(default=(), strict=False)
    shares: str | None = None
    part: PartRecord


class Fragment(WireRecord):
    """A slice of the JSON of a unit that is too large for one value, as base64.

    Attributes:
        seq: The unit's.
        stretch: The unit's.
        index: Which slice this is.
        count: How many there are.
        data: The slice.
    """

    seq: int = Field(ge=0)
    stretch: int = Field(default=0, ge=0)
    index: int = Field(ge=0)
    count: int = Field(ge=1)
    data: str


class Envelope(WireRecord):
    """What one ``encryptedValue`` of ours holds."""

    k: Literal["agui-reasoning"] = "agui-reasoning"
    v: Literal[2] = 2
    origin: OriginRecord | None = None
    response: ResponsePlace
    units: tuple[UnitRecord, ...] = Field(default=(), strict=False)
    fragments: tuple[Fragment, ...] = Field(default=(), strict=False)


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal; half characters, which a client may send, fit nothing."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
