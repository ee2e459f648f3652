"""Descriptors of wire formats, which `registry` lists."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:  # heavy members are imported when they are first used
    from agui_reasoning._strict_json import JSONObject
    from agui_reasoning.providers.base import Decoder
    from agui_reasoning.providers.encoding import Encoder

__all__ = [
    "NOTHING_WRITTEN",
    "CallIds",
    "Fields",
    "Framing",
    "HTTPEndpoint",
    "PlainValues",
    "ProviderAPI",
    "Sign",
    "Signing",
]

Framing: TypeAlias = Literal["sse", "json-lines", "json-array", "aws-event-stream", "aws-chunks"]
"""How a streamed HTTP response is divided into payloads."""

Signing: TypeAlias = Literal["key", "aws-sigv4", "google"]
"""How a request is authorized: a key in a header, else AWS Signature Version 4 or a Google access token."""

Sign: TypeAlias = Mapping[str, type | re.Pattern[str]]
"""Fields of a payload, each with its JSON type, or for a string with the pattern of the whole value."""

_LETTERS: Final = ascii_letters + digits
_ANYTHING: Final = re.compile(r".", re.DOTALL)


@cache
def _all_of(legal: re.Pattern[str]) -> re.Pattern[str]:
    """Return the pattern of a text of legal characters."""
    return re.compile(f"(?:{legal.pattern})*", legal.flags)


@dataclass(frozen=True, slots=True)
class CallIds:
    """The tool call IDs that an API accepts.

    Attributes:
        legal: Matches one legal character; other characters are replaced by ``_``.
        longest: The maximum length, in characters.
        exact: Whether IDs must have exactly this length; others are replaced by characters of their hash.
    """

    legal: re.Pattern[str] = _ANYTHING
    longest: int = 1024
    exact: bool = False

    def spell(self, name: str) -> str:
        """Return a legal ID for a name."""
        if self.exact:
            fits = len(name) == self.longest and all(map(self.legal.fullmatch, name))
            return name if fits else self._hashed(name)
        short = name[: self.longest]
        if not _all_of(self.legal).fullmatch(short):
            short = "".join(c if self.legal.fullmatch(c) else "_" for c in short)
        return short or "call"

    def numbered(self, spelled: str, number: int) -> str:
        """Return a variant of a legal ID that is already in use."""
        if self.exact:
            return self._hashed(f"{spelled} {number}")
        return f"{spelled[: self.longest - 8]}_{number}"

    def _hashed(self, name: str) -> str:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[: self.longest])


class Fields:
    """The fields of a block that are taken from a client.

    Attributes:
        all: All fields.
        content: The fields of which one must have content, where an ID alone names a stored block.
        empty: The fields that must be empty, because their content is for the provider alone to write.
    """

    __slots__ = ("all", "content", "empty")

    def __init__(self, names: str, *, content: str = "", empty: str = "") -> None:
        """Split names that are separated by spaces."""
        self.content = frozenset(content.split())
        self.empty = frozenset(empty.split())
        self.all = self.content | self.empty | set(names.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainValues:
    """What is taken from values that are not authenticated, because clients can send anything.

    Everything is a list of what is allowed. Nothing that names an object stored at the provider is taken,
    whatever the lists say.

    Attributes:
        natives: The fields of native parts by kind, without the prefix of the API.
        results: The fields of the results of server tools, by type, or by the field that tells it.
        members: The names in ``ext`` that are taken, each with the fields of its objects; ``None`` if it is a
            string, a number or a boolean.
        unwritten: Whether requests contain neither blocks nor members of the API: then all stay in the
            history.
    """

    natives: Mapping[str, Fields] = field(default_factory=dict)
    results: Mapping[str, Fields] = field(default_factory=dict)
    members: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    unwritten: bool = False


NOTHING_WRITTEN: Final = PlainValues(unwritten=True)
"""For APIs whose requests contain nothing but text, calls and reasoning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HTTPEndpoint:
    """The HTTP endpoint of an API.

    Attributes:
        path: The path after the base URL of the vendor's SDK. If it contains ``{model}``, it names
            the model and requests a stream, and the body does neither.
        query: The query of the URL.
        base: The path of the vendor's base URL, for example ``"/v1"``.
        key_header: The header that carries the API key.
        key_prefix: The text before the key in that header.
        headers: Headers that the API requires.
        defaults: Body fields that the API requires, with their default values.
        named_events: Whether the events of its SSE streams have an ``event:`` line.
        framing: How a streamed response is cut into payloads.
        signing: How a request without an API key is authorized.
        aws_service: The service in the signatures of AWS.
        betas: The body field that repeats the header ``anthropic-beta``, as a list.
    """

    path: str
    query: str = ""
    base: str = ""
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    named_events: bool = False
    framing: Framing = "sse"
    signing: Signing = "key"
    aws_service: str = "bedrock"
    betas: str | None = None

    @property
    def model_in_path(self) -> bool:
        """Whether the path names the model and requests a stream, instead of the body."""
        return "{model}" in self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAPI:
    """The descriptor of a wire format: one of this package, or one of your own.

    Pass one of your own as ``api=`` wherever an API ID is accepted. From then on, its ID stands for it in
    this process; a later object of the same ID replaces it. Of the attributes, use ``id``, ``decoder``,
    ``encoder``, ``http``, ``vendor``, ``native_kinds`` and ``conversation_fields``; the others can change.

    Here, ``"package.module:name"`` stands for a member that is imported on first use.

    Attributes:
        id: The API ID, for example ``"anthropic-messages"``.
        decoder: Called with ``provider=`` and ``model=`` for each stream; returns an object with
            ``receive``, ``whole`` and ``close``, as `PayloadReader` has them, which return deltas. Or a
            `Decoder` subclass.
        encoder: The function that writes requests; ``None`` if the API can only be decoded.
        http: How the API is called over HTTP; ``None`` if that is impossible.
        vendor: The provider of a single-vendor API; ``None`` if several vendors use the format. Default is
            the ID.
        native_kinds: The prefixes of native parts that can be returned to the API.
        conversation_fields: The fields of a request that contain the conversation, which the library writes.
        title: The API's display name.
        example: The provider and model of generated responses.
        signs: By each of these, a payload is recognized; those of other APIs are rejected. Without signs, all
            payloads are accepted.
        call_ids: The tool call IDs that the API accepts.
        echo_fields: The fields in which the encoder can write reasoning, as in echo rules; empty for any.
        plain: What is taken from values that are not authenticated.
        json_fields: The fields of a request with JSON that is not the API's own, such as arguments.
        signature_kinds: The kind of each provider's bare values in histories of other producers.
        redacted_kinds: The kinds of values that replace reasoning text.
        group_kinds: The kinds that members of a group share; they also spell calls, results and blocks alike.
        hosts_models: Whether hosts serve models of several vendors over it, named ``vendor/model``.
        stores: Whether requests accept ``store``, and the ID of a response to continue from.
        threads: Whether requests accept both as message threads, which the encoder writes.
        http_of: How the API is called at providers with other endpoints, by provider.
        upstream: The upstream of `agui_reasoning.gateway` that asks through the vendor's SDK instead of HTTP.
        instead: How to serve an API that cannot be called over HTTP, as a hint.
        http_body: Converts the arguments of the vendor's SDK to an HTTP body, if they differ.
        previous_id: The request field with the ID of the response to continue from.
        model_vendor: Matches the vendor in the name of a hosted model, as its first group.
    """

    id: str
    decoder: str | Callable[..., Any]
    encoder: str | Encoder | None = None
    http: HTTPEndpoint | None = None
    vendor: str | None = ""
    native_kinds: tuple[str, ...] = ()
    conversation_fields: frozenset[str] = frozenset()
    title: str = ""
    example: tuple[str, str] = ("", "")
    signs: tuple[Sign, ...] = ()
    call_ids: CallIds = field(default_factory=CallIds)
    echo_fields: tuple[str, ...] = ()
    plain: PlainValues = field(default_factory=PlainValues)
    json_fields: frozenset[str] = frozenset({"arguments"})
    signature_kinds: Mapping[str, str] = field(default_factory=dict)
    redacted_kinds: frozenset[str] = frozenset()
    group_kinds: tuple[str, ...] = ()
    hosts_models: bool = False
    stores: bool = False
    previous_id: str = "previous_response_id"
    threads: bool = False
    model_vendor: re.Pattern[str] = re.compile(r"^([^/]*)/")
    http_of: Mapping[str, HTTPEndpoint] = field(default_factory=dict)
    http_body: str | None = None
    upstream: str | None = None
    instead: str | None = None

    def __post_init__(self) -> None:
        """Fill in the names that default to the ID."""
        object.__setattr__(self, "title", self.title or self.id)
        object.__setattr__(self, "vendor", self.id if self.vendor == "" else self.vendor)

    def load_decoder(self) -> Callable[..., Decoder]:
        """Import the decoder."""
        if isinstance(self.decoder, str):
            return cast("type[Decoder]", _imported(self.decoder))
        from agui_reasoning.providers._decoding import decoder_of

        return decoder_of(self.id, self.decoder)

    def load_encoder(self) -> Encoder:
        """Import the encoder, which must exist."""
        return cast("Encoder", _imported(self.encoder) if isinstance(self.encoder, str) else self.encoder)

    def endpoint(self, provider: str | None) -> HTTPEndpoint | None:
        """Return how a provider is called over HTTP."""
        return self.http_of.get(provider or "", self.http)

    def load_http_body(self) -> Callable[[JSONObject], JSONObject]:
        """Import the writer of HTTP bodies; the default writes the arguments of the SDK unchanged."""
        written = _imported(self.http_body) if self.http_body else dict
        return cast("Callable[[JSONObject], JSONObject]", written)


def _imported(member: str) -> object:
    module, _, name = member.partition(":")
    return getattr(import_module(module), name)
