"""Reads the token counts of Chat Completions, including the locations of nonstandard servers."""

from __future__ import annotations

from collections.abc import Iterable

from agui_reasoning.deltas import UsageDelta
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers.payload import JSONObject, integer, obj, string

__all__ = ["read_usage"]


def read_usage(
    data: JSONObject, provider: str | None, model: str | None, traits: VendorTraits
) -> UsageDelta | None:
    """Read the counts of a payload, if it has any; ``model`` is for payloads that name none."""
    path, usage = _find(data, traits.usage_at)
    if not usage:
        return None
    made = obj(usage, "completion_tokens_details", path)
    read = obj(usage, "prompt_tokens_details", path)
    prompt = integer(usage, "prompt_tokens", path)
    total = integer(usage, "total_tokens", path)
    reasoning = _first(integer(made, "reasoning_tokens", path), integer(usage, "reasoning_tokens", path))
    return UsageDelta(
        provider=provider,
        model=string(data, "model") or model,
        input_tokens=prompt,
        output_tokens=_output(prompt, integer(usage, "completion_tokens", path), total, reasoning, traits),
        total_tokens=total,
        reasoning_tokens=reasoning,
        cached_input_tokens=_first(
            integer(read, "cached_tokens", path),
            integer(usage, "cached_tokens", path),
            integer(usage, "prompt_cache_hit_tokens", path),
        ),
        cache_write_input_tokens=_first(
            integer(read, "cache_write_tokens", path), integer(usage, "cache_creation_input_tokens", path)
        ),
    )


def _find(data: JSONObject, places: Iterable[str]) -> tuple[str, JSONObject]:
    for place in places:
        path, usage = "", data
        for name in place.split("."):
            path, usage = f"{path}/{name}", obj(usage, name, path)
        if usage:
            return path, usage
    return "", {}


def _output(
    prompt: int | None,
    completion: int | None,
    total: int | None,
    reasoning: int | None,
    traits: VendorTraits,
) -> int | None:
    """Count reasoning as output, which some vendors leave out of ``completion_tokens``."""
    if completion is None or not reasoning:
        return completion
    outside = traits.reasoning_outside_output
    if total is not None and prompt is not None:
        outside = total == prompt + completion + reasoning
    return completion + reasoning if outside else completion


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
