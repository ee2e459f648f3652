"""Reads the token counts of Anthropic Messages, with those that the totals of a response leave out.

``iterations`` lists every sampling of a response. The totals contain those of the model that answered. They
leave out the summary of a compaction, advisors, and a model that declined after it had begun to answer; one
that declined before is not charged (anthropic SDK, type ``BetaUsage``; recorded with an advisor;
ccusage#1552, 2026-07-31, with a fallback).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_reasoning.deltas import UsageDelta
from agui_reasoning.providers.payload import JSONObject, array, integer, obj, string, total

__all__ = ["counts"]

_ENTRIES: Final = "/usage/iterations"
_SUMMED: Final = (
    *("input_tokens", "output_tokens", "total_tokens"),
    *("cached_input_tokens", "cache_write_input_tokens"),
)


def counts(usage: JSONObject, provider: str | None, model: str | None) -> list[UsageDelta]:
    """Return the counts of a response, then those of each other model that worked for it.

    Args:
        usage: The provider's latest counts, which are not empty.
        provider: The provider.
        model: The model that the response names.
    """
    entries = array(usage, "iterations", "/usage")
    served = [string(entry, "model", _ENTRIES) for entry in entries if _type(entry) == "fallback_message"]
    model = next(filter(None, reversed(served)), model)
    own = _counted(usage, "/usage", provider, model)
    others: dict[str | None, UsageDelta] = {}
    for entry in _left_out(entries, model if served else None):
        who = string(entry, "model", _ENTRIES) or model
        found = _counted(entry, _ENTRIES, provider, who, apart=who != model)
        if who == model:
            own = _sum(own, found)
        else:
            others[who] = _sum(others[who], found) if who in others else found
    return [own, *others.values()]


def _left_out(entries: list[JSONObject], served: str | None) -> Iterator[JSONObject]:
    """Yield the samplings that the totals leave out; ``served`` is the model that another fell back to."""
    for entry in entries:
        kind, model = _type(entry), string(entry, "model", _ENTRIES)
        declined = kind == "message" and served is not None and model not in ("", served)
        if kind in ("compaction", "advisor_message") or (
            declined and integer(entry, "output_tokens", _ENTRIES)
        ):
            yield entry


def _type(entry: JSONObject) -> str:
    return string(entry, "type", _ENTRIES)


def _counted(
    usage: JSONObject, path: str, provider: str | None, model: str | None, *, apart: bool = False
) -> UsageDelta:
    """Read one set of counts; cached tokens are part of AG-UI's input count."""
    cached = integer(usage, "cache_read_input_tokens", path)
    written = integer(usage, "cache_creation_input_tokens", path)
    fresh = integer(usage, "input_tokens", path)
    output = integer(usage, "output_tokens", path)
    whole = None if fresh is None else fresh + (cached or 0) + (written or 0)
    details = obj(usage, "output_tokens_details", path)
    return UsageDelta(
        provider=provider,
        model=model,
        input_tokens=whole,
        output_tokens=output,
        total_tokens=None if whole is None or output is None else whole + output,
        reasoning_tokens=integer(details, "thinking_tokens", f"{path}/output_tokens_details"),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        apart=apart,
    )


def _sum(one: UsageDelta, other: UsageDelta) -> UsageDelta:
    added = {name: total(getattr(one, name), getattr(other, name)) for name in _SUMMED}
    return UsageDelta(
        provider=one.provider,
        model=one.model,
        reasoning_tokens=one.reasoning_tokens,
        apart=one.apart,
        **added,
    )
