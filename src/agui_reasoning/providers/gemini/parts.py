"""Reads the parts of a candidate one by one; the decoder assigns them to units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    NativeDelta,
    OpaqueDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque
from agui_reasoning.providers.gemini.arguments import PartialArg, fragments
from agui_reasoning.providers.payload import (
    JSONObject,
    as_text,
    compact_json,
    obj,
    other_fields,
    reject,
    string,
)

__all__ = ["SIGNATURE", "Call", "CandidatePart", "Prose", "Settled", "read_part", "signed"]

SIGNATURE: Final = "gemini.thought_signature"


@dataclass(frozen=True, slots=True)
class Prose:
    """Text or thought, or only a signature.

    Attributes:
        thought: Whether the part is a thought.
        text: The text; empty if there is only a signature.
        signature: The signature of this part, or of the previous one.
        bare: Whether the part has neither a text field nor a thought mark.
        ext: The part's other fields.
    """

    thought: bool
    text: str
    signature: str
    bare: bool
    ext: JSONObject


@dataclass(frozen=True, slots=True)
class Call:
    """A function call, or a fragment of one.

    Attributes:
        id: The ID of the call, or an empty string.
        name: The function; empty for a further fragment of the open call.
        args: Complete arguments.
        fragments: Arguments in fragments.
        goes_on: Whether another fragment follows.
        signature: The signature of the part.
        ext: The part's other fields.
    """

    id: str
    name: str
    args: JSONObject
    fragments: tuple[PartialArg, ...]
    goes_on: bool
    signature: str
    ext: JSONObject


@dataclass(frozen=True, slots=True)
class Settled:
    """A part that is a separate unit, as deltas."""

    deltas: tuple[Delta, ...]


CandidatePart: TypeAlias = Prose | Call | Settled

_PROSE: Final = ("text", "thought", "thoughtSignature")
_ASIDE: Final = frozenset({*_PROSE, "videoMetadata", "mediaResolution", "partMetadata"})
"""Fields of a part that do not tell its kind."""


def read_part(part: JSONObject, path: str) -> CandidatePart:
    """Read one part.

    Raises:
        DecodeError: A field has the wrong type (``bad_payload``).
    """
    signature = string(part, "thoughtSignature", path)
    for field, read in _READERS.items():
        if part.get(field) is not None:
            return read(part, obj(part, field, path), signature, f"{path}/{field}")
    other = next((name for name, value in part.items() if name not in _ASIDE and value is not None), None)
    if other is not None and part.get("text") is None:
        return Settled((NativeDelta(f"gemini.{other}", part),))
    thought = part.get("thought")
    if thought is not None and not isinstance(thought, bool):
        raise reject("true or false", thought, f"{path}/thought")
    bare = part.get("text") is None and not thought
    return Prose(bool(thought), string(part, "text", path), signature, bare, other_fields(part, *_PROSE))


def signed(signature: str, attach: str, key: str | None = None) -> list[Delta]:
    """Return the value of a signature, if there is one."""
    value = Opaque(SIGNATURE, signature, "base64", attach)
    return [OpaqueDelta(value, key=key)] if signature else []


def _call(part: JSONObject, call: JSONObject, signature: str, path: str) -> CandidatePart:
    goes_on = call.get("willContinue")
    args = obj(call, "args", path)
    compact_json(args)
    return Call(
        string(call, "id", path),
        string(call, "name", path),
        args,
        fragments(call, path),
        goes_on is True,
        signature,
        other_fields(part, "functionCall", "thoughtSignature"),
    )


def _code(part: JSONObject, code: JSONObject, signature: str, path: str) -> CandidatePart:
    known = {name: code[name] for name in ("language", "code") if name in code}
    arguments = known | {name: value for name, value in code.items() if name != "id"}
    return _server_call(
        string(code, "id", path), "code_execution", arguments, signature, "executableCode", {}
    )


def _tool(part: JSONObject, tool: JSONObject, signature: str, path: str) -> CandidatePart:
    name = string(tool, "toolType", path).lower() or "tool"
    more = other_fields(tool, "id", "toolType", "args")
    return _server_call(string(tool, "id", path), name, tool.get("args") or {}, signature, "toolCall", more)


def _server_call(
    call_id: str, name: str, arguments: Any, signature: str, field: str, more: JSONObject
) -> Settled:
    ext = {**more, "type": field}
    call = ToolCallDelta(call_id, name, compact_json(arguments), server=True, ext=ext)
    return Settled((call, *signed(signature, f"tool_call:{call_id}"), CloseDelta(key=call_id)))


def _output(part: JSONObject, result: JSONObject, signature: str, path: str) -> CandidatePart:
    return _server_result(part, result, string(result, "output", path), path)


def _response(part: JSONObject, result: JSONObject, signature: str, path: str) -> CandidatePart:
    return _server_result(part, result, as_text(result.get("response")), path)


def _server_result(part: JSONObject, result: JSONObject, content: str, path: str) -> Settled:
    return Settled((ToolResultDelta(string(result, "id", path), content, native=part),))


_READERS: Final = {
    "functionCall": _call,
    "executableCode": _code,
    "toolCall": _tool,
    "codeExecutionResult": _output,
    "toolResponse": _response,
}
