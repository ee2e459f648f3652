"""The outputs of a payload, read and checked before anything is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning.providers.payload import JSONObject, array, integer, obj, string

__all__ = ["CLIENT_CALL", "TOOL", "Output", "OutputCall", "read_outputs"]

TOOL: Final = "ROLE_TOOL"
CLIENT_CALL: Final = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"


@dataclass(frozen=True, slots=True)
class OutputCall:
    """A tool call; a stream has it whole, too.

    Attributes:
        type: Whose tool it is; empty where the server does not say.
        error: Why the provider's own tool failed.
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
    """One output, or a piece of it. A response is a sequence of outputs: the model's, a tool's, the model's.

    Attributes:
        index: Its place in the response.
        role: Whose it is; empty means the model's.
        encrypted: Encrypted reasoning, or the encrypted result of a tool.
        reason: Why it ended, once it has.
        message: It, as it came.
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
    """Read the outputs of a payload, in their order.

    Args:
        data: The payload.
        field: Where an output has its message: ``message``, or in a stream ``delta``.

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
        # The JSON form leaves out what is 0 or empty.
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
