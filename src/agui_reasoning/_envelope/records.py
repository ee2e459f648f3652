"""The content of an envelope, in version 2 of the format.

``encryptedValue`` is a single opaque string per message or tool call. Ours is self-describing JSON: the place
of the response, and units with everything that must go back verbatim. A unit is a part with its position and
the way it is shown. Without keys the envelope contains the SHA-256 of visible text instead of the text, so
that text altered on the way loses its signature. The hash detects accidents, not attackers. With keys the
whole envelope is encrypted and also contains the reasoning text.

::

    {"k": "agui-reasoning", "v": 2,
     "origin":   {"provider": …, "api": …, "model": …, "upstream": …, "account": …},
     "response": {"id": …, "number": 0, "native_id": …, "messages": […], "calls": […]},
     "units":    [{"seq": 0, "lengths": […], "sha256": …, "part": {"kind": "reasoning", "opaque": […]}}, …]}
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from sys import intern
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from agui_reasoning.parts import (
    Channel,
    Encoding,
    Opaque,
    Origin,
    Prefix,
    ReasoningPart,
    Status,
    WithheldUnit,
)

__all__ = [
    "CallRecord",
    "Count",
    "Envelope",
    "Fragment",
    "NativeRecord",
    "OpaqueRecord",
    "OriginRecord",
    "PartRecord",
    "PrefixRecord",
    "ReasoningRecord",
    "ResponsePlace",
    "ResultRecord",
    "SegmentRecord",
    "Span",
    "TextRecord",
    "UnitRecord",
    "WireRecord",
    "WithheldRecord",
    "checksum",
    "digest",
    "unit_digest",
]


Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number that is not negative."""


class WireRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record that is read strictly and whose ``repr`` shows no content.

    Records are written without the members that are their default object.
    """

    def __repr__(self) -> str:
        """Omit the fields: records contain what only their reader may see."""
        return f"{type(self).__name__}()"


class OriginRecord(WireRecord, frozen=True, kw_only=True):
    """An `Origin`."""

    provider: str | None = None
    api: str | None = None
    model: str | None = None
    upstream: str | None = None
    account: str | None = None

    @classmethod
    def of(cls, origin: Origin) -> OriginRecord:
        """Return the record of an origin."""
        return cls(
            provider=origin.provider,
            api=origin.api,
            model=origin.model,
            upstream=origin.upstream,
            account=origin.account,
        )

    def value(self) -> Origin:
        """Return the origin."""
        return Origin(self.provider, self.api, self.model, self.upstream, self.account)


class OpaqueRecord(WireRecord, frozen=True, kw_only=True):
    """An `Opaque`.

    Attributes:
        check: The `checksum` of the value, if the envelope is not encrypted.
    """

    kind: str
    value: str
    encoding: Encoding = "utf8"
    attach: str = "self"
    check: str | None = None

    @classmethod
    def of(cls, opaque: Opaque, *, encrypted: bool = False) -> OpaqueRecord:
        """Return the record of an opaque value."""
        return cls(
            kind=opaque.kind,
            value=opaque.value,
            encoding=opaque.encoding,
            attach=intern(opaque.attach),  # so that the default is recognized
            check=None if encrypted else checksum(opaque.value),
        )

    @property
    def intact(self) -> bool:
        """Whether nothing changed the value on the way, as far as can be told."""
        return self.check is None or self.check == checksum(self.value)

    def opaque(self) -> Opaque:
        """Return the value."""
        return Opaque(self.kind, self.value, self.encoding, self.attach)


class SegmentRecord(WireRecord, frozen=True, kw_only=True):
    """A segment, with its text unless the message shows it."""

    channel: Channel = "text"
    index: int = 0
    text: str | None = None


class Span(WireRecord, frozen=True, kw_only=True):
    """A stretch of an assistant message: code points from ``start``."""

    message: str
    start: Count
    length: Count


class WithheldRecord(WireRecord, frozen=True, kw_only=True):
    """A `WithheldUnit`."""

    digest: str
    model: str | None = None
    reason: str = ""

    @classmethod
    def of(cls, unit: WithheldUnit) -> WithheldRecord:
        """Return the record of a unit."""
        return cls(digest=unit.digest, model=unit.model, reason=unit.reason)

    def value(self) -> WithheldUnit:
        """Return the unit."""
        return WithheldUnit(self.digest, self.model, self.reason)


class PrefixRecord(WireRecord, frozen=True, kw_only=True):
    """A `Prefix`."""

    system: str = ""
    tools: str = ""

    @classmethod
    def of(cls, prefix: Prefix, *, encrypted: bool) -> PrefixRecord:
        """Return the record of a prefix. Clients see too little of the instructions to confirm a guess."""
        return cls(system=prefix.system if encrypted else prefix.system[:2], tools=prefix.tools)

    def value(self) -> Prefix:
        """Return the prefix."""
        return Prefix(self.system, self.tools)


class ResponsePlace(WireRecord, frozen=True, kw_only=True):
    """Identifies a response, and the IDs under which the client sees it.

    Attributes:
        id: Our ID of the response.
        number: The number of this value, in the order of sending. For a unit, the latest value counts.
        native_id: The provider's ID of the response.
        conversation: The provider's ID of the conversation in which it stored the response.
        after: Our ID of the previous response in the run. Responses of which only reasoning is visible are
            ordered by it, because front ends move reasoning.
        messages: The assistant messages that no earlier value named; in the last value, all of them. The last
            one may be named before it exists.
        calls: The tool calls, likewise.
        failed: The calls before this response whose result is an error; in the first value and the last.
        subagent: The run of the subagent, which shares the thread but has its own conversation.
        refused: The message that tells the user that the provider declined to finish the response; in its
            last value.
        withheld: The reasoning of the request that the model was not shown; in the last value.
        effort: The effort that changed with the response; in the first value and the last, as is ``prefix``.
        prefix: What preceded the conversation in the request.
    """

    id: str
    number: Count = 0
    native_id: str | None = None
    after: str | None = None
    messages: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    subagent: str | None = None
    refused: str | None = None
    withheld: tuple[WithheldRecord, ...] = ()
    effort: str | None = None
    prefix: PrefixRecord | None = None
    conversation: str | None = None


class _PartRecord(WireRecord, frozen=True, kw_only=True):
    status: Status = "complete"
    opaque: tuple[OpaqueRecord, ...] = ()
    ext: dict[str, Any] | None = None


class ReasoningRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    """A reasoning part, or one stretch of a unit that resumed."""

    item_id: str | None = None
    segments: tuple[SegmentRecord, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether it says no more than that the model did not think: no text, no value and no ID."""
        return not (self.segments or self.opaque or self.item_id)


class TextRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """A text part, with its text unless all of it is shown."""

    text: str | None = None


class CallRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="call"):
    """A tool call, with the provider's ID if it differs, and the arguments of the provider's own tools."""

    id: str | None = None
    server: bool = False
    arguments: str | None = None


class ResultRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="result"):
    """The result of a server tool, with its content unless a tool message shows just that."""

    native: Any = None
    content: str | None = None
    error: str | None = None


class NativeRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="native"):
    """A block that is returned verbatim."""

    name: str
    payload: Any = None


PartRecord: TypeAlias = ReasoningRecord | TextRecord | CallRecord | ResultRecord | NativeRecord


class UnitRecord(WireRecord, frozen=True, kw_only=True):
    """A part, with its position and the way it is shown.

    Attributes:
        seq: The number of the unit in the response.
        stretch: The number of the stretch, if the unit resumed.
        id: The client's ID of a call, or of the call that a result answers.
        message: The tool message of a result, or the message that shows reasoning if another one has this
            value.
        spans: The positions of a text in its messages.
        lengths: The number of code points of each visible segment of reasoning.
        sha256: The hash of the visible text; absent for reasoning that is not shown or is encrypted.
        after: The ``seq`` of the reasoning that a call followed.
        shares: The call whose reasoning a call shares.
        part: The part.
    """

    seq: Count
    stretch: Count = 0
    id: str | None = None
    message: str | None = None
    spans: tuple[Span, ...] = ()
    lengths: tuple[Count, ...] = ()
    sha256: str | None = None
    after: tuple[int, ...] = ()
    shares: str | None = None
    part: PartRecord


class Fragment(WireRecord, frozen=True, kw_only=True):
    """A slice of the JSON of a unit that is too large for one value, as base64.

    Attributes:
        seq: The unit's.
        stretch: The unit's.
        index: The number of the slice.
        count: The number of slices.
        data: The slice.
    """

    seq: Count
    stretch: Count = 0
    index: Count
    count: Annotated[int, Meta(ge=1)]
    data: str


class Envelope(WireRecord, frozen=True, kw_only=True):
    """The content of one ``encryptedValue``."""

    k: Literal["agui-reasoning"] = "agui-reasoning"
    v: Literal[2] = 2
    origin: OriginRecord | None = None
    response: ResponsePlace
    units: tuple[UnitRecord, ...] = ()
    fragments: tuple[Fragment, ...] = ()


def digest(text: str) -> str:
    """Return the hexadecimal SHA-256 of a text in UTF-8. Text with lone surrogates matches no other."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def checksum(value: str) -> str:
    """Return 6 bytes of the SHA-256 of a value, in URL-safe base64: too short for filters to mask it."""
    found = hashlib.sha256(value.encode(errors="surrogatepass")).digest()
    return urlsafe_b64encode(found[:6]).decode("ascii")


def unit_digest(part: ReasoningPart) -> str | None:
    """Return what identifies a unit wherever it is returned: the digest of its value, or else of its ID."""
    named = part.opaque[0].value if part.opaque else part.item_id
    return None if named is None else checksum(named)
