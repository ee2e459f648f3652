"""The models of the vendor rows: how vendors send reasoning, and what they do about it when it comes back.

The rows stand in each API's folder in ``providers``, as ``vendors.toml``, with the evidence for each and its
date. `agui_reasoning.providers.vendors` reads them, `agui_reasoning.providers.echo` looks up the rules.

Reasoning-only responses are never sent, so they need no column.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from agui_reasoning.parts import Origin

__all__ = [
    "NO_RULE",
    "EchoFlag",
    "EchoRule",
    "EchoStatus",
    "Field",
    "Format",
    "Group",
    "Kinship",
    "ModelHabit",
    "Scope",
    "Vendor",
    "VendorTraits",
    "matches_any",
]

EchoStatus: TypeAlias = Literal["required", "recommended", "accepted", "inert", "rejected", "unknown"]

Scope: TypeAlias = Literal["none", "tool_loop", "tool_turns_all", "all"]
"""Which responses: none, those with calls since the last user message, all with calls, all."""

Field: TypeAlias = Literal[
    "blocks",
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
"""Where reasoning is written: content blocks, input items, messages, or a place in a chat message.

``received`` is the string field it came in, ``content_tags`` the tags it came in, ``tool_calls`` where a
thought signature sits, ``signed_blocks`` the blocks of ``thinking_blocks`` that are not redacted.
"""

Kinship: TypeAlias = Literal["same", "group", "foreign", "unknown"]
"""How a producer is related to a target: the same, in its group, another, or unknown."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class EchoFlag(_Row):
    """A request field that a row recommends; it is written only when the caller asks for flags.

    Attributes:
        name: The argument, or with ``extra_body`` the field of the body.
        value: What to send.
        reason: What it is good for.
        extra_body: The vendor's SDK has no such argument.
        when: ``"stateless"``: only for requests that leave nothing on the server.
        beside: Only for requests with a message that has this field.
    """

    name: str
    value: Any
    reason: str
    extra_body: bool = False
    when: Literal["always", "stateless"] = "always"
    beside: str | None = None


class EchoRule(_Row):
    """One row of the table. Patterns are shell-style and compared in lower case.

    Attributes:
        api: The API id.
        provider: Providers the row is about.
        model: Models the row is about; a name matches with or without the vendor's prefix.
        status: What the provider does about reasoning that comes back.
        field: Where to write it, the best place first.
        every: Write it to every such place, not only to the first that can hold it.
        scope: The responses whose reasoning is sent.
        scope_with_flags: The same, when the flags are applied.
        needed: The responses where its absence is an error or breaks something; default is ``scope``.
        placeholder: What to write where it is required and there is none.
        placeholder_scope: The responses that get the placeholder; default is ``scope``.
        needs: What a unit must have to be sent; ``encrypted`` matters where nothing is stored.
        trailing: What to do with reasoning that nothing follows in its response, but something precedes.
        pairs: Items and the reasoning before them are accepted only together, by their ids.
        calls_together: No reasoning may stand between two calls of one response.
        ids: Items are sent with their ids.
        stateless: The server stores nothing, whatever the request says.
        summaries: All reasoning text that its API shows is labelled a summary.
        prefix_bound: A change to anything earlier in the conversation invalidates what comes after it.
        empty_content: How a chat message of nothing but calls spells its content.
        developer: Chat messages may have the role ``developer``.
        anchor: Give a response that has values but no reasoning an empty reasoning message to carry them; by
            default, where the status is ``required`` or ``recommended``.
        flags: Request fields it recommends.
        evidence: Where this is known from.
        checked: When it was last checked, ISO date.
    """

    api: str
    provider: tuple[str, ...] = ("*",)
    model: tuple[str, ...] = ("*",)
    status: EchoStatus
    field: tuple[Field, ...] = ()
    every: bool = False
    scope: Scope = "none"
    scope_with_flags: Scope | None = None
    needed: Scope | None = None
    placeholder: str | None = None
    placeholder_scope: Scope | None = None
    needs: Literal["signature", "encrypted"] | None = None
    trailing: Literal["drop", "keep"] = "drop"
    pairs: bool = False
    calls_together: bool = False
    ids: bool = True
    stateless: bool = False
    summaries: bool = False
    prefix_bound: bool = False
    empty_content: Literal["null", "empty", "omit"] = "null"
    developer: bool = False
    anchor: bool | None = None
    flags: tuple[EchoFlag, ...] = ()
    evidence: str
    checked: str

    def matches(self, origin: Origin) -> bool:
        """Whether the row is about this origin; an unknown name matches only ``*``."""
        return (
            self.api == origin.api
            and matches_any(self.provider, [(origin.provider or "").lower()])
            and matches_any(self.model, _model_names(origin.model))
        )

    @property
    def anchors(self) -> bool:
        """Whether a response without reasoning gets an empty reasoning message to carry its values."""
        return self.status in ("required", "recommended") if self.anchor is None else self.anchor

    @property
    def echoes(self) -> bool:
        """Whether anything is sent at all."""
        return self.status in ("required", "recommended", "accepted")


class VendorTraits(_Row):
    """What distinguishes a vendor of a wire format. The defaults are safe for a vendor without a row.

    Attributes:
        cumulative: A delta may hold all the reasoning so far, and not only what is new.
        cut_reasons: Finish reasons that say that the last unit was cut.
        usage_at: Where the token counts stand, the place to trust first; a dotted name is a path.
        reasoning_outside_output: The count of output tokens leaves reasoning out; a total decides where there
            is one.
        thought_signature_kind: The kind of thought signatures on calls and messages.
        signature_home: The object within a call or a message in which a thought signature is written.
        signature_as_received: A signature goes back to where it was found, whatever ``signature_home`` says.
        encrypted_kind: The kind of ``encrypted_content`` of reasoning items.
        custom_calls_on_server: Calls of custom tools are steps that the vendor took itself.
        first_raw_part: The number that a stream gives to the first raw part of an item.
        summary_in_choice_index: The index of a choice is the number of a reasoning summary.
        call_ids_of: The API whose rules for call ids apply; empty for those of the wire format.
        tags_anywhere: Opening tags of reasoning that count between stretches of the answer, too.
        tags_prefilled: The opening tag is part of the prompt, so that only the closing one may come.
    """

    cumulative: bool = False
    cut_reasons: tuple[str, ...] = ()
    usage_at: tuple[str, ...] = ("usage",)
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


class Vendor(_Row):
    """What one vendor, or several that are alike, send over a wire format.

    Attributes:
        api: The API id.
        provider: The providers the row is about.
        arrives: The fields its reasoning arrives in, as recorded or documented.
        source: Whether recordings show it, or only documentation, types or source code.
        traits: What distinguishes it; what is not said is left to later rows, and to the defaults.
        evidence: Where this is known from.
        checked: When it was last checked, ISO date.
    """

    api: str
    provider: tuple[str, ...]
    arrives: tuple[str, ...] = ()
    source: Literal["recorded", "documented"]
    traits: VendorTraits = VendorTraits()
    evidence: str
    checked: str

    def matches(self, origin: Origin) -> bool:
        """Whether the row is about this origin."""
        return self.api == origin.api and matches_any(self.provider, [(origin.provider or "").lower()])


class ModelHabit(_Row):
    """What some models write the same way at every vendor of a wire format.

    Attributes:
        api: The API id.
        model: The models, as in `EchoRule`.
        traits: What distinguishes them; what is not said is left to the defaults.
        evidence: Where this is known from.
        checked: When it was last checked, ISO date.
    """

    api: str
    model: tuple[str, ...]
    traits: VendorTraits
    evidence: str
    checked: str

    def matches(self, origin: Origin) -> bool:
        """Whether the row is about this origin."""
        return self.api == origin.api and matches_any(self.model, _model_names(origin.model))


class Group(_Row):
    """Members that read each other's values of some kinds; a member is ``<api>:<provider>``."""

    name: str
    kinds: tuple[str, ...]
    members: tuple[str, ...]
    evidence: str
    checked: str


class Format(_Row):
    """Whose a gateway's entries of some format are.

    Attributes:
        format: The formats.
        model: The models that read them.
        signed: Their text is refused without its signature.
    """

    format: tuple[str, ...]
    model: tuple[str, ...]
    signed: bool = False

    def fits(self, model: str | None) -> bool:
        """Whether a model reads it."""
        return matches_any(self.model, _model_names(model))


NO_RULE = EchoRule(api="*", status="unknown", evidence="no row", checked="")
"""The safe default, for an origin without a row."""


def matches_any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a name matches one of some shell-style patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _model_names(model: str | None) -> list[str]:
    name = (model or "").lower()
    return [name, name.rpartition("/")[2]]
