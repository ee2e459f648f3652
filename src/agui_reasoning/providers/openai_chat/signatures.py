"""Reads Gemini's thought signatures from the places where compatible endpoints and gateways put them."""

from __future__ import annotations

from agui_reasoning.parts import Ext
from agui_reasoning.providers.payload import JSONObject

__all__ = ["FIELD", "read_call_signature", "read_signature", "read_signatures"]

FIELD = "thought_signature"

_PLACES: tuple[tuple[tuple[str, ...], Ext], ...] = (
    # AI Studio and Vertex AI do not accept each other's namespace.
    (("extra_content", "google", FIELD), {"extra_content": "google"}),
    (("extra_content", "vertex", FIELD), {"extra_content": "vertex"}),
    (("function", FIELD), {"signature_field": f"function.{FIELD}"}),
    (("provider_specific_fields", FIELD), {"signature_field": f"provider_specific_fields.{FIELD}"}),
    ((FIELD,), {"signature_field": FIELD}),
)
"""Paths within a call or a message, in order of preference, and the ``ext`` of the unit for each."""


def read_signature(source: JSONObject, path: tuple[str, ...]) -> str:
    """Follow a path to a string; return ``""`` for anything else, as these fields are not standardized."""
    value: object = source
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def read_call_signature(source: JSONObject) -> tuple[str, Ext] | None:
    """Return the signature of a call, which may be in several places."""
    return next(((value, ext) for path, ext in _PLACES if (value := read_signature(source, path))), None)


def read_signatures(message: JSONObject) -> list[tuple[str, Ext]]:
    """Return the signatures of a message; LiteLLM has a list of them."""
    found = read_call_signature(message)
    signatures = [found] if found else []
    fields = message.get("provider_specific_fields")
    listed = fields.get(f"{FIELD}s") if isinstance(fields, dict) else None
    if isinstance(listed, list):
        ext = {"signature_field": f"provider_specific_fields.{FIELD}s"}
        signatures += [(value, ext) for value in listed if isinstance(value, str) and value]
    return signatures
