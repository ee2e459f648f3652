"""Find data that should not have left the server: credentials, and reasoning in raw provider data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agui_reasoning.consumer import Notice, cut, faults

# Per credential: a part of it in lower case, and its pattern. The part is looked for first, which is faster.
_PREFIXED: Final = r"(?<![\w-])(?:%s)[\w-]{16}"
_CREDENTIALS: Final = [
    (part, re.compile(pattern))
    for part, pattern in (
        ("bearer", r"\bBearer\s+(?:sk[-_]|(?=[\w.~+/=-]*\d)[\w.~+/=-]{8})"),  # RFC 6750
        ("sk", r"(?<![\w-])sk[-_](?:live|test|proj|ant|or|svcacct|admin)[-_][\w-]{4}"),
        ("sk", _PREFIXED % r"sk[-_](?=[\w-]*\d)"),
        ("akia", r"(?<![\w-])AKIA[0-9A-Z]{16}(?!\w)"),  # AWS
        ("asia", r"(?<![\w-])ASIA[0-9A-Z]{16}(?!\w)"),
        ("aiza", r"(?<![\w-])AIza[\w-]{30}"),  # Google
        ("gh", _PREFIXED % "gh[pousr]_"),
        ("_pat_", _PREFIXED % "github_pat_"),
        ("hf_", _PREFIXED % "hf_"),
        ("gsk_", _PREFIXED % "gsk_"),
        ("xai-", _PREFIXED % "xai-"),
        ("glpat-", _PREFIXED % "glpat-"),
        ("xox", _PREFIXED % "xox[abprs]-"),
        ("-----begin", "-----BEGIN [A-Z ]*PRIVATE KEY-----"),
        ("key", r"""(?i)\b(?:x-)?api[-_]?key["']?\s*[:=]\s*["']?(?=[\w-]*\d)[\w-]{12}"""),
        ("aws_secret", r"""(?i)\baws_secret_access_key["']?\s*[:=]\s*["']?[\w/+]{16}"""),
    )
]
_CREDENTIAL_NAMES: Final = frozenset(
    {
        *("accesstoken", "apikey", "authorization", "awssecretaccesskey", "awssessiontoken", "clientsecret"),
        *("cookie", "password", "privatekey", "proxyauthorization", "refreshtoken", "secretaccesskey"),
        *("secretkey", "setcookie", "xapikey", "xgoogapikey"),
    }
)
_BLANKED: Final = re.compile(r"(?i)\W*|[*x.•\s]*|.*(?:redact|removed|hidden|mask).*|.{0,3}", re.DOTALL)

# Names that providers use only for reasoning. Outside raw data, the others are ordinary words.
_REASONING_NAMES: Final = frozenset(
    {
        *("encryptedcontent", "encryptedvalue", "reasoningcontent", "reasoningdetails"),
        *("redactedthinking", "thoughtsignature"),
    }
)
_RAW_REASONING_NAMES: Final = _REASONING_NAMES | {"reasoning", "reasoningtext", "signature", "thinking"}
_REASONING_TYPE: Final = re.compile(r"reasoning|thinking|signature_delta")
_TEXT_NAMES: Final = ("text", "delta", "data", "summary", "content")
_OPEN_FIELDS: Final = ("value", "snapshot", "delta", "patch", "content", "result")
_OPEN_EVENTS: Final = frozenset(
    {"CUSTOM", "STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "RUN_FINISHED"}
)
_SEALED: Final = frozenset({"encryptedValue"})


def leaks(event: Mapping[str, Any]) -> Iterator[Notice]:
    """Search an event as received.

    Yields:
        At most one notice of each kind. Notices contain the path, never the value.
    """
    where = _first(event, "", _is_credential)
    if where is not None:
        message = f"{faults.type_of(event)} seems to contain a credential at {cut(where)}."
        remedy = (
            "Remove it before sending the event, and revoke it, because every reader of the stream has it."
        )
        yield Notice("credential_in_event", message, remedy)
    where = _reasoning(event)
    if where is not None:
        name = faults.type_of(event)
        message = f"{name} contains a provider's reasoning, or its encrypted form, at {cut(where)}."
        remedy = "Send reasoning as REASONING_* events, so that visibility and encryption apply."
        yield Notice("reasoning_in_raw", message, remedy)


def has_credential(text: str) -> bool:
    """Return whether a text seems to contain a credential."""
    folded = text.casefold()
    return any(part in folded and pattern.search(text) is not None for part, pattern in _CREDENTIALS)


def unchecked_parts(event: Mapping[str, Any]) -> list[Any]:
    """Return the values of the fields that may contain anything."""
    return [event[name] for names in _unchecked(event) for name in names if name in event]


def _unchecked(event: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the fields with raw data, and of the others that may contain anything."""
    raw = ("rawEvent", "event") if event.get("type") == "RAW" else ("rawEvent",)
    return raw, _OPEN_FIELDS if faults.type_of(event) in _OPEN_EVENTS else ()


def _reasoning(event: Mapping[str, Any]) -> str | None:
    raw, fields = _unchecked(event)
    places = [
        *(_first(event.get(field), f"/{field}", _is_raw_reasoning) for field in raw),
        *(_first(event.get(field), f"/{field}", _is_reasoning) for field in fields),
    ]
    return next((place for place in places if place is not None), None)


def _first(value: Any, path: str, found: Callable[[str, Any], bool]) -> str | None:
    """Return the path of the first matching member in a value. Does not recurse, also not into itself."""
    waiting = [(path, "", value)]
    held: dict[int, Any] = {}
    while waiting:
        path, name, value = waiting.pop()
        if found(name, value):
            return path or "/"
        if id(value) in held:
            continue
        if isinstance(value, (Mapping, list, tuple)):
            held[id(value)] = value
        if isinstance(value, Mapping):
            members = [(f"{cut(path)}/{key}", str(key), value[key]) for key in value if key not in _SEALED]
            waiting += reversed(members)
        elif isinstance(value, (list, tuple)):
            waiting += reversed([(f"{cut(path)}/{index}", name, one) for index, one in enumerate(value)])
    return None


def _is_credential(name: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    if _plain_name(name) in _CREDENTIAL_NAMES:
        return _BLANKED.fullmatch(value) is None
    return has_credential(value)


def _is_reasoning(name: str, value: Any) -> bool:
    return _is_named(name, value, _REASONING_NAMES)


def _is_raw_reasoning(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        texts = [value[text] for text in _TEXT_NAMES if isinstance(value.get(text), (str, list))]
        kind = value.get("type")
        is_named = isinstance(kind, str) and _REASONING_TYPE.search(kind) is not None
        return any(texts) and (value.get("thought") is True or is_named)
    return _is_named(name, value, _RAW_REASONING_NAMES)


def _is_named(name: str, value: Any, names: frozenset[str]) -> bool:
    # A mapping under such a name contains settings, such as the effort.
    return isinstance(value, (str, list)) and bool(value) and _plain_name(name) in names


def _plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
