"""Settled values: what a model response is made of, once it is complete.

A **part** is one unit of the provider (a reasoning item, a thinking block, a text block, a tool call …) in
wire order; a **turn** is the list of parts of one response. The same values stand at both ends of the loop:
a decoder produces them on one turn, ``restore`` gives them back on the next.

``repr`` never shows text or opaque values, only their lengths and kinds, so that parts may be logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from agui_reasoning._strict_json import MAX_NESTING, load
from agui_reasoning.errors import DecodeError

__all__ = [
    "CUT_CALL_RESULT",
    "Channel",
    "Encoding",
    "NativePart",
    "Opaque",
    "Origin",
    "Part",
    "ReasoningPart",
    "Segment",
    "Status",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "Turn",
    "join_segments",
]

Status: TypeAlias = Literal["complete", "incomplete"]
"""``"incomplete"`` marks a unit that was cut: it is shown; cut reasoning and cut calls never go back."""

CUT_CALL_RESULT: Final = "This tool call was cut off before it was complete. It was not made."
"""The result that a run gives a call that was cut, because clients run a call without a result, whatever its
arguments are. When it comes back, it tells that the call was cut."""

Channel: TypeAlias = Literal["text", "summary", "raw"]
"""What the API calls the text: a summary, the raw chain of thought, or nothing in particular."""

Encoding: TypeAlias = Literal["utf8", "base64", "json"]
"""How an opaque string stands for the provider's value."""

Ext: TypeAlias = Mapping[str, Any]
"""Small JSON leftovers of the provider: native ids, phase, formats, citations, explicit emptiness."""

SEGMENT_SEPARATOR = "\n\n"
_REDACTED_NAMES: Final = frozenset({"encrypted", "redacted", "redacted_content", "redacted_thinking"})


class RedactedRepr:
    """A ``repr`` that names sizes where the value itself is private."""

    __slots__ = ()
    _private: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        shown = (
            f"{field.name}={self._show(field.name)}"
            for field in fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def _show(self, name: str) -> str:
        value = getattr(self, name)
        if name not in self._private:
            return repr(value)
        return f"<{len(value)}>" if hasattr(value, "__len__") else "<…>"


@dataclass(frozen=True, slots=True, repr=False)
class Opaque(RedactedRepr):
    """A value of the provider that we never parse, trim or re-encode.

    Attributes:
        kind: Open name ``<namespace>.<name>``, for example ``"anthropic.signature"``.
        value: The provider's string, byte for byte.
        encoding: How ``value`` stands for what the provider sent.
        attach: Where it sat: ``"self"`` (on its own unit), ``"text"``, or ``"tool_call:<id>"``.
    """

    kind: str
    value: str
    encoding: Encoding = "utf8"
    attach: str = "self"

    _private: ClassVar[frozenset[str]] = frozenset({"value"})

    @property
    def redacts(self) -> bool:
        """Whether it stands for text that the provider encrypted, as its kind's own name says."""
        return self.kind.rpartition(".")[2] in _REDACTED_NAMES


@dataclass(frozen=True, slots=True)
class Origin:
    """Who produced a value. It narrows who may get an `Opaque` back, and never chooses a target.

    Attributes:
        provider: Provider id such as ``"anthropic"``; ``None`` when unknown.
        api: API id such as ``"anthropic-messages"``; ``None`` for deltas built by hand.
        model: The model's name as the provider reported it.
    """

    provider: str | None = None
    api: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Segment(RedactedRepr):
    """A stretch of visible reasoning text: a summary part, a raw part, or simply text.

    Attributes:
        channel: What the API calls it.
        index: The provider's number of it within its channel.
        text: The text, verbatim.
    """

    channel: Channel
    index: int
    text: str

    _private: ClassVar[frozenset[str]] = frozenset({"text"})


def join_segments(segments: tuple[Segment, ...]) -> str:
    """Join segments as people read them: a blank line between parts, nothing inside one that resumed."""
    pieces: list[str] = []
    before: Segment | None = None
    for segment in segments:
        if before is not None and (before.channel, before.index) != (segment.channel, segment.index):
            pieces.append(SEGMENT_SEPARATOR)
        pieces.append(segment.text)
        before = segment
    return "".join(pieces)


@dataclass(frozen=True, slots=True, repr=False)
class ReasoningPart(RedactedRepr):
    """One unit of reasoning. It may have text, opaque values, a native id, or be explicitly empty.

    Attributes:
        segments: The visible text in order.
        opaque: Values to return verbatim.
        item_id: The provider's id of the unit (``rs_…``).
        status: Whether the unit ended properly.
        origin: Who produced it.
        ext: Small JSON leftovers.
    """

    segments: tuple[Segment, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    item_id: str | None = None
    status: Status = "complete"
    origin: Origin | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"ext"})

    @property
    def text(self) -> str:
        """The segments joined as shown to people."""
        return join_segments(self.segments)

    @property
    def redacted(self) -> bool:
        """The provider encrypted the text and says so."""
        return not self.segments and any(opaque.redacts for opaque in self.opaque)

    @property
    def omitted(self) -> bool:
        """The unit exists and its text was withheld."""
        return not self.segments and not self.redacted


@dataclass(frozen=True, slots=True, repr=False)
class TextPart(RedactedRepr):
    """A stretch of the answer."""

    text: str
    opaque: tuple[Opaque, ...] = ()
    status: Status = "complete"
    origin: Origin | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"text", "ext"})


@dataclass(frozen=True, slots=True, repr=False)
class ToolCallPart(RedactedRepr):
    """A call of a tool: the client's, the agent's, or (``server``) the provider's own.

    Attributes:
        id: The provider's call id; empty when it sent none.
        name: The tool.
        arguments: The JSON text as it came; compact JSON where the API gives an object.
        server: The provider runs it and answers it.
        opaque: Values that sat on the call.
    """

    id: str
    name: str
    arguments: str = ""
    server: bool = False
    opaque: tuple[Opaque, ...] = ()
    status: Status = "complete"
    origin: Origin | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"arguments", "ext"})

    @property
    def args(self) -> dict[str, Any]:
        """The parsed arguments; ``""`` and ``null`` are ``{}``.

        Raises:
            DecodeError: The arguments are not a JSON object (``bad_arguments``).
        """
        if not self.arguments.strip():
            return {}
        value = load(self.arguments, max_nesting=MAX_NESTING)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise DecodeError(
                f"The arguments of tool call {self.id!r} ({len(self.arguments)} characters) "
                "are not a JSON object.",
                code="bad_arguments",
                hint="The call may have been cut: check `status`, or answer it with an error.",
                provider=self.origin.provider if self.origin else None,
            )
        return value


@dataclass(frozen=True, slots=True, repr=False)
class ToolResultPart(RedactedRepr):
    """What a tool returned. ``native`` is a server tool's block, verbatim."""

    tool_call_id: str
    content: str
    native: Any = None
    origin: Origin | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"content", "native", "ext"})


@dataclass(frozen=True, slots=True, repr=False)
class NativePart(RedactedRepr):
    """A block that has no call id and must go back verbatim, such as a compaction item."""

    kind: str
    payload: Any
    origin: Origin | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"payload"})


Part: TypeAlias = ReasoningPart | TextPart | ToolCallPart | ToolResultPart | NativePart

PART_TYPES = get_args(Part)


@dataclass(frozen=True, slots=True)
class Turn:
    """The parts of one model response, in wire order.

    Attributes:
        parts: The parts.
        origin: Who produced the response.
        id: The provider's id of it.
        seen: The message or call id under which the client sees each part, empty where it sees none. Reports
            name units by it; it is no part of what the turn is, and two turns compare without it.
    """

    parts: tuple[Part, ...]
    origin: Origin | None = None
    id: str | None = None
    seen: tuple[str, ...] = field(default=(), compare=False)
