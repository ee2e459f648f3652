"""Finds what names an object stored at a provider: a file, a container, a stored item.

The provider reads such objects with the application's key, whoever uploaded them. The names of the fields are
the same for all APIs, because gateways pass blocks on to other APIs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Any, Final
from unicodedata import normalize

from agui_reasoning._strict_json import dump
from agui_reasoning.parts import Turn

__all__ = ["is_public_address", "objects_of", "stored_objects"]

_NAMING: Final = frozenset(
    {
        *("fileid", "fileids", "containerid", "vectorstoreid", "vectorstoreids", "gcsuri", "s3location"),
        *("cachedcontent", "filesearchstorenames", "collectionids"),
    }
)
"""The fields that name stored objects, in lower case and without ``_``: some APIs accept two spellings."""

_FETCHED: Final = frozenset({"url", "uri", "fileuri", "imageurl", "fileurl", "documenturl", "videouri"})
"""The fields with the address of something that the provider fetches."""

_QUOTED: Final = frozenset({"annotations", "citations", "citation", "sources"})
"""The fields whose addresses only say where something is from."""

_END_OF_AUTHORITY: Final = re.compile(r"[/?#]")
_FILES_API: Final = ("generativelanguage", "aiplatform")
"""In the first label of a host of Google's: what it reads with the application's key."""


def stored_objects(value: Any, json_fields: Set[str] = frozenset(), *, quoted: bool = False) -> Iterator[str]:
    """Yield the names of stored objects in a block, or in several.

    Args:
        value: A block as JSON.
        json_fields: The fields with JSON of somebody else, such as arguments, in which names mean nothing.
        quoted: Whether addresses in it are only quoted.
    """
    if isinstance(value, list | tuple):
        for one in value:
            yield from stored_objects(one, json_fields, quoted=quoted)
    if not isinstance(value, dict):
        return
    if value.get("type") == "item_reference":
        yield _name(value.get("id"))
    for field, inner in value.items():
        if field in json_fields:
            continue
        spelled = str(field).replace("_", "").lower()
        if spelled in _NAMING:
            yield from map(_name, filter(None, inner if isinstance(inner, list) else [inner]))
        elif spelled in _FETCHED and isinstance(inner, str) and inner:
            if not quoted and not is_public_address(inner):
                yield inner
        else:
            yield from stored_objects(inner, json_fields, quoted=quoted or field in _QUOTED)


def objects_of(turns: Iterable[Turn]) -> frozenset[str]:
    """Return the names of stored objects in the blocks of responses."""
    parts = [part for turn in turns for part in turn.parts]
    blocks = [getattr(part, name, None) for part in parts for name in ("payload", "native", "ext")]
    return frozenset(stored_objects(blocks))


def _name(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)


def is_public_address(address: str) -> bool:
    """Return whether an address leads to data or the public web, and not to an object of an account.

    Examples:
        >>> [is_public_address(one) for one in ("https://example.com/cat.png", "gs://bucket/cat.png")]
        [True, False]
    """
    plain = normalize("NFKC", "".join(c for c in address if c > " ")).replace("\u3002", ".").lower()
    scheme, _, rest = plain.partition(":")
    if scheme == "data":
        return True
    authority = _END_OF_AUTHORITY.split(rest.removeprefix("//"), maxsplit=1)[0]
    host = authority.rpartition("@")[2].partition(":")[0].rstrip(".")
    label, _, domain = host.partition(".")
    stores = any(name in label for name in _FILES_API) and f".{domain}".endswith(".googleapis.com")
    whole = rest.startswith("//") and bool(authority) and "\\" not in authority
    return scheme in ("http", "https") and whole and not stores
