"""What an envelope says.

``encryptedValue`` is a single opaque string per message or tool call. Ours is self-describing JSON: who
produced the unit, where it stood, and what must go back verbatim. Without keys the visible text is not
repeated; its SHA-256 is, so that a text that was altered on the way loses its signature. The hash detects
accidents, not attackers. With keys the whole envelope is encrypted and holds the reasoning's text too.

::

    {"k": "agui-reasoning", "v": 1,
     "origin":   {"provider": …, "api": …, "model": …},
     "response": {"id": …, "native_id": …, "messages": […], "calls": […]},
     "unit":     {"kind": "reasoning", "seq": 0, "segments": […], "opaque": […], "sha256": …},
     "rest":     [ … units that no entity of their own shows, on the last reasoning message … ]}
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from agui_reasoning.parts import Channel, Encoding, Opaque, Origin, Status

__all__ = [
    "ENVELOPE_KEY",
    "CallRecord",
    "Envelope",
    "NativeRecord",
    "OpaqueRecord",
    "OriginRecord",
    "Place",
    "ReasoningRecord",
    "Record",
    "ResultRecord",
    "SegmentRecord",
    "Span",
    "TextRecord",
    "digest",
]

ENVELOPE_KEY: Final = "agui-reasoning"
"""The value of ``k``, and the key of our hint in ``metadata``."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show nothing: a record holds what nobody but its reader may see."""
        return ()


class OriginRecord(_Record):
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


class OpaqueRecord(_Record):
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


class SegmentRecord(_Record):
    """A segment: its length in code points, and its text where the message does not show it."""

    channel: Channel = "text"
    index: int = 0
    length: int = Field(ge=0)
    text: str | None = None


class Span(_Record):
    """A stretch of an assistant message: code points from ``start``."""

    message: str
    start: int = Field(ge=0)
    length: int = Field(ge=0)


class Place(_Record):
    """Which response this is, and the ids under which it is seen.

    Attributes:
        id: Our id of the response.
        native_id: The provider's.
        after: Our id of the response before it in the run. Nothing else tells where a response stands of
            which only reasoning is seen, because front ends move that.
        messages: Its assistant messages; the last may be announced before it is used.
        calls: Its tool calls.
        subagent: The run of the subagent it is of; the thread is the same, and the conversation another.
    """

    id: str
    native_id: str | None = None
    after: str | None = None
    messages: tuple[str, ...] = Field(default=(), strict=False)
    calls: tuple[str, ...] = Field(default=(), strict=False)
    subagent: str | None = None


class _UnitRecord(_Record):
    seq: int = Field(ge=0)
    status: Status = "complete"
    opaque: tuple[OpaqueRecord, ...] = Field(default=(), strict=False)
    ext: dict[str, Any] | None = None


class ReasoningRecord(_UnitRecord):
    """A reasoning unit, or one ``stretch`` of a unit that resumed; ``sha256`` is that of the content."""

    kind: Literal["reasoning"]
    stretch: int = Field(default=0, ge=0)
    item_id: str | None = None
    segments: tuple[SegmentRecord, ...] = Field(default=(), strict=False)
    sha256: str | None = None


class TextRecord(_UnitRecord):
    """A text unit: where it is shown, or its text where it is not."""

    kind: Literal["text"]
    at: tuple[Span, ...] = Field(default=(), strict=False)
    text: str | None = None
    sha256: str | None = None


class CallRecord(_UnitRecord):
    """A tool call, and the ``seq`` of the reasoning it followed; ``arguments`` of the provider's own."""

    kind: Literal["call"]
    id: str
    native_id: str | None = None
    server: bool = False
    after: tuple[int, ...] = Field(default=(), strict=False)
    shares: str | None = None
    arguments: str | None = None
    sha256: str | None = None


class ResultRecord(_UnitRecord):
    """The result of a server tool; its content is in the tool message ``message``, or here."""

    kind: Literal["result"]
    id: str
    message: str
    native: Any = None
    content: str | None = None


class NativeRecord(_UnitRecord):
    """A block that goes back verbatim."""

    kind: Literal["native"]
    name: str
    payload: Any = None


Record: TypeAlias = Annotated[
    ReasoningRecord | TextRecord | CallRecord | ResultRecord | NativeRecord, Field(discriminator="kind")
]


class Envelope(_Record):
    """What one ``encryptedValue`` of ours holds."""

    k: Literal["agui-reasoning"] = "agui-reasoning"
    v: Literal[1] = 1
    origin: OriginRecord | None = None
    response: Place
    unit: Record | None = None
    rest: tuple[Record, ...] = Field(default=(), strict=False)

    @property
    def records(self) -> tuple[Record, ...]:
        """Every unit it tells of."""
        return self.rest if self.unit is None else (self.unit, *self.rest)


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal; half characters, which a client may send, fit nothing."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
