"""The vendors of each wire format, and how each sends reasoning, read from the folder ``rows``.

Every row that matches an origin contributes the traits it sets, and the first row that sets a trait wins:
rows of vendors, then rows of models, each in the order of the file, then the defaults of the format, then
those of the format that it is ``like``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from msgspec.structs import replace

from agui_reasoning.parts import Origin
from agui_reasoning.policy import BlockReaders, EchoFlag, ModelHabit, Vendor, VendorTraits
from agui_reasoning.providers.registry import listed_ids, vendor_of

__all__ = [
    "aliases",
    "canonical",
    "known_providers",
    "model_habits",
    "read_rows",
    "rows",
    "rule_rows",
    "spellings",
    "vendor_traits",
    "vendors",
]


_FOLDERS = [files("agui_reasoning.providers") / "rows"]


def read_rows(name: str) -> dict[str, Any]:
    """Read a TOML file of rows; a name without a file has none."""
    found = (file for folder in _FOLDERS if (file := folder / f"{name}.toml").is_file())
    return next((tomllib.loads(file.read_text(encoding="utf-8")) for file in found), {})


@cache
def _table(api: str) -> dict[str, Any]:
    return read_rows(api) if api in listed_ids() else {}


@cache
def aliases() -> dict[str, str]:
    """Return the provider that each other name stands for."""
    return {alias: provider for provider, names in read_rows("aliases").items() for alias in names}


def canonical(provider: str) -> str:
    """Return the usual name of a provider, in lower case.

    Examples:
        >>> canonical("fireworks_ai"), canonical("Acme")
        ('fireworks', 'acme')
    """
    return aliases().get(provider.lower(), provider.lower())


def spellings(origin: Origin) -> tuple[Origin, ...]:
    """Return an origin under its own name and, if that is an alias, under the usual one.

    The provider of a single-vendor API need not be named.
    """
    provider = origin.provider or vendor_of(origin.api) or ""
    named = origin if origin.provider or not provider else replace(origin, provider=provider)
    usual = canonical(provider)
    return (named,) if usual == provider.lower() else (named, replace(named, provider=usual))


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
    if api is None:
        return VendorTraits()
    names = spellings(origin)
    matching = [row.traits for row in vendors(api) if any(map(row.matches, names))]
    matching += [row.traits for row in model_habits(api) if any(map(row.matches, names))]
    like = _table(api).get("like")
    inherited = [vendor_traits(replace(names[0], api=like))] if like else []
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
