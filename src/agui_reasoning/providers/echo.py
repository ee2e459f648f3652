"""The echo policy: the rows of every API, looked up by origin.

The first matching row wins; without one, no reasoning is sent. The rows also define which providers can read
one another's opaque values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from agui_reasoning.errors import did_you_mean
from agui_reasoning.parts import Origin
from agui_reasoning.policy import (
    NO_RULE,
    RECEIVED,
    Beta,
    BetaUse,
    EchoFlag,
    EchoRule,
    Format,
    Generation,
    Group,
    Inside,
    InsideItem,
    Kinship,
    matches_any,
)
from agui_reasoning.providers.registry import hosts_models, listed_ids, provider_api, vendor_of
from agui_reasoning.providers.vendors import canonical, known_providers, rows, rule_rows, spellings

__all__ = [
    "beta_rows",
    "betas",
    "betas_of",
    "explain_no_rule",
    "format_of",
    "generations",
    "groups",
    "inside",
    "inside_rows",
    "kinship",
    "reads",
    "recommended",
    "rule_for",
    "rules",
]


@cache
def rules() -> tuple[EchoRule, ...]:
    """Return all rows, by API ID and in order of precedence."""
    found = ({"api": api, **row} for api in listed_ids() for row in rule_rows(api))
    return tuple(map(EchoRule.model_validate, found))


@cache
def generations() -> tuple[Generation, ...]:
    """Return the generations of models, by API ID and in order of precedence."""
    return tuple(map(Generation.model_validate, _with_api("generation")))


def recommended(origin: Origin, rule: EchoRule) -> tuple[EchoFlag, ...]:
    """Return the request fields that the model's generation recommends, then those of its row."""
    row = _generation_of(origin)
    return (row.flags if row else ()) + rule.flags


@lru_cache(maxsize=1024)
def _generation_of(origin: Origin) -> Generation | None:
    names = spellings(origin)
    return next((row for row in generations() if any(map(row.matches, names))), None)


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of providers that read one another's values."""
    return tuple(Group.model_validate(row) for api in listed_ids() for row in rows(api, "group"))


@cache
def inside_rows() -> tuple[Inside, ...]:
    """Return the rows on what models accept inside a conversation."""
    return tuple(map(Inside.model_validate, _with_api("inside")))


@cache
def _formats() -> tuple[Format, ...]:
    return tuple(Format.model_validate(row) for api in listed_ids() for row in rows(api, "format"))


def _with_api(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one kind in all files, with the API of each."""
    for api in listed_ids():
        for row in rows(api, name):
            yield {"api": api, **row}


def rule_for(origin: Origin, own: Sequence[EchoRule] = ()) -> EchoRule:
    """Return the row for an origin; an unknown one gets the safe default, ``unknown``.

    Args:
        origin: The origin. The provider of a single-vendor API need not be named.
        own: The user's own rows, which are tried first; except for `RECEIVED`, which applies if the others
            and the package know nothing.
    """
    if (found := _first((rule for rule in own if rule is not RECEIVED), origin)) is not None:
        return found
    known = _packaged_rule(origin)
    last = RECEIVED in own and known.status == "unknown" and RECEIVED.matches(origin)
    return RECEIVED if last else known


@lru_cache(maxsize=1024)
def inside(target: Origin) -> Mapping[InsideItem, Inside]:
    """Return the first row for everything that can change inside a conversation, if a row is known.

    Examples:
        >>> found = inside(Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6"))
        >>> found["effort"].field
        'output_config.effort'
    """
    names = spellings(target)
    matching = [row for row in inside_rows() if any(map(row.matches, names))]
    return {row.accepts: row for row in reversed(matching)}


@lru_cache(maxsize=1024)
def _packaged_rule(origin: Origin) -> EchoRule:
    return _first(rules(), origin) or NO_RULE


def _first(rows: Iterable[EchoRule], origin: Origin) -> EchoRule | None:
    """Return the first row that applies to an origin, under one of the provider's names."""
    names = spellings(origin)
    return next((rule for rule in rows if any(map(rule.matches, names))), None)


def explain_no_rule(target: Origin, rule: EchoRule = NO_RULE) -> str:
    """Say that no reasoning is sent back to a target, as no row matches it, or one that knows nothing.

    Examples:
        >>> explain_no_rule(Origin("my-server", "litellm"))
        "The echo policy has no row for 'my-server' of litellm: no reasoning is sent back."
    """
    if target.provider is None:
        return f"No provider was given for {target.api}: no reasoning is sent back."
    model = "" if target.model is None else f" and the model {target.model!r}"
    known = known_providers(str(target.api))
    meant = "" if target.provider.lower() in known else did_you_mean(target.provider, known)
    if not meant and target.api == RECEIVED.api:
        meant = 'If it takes reasoning back in tool loops, pass policy="received".'
    row = f"The echo policy has no row for {target.provider!r} of {target.api}{model}"
    if rule is not NO_RULE:
        row = f"It is not known how {target.provider!r} of {target.api}{model} treats reasoning"
        meant = "To send it, add a row of your own."
    return f"{row}: no reasoning is sent back. {meant}".rstrip()


def format_of(name: str) -> Format | None:
    """Return the row for a gateway's entries of some format; ``None`` for an unknown format."""
    return next((row for row in _formats() if matches_any(row.format, [name.lower()])), None)


def kinship(origin: Origin | None, target: Origin, kinds: Iterable[str] = ()) -> Kinship:
    """Determine how a producer is related to a target.

    Args:
        origin: The producer.
        target: The receiver of the values.
        kinds: The kinds of the values, of which a group may read only some.

    Examples:
        >>> bedrock = Origin("bedrock", "anthropic-messages")
        >>> kinship(bedrock, Origin("anthropic", "anthropic-messages"), ["anthropic.signature"])
        'group'
    """
    if origin is None or origin.api is None:
        return "unknown"
    here, there = _member(origin), _member(target)
    if here == there:
        hosted = hosts_models(target.api) and not _same_vendor(target.api, origin.model, target.model)
        return "foreign" if hosted else "same"
    for group in groups():
        both = group.includes(here, origin.model) and group.includes(there, target.model)
        if both and set(kinds) & set(group.kinds):
            return "group"
    return "foreign"


def reads(origin: Origin | None, target: Origin, kinds: Iterable[str]) -> bool:
    """Return whether a model reads the values of another one's; a model that is not known does.

    Args:
        origin: The producer.
        target: The receiver of the values.
        kinds: The kinds of the values.

    Examples:
        >>> fable = Origin("anthropic", "anthropic-messages", "claude-fable-5-1")
        >>> opus = Origin("anthropic", "anthropic-messages", "claude-opus-5")
        >>> reads(opus, fable, ["anthropic.signature"]), reads(fable, opus, ["anthropic.signature"])
        (True, False)
    """
    if origin is None or origin.model is None or target.model is None:
        return True
    found = set(kinds)
    rows = (row for group in groups() if found & set(group.kinds) for row in group.readers)
    provider = canonical(target.provider or vendor_of(target.api) or "")
    row = next((row for row in rows if row.concerns(origin.model, provider)), None)
    return row is None or row.reads(target.model)


def _member(origin: Origin) -> str:
    provider = origin.provider or vendor_of(origin.api) or ""
    return f"{origin.api}:{canonical(provider)}"


def _same_vendor(api: str | None, one: str | None, other: str | None) -> bool:
    """Return whether a host's models may be the same vendor's: names without a vendor match any."""
    pattern = provider_api(str(api)).model_vendor
    first, second = (pattern.search((name or "").lower()) for name in (one, other))
    return first is None or second is None or first[1] == second[1]


# -- beta features that requests must name, because of a block in the history or of what they ask for


@cache
def beta_rows() -> tuple[Beta, ...]:
    """Return all rows, by API ID."""
    return tuple(map(Beta.model_validate, _with_api("beta")))


@lru_cache(maxsize=1024)
def betas(target: Origin) -> Mapping[BetaUse, Beta]:
    """Return the beta features of a target, by what requires them.

    Examples:
        >>> betas(Origin("anthropic", "anthropic-messages", "claude-opus-5"))["fallback"].header
        'server-side-fallback-2026-07-01'
    """
    names = spellings(target)
    return {row.use: row for row in beta_rows() if any(map(row.matches, names))}


def betas_of(body: Mapping[str, Any]) -> list[BetaUse]:
    """Return what a body of Anthropic Messages contains that requires a beta feature."""
    uses: dict[BetaUse, None] = {"thread": None} if body.get("thread") else {}
    for message in body.get("messages", ()):
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else ():
            kind = block.get("type")
            if kind == "fallback":
                uses["fallback"] = None
            elif kind == "compaction":
                uses["signed_compaction" if block.get("signature") else "compaction"] = None
    return list(uses)
