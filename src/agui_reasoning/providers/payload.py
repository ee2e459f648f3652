"""Reads payloads: SDK objects as plain data, fields with clear errors, and Structs of the known members.

Missing fields and ``null`` are the same, because gateways send either. Errors name the type and path of a
field, never its content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from msgspec import UNSET, Meta, Raw, Struct, ValidationError, convert, defstruct, field, structs
from msgspec import DecodeError as MsgspecDecodeError
from msgspec.json import Decoder as JSONDecoder

from agui_reasoning._strict_json import JSONObject, dump, load, well_formed
from agui_reasoning.deltas import Delta, InputTransformation, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import Ext

__all__ = [
    "BLANK",
    "NO_ITEMS",
    "TEXT",
    "Call",
    "Events",
    "Handler",
    "JSONObject",
    "Members",
    "Only",
    "Shape",
    "Whole",
    "anthropic_transformations",
    "array",
    "as_text",
    "compact_json",
    "integer",
    "obj",
    "openai_transformations",
    "other_fields",
    "plain",
    "prose",
    "read",
    "read_call",
    "reject",
    "rejected",
    "required_index",
    "shape",
    "spelled",
    "string",
    "total",
]

_LONG: Final = 2**63


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
    return rejected(expected, type(value).__name__, path)


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
    if value is None or (type(value) is int and -_LONG <= value < _LONG):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -_LONG <= value < _LONG:
        raise reject("a whole number", value, f"{path}/{key}")
    return value


def required_index(index: int | None, path: str = "/index") -> int:
    """Return the index of a block, without which its event has no meaning."""
    if index is None:
        raise reject("a whole number", None, path)
    return index


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


# -- objects as Structs

Whole: TypeAlias = Annotated[int, Meta(ge=-_LONG, le=_LONG - 1)]
"""A whole number that can be written as text: JSON has no limit, but Python does not write every integer."""

UNLIKE: Final = (MsgspecDecodeError, ValueError, RecursionError)
"""What reading a payload as a Struct may raise."""

BLANK: Final[Any] = Literal[""] | None
NO_ITEMS: Final[Any] = Annotated[list[Any], Meta(max_length=0)] | None
"""What members may be that add nothing."""

TEXT: Final[Any] = Annotated[str, "text"]
"""The member of a shape with the text, which is read as ``text``."""

LATER: Final[Any] = Annotated[Any, "later"]
"""A member of a shape that is kept as it came, for `kept` to read; ``UNSET`` if it is missing."""


class Members(Struct, gc=False):
    """The members of an object that a decoder reads; the others are skipped.

    All are optional and may be null, because gateways send either. Those that no standard defines are
    ``Any``. Enumerations, tagged unions and forbidden members are not used: their errors quote values.
    """


TextOf: TypeAlias = Callable[[Any], str]
"""Returns the text of a payload that was read as a `Shape`; empty if it must be read in full."""

Handler: TypeAlias = Callable[[Any, Any, JSONObject], list[Delta]]
"""A method of a decoder: its arguments are the decoder, the event, and the payload as it came."""


class Events:
    """The events of an API: what is read of each type, and by which method. Others are ignored."""

    def __init__(self, name: str, known: Mapping[str | None, tuple[type[Members], Handler]]) -> None:
        """List the values of the member ``name``; ``None`` is for events without it."""
        self._name = name
        self._known = known

    def of(self, data: JSONObject) -> tuple[type[Members], Handler]:
        """Return what is read of an event, and the method.

        Raises:
            DecodeError: Its type is not a string.
        """
        kind = data.get(self._name)
        if kind is not None and not isinstance(kind, str):
            raise rejected("a string", type(kind).__name__, f"/{self._name}")
        return self._known.get(kind, _OTHER)


class Shape:
    """A Struct that is made of an object, and what makes one of JSON text."""

    __slots__ = ("json", "struct")

    def __init__(self, struct: Any, of_text: Any = None) -> None:
        self.struct = struct
        self.json: Callable[[str | bytes], Any] = JSONDecoder(of_text or struct).decode

    def fits(self, raw: JSONObject) -> bool:
        """Return whether a payload has it."""
        try:
            convert(raw, self.struct) if isinstance(raw, dict) else self.json(raw)
        except UNLIKE:
            return False
        return True


class Continued(Struct):
    """How payloads are read that only add text to the unit that grew last.

    Their Struct says all that must hold beside the text, so that nothing else needs to be looked at: members
    with anything are ``None``, a ``Literal`` or a list without items. Errors are not passed on; a payload of
    another form is read in full.

    Attributes:
        shape: What is read.
        text_of: Returns the text of a payload that was read; empty if it must be read in full.
        delta: Returns the delta of a text.
    """

    shape: Shape
    text_of: TextOf
    delta: Callable[[str], Delta]


_NAME: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)


class Only(dict[str, Any]):
    """The members of an object in a shape that has no others."""


def shape(members: Mapping[str, Any], whole: type[Members] | None = None) -> Shape:
    """Return the shape of objects that have these members.

    Args:
        members: A type for each name. A dict stands for an object, a list of one dict for a list of one
            object. Members that may be ``None`` may be missing.
        whole: What is read of such an object in full, where one with another type is refused.
    """
    of_objects = _struct_of(members, whole)
    keeps_some = any(kind is LATER for kind in members.values())
    return Shape(of_objects, _struct_of(members, whole, Raw) if keeps_some else None)


def kept(value: Any) -> Any:
    """Return the JSON of a member that was kept as it came; `Malformed` if it is none."""
    return load(bytes(value).decode()) if type(value) is Raw else value


def _struct_of(members: Mapping[str, Any], whole: Any, later: Any = Any) -> type[Struct]:
    fields: list[Any] = []
    known = {} if whole is None else {one.encode_name: one.type for one in structs.fields(whole)}
    read = {"text" for kind in members.values() if kind is TEXT}
    for name, kind in members.items():
        within = _struct_in(known.pop(name, None))
        if isinstance(kind, dict):
            kind = _struct_of(kind, within)
        elif isinstance(kind, list):
            kind = tuple[_struct_of(kind[0], within)]  # type: ignore[misc]
        if kind is TEXT:
            fields.append(("text", str, field(name=name)))
            continue
        if kind is LATER:
            fields.append((name, later, field(default=UNSET)))
            continue
        # Names of payloads need not be names in Python.
        own = name if _NAME.fullmatch(name) and name not in read else f"other_{len(fields)}"
        optional = kind is None or type(None) in get_args(kind)
        fields.append((own, kind, field(default=None, name=name) if optional else field(name=name)))
    closed = isinstance(members, Only)
    for name, kind in {} if closed else known.items():
        if kind is not Any:
            fields.append((f"other_{len(fields)}", kind | None, field(default=None, name=name)))
    return defstruct("Shape", fields, gc=False, kw_only=True, forbid_unknown_fields=closed)


def _struct_in(kind: Any) -> Any:
    """Return the Struct that a member has, or has a list of; ``None`` if it has none."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind
    return next(filter(None, map(_struct_in, get_args(kind))), None)


def like(last: Any) -> Callable[[str], Delta]:
    """Return what makes deltas that add to the unit of the last one."""
    kind = type(last)
    if kind is ToolCallDelta:
        call_id, server = last.id, last.server
        return lambda text: ToolCallDelta(call_id, "", text, server=server)
    key = last.key
    if kind is TextDelta:
        return lambda text: TextDelta(text, key=key)
    channel, index = last.channel, last.index
    return lambda text: ReasoningDelta(text, key=key, channel=channel, index=index)


_OTHER: Final[tuple[type[Members], Handler]] = (Members, lambda decoder, event, raw: [])


def read(source: JSONObject, struct: Any, path: str = "") -> Any:
    """Read an object as a Struct; a whole number may be written as 5.0.

    Raises:
        DecodeError: A member has another type (``bad_payload``).
    """
    try:
        return convert(source, struct)
    except ValidationError as error:
        fault = str(error)
    except UnicodeEncodeError:  # a lone surrogate in a name, or where no string belongs
        return read(well_formed(source), struct, path)
    if "got `float`" in fault:
        try:
            return convert(source, struct, strict=False)
        except ValidationError:
            pass
        except UnicodeEncodeError:
            return read(well_formed(source), struct, path)
    raise fault_of(fault, path)


def fault_of(message: str, path: str = "") -> DecodeError:
    """Return the error for a member of another type, by msgspec's message, which has no values."""
    found = [pattern.search(message) for pattern in _PATTERNS]
    expected, got, place = (one[1] if one else "" for one in found)
    types = [name for name in expected.split(" | ") if name != "null"]
    return rejected(
        " or ".join(_EXPECTED.get(name, name) for name in types) or "something else",
        "a name that is not a string" if " at `key` " in message else _GOT.get(got, got) or "another value",
        path + place.replace(".", "/").replace("[", "/").replace("]", ""),
    )


def rejected(expected: str, found: str, path: str) -> DecodeError:
    """Build the error for a member of another type than the expected one."""
    return DecodeError(
        f"The payload has {found} at {path or 'top level'}, where {expected} was expected.",
        code="bad_payload",
        hint="Check that the API ID matches the endpoint; everything before this payload was delivered.",
        path=path,
    )


_PATTERNS: Final = tuple(map(re.compile, (r"Expected `([^`]*)`", r"got `([^`]*)`", r"`\$([^`]*)`")))

_EXPECTED: Final = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
}
_GOT: Final = {"array": "list", "object": "dict", "null": "NoneType"}


# -- reasoning in members that no standard defines, which gateways send in any JSON type

_SPELLINGS: Final = ("thinking", "text", "reasoning", "content")
"""The members in which gateways put the text of a block of reasoning."""

_PROSE_TYPES: Final = (
    *(None, "", "text", "thinking", "reasoning", "reasoning_text", "reasoning.text", "summary_text"),
)


def spelled(source: JSONObject) -> str | None:
    """Return the member that has the text of a block of reasoning; ``None`` if there is none.

    Examples:
        >>> spelled({"type": "thinking", "thinking": "", "text": "Hm."})
        'text'
    """
    present = [name for name in _SPELLINGS if source.get(name) is not None]
    return next((name for name in present if source[name]), next(iter(present), None))


def prose(value: Any, depth: int = 4) -> str | None:
    """Read reasoning from a member that no standard defines.

    Returns:
        The text of a string, of an object that has one, or of a list of these; ``None`` for other values.

    Examples:
        >>> prose([{"type": "text", "text": "Hm, "}, "yes."])
        'Hm, yes.'
    """
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, dict) and depth and value.get("type") in _PROSE_TYPES:
        name = spelled(value)
        return None if name is None else prose(value[name], depth - 1)
    if not isinstance(value, list) or not depth:
        return None
    texts = [prose(item, depth - 1) for item in value]
    return None if None in texts else "".join(filter(None, texts))


# -- tool calls of the common form: an ID, and a function with its name and arguments


class Call(NamedTuple):
    """A call, or a fragment of one; the arguments are JSON text, and ``ext`` has its other members."""

    id: str
    name: str
    arguments: str
    ext: Ext | None


class _FunctionMembers(Members):
    name: str | None = None
    arguments: Any = None


class _CallMembers(Members):
    id: str | None = None
    function: _FunctionMembers | None = None


def read_call(source: JSONObject, path: str, *, default: str = "{}") -> Call:
    """Read a call.

    Args:
        source: The call.
        path: Its path.
        default: The arguments of a call that has none.

    Raises:
        DecodeError: A member has the wrong type.
    """
    call = read(source, _CallMembers, path)
    function = call.function or _FunctionMembers()
    given = function.arguments
    arguments = given if isinstance(given, str) else compact_json(given) if given else default
    ext = other_fields(source, "id", "type", "index", "function") or None
    return Call(call.id or "", function.name or "", arguments, ext)


# -- `input_transformations`: what a provider did with the reasoning in the request. Anthropic and OpenAI have
# a list of this name, with entries of different forms; whatever is not an entry about reasoning is skipped

Transformations: TypeAlias = tuple[InputTransformation, ...]

_DROPPED: Final = {"thinking_dropped": True, "thinking_mismatch_allowed": False}
"""Anthropic's types of entries, and whether the model was not shown the block."""

_FORGOTTEN: Final = "turn_boundary"
"""Not a loss: OpenAI's models forget the reasoning of earlier turns unless they are asked not to."""


def anthropic_transformations(entries: Any) -> Transformations:
    """Read entries that name places in the request."""
    return tuple(
        InputTransformation(path, _word(entry, "reason"), _DROPPED[kind])
        for entry in _objects(entries)
        if (path := _word(entry, "path")) and (kind := _word(entry, "type")) in _DROPPED
    )


def openai_transformations(entries: Any) -> Transformations:
    """Read entries that name reasoning items by their ID."""
    return tuple(
        InputTransformation(name, reason)
        for entry in _objects(entries)
        if (_word(entry, "type"), _word(entry, "action")) == ("reasoning", "removed")
        and (name := _word(entry, "id"))
        and (reason := _word(entry, "reason")) != _FORGOTTEN
    )


def _objects(entries: Any) -> list[JSONObject]:
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _word(entry: JSONObject, name: str) -> str:
    value: Any = entry.get(name)
    return value if isinstance(value, str) else ""
