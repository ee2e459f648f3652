"""Reads provider payloads: SDK objects as plain data, and fields with clear errors.

Missing fields and ``null`` are the same, because gateways send either. Errors name the type and path of a
field, never its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject, dump
from agui_reasoning.errors import DecodeError

__all__ = [
    "JSONObject",
    "array",
    "as_text",
    "compact_json",
    "integer",
    "obj",
    "other_fields",
    "plain",
    "reject",
    "string",
    "total",
]


_LONG: Final = 2**1024
"""Integers are smaller; JSON has no limit, but Python does not write every integer."""


def plain(payload: Any) -> Any:
    """Return the wire JSON of an SDK object; return other values unchanged.

    ``exclude_unset`` omits what the API did not send, and keeps extra fields.
    """
    if callable(getattr(payload, "model_dump", None)):
        return dumped(payload, mode="json")
    return dict(payload) if isinstance(payload, Mapping) and not isinstance(payload, dict) else payload


def dumped(model: Any, *, mode: str) -> Any:
    """Return the data of a pydantic model, by the names of the wire.

    Raises:
        DecodeError: The model contains itself, or what its types do not allow (``bad_payload``).
    """
    try:
        # Pydantic's warnings quote values.
        return model.model_dump(mode=mode, by_alias=True, exclude_unset=True, warnings=False)
    except (TypeError, ValueError, RecursionError):
        pass  # not raised here: their text may quote the value
    raise reject("an object that can be written as JSON", model, "")


def reject(expected: str, value: Any, path: str) -> DecodeError:
    """Build the error for a field of the wrong type."""
    return DecodeError(
        f"The payload has {type(value).__name__} at {path or 'top level'}, where {expected} was expected.",
        code="bad_payload",
        hint="Check that the API ID matches the endpoint; everything before this payload was delivered.",
        path=path,
    )


def string(source: JSONObject, key: str, path: str = "") -> str:
    """Read a string; missing and null are ``""``."""
    value = source.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise reject("a string", value, f"{path}/{key}")
    return value


def obj(source: JSONObject, key: str, path: str = "") -> JSONObject:
    """Read an object; missing and null are ``{}``."""
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise reject("an object", value, f"{path}/{key}")
    return value


def array(source: JSONObject, key: str, path: str = "") -> list[JSONObject]:
    """Read a list of objects; missing and null are ``[]``."""
    value = source.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise reject("an array", value, f"{path}/{key}")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise reject("an object", item, f"{path}/{key}/{number}")
    return value


def integer(source: JSONObject, key: str, path: str = "") -> int | None:
    """Read an integer; missing and null are ``None``."""
    value = source.get(key)
    if value is None or (type(value) is int and -_LONG < value < _LONG):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -_LONG < value < _LONG:
        raise reject("a whole number", value, f"{path}/{key}")
    return value


def total(one: int | None, other: int | None) -> int | None:
    """Add two counts, either of which may be unknown."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


def other_fields(source: JSONObject, *known: str) -> JSONObject:
    """Return the nonempty fields that are not known."""
    return {key: value for key, value in source.items() if key not in known and value not in (None, [], {})}


def compact_json(value: Any, *, sort_keys: bool = False) -> str:
    """Write compact JSON.

    Raises:
        DecodeError: JSON cannot represent the value, such as NaN (``bad_payload``).
    """
    try:
        return dump(value, sort_keys=sort_keys)
    except (TypeError, ValueError, RecursionError):
        pass  # not raised here: their text may quote the value
    raise reject("JSON", value, "")


def as_text(value: Any) -> str:
    """Return a value as the string that AG-UI requires: a string unchanged, anything else as JSON.

    Keys are sorted, because the models of SDKs have their own order and the text must not depend on it.
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value, sort_keys=True)
