"""Token counts of Chat Completions, and where servers that differ have them."""

from __future__ import annotations

from agui_reasoning.deltas import UsageDelta
from agui_reasoning.providers.payload import JSONObject, integer, obj

__all__ = ["read_usage"]


def read_usage(data: JSONObject, provider: str | None, model: str | None) -> UsageDelta | None:
    """Read the counts of a payload, if it has any. Groq streams them in ``x_groq``."""
    path, usage = "/usage", obj(data, "usage")
    if not usage:
        path, usage = "/x_groq/usage", obj(obj(data, "x_groq"), "usage", "/x_groq")
    if not usage:
        return None
    made = obj(usage, "completion_tokens_details", path)
    read = obj(usage, "prompt_tokens_details", path)
    prompt = integer(usage, "prompt_tokens", path)
    total = integer(usage, "total_tokens", path)
    reasoning = _first(integer(made, "reasoning_tokens", path), integer(usage, "reasoning_tokens", path))
    return UsageDelta(
        provider=provider,
        model=model,
        input_tokens=prompt,
        output_tokens=_output(prompt, integer(usage, "completion_tokens", path), total, reasoning),
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


def _output(
    prompt: int | None, completion: int | None, total: int | None, reasoning: int | None
) -> int | None:
    """Count reasoning as output: xAI leaves it out of ``completion_tokens``, but not out of the total."""
    if prompt is None or completion is None or not reasoning or total != prompt + completion + reasoning:
        return completion
    return completion + reasoning


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
