"""Converts arguments of google-genai's ``generate_content`` to the body of a REST request."""

from __future__ import annotations

from typing import Final

from agui_reasoning.providers.payload import JSONObject

__all__ = ["rest_body"]

_BESIDE: Final = frozenset(
    {
        *("systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "labels"),
        *("serviceTier", "modelArmorConfig", "continuationToken", "outputConfig", "store"),
    }
)
"""Fields of ``config`` that google-genai writes at the top level of a REST body."""


def rest_body(body: JSONObject) -> JSONObject:
    """Move the fields of ``config`` to ``generationConfig`` or to the top level of the body.

    Examples:
        >>> rest_body({"contents": [], "config": {"labels": {"team": "sky"}, "temperature": 0}})
        {'contents': [], 'labels': {'team': 'sky'}, 'generationConfig': {'temperature': 0}}
    """
    config = body.get("config", {})
    beside = {name: value for name, value in config.items() if name in _BESIDE}
    generation = {name: value for name, value in config.items() if name not in _BESIDE}
    if isinstance(beside.get("systemInstruction"), str):
        beside["systemInstruction"] = {"parts": [{"text": beside["systemInstruction"]}]}
    others = {name: value for name, value in body.items() if name != "config"}
    return {**others, **beside, **({"generationConfig": generation} if generation else {})}
