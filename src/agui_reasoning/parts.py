"""Value types for the parts of a complete model response.

A **part** is one unit of the provider (a reasoning item, a thinking block, a text block, a tool call …); a
**turn** holds the parts of one response in wire order. Decoders produce these values, and ``restore`` returns
the same values on the next turn.

``repr`` shows lengths and kinds but never text or opaque values, so parts can be logged safely.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from msgspec import Struct, structs

from agui_reasoning._strict_json import MAX_NESTING, load
from agui_reasoning.errors import ConfigurationError, DecodeError

__all__ = [
    "CUT_CALL_RESULT",
    "EFFORTS",
    "Channel",
    "Effort",
    "EffortChange",
    "Encoding",
    "NativePart",
    "Opaque",
    "Origin",
    "Part",
    "Prefix",
    "ReasoningPart",
    "Segment",
    "Status",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "Turn",
    "WithheldUnit",
    "join_segments",
]

Status: TypeAlias = Literal["complete", "incomplete"]
"""``"incomplete"`` marks a truncated unit. It is shown, but reasoning and calls are never sent back."""

CUT_CALL_RESULT: Final = "This tool call was cut off before it was complete. It was not made."
"""The result that a run adds to an incomplete call, because clients execute calls without a result;
CopilotKit does after RUN_ERROR, with ``{}``. When it comes back, it marks the call as incomplete."""

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model should think, from least to most. No model knows every level."""

EFFORTS: Final = get_args(Effort)
"""The levels of effort, from least to most."""

Channel: TypeAlias = Literal["text", "summary", "raw"]
"""The API's label for the text: a summary, the raw chain of thought, or unlabeled text."""

Encoding: TypeAlias = Literal["utf8", "base64", "json"]
"""The encoding of the provider's value in an opaque string."""

Ext: TypeAlias = Mapping[str, Any]
"""Additional JSON members from the provider: native IDs, phase, formats, citations, explicit emptiness."""

SEGMENT_SEPARATOR = "\n\n"
SHOWN_ON_REQUEST: Final = frozenset({"anthropic.signature"})
"""The kinds of values beside which a provider shows the reasoning only if the request asks for that."""

_ACCOUNT: Final = re.compile("sha256:[0-9a-f]{12}")
_REDACTED_NAMES: Final = frozenset({"encrypted", "redacted", "redacted_content", "redacted_thinking"})


class RedactedRepr:
    """Mixin for dataclasses whose ``repr`` shows the size of private values instead of the values."""

    __slots__ = ()
    _private: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        members = (
            f"{field.name}={_shown(self, field.name)}"
            for field in fields(self)  # type: ignore[arg-type]
            if field.repr and getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({', '.join(members)})"


class Value(Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """The base class of values of the model's output: immutable, compared by their members.

    A Struct is made ten times faster than a frozen dataclass. Values hold no reference to what holds them, so
    the garbage collector does not track them.
    """

    _private: ClassVar[frozenset[str]] = frozenset()
    """The members of which ``repr`` shows the size."""

    _unshown: ClassVar[frozenset[str]] = frozenset()
    """The members that ``repr`` omits."""

    _not_compared: ClassVar[frozenset[str]] = frozenset()
    """The members that comparisons ignore."""

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={value}" for name, value in self._members())
        return f"{type(self).__name__}({members})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, _Verbatim(value)) for name, value in self._members()]

    def _members(self) -> Iterator[tuple[str, str]]:
        omits = self.__struct_config__.repr_omit_defaults
        for field in structs.fields(self):
            unshown = field.name in self._unshown or (omits and getattr(self, field.name) == field.default)
            if not unshown:
                yield field.name, _shown(self, field.name)


class PartlyCompared(Value, frozen=True):
    """A value of which comparisons ignore some members."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        compared = _compared_members(type(self))
        return bool(compared(self) == compared(other))

    def __hash__(self) -> int:
        return hash(_compared_members(type(self))(self))


@cache
def _compared_members(kind: type[PartlyCompared]) -> attrgetter[Any]:
    return attrgetter(*(name for name in kind.__struct_fields__ if name not in kind._not_compared))


class _Verbatim(str):
    """A string whose ``repr`` is the string itself."""

    __slots__ = ()
    __repr__ = str.__str__


def _shown(holder: Any, name: str) -> str:
    value = getattr(holder, name)
    if name not in holder._private:
        return repr(value)
    return f"<{len(value)}>" if hasattr(value, "__len__") else "<…>"


class Opaque(Value, frozen=True):
    """A provider value that is never parsed, trimmed or re-encoded.

    Attributes:
        kind: The kind as ``<namespace>.<name>``, for example ``"anthropic.signature"``; any name is allowed.
        value: The provider's string, byte for byte.
        encoding: The encoding of ``value``.
        attach: The unit it belongs to: ``"self"`` (its own unit), ``"text"``, or ``"tool_call:<id>"``.
    """

    kind: str
    value: str
    encoding: Encoding = "utf8"
    attach: str = "self"

    _private: ClassVar[frozenset[str]] = frozenset({"value"})

    @property
    def redacts(self) -> bool:
        """Whether it replaces text that the provider encrypted, judging by its kind."""
        return self.kind.rpartition(".")[2] in _REDACTED_NAMES


class Origin(PartlyCompared, frozen=True, omit_defaults=True, repr_omit_defaults=False):
    """The producer of a value. It restricts where an `Opaque` may be sent, and never selects a target.

    Attributes:
        provider: The provider ID, such as ``"anthropic"``; ``None`` if unknown.
        api: The API ID, such as ``"anthropic-messages"``; ``None`` for deltas built by hand.
        model: The model name as reported by the provider.
        upstream: The host that a gateway asked, as requests name it, if known; comparisons ignore it.
        account: The account or organization at the provider, or the name of its key: values that only their
            account reads are not sent to another one. Any text; it is kept as ``sha256:`` and the first 12
            digits of its SHA-256, which may also be passed. ``None`` if unknown: then all are sent.

    Examples:
        >>> Origin("openai", "openai-responses", account="org-4711").account
        'sha256:6e04ed01f4a3'
    """

    provider: str | None = None
    api: str | None = None
    model: str | None = None
    upstream: str | None = None
    account: str | None = None

    _unshown: ClassVar[frozenset[str]] = frozenset({"upstream", "account"})
    _not_compared: ClassVar[frozenset[str]] = frozenset({"upstream"})

    def __post_init__(self) -> None:
        if self.account is not None and not _ACCOUNT.fullmatch(self.account):
            digest = hashlib.sha256(self.account.encode("utf-8", "surrogatepass")).hexdigest()
            structs.force_setattr(self, "account", f"sha256:{digest[:12]}")

    def completed(self, default: Origin) -> Origin:
        """Return the origin, with what it does not name from another one; the account only if it fits."""
        provider = self.provider or default.provider
        account = self.account or (default.account if provider == default.provider else None)
        return Origin(provider, self.api or default.api, self.model or default.model or None, account=account)


def given_origin(
    origin: Origin | None, *, api: str | None = None, provider: str | None = None, model: str | None = None
) -> Origin:
    """Return the origin that a caller names with ``origin`` or with the other options.

    Raises:
        ConfigurationError: There are both, or ``origin`` is something else (``wrong_option``).
    """
    if origin is None:
        return Origin(provider, api, model)
    if not isinstance(origin, Origin):
        raise ConfigurationError(
            f"origin= is {type(origin).__name__}, not an Origin.",
            code="wrong_option",
            hint="Pass Origin(provider=…, api=…, model=…), or api=, provider= and model=.",
        )
    named = {"api": api, "provider": provider, "model": model}
    if given := [f"{name}=" for name, value in named.items() if value]:
        raise ConfigurationError(
            f"origin= was given, and also {', '.join(given)}.",
            code="wrong_option",
            hint="Pass either origin= or api=, provider= and model=.",
        )
    return origin


class Segment(Value, frozen=True):
    """A stretch of visible reasoning text: a summary part, a raw part, or unlabeled text.

    Attributes:
        channel: The API's label for the text.
        index: The provider's index of the segment within its channel.
        text: The text, verbatim.
    """

    channel: Channel
    index: int
    text: str

    _private: ClassVar[frozenset[str]] = frozenset({"text"})


def join_segments(segments: tuple[Segment, ...]) -> str:
    """Join segments for display: a blank line between parts, nothing within a part that resumed."""
    pieces: list[str] = []
    before: Segment | None = None
    for segment in segments:
        if before is not None and (before.channel, before.index) != (segment.channel, segment.index):
            pieces.append(SEGMENT_SEPARATOR)
        pieces.append(segment.text)
        before = segment
    return "".join(pieces)


class _Part(PartlyCompared, frozen=True, kw_only=True):
    """The base class of parts.

    Attributes:
        seen: The message or call ID under which the client sees the unit; empty if it does not. Reports
            identify units by it. It is ignored in comparisons.
    """

    seen: str = ""

    _not_compared: ClassVar[frozenset[str]] = frozenset({"seen"})


class ReasoningPart(_Part, frozen=True):
    """One unit of reasoning. It may have text, opaque values, a native ID, or be explicitly empty.

    Attributes:
        segments: The visible text in order.
        opaque: Values to return verbatim.
        item_id: The provider's ID of the unit (``rs_…``).
        status: Whether the unit is complete.
        origin: The producer.
        ext: Additional JSON members from the provider.
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
        """The segments joined for display."""
        return join_segments(self.segments)

    @property
    def redacted(self) -> bool:
        """Whether the provider replaced the text by an encrypted value."""
        return not self.segments and any(opaque.redacts for opaque in self.opaque)

    @property
    def omitted(self) -> bool:
        """Whether the provider withheld the text without an encrypted value for it."""
        return not self.segments and not self.redacted


class TextPart(_Part, frozen=True):
    """A block of the answer."""

    text: str
    opaque: tuple[Opaque, ...] = ()
    status: Status = "complete"
    origin: Origin | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"text", "ext"})


class ToolCallPart(_Part, frozen=True):
    """A call of a client tool, an agent tool, or (``server``) a tool of the provider.

    Attributes:
        id: The provider's call ID; empty if it sent none.
        name: The name of the tool.
        arguments: The JSON text as received; compact JSON if the API sends an object.
        server: Whether the provider runs the tool.
        opaque: The values attached to the call.
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
        value = load(self.arguments, max_nesting=MAX_NESTING) if self.arguments.strip() else None
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


class ToolResultPart(_Part, frozen=True):
    """The result of a tool.

    Attributes:
        content: What the tool returned: text, or AG-UI content parts if there is media; with ``error``, what
            it returned before it failed. Of a server tool, only the text is kept beside ``native``.
        error: The sentence that tells the model why the tool failed; ``None`` if it did not.
        native: The verbatim block of a server tool.
    """

    tool_call_id: str
    content: str | list[Any]
    error: str | None = None
    native: Any = None
    origin: Origin | None = None
    ext: Ext | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"content", "error", "native", "ext"})


class NativePart(_Part, frozen=True):
    """A block without a call ID that must be returned verbatim, such as a compaction item."""

    kind: str
    payload: Any
    origin: Origin | None = None

    _private: ClassVar[frozenset[str]] = frozenset({"payload"})


Part: TypeAlias = ReasoningPart | TextPart | ToolCallPart | ToolResultPart | NativePart

PART_TYPES = get_args(Part)


class EffortChange(Value, frozen=True, repr_omit_defaults=False):
    """A change of the effort inside a conversation: it applies to the responses that follow, until the next.

    Attributes:
        effort: The level.

    Raises:
        ConfigurationError: The level is unknown (``wrong_option``).
    """

    effort: Effort

    def __post_init__(self) -> None:
        """Reject unknown levels."""
        if self.effort not in EFFORTS:
            raise ConfigurationError(
                f"Unknown effort: {self.effort!r}.",
                code="wrong_option",
                hint=f"Pass one of: {', '.join(EFFORTS)}.",
            )


class WithheldUnit(Value, frozen=True, omit_defaults=True, repr_omit_defaults=False):
    """A reasoning unit of a request that the provider did not show to the model.

    Attributes:
        digest: The first 6 bytes of the SHA-256 of the unit's value, or of its ID, in URL-safe base64.
        model: The model, as the request names it.
        reason: The provider's reason, such as ``"model_binding_mismatch"``.
    """

    digest: str
    model: str | None = None
    reason: str = ""


class Prefix(Value, frozen=True, omit_defaults=True, repr_omit_defaults=False):
    """What preceded the conversation in a request, as hexadecimal digests, of which some may be shortened.

    Some models bind signed blocks to it.

    Attributes:
        system: The instructions of the whole request.
        tools: The tools.
    """

    system: str = ""
    tools: str = ""


class Turn(PartlyCompared, frozen=True, repr_omit_defaults=False):
    """The parts of one model response, in wire order.

    Attributes:
        parts: The parts.
        origin: The producer of the response.
        id: The provider's ID of the response.
        refused: Whether the provider declined to finish the response. It may then have no parts.
        withheld: The reasoning of the request that the model was not shown, as the response reports.
        prefix: What preceded the conversation in the request that it answers, for models that bind signed
            blocks to it. Comparisons ignore it.
        conversation: The ID of the conversation in which the provider stored the response.
    """

    parts: tuple[Part, ...]
    origin: Origin | None = None
    id: str | None = None
    refused: bool = False
    withheld: tuple[WithheldUnit, ...] = ()
    prefix: Prefix | None = None
    conversation: str | None = None

    _unshown: ClassVar[frozenset[str]] = frozenset({"prefix"})
    _not_compared: ClassVar[frozenset[str]] = frozenset({"prefix"})
