"""Refuse what Anthropic refuses of its beta features: blocks and fields whose header is missing.

The words are those of the API where they are known (senpi#1212; anthropic SDK, types of ``error.details``).
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.strict_providers.shapes import Body
from tests.support.validators import check_anthropic

__all__ = ["named_betas", "refuse"]

NEEDED = {
    "fallback": ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"),
    "compaction": ("compact-2026-01-12",),
    "signed": ("compact-2026-09-04",),
}


def named_betas(body: Body) -> set[str]:
    """The features that the SDK's arguments name."""
    headers = (body.get("extra_headers") or {}).get("anthropic-beta", "")
    return {name.strip() for name in headers.split(",") if name} | set(body.get("betas") or ())


def refuse(body: Body) -> str | None:
    """The words of the status 400; ``None`` if the request is taken."""
    plain = {name: value for name, value in body.items() if name not in ("extra_headers", "betas")}
    return next(iter([*_unnamed(body), *check_anthropic(plain)]), None)


def _unnamed(body: Body) -> Iterator[str]:
    named = named_betas(body)
    for number, message in enumerate(body["messages"]):
        for place, block in enumerate(message["content"]):
            kind = "signed" if block.get("type") == "compaction" and block.get("signature") else block["type"]
            if kind in NEEDED and not named & {*NEEDED[kind]}:
                yield (
                    f"messages.{number}.content.{place}: Input tag '{block['type']}' found using 'type' does "
                    "not match any of the expected tags: 'text', 'tool_use'"
                )
