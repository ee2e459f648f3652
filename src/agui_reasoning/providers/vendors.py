"""The vendors of each wire format, and how each sends reasoning, read from the API's folder.

Every row that matches an origin contributes the traits it sets, and the first row that sets a trait wins:
rows of vendors, then rows of models, each in the order of the file, then the defaults of the format, then
those of the format that it is ``like``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from agui_reasoning.parts import Origin
from agui_reasoning.policy import BlockReaders, EchoFlag, ModelHabit, Vendor, VendorTraits
from agui_reasoning.providers.registry import provider_api, provider_apis, vendor_of

__all__ = [
    "aliases",
    "canonical",
    "known_providers",
    "model_habits",
    "rows",
    "rule_rows",
    "spellings",
    "vendor_traits",
    "vendors",
]

_FILE = "vendors.toml"


@cache
def _table(api: str) -> dict[str, Any]:
    return tomllib.loads(provider_api(api).read(_FILE))


@cache
def aliases() -> dict[str, str]:
    """Return the provider that each other name stands for."""
    text = files("agui_reasoning.providers").joinpath("aliases.toml").read_text(encoding="utf-8")
    return {alias: provider for provider, names in tomllib.loads(text).items() for alias in names}


def canonical(provider: str) -> str:
    """Return the usual name of a provider, in lower case.

    Examples:
        >>> canonical("fireworks_ai"), canonical("Acme")
        ('fireworks', 'acme')
    """
    return aliases().get(provider.lower(), provider.lower())


def spellings(origin: Origin) -> tuple[Origin, ...]:
    """Return an origin under its own name and, if that is an alias, under the usual one."""
    provider = origin.provider or ""
    usual = canonical(provider)
    return (origin,) if usual == provider.lower() else (origin, replace(origin, provider=usual))


def rows(api: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one kind in the file of an API."""
    yield from map(_frozen, _table(api).get(name, ()))


def rule_rows(api: str) -> Iterator[dict[str, Any]]:
    """Yield the echo rules of an API, in order of precedence.

    Rules below a vendor's row come first, then rules of their own: the providers of a gateway are upstreams,
    whose rows are in the files of other APIs.
    """
    for vendor in _table(api).get("vendor", ()):
        for rule in vendor.get("rule", ()):
            yield _frozen({"provider": vendor["provider"], **rule})
    yield from rows(api, "rule")


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    # TOML has lists where the strict models have tuples.
    frozen: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    if "flags" in frozen:
        frozen["flags"] = tuple(EchoFlag.model_validate(flag) for flag in frozen["flags"])
    if "readers" in frozen:
        frozen["readers"] = tuple(BlockReaders.model_validate(_frozen(row)) for row in frozen["readers"])
    if "traits" in frozen:
        frozen["traits"] = VendorTraits.model_validate(_frozen(frozen["traits"]))
    return frozen


@cache
def vendors(api: str) -> tuple[Vendor, ...]:
    """Return the vendors of an API, in order of precedence."""
    read = ({key: value for key, value in row.items() if key != "rule"} for row in rows(api, "vendor"))
    return tuple(Vendor.model_validate({"api": api, **row}) for row in read)


@cache
def model_habits(api: str) -> tuple[ModelHabit, ...]:
    """Return the peculiarities of models at every vendor of an API, in order of precedence."""
    return tuple(ModelHabit.model_validate({"api": api, **row}) for row in rows(api, "model"))


@cache
def _defaults(api: str) -> VendorTraits:
    return VendorTraits.model_validate(_frozen(_table(api).get("defaults", {})))


@lru_cache(maxsize=1024)
def vendor_traits(origin: Origin) -> VendorTraits:
    """Return the peculiarities of a vendor; the provider of a single-vendor API need not be named.

    Examples:
        >>> vendor_traits(Origin("minimax", "openai-chat")).cumulative
        True
    """
    api = origin.api
    if api is None or api not in (known.id for known in provider_apis()):
        return VendorTraits()
    named = replace(origin, provider=origin.provider or vendor_of(api))
    names = spellings(named)
    matching = [row.traits for row in vendors(api) if any(map(row.matches, names))]
    matching += [row.traits for row in model_habits(api) if row.matches(named)]
    like = _table(api).get("like")
    inherited = [vendor_traits(replace(named, api=like))] if like else []
    found: dict[str, Any] = {}
    for traits in (*matching, _defaults(api), *inherited):
        found = {**{name: getattr(traits, name) for name in traits.model_fields_set}, **found}
    return VendorTraits(**found)


def known_providers(api: str) -> list[str]:
    """Return the sorted providers of an API that rows name, and their aliases."""
    rules = [row.get("provider", ()) for row in rows(api, "rule")]
    patterns = [row.provider for row in vendors(api)] + rules
    named = {name.rstrip("*") for names in patterns for name in names} - {""}
    return sorted(named | {alias for alias, provider in aliases().items() if provider in named})
