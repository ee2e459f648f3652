"""The models of the vendor rows: how vendors send reasoning, and how they treat it when it is returned.

The rows are in the folder ``rows`` of ``providers``. Each says where it is known from (``evidence``), and
when that was last checked (``checked``, ISO date).
`agui_reasoning.providers.vendors` reads them, `agui_reasoning.providers.echo` looks up the rules.

Reasoning-only responses are never sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

import pydantic
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from agui_reasoning.parts import EFFORTS, Effort, Origin

__all__ = [
    "NO_RULE",
    "RECEIVED",
    "Beta",
    "BetaUse",
    "BlockReaders",
    "EchoFlag",
    "EchoRule",
    "EchoStatus",
    "Field",
    "Format",
    "Generation",
    "Group",
    "Inside",
    "InsideItem",
    "Kinship",
    "ModelHabit",
    "Scope",
    "Vendor",
    "VendorTraits",
    "matches_any",
]

EchoStatus: TypeAlias = Literal["required", "recommended", "accepted", "inert", "rejected", "unknown"]

Scope: TypeAlias = Literal["none", "tool_loop", "tool_turns_all", "all"]
"""A set of responses: none, those with calls since the last user message, all with calls, or all."""

AtLeastOne: Final = pydantic.Field(min_length=1)

Field: TypeAlias = Literal[
    "blocks",
    "redacted_thinking",
    "items",
    "messages",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "received",
    "reasoning_details",
    "content_tags",
    "content_blocks",
    "thinking_blocks",
    "signed_blocks",
    "reasoning_items",
    "thinking",
    "tool_plan",
    "tool_calls",
]
"""Where reasoning is written: content blocks, input items, messages, or a field of a chat message.

``received`` is the string field in which it arrived, ``content_tags`` the tags in which it arrived,
``tool_calls`` the location of thought signatures, ``signed_blocks`` the blocks of ``thinking_blocks`` that
are not redacted, and ``redacted_thinking`` the ``blocks`` that are.
"""

Kinship: TypeAlias = Literal["same", "group", "foreign", "unknown"]
"""The relation of a producer to a target: the same, in its group, foreign, or unknown."""


InsideItem: TypeAlias = Literal["system", "effort"]
"""What some models accept between the messages of a conversation: new instructions, and another effort."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class EchoFlag(_Row):
    """A request field that a row recommends. It is sent only if the caller applies flags.

    The row's evidence is that of its flags, too.

    Attributes:
        name: The argument, or with ``extra_body`` the field in the body.
        value: The value to send.
        reason: The benefit.
        extra_body: Whether the vendor's SDK has no such argument.
        when: ``"stateless"``: only for requests that are not stored on the server.
        beside: If set, only for requests with a message that has this field.
        unless: Fields of the caller's own beside which it is not sent; dotted names are paths.
        at_least: Fields of the caller's own that, if set, must not be smaller than this.
    """

    name: str
    value: Any
    reason: str
    extra_body: bool = False
    when: Literal["always", "stateless"] = "always"
    beside: str | None = None
    unless: tuple[str, ...] = ()
    at_least: Mapping[str, int] = {}

    @field_validator("unless", mode="before")
    @classmethod
    def _as_tuple(cls, paths: Any) -> Any:
        # TOML has lists where strict models have tuples.
        return tuple(paths) if isinstance(paths, list) else paths


class EchoRule(_Row):
    """One row of the table. Patterns are shell-style; case does not matter.

    Attributes:
        api: The API ID.
        provider: The providers.
        model: The models; names match with or without the vendor's prefix.
        status: How the provider treats returned reasoning.
        field: Where to write it, in order of preference.
        every: Whether to write it to all these fields, instead of the first suitable one.
        scope: The responses whose reasoning is sent.
        scope_with_flags: The same, if flags are applied.
        needed: The responses whose reasoning must not be missing; default is ``scope``.
        placeholder: The text to write where reasoning is required but missing.
        placeholder_scope: The responses that get the placeholder; default is ``scope``.
        forbidden: The fields that make the provider refuse the request.
        needs: What a unit must have to be sent; ``encrypted`` applies if nothing is stored.
        joined: Whether the thinking blocks of a response become one, because only one is read.
        trailing: How to treat reasoning at the end of a response, if something precedes it.
        pairs: Whether items and the reasoning before them are accepted only together, by their IDs.
        calls_together: Whether reasoning between two calls of a response is rejected.
        ids: Whether items are sent with their IDs.
        item_text: Where an item's text goes: in the parts that it had, all in one part of ``content``, or in
            ``encrypted_content``. Except with ``parts``, an item is sent with its text and nothing else.
        natives: Whether the provider accepts its own blocks back, such as compaction items.
        stateless: Whether the server never stores anything.
        summaries: Whether all reasoning text that the API shows is labeled a summary.
        prefix_bound: Whether a change in the conversation invalidates everything after it.
        empty_content: The content of chat messages with only calls.
        developer: Whether chat messages can have the role ``developer``.
        anchor: Give a response that has values but no reasoning an empty reasoning message to carry them; by
            default, where the status is ``required`` or ``recommended``.
        pins: Whether a tool loop stays with the upstream that began it: others cannot read its values.
        flags: The recommended request fields.
        evidence: Where this is known from; empty for rows of your own.
        checked: When it was last checked, ISO date; empty for rows of your own.
    """

    api: str
    provider: Annotated[tuple[str, ...], AtLeastOne] = ("*",)
    model: Annotated[tuple[str, ...], AtLeastOne] = ("*",)
    status: EchoStatus
    field: tuple[Field, ...] = ()
    every: bool = False
    scope: Scope = "none"
    scope_with_flags: Scope | None = None
    needed: Scope | None = None
    placeholder: str | None = None
    placeholder_scope: Scope | None = None
    forbidden: tuple[Field, ...] = ()
    needs: Literal["signature", "encrypted"] | None = None
    joined: bool = False
    trailing: Literal["drop", "keep"] = "drop"
    pairs: bool = False
    calls_together: bool = False
    ids: bool = True
    item_text: Literal["parts", "content", "encrypted_content"] = "parts"
    natives: bool = True
    stateless: bool = False
    summaries: bool = False
    prefix_bound: bool = False
    empty_content: Literal["null", "empty", "omit"] = "null"
    developer: bool = False
    anchor: bool | None = None
    pins: bool = False
    flags: tuple[EchoFlag, ...] = ()
    evidence: str = ""
    checked: str = ""

    @field_validator("provider", "model")
    @classmethod
    def _in_lower_case(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(pattern.lower() for pattern in patterns)

    @model_validator(mode="after")
    def _check_destination(self) -> Self:
        if self.echoes and not (self.field and self.scope != "none"):
            raise ValueError(f"the status {self.status!r} needs `field` and `scope`")
        if not self.echoes and (self.field or self.scope != "none"):
            raise ValueError(f"nothing is sent with the status {self.status!r}: omit `field` and `scope`")
        if both := set(self.field) & set(self.forbidden):
            raise ValueError(f"{min(both)!r} is in both `field` and `forbidden`")
        return self

    def matches(self, origin: Origin) -> bool:
        """Return whether the row applies to an origin; unknown names match only ``*``."""
        return (
            self.api == origin.api
            and matches_any(self.provider, [(origin.provider or "").lower()])
            and matches_any(self.model, _model_names(origin.model))
        )

    @property
    def anchors(self) -> bool:
        """Whether a response without reasoning gets an empty reasoning message to carry its values."""
        return self.status in ("required", "recommended") if self.anchor is None else self.anchor

    def misses(self, *, calls: bool) -> bool:
        """Return whether the provider misses what a response with calls, or without, lacks of its values."""
        return calls or (self.needed or self.scope) == "all"

    @property
    def echoes(self) -> bool:
        """Whether any reasoning is sent."""
        return self.status in ("required", "recommended", "accepted")

    @property
    def takes_natives(self) -> bool:
        """Whether the provider's own blocks are sent; an unknown provider may refuse them."""
        return self.natives and self.status != "unknown"


class _OfTarget(_Row):
    """A row about some providers of an API, and some of their models if it has ``model``.

    Attributes:
        api: The API ID.
        provider: The providers.
    """

    api: str
    provider: tuple[str, ...]
    evidence: str
    checked: str

    def matches(self, origin: Origin) -> bool:
        """Return whether the row applies to an origin."""
        return (
            self.api == origin.api
            and matches_any(self.provider, [(origin.provider or "").lower()])
            and matches_any(getattr(self, "model", ("*",)), _model_names(origin.model))
        )


class Generation(_OfTarget):
    """The request fields by which a generation of models thinks, and shows what it thinks.

    Attributes:
        model: The models, as in `EchoRule`.
        flags: The recommended request fields; those of the `EchoRule` are joined with them.
    """

    model: tuple[str, ...]
    flags: tuple[EchoFlag, ...] = ()


class VendorTraits(_Row):
    """The peculiarities of a vendor of a wire format. The defaults are safe for vendors without a row.

    Attributes:
        cumulative: Whether a delta may contain all reasoning so far instead of only new text.
        cut_reasons: The finish reasons that mean that the last unit is incomplete.
        refusal_reasons: The finish reasons of models that declined, and decline every request with the turn.
        reasoning_outside_output: Whether output tokens exclude reasoning; a total, if present, decides.
        thought_signature_kind: The kind of thought signatures on calls and messages.
        signature_home: The object in a call or message that contains a thought signature.
        signature_as_received: Whether signatures are returned where they were found instead.
        encrypted_kind: The kind of ``encrypted_content`` of reasoning items; empty if it repeats their text.
        custom_calls_on_server: Whether calls of custom tools are steps of the vendor itself.
        first_raw_part: The number of an item's first raw part in streams.
        summary_in_choice_index: Whether the index of a choice is the number of a reasoning summary.
        call_ids_of: The API whose rules for call IDs apply; empty for those of the wire format.
        tags_anywhere: The opening tags of reasoning that also count within the answer.
        upstreams: For gateways: the names of upstreams in responses, and their names in requests.
        tags_prefilled: Whether the prompt contains the opening tag, so that only the closing one may arrive.
        result_media: The types of AG-UI content parts, besides text, that results of tools can contain.
    """

    cumulative: bool = False
    cut_reasons: tuple[str, ...] = ()
    refusal_reasons: tuple[str, ...] = ()
    reasoning_outside_output: bool = False
    thought_signature_kind: str = "gemini.openai_compat_signature"
    signature_home: str = "extra_content.google"
    signature_as_received: bool = True
    encrypted_kind: str = "openai.encrypted_content"
    custom_calls_on_server: bool = False
    first_raw_part: int = 0
    summary_in_choice_index: bool = False
    call_ids_of: str = ""
    tags_anywhere: tuple[str, ...] = ()
    tags_prefilled: bool = False
    upstreams: Mapping[str, str] = {}
    result_media: tuple[Literal["image", "document"], ...] = ()


class Vendor(_OfTarget):
    """How one vendor, or several similar ones, send reasoning over a wire format.

    Attributes:
        arrives: The fields in which reasoning arrives, as recorded or documented.
        source: Whether recordings show it, or only documentation, types or source code.
        traits: The vendor's peculiarities; later rows and the defaults provide the others.
    """

    arrives: tuple[str, ...] = ()
    source: Literal["recorded", "documented"]
    traits: VendorTraits = VendorTraits()


class ModelHabit(_OfTarget):
    """The peculiarities of some models, at every vendor of a wire format or at some.

    Attributes:
        provider: The providers; all by default.
        model: The models, as in `EchoRule`.
        traits: The peculiarities; the defaults provide the others.
    """

    provider: tuple[str, ...] = ("*",)
    model: tuple[str, ...]
    traits: VendorTraits


class Inside(_OfTarget):
    """What some models accept inside a conversation, or else the field that says it for the whole request.

    Attributes:
        accepts: What they accept.
        field: The request field that takes it instead, as a dotted path; empty if it is accepted inside.
        extra_body: Whether the vendor's SDK has no such argument.
        levels: The levels of effort that are accepted, from least to most.
        values: What the field says for each level, if not its name; then these are the levels.
        off: Whether the level ``none`` is the field that turns thinking off.
        budget_below: A field of the caller's own that must be larger than ``budget_tokens`` in a value.
        unless: Fields of the caller's own beside which the effort is not sent, as in `EchoFlag`.
        model: The models, as in `EchoRule`.
        except_model: Those of the models that do not.
        beta: The beta feature of Anthropic's that the request must name; empty if there is none.
    """

    accepts: InsideItem
    field: str = ""
    extra_body: bool = False
    levels: tuple[Effort, ...] = EFFORTS
    values: Mapping[Effort, Any] = {}
    off: bool = False
    budget_below: str = ""
    unless: tuple[str, ...] = ()
    model: tuple[str, ...]
    except_model: tuple[str, ...] = ()
    beta: str = ""

    @model_validator(mode="after")
    def _take_levels(self) -> Self:
        if self.values:
            object.__setattr__(self, "levels", tuple(level for level in EFFORTS if level in self.values))
        return self

    def matches(self, origin: Origin) -> bool:
        """Return whether the row applies to an origin."""
        return super().matches(origin) and not matches_any(self.except_model, _model_names(origin.model))

    def flag(self, effort: Effort) -> EchoFlag:
        """Return the request field that sets the effort."""
        value = self.values.get(effort, effort)
        budget = value.get("budget_tokens") if self.budget_below and isinstance(value, Mapping) else None
        return EchoFlag(
            name=self.field,
            value=value,
            reason="the effort changed in the conversation",
            extra_body=self.extra_body,
            unless=self.unless,
            at_least={} if budget is None else {self.budget_below: budget + 1},
        )


class BlockReaders(_Row):
    """Which models of a group read the values of some of them. The provider drops others without an error.

    Attributes:
        model: The models that produced the values, as in `EchoRule`.
        provider: The providers that receive them.
        read_by: The models that read them; ``*`` for all.
        unread_by: Those of them that do not.
    """

    model: tuple[str, ...]
    provider: tuple[str, ...] = ("*",)
    read_by: tuple[str, ...] = ("*",)
    unread_by: tuple[str, ...] = ()
    evidence: str
    checked: str

    def concerns(self, producer: str, provider: str | None) -> bool:
        """Return whether the row is about values of a producer that a provider receives."""
        of_producer = matches_any(self.model, _model_names(producer))
        return of_producer and matches_any(self.provider, [(provider or "").lower()])

    def reads(self, model: str) -> bool:
        """Return whether a model reads the values."""
        names = _model_names(model)
        return matches_any(self.read_by, names) and not matches_any(self.unread_by, names)


BetaUse: TypeAlias = Literal["fallback", "compaction", "signed_compaction", "thread"]
"""What requires a beta header: a block in the history, or a conversation that the server holds."""


class Beta(_OfTarget):
    """A beta feature that requests must name in the header ``anthropic-beta``.

    Attributes:
        use: What requires it.
        provider: The providers with the feature.
        header: The name of the feature.
        reason: Why it is needed.
    """

    use: BetaUse
    header: str
    reason: str

    @property
    def flag(self) -> EchoFlag:
        """The request field that names the feature."""
        return EchoFlag(name="extra_headers", value={"anthropic-beta": self.header}, reason=self.reason)


class Group(_Row):
    """Members that can read one another's values of some kinds; a member is ``<api>:<provider>``.

    Attributes:
        name: The group's name.
        kinds: The kinds of the values.
        members: The members.
        models: For members that also host the models of others: the models that belong to the group.
        readers: Which models read which models' values, at any provider; all, if no row says otherwise.
    """

    name: str
    kinds: tuple[str, ...]
    members: tuple[str, ...]
    models: Mapping[str, str] = {}
    readers: tuple[BlockReaders, ...] = ()
    evidence: str
    checked: str

    def includes(self, member: str, model: str | None) -> bool:
        """Return whether a member belongs to the group with this model; an unknown model does."""
        pattern = self.models.get(member, "*")
        return member in self.members and (model is None or matches_any([pattern], _model_names(model)))


class Format(_Row):
    """The producers of a gateway's entries in some formats.

    Attributes:
        format: The formats.
        model: The models that read them.
        signed: Whether their text is rejected without its signature.
    """

    format: tuple[str, ...]
    model: tuple[str, ...]
    signed: bool = False
    evidence: str
    checked: str

    def fits(self, model: str | None) -> bool:
        """Return whether a model reads the format."""
        return matches_any(self.model, _model_names(model))


NO_RULE = EchoRule(api="*", status="unknown", evidence="no row", checked="")
"""The safe default, for an origin without a row."""

RECEIVED = EchoRule(
    api="openai-chat", status="accepted", field=("received",), scope="tool_loop", evidence="chosen by you"
)
"""A row for providers of Chat Completions of which nothing is known: it applies after all others.

It returns the string field in which reasoning arrived, inside a tool loop.
"""


def matches_any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether a name matches one of the shell-style patterns."""
    told = tuple(names)
    # Each request asks the same. Names may be a client's, who must not fill the memory.
    matches = _matches if max(map(len, told), default=0) < _LONG_NAME else _matches.__wrapped__
    return matches(tuple(patterns), told)


_LONG_NAME: Final = 200
"""The length of names that are not kept."""


@lru_cache(maxsize=2048)
def _matches(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _model_names(model: str | None) -> list[str]:
    name = (model or "").lower()
    return [name, name.rpartition("/")[2]]
