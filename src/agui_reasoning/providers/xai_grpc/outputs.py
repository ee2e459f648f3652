"""Reads and checks the outputs of a payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning.providers.payload import JSONObject, array, integer, obj, string

__all__ = ["CLIENT_CALL", "TOOL", "Output", "OutputCall", "read_outputs"]

TOOL: Final = "ROLE_TOOL"
CLIENT_CALL: Final = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"


@dataclass(frozen=True, slots=True)
class OutputCall:
    """A tool call, which is complete in streams as well.

    Attributes:
        type: The type of the tool, which tells who runs it; empty if unknown.
        error: The error message of a server tool.
    """

    id: str
    type: str
    name: str
    arguments: str
    error: str

    @property
    def server(self) -> bool:
        """Whether the provider runs it."""
        return self.type not in ("", CLIENT_CALL)


@dataclass(frozen=True, slots=True)
class Output:
    """One output, or a fragment of one. In a response, outputs of the model and of tools alternate.

    Attributes:
        index: The position in the response.
        role: The role of its author; empty for the model.
        encrypted: Encrypted reasoning, or the encrypted result of a tool.
        reason: The finish reason, once received.
        message: The original JSON.
    """

    index: int
    role: str
    reasoning: str
    encrypted: str
    content: str
    calls: tuple[OutputCall, ...]
    citations: tuple[Any, ...]
    reason: str
    message: JSONObject


def read_outputs(data: JSONObject, field: str) -> list[Output]:
    """Read the outputs of a payload, in order.

    Args:
        data: The payload.
        field: The field with the message of an output: ``message``, or in a stream ``delta``.

    Raises:
        DecodeError: A field has the wrong type.
    """
    sources = array(data, "outputs")
    read = [_read(source, field, f"/outputs/{number}") for number, source in enumerate(sources)]
    return sorted(read, key=lambda output: output.index)


def _read(source: JSONObject, field: str, path: str) -> Output:
    message, place = obj(source, field, path), f"{path}/{field}"
    calls = array(message, "tool_calls", place)
    return Output(
        # The JSON form omits zeros and empty values.
        integer(source, "index", path) or 0,
        string(message, "role", place),
        string(message, "reasoning_content", place),
        string(message, "encrypted_content", place),
        string(message, "content", place),
        tuple(_read_call(call, f"{place}/tool_calls/{number}") for number, call in enumerate(calls)),
        tuple(array(message, "citations", place)),
        string(source, "finish_reason", path),
        message,
    )


def _read_call(source: JSONObject, path: str) -> OutputCall:
    function = obj(source, "function", path)
    return OutputCall(
        string(source, "id", path),
        string(source, "type", path),
        string(function, "name", f"{path}/function"),
        string(function, "arguments", f"{path}/function"),
        string(source, "error_message", path),
    )
