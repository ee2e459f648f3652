"""Reading provider payloads: SDK objects to plain data, and fields with a clear error.

The readers take a missing field and ``null`` for the same, because gateways send either, and refuse a wrong
type by name and path, never by content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
]


def plain(payload: Any) -> Any:
    """Give the wire JSON of an SDK object, and anything else as it is.

    ``exclude_unset`` keeps what the API did not send out of it, and extra fields in it.
    """
    dump = getattr(payload, "model_dump", None)
    if callable(dump):
        # Without warnings: pydantic's quote the values they warn about.
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    return dict(payload) if isinstance(payload, Mapping) and not isinstance(payload, dict) else payload


def reject(expected: str, value: Any, path: str) -> DecodeError:
    """Build the error for a field of the wrong type."""
    return DecodeError(
        f"The payload has {type(value).__name__} at {path or 'its top'}, where {expected} was expected.",
        code="bad_payload",
        hint="Check that the API id fits the endpoint; everything before this payload was delivered.",
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
    """Read a whole number; missing and null are ``None``."""
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise reject("a whole number", value, f"{path}/{key}")
    return value


def other_fields(source: JSONObject, *known: str) -> JSONObject:
    """The fields beside the known ones that hold something."""
    return {key: value for key, value in source.items() if key not in known and value not in (None, [], {})}


def compact_json(value: Any, *, sort_keys: bool = False) -> str:
    """Compact JSON of a value that the API gives as an object.

    Raises:
        DecodeError: No JSON can say it, such as NaN (``bad_payload``).
    """
    try:
        return dump(value, sort_keys=sort_keys)
    except (TypeError, ValueError, RecursionError):
        pass  # not raised here: their text may quote the value
    raise reject("JSON", value, "")


def as_text(value: Any) -> str:
    """A tool's result as the string AG-UI wants: a string as it is, anything else as JSON.

    Keys are sorted, because an SDK's models order them as they like and the text must not differ.
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value, sort_keys=True)
