"""The fields in which a Chat Completions message may hold its reasoning.

`read_message` reads and checks one ``message`` or ``delta`` completely before it is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import Ext, Opaque
from agui_reasoning.providers.openai_chat.blocks import (
    ChatBlock,
    read_block,
    read_indexed_block,
    read_loose_block,
    read_step,
    unread_block,
)
from agui_reasoning.providers.openai_chat.calls import CallPiece, ExecutedTool, read_calls, read_executed_tool
from agui_reasoning.providers.openai_chat.details import Detail, read_detail, unread_detail
from agui_reasoning.providers.openai_chat.signatures import read_signature, read_signatures
from agui_reasoning.providers.payload import JSONObject, array, obj, string

__all__ = ["RANK", "MessagePiece", "read_message"]

DETAILS = "reasoning_details"

PREFERENCE = (
    DETAILS,
    "content_blocks",
    "thinking_blocks",
    "reasoning_items",
    "reasoning_content",
    "reasoning",
    "reasoning.content",
    "reasoning_text",
    "thinking",
    "reasoning_steps",
    "extra_content.deepseek.reasoning_content",
    "content",
)
"""Fields that may hold the same text, in order of preference. A dotted name is a path."""

_TYPES = {"thinking": "thinking", "thinking_blocks": "thinking"}
"""The type of a block without one, by its field; elsewhere it is ``reasoning``."""

RANK = {name: rank for rank, name in enumerate(PREFERENCE)}


@dataclass(slots=True)
class MessagePiece:
    """The fields of a message or of a delta.

    Attributes:
        whole: Whether this is a message, not a delta.
        flat: Reasoning in plain strings, including empty ones, by field.
        details: The entries of ``reasoning_details``.
        blocks: Lists of blocks, by field.
        content: The answer, if it is a string.
        thought: Whether the provider marked ``content`` as reasoning.
        refusal: The text of a refusal.
        annotations: The annotations of the text.
        calls: Tool calls.
        executed: Calls that the provider ran itself.
        opaque: Opaque values of the flat reasoning.
        signatures: Thought signatures of the message, with their places in it.
        empty: Fields that are present but empty, which is meaningful to some providers.
        spoken: The reasoning text, by field.
        part: The number of the summary part that contains the text.
        unread: The fields with reasoning that could not be read.
    """

    whole: bool = False
    flat: dict[str, str] = field(default_factory=dict)
    details: list[Detail] = field(default_factory=list)
    blocks: dict[str, list[ChatBlock]] = field(default_factory=dict)
    content: str = ""
    thought: bool = False
    refusal: str = ""
    annotations: list[Any] = field(default_factory=list)
    calls: list[CallPiece] = field(default_factory=list)
    executed: list[ExecutedTool] = field(default_factory=list)
    opaque: list[Opaque] = field(default_factory=list)
    signatures: list[tuple[str, Ext]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    spoken: dict[str, str] = field(default_factory=dict)
    part: int = 0
    unread: list[str] = field(default_factory=list)

    @property
    def carries(self) -> bool:
        """Whether the piece has any content."""
        return bool(
            self.spoken
            or self.content
            or self.calls
            or self.blocks
            or self.details
            or self.executed
            or self.refusal
        )


_Reader: TypeAlias = Callable[[MessagePiece, JSONObject, str, str], None]
"""A function of the piece, the message, the name of the field, and the path of the message."""


def read_message(message: JSONObject, path: str, *, whole: bool) -> MessagePiece:
    """Read a message or a delta.

    Raises:
        DecodeError: A field has the wrong type.
    """
    piece = MessagePiece(whole)
    for name, value in message.items():
        reader = _READERS.get(name)
        if reader is not None and value is not None:
            reader(piece, message, name, path)
    piece.signatures = read_signatures(message)
    return piece


def _flat(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    """Read a string; some gateways send a block or a list of blocks instead."""
    value = message[name]
    if isinstance(value, str):
        _hear(piece, name, value)
    else:
        _blocks(piece, message, name, path)


def _hear(piece: MessagePiece, name: str, text: str) -> None:
    piece.flat[name] = text
    if text:
        piece.spoken[name] = text
    else:
        piece.empty.append(name)


def _reasoning(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    """Read ``reasoning``: a string, or in any-llm an object."""
    value = message[name]
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        _hear(piece, f"{name}.content", value["content"])
    else:
        _flat(piece, message, name, path)


def _entries(piece: MessagePiece, message: JSONObject, name: str) -> list[Any]:
    """Return the entries of a list, or the only one."""
    value = message[name]
    if isinstance(value, list):
        return value
    if isinstance(value, dict | str):
        return [value]
    piece.unread.append(name)
    return []


def _details(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    entries = _entries(piece, message, name)
    read = [_detail(piece, entry, f"{path}/{name}/{number}") for number, entry in enumerate(entries)]
    piece.details = [detail for detail in read if detail is not None]
    if text := "".join(detail.text for detail in piece.details):
        piece.spoken[DETAILS] = text
    if message[name] == []:
        piece.empty.append(DETAILS)


def _detail(piece: MessagePiece, entry: Any, path: str) -> Detail | None:
    if isinstance(entry, str):
        entry = {"type": "reasoning.text", "text": entry}
    if isinstance(entry, dict):
        with suppress(DecodeError):
            return read_detail(entry, path)
    piece.unread.append(DETAILS)
    return unread_detail(entry) if isinstance(entry, dict) else None


def _specific(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    """Read the entries that LiteLLM adds to a whole response; its other values are also in other fields."""
    fields = message[name]
    if isinstance(fields, dict) and fields.get(DETAILS) is not None and message.get(DETAILS) is None:
        _details(piece, fields, DETAILS, f"{path}/{name}")


def _blocks(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    entries, kind = _entries(piece, message, name), _TYPES.get(name, "reasoning")
    read = (read_loose_block(entry, f"{path}/{name}/{number}", kind) for number, entry in enumerate(entries))
    _keep_blocks(piece, name, list(chain.from_iterable(read)))


def _content_list(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    entries = array(message, name, path)
    read = (read_block(entry, f"{path}/{name}/{number}") for number, entry in enumerate(entries))
    _keep_blocks(piece, name, list(chain.from_iterable(read)))


def _content_blocks(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    read = (
        _or_unread(read_indexed_block, entry, f"{path}/{name}/{number}", number)
        for number, entry in enumerate(_entries(piece, message, name))
    )
    _keep_blocks(piece, name, list(chain.from_iterable(read)))


def _steps(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    read = (
        _or_unread(read_step, entry, f"{path}/{name}/{number}")
        for number, entry in enumerate(_entries(piece, message, name))
    )
    _keep_blocks(piece, name, list(chain.from_iterable(read)))


def _or_unread(read: Callable[..., list[ChatBlock]], entry: Any, *place: Any) -> list[ChatBlock]:
    """Read an entry; one that cannot be read is kept as it is."""
    if isinstance(entry, dict):
        with suppress(DecodeError):
            return read(entry, *place)
    return [unread_block(entry)]


def _keep_blocks(piece: MessagePiece, name: str, blocks: list[ChatBlock]) -> None:
    if blocks:
        piece.blocks[name] = blocks
    if any(block.unread for block in blocks):
        piece.unread.append(name)
    if text := "".join(block.text for block in blocks if block.kind == "reasoning"):
        piece.spoken[name] = text


def _content(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    if isinstance(message[name], list):
        _content_list(piece, message, name, path)
    else:
        piece.content = string(message, name, path)


def _audio(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    """Read the transcript of an answer in audio, which has no content."""
    if not message.get("content"):
        piece.content = string(obj(message, name, path), "transcript", f"{path}/{name}")


def _refusal(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    piece.refusal = string(message, name, path)


def _annotations(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    piece.annotations = array(message, name, path)


def _calls(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    piece.calls += read_calls(array(message, name, path), f"{path}/{name}", whole=piece.whole)


def _function_call(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    """Read the predecessor of ``tool_calls``: one call without an ID."""
    entry = {"type": name, "function": obj(message, name, path)}
    piece.calls += read_calls([entry], f"{path}/{name}", whole=False)


def _executed(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    entries = array(message, name, path)
    piece.executed = [
        read_executed_tool(entry, f"{path}/{name}/{number}", number) for number, entry in enumerate(entries)
    ]


def _copilot(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    value = message[name]
    if not isinstance(value, str):
        piece.unread.append(name)
    elif value:
        piece.opaque.append(Opaque("copilot.reasoning_opaque", value))


def _extra_content(piece: MessagePiece, message: JSONObject, name: str, path: str) -> None:
    """Read the additions of Gemini's endpoints, and the upstream's values that any-llm keeps."""
    piece.thought = any(_is_thought(message[name], vendor) for vendor in ("google", "vertex"))
    if signature := read_signature(message, (name, "anthropic", "signature")):
        piece.opaque.append(Opaque("anthropic.signature", signature))
    if text := read_signature(message, (name, "deepseek", "reasoning_content")):
        _hear(piece, f"{name}.deepseek.reasoning_content", text)


def _is_thought(extra: Any, vendor: str) -> bool:
    """Return whether Gemini marked the string as a thought; with a signature, the mark refers to that."""
    mark = extra.get(vendor) if isinstance(extra, dict) else None
    return isinstance(mark, dict) and mark.get("thought") is True and not mark.get("thought_signature")


_READERS: dict[str, _Reader] = {
    DETAILS: _details,
    "provider_specific_fields": _specific,
    "content_blocks": _content_blocks,
    "thinking_blocks": _blocks,
    "reasoning_items": _blocks,
    "reasoning_content": _flat,
    "reasoning": _reasoning,
    "reasoning_text": _flat,
    "reasoning_steps": _steps,
    "reasoning_opaque": _copilot,
    "thinking": _flat,
    "extra_content": _extra_content,
    "content": _content,
    "audio": _audio,
    "refusal": _refusal,
    "annotations": _annotations,
    "tool_calls": _calls,
    "function_call": _function_call,
    "executed_tools": _executed,
}
"""Field of the message to its reader; other fields (``role``, ``channel``, …) are ignored."""
