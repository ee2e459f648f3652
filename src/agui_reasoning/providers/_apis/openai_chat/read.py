"""Reads the chunks and messages of Chat Completions, whose reasoning may be in any of a dozen fields.

`read_message` reads and checks one ``message`` or ``delta`` completely before it is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import lru_cache
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import astuple

from agui_reasoning.deltas import UsageDelta
from agui_reasoning.parts import Ext, Opaque
from agui_reasoning.providers._apis.openai_chat.blocks import ChatBlock, read_block, read_listed
from agui_reasoning.providers._apis.openai_chat.calls import (
    CallPiece,
    ExecutedTool,
    read_calls,
    read_executed_tool,
    read_signature,
    read_signatures,
)
from agui_reasoning.providers._apis.openai_chat.details import Detail, read_detail
from agui_reasoning.providers.payload import (
    BLANK,
    NO_ITEMS,
    TEXT,
    JSONObject,
    Members,
    Only,
    Shape,
    Whole,
    obj,
    read,
    shape,
    string,
)

DETAILS: Final = "reasoning_details"
BLOCKS: Final = "thinking_blocks"

_PREFERRED = (
    *(DETAILS, "content_blocks", "thinking_blocks", "reasoning_items"),
    *("reasoning_content", "reasoning", "reasoning.content", "reasoning_text", "thinking", "reasoning_steps"),
    *("extra_content.deepseek.reasoning_content", "content"),
)
RANK: Final = {name: rank for rank, name in enumerate(_PREFERRED)}
"""Fields that may hold the same text, in order of preference. A dotted name is a path."""


class _Made(Members):
    reasoning_tokens: int | None = None


class _Read(Members):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class Usage(Members):
    """Token counts."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    prompt_cache_hit_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    completion_tokens_details: _Made | None = None
    prompt_tokens_details: _Read | None = None


UNCOUNTED: Final = (None, Usage())
"""What tells nothing."""


class ChatChoice(Members):
    """A choice of a chunk or of a response."""

    index: Whole | None = None
    delta: Any = None
    message: Any = None
    finish_reason: str | None = None
    native_finish_reason: Any = None
    error: Any = None


class _Groq(Members):
    usage: Usage | None = None


class Chunk(Members):
    """A chunk of a stream, or a response."""

    id: str | None = None
    model: str | None = None
    choices: list[ChatChoice] | None = None
    usage: Usage | None = None
    x_groq: _Groq | None = None
    error: Any = None
    object: Any = None
    provider: Any = None
    chunk: Any = None


class MessagePiece(Struct, gc=False):
    """The fields of a message, or of a delta if it is not ``whole``.

    Attributes:
        names: The names of all fields.
        flat: Reasoning in plain strings, by field.
        blocks: Lists of blocks, by field.
        spoken: The reasoning text, by field.
        empty: Fields that are present but empty, which is meaningful to some providers.
        content: The answer, if it is a string.
        thought: Whether the provider marked ``content`` as reasoning.
        executed: Calls that the provider ran itself.
        opaque: Opaque values of the flat reasoning.
        signatures: Thought signatures of the message, with their places in it.
        part: The number of the summary part that contains the text.
        unread: The fields with reasoning that could not be read.
    """

    whole: bool = False
    names: Iterable[str] = ()
    flat: dict[str, str] = {}
    details: list[Detail] = []
    blocks: dict[str, list[ChatBlock]] = {}
    spoken: dict[str, str] = {}
    empty: list[str] = []
    content: str = ""
    thought: bool = False
    refusal: str = ""
    annotations: list[Any] = []
    calls: list[CallPiece] = []
    executed: list[ExecutedTool] = []
    opaque: list[Opaque] = []
    signatures: list[tuple[str, Ext]] = []
    part: int = 0
    unread: list[str] = []

    @property
    def carries(self) -> bool:
        """Whether the piece has any content."""
        said = self.spoken or self.content or self.refusal
        return bool(said or self.calls or self.blocks or self.details or self.executed)

    def hear(self, name: str, text: str) -> None:
        """Note reasoning in a plain string."""
        if text:
            self.flat[name] = text
        else:
            self.empty.append(name)

    def entries(self, name: str, value: Any) -> list[Any]:
        """Return the entries of a list with reasoning, or the only one."""
        if isinstance(value, list):
            return value
        if isinstance(value, dict | str):
            return [value]
        self.unread.append(name)
        return []


def read_message(message: JSONObject, path: str, *, whole: bool) -> MessagePiece:
    """Read a message or a delta.

    Raises:
        DecodeError: A field has the wrong type.
    """
    piece = MessagePiece(whole, message)
    for name, value in message.items():
        if value is not None and (reader := _READERS.get(name)) is not None:
            reader(piece, value, name, f"{path}/{name}")
    extra = message.get("provider_specific_fields")
    if isinstance(extra, dict) and extra.get(DETAILS) is not None and message.get(DETAILS) is None:
        # LiteLLM adds the entries to a whole response; its other values are also in other fields.
        _details(piece, extra[DETAILS], DETAILS, f"{path}/provider_specific_fields/{DETAILS}")
    if not message.get("content"):
        # An answer in audio has no content but its transcript.
        piece.content = string(obj(message, "audio", path), "transcript", f"{path}/audio")
    piece.signatures = read_signatures(message)
    piece.spoken = {**piece.flat, **_texts(piece)}
    return piece


def _texts(piece: MessagePiece) -> dict[str, str]:
    """Return the reasoning text of the fields that are lists."""
    texts = {name: [b.text for b in blocks if b.kind == "reasoning"] for name, blocks in piece.blocks.items()}
    texts[DETAILS] = [detail.text for detail in piece.details]
    return {name: text for name, found in texts.items() if (text := "".join(found))}


def _flat(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    """Read a string; some gateways send a block or a list of blocks instead, any-llm an object."""
    if isinstance(value, str):
        piece.hear(name, value)
    elif name == "reasoning" and isinstance(value, dict) and isinstance(value.get("content"), str):
        piece.hear("reasoning.content", value["content"])
    else:
        _blocks(piece, value, name, path)


def _details(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    entries = enumerate(piece.entries(name, value))
    piece.details = [read_detail(entry, f"{path}/{at}") for at, entry in entries]
    if any(detail.unread for detail in piece.details):
        piece.unread.append(DETAILS)
    if value == []:
        piece.empty.append(DETAILS)


def _blocks(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    entries = enumerate(piece.entries(name, value))
    _keep(piece, name, [b for at, entry in entries for b in read_listed(entry, name, f"{path}/{at}", at)])


def _keep(piece: MessagePiece, name: str, blocks: list[ChatBlock]) -> None:
    if blocks:
        piece.blocks[name] = blocks
    if any(block.unread for block in blocks):
        piece.unread.append(name)


def _content(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    content = read(value, str | list[JSONObject], path)
    if isinstance(content, str):
        piece.content = content
    else:
        _keep(piece, name, [b for at, entry in enumerate(content) for b in read_block(entry, f"{path}/{at}")])


def _refusal(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    piece.refusal = read(value, str, path)


def _annotations(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    piece.annotations = read(value, list[JSONObject], path)


def _calls(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    piece.calls += read_calls(read(value, list[JSONObject], path), path, whole=piece.whole)


def _function_call(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    """Read the predecessor of ``tool_calls``: one call without an ID."""
    entry = {"type": name, "function": read(value, JSONObject, path)}
    piece.calls += read_calls([entry], path, whole=False)


def _executed(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    entries = read(value, list[JSONObject], path)
    piece.executed = [read_executed_tool(entry, f"{path}/{at}", at) for at, entry in enumerate(entries)]


def _copilot(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    if not isinstance(value, str):
        piece.unread.append(name)
    elif value:
        piece.opaque.append(Opaque("copilot.reasoning_opaque", value))


def _extra_content(piece: MessagePiece, value: Any, name: str, path: str) -> None:
    """Read the additions of Gemini's endpoints, and the upstream's values that any-llm keeps."""
    marks = [value.get(vendor) for vendor in ("google", "vertex")] if isinstance(value, dict) else []
    # With a signature, the mark of a thought refers to that.
    marked = [mark for mark in marks if isinstance(mark, dict) and mark.get("thought") is True]
    piece.thought = not all(mark.get("thought_signature") for mark in marked)
    if signature := read_signature(value, ("anthropic", "signature")):
        piece.opaque.append(Opaque("anthropic.signature", signature))
    if text := read_signature(value, ("deepseek", "reasoning_content")):
        piece.hear(f"{name}.deepseek.reasoning_content", text)


_READERS: Final[dict[str, Callable[[MessagePiece, Any, str, str], None]]] = {
    DETAILS: _details,
    **dict.fromkeys(("content_blocks", "thinking_blocks", "reasoning_items", "reasoning_steps"), _blocks),
    **dict.fromkeys(("reasoning_content", "reasoning", "reasoning_text", "thinking"), _flat),
    "reasoning_opaque": _copilot,
    "extra_content": _extra_content,
    "content": _content,
    "refusal": _refusal,
    "annotations": _annotations,
    "tool_calls": _calls,
    "function_call": _function_call,
    "executed_tools": _executed,
}
"""Field of the message to its reader, a function of the piece, and the value, name and path of the field.

Other fields (``role``, ``channel``, …) are ignored."""


# -- chunks that only add text

_IDLE: Final[dict[str, Any]] = {
    **dict.fromkeys(("content", "refusal"), BLANK),
    **dict.fromkeys(("tool_calls", "annotations", "executed_tools"), NO_ITEMS),
    **dict.fromkeys(("function_call", "audio", "function", "reasoning_opaque")),
    **dict.fromkeys(("extra_content", "provider_specific_fields", "thought_signature")),
}
"""What members other than reasoning are beside text; those that nothing reads may be anything."""


def place_of_text(
    piece: MessagePiece, name: str, *, blank: Container[str]
) -> tuple[Shape, str | None] | None:
    """Return what is read of chunks that only add text where a piece did: in the field ``name``.

    The fields ``blank`` with reasoning may be blank. Beside the shape is the list in the delta whose only
    entry has the text; ``None`` if the delta has it.
    """
    if not all(map(str.isprintable, piece.names)):  # lone surrogates cannot be the names of members
        return None
    beside = {other: _IDLE.get(other, Any | None) for other in piece.names}
    beside |= {other: BLANK if other in blank else None for other in piece.names if other in RANK}
    # Several fields may have the same text.
    beside |= {other: str | None for other in piece.flat if other.isidentifier()}
    beside["content"] = BLANK
    if name == "content" or (name in piece.flat and name in beside):
        return _shape_of(name, None, frozenset(beside.items())), None
    entry = _entry_of(piece, name)
    if entry is None:
        return None
    return _shape_of(name, frozenset(entry.items()), frozenset(beside.items())), name


def _entry_of(piece: MessagePiece, name: str) -> dict[str, Any] | None:
    """Return what is read of the only entry of a list, if it has nothing but text."""
    if name == BLOCKS and len(piece.blocks.get(name, ())) == 1:
        return {"type": Literal["thinking"], "thinking": TEXT, "signature": BLANK}
    if name != DETAILS or len(piece.details) != 1:
        return None
    detail = piece.details[0]
    kind = detail.entry.get("format")
    if isinstance(kind, str) and not kind.isprintable():  # lone surrogates cannot be literals, either
        return None
    known = {
        "type": Literal[detail.type],
        "index": None if detail.index is None else Literal[detail.index],
        "format": Literal[kind] if isinstance(kind, str) else None,
        "id": None,
        "signature": BLANK,
        "summary" if "summary" in detail.entry else "text": TEXT,
    }
    return {name: known[name] for name in detail.entry} if detail.entry.keys() <= known.keys() else None


@lru_cache(maxsize=128)
def _shape_of(
    name: str, entry: frozenset[tuple[str, Any]] | None, beside: frozenset[tuple[str, Any]]
) -> Shape:
    place = TEXT if entry is None else [Only(entry)]
    return shape_of_chunks(Only({**dict(beside), name: place}), Usage | None)


_OBJECTS: Final[Any] = Literal["chat.completion.chunk", "chat.completion", ""] | None
"""What chunks call themselves; an error of vLLM is an object, too."""


def shape_of_chunks(delta: dict[str, Any], usage: Any = None) -> Shape:
    """Return the shape of chunks that have one choice, with such a delta, and nothing else but counts."""
    choice = {"index": Literal[0] | None, "delta": delta, "finish_reason": BLANK}
    choice |= {"error": None, "native_finish_reason": None}
    named = {"id": str | None, "object": _OBJECTS, "model": str | None}
    return shape({**named, "choices": [choice], "usage": usage, "x_groq": None, "error": None}, Chunk)


# -- token counts, under the names of several servers


def merged(one: Usage | None, newer: Usage | None) -> Usage | None:
    """Return counts with those of a later chunk, which may lack some."""
    if one is None or newer is None:
        return newer or one
    pairs = zip(astuple(one), astuple(newer), strict=True)
    return Usage(*(last if last is not None else first for first, last in pairs))


def usage_delta(usage: Usage, provider: str | None, model: str | None, *, outside: bool) -> UsageDelta:
    """Return the counts as AG-UI defines them.

    ``outside`` tells whether the vendor leaves reasoning out of ``completion_tokens``, if the total does not.
    """
    made = usage.completion_tokens_details or _Made()
    taken = usage.prompt_tokens_details or _Read()
    reasoning = _first_count(made.reasoning_tokens, usage.reasoning_tokens)
    cached = _first_count(taken.cached_tokens, usage.cached_tokens, usage.prompt_cache_hit_tokens)
    return UsageDelta(
        provider=provider,
        model=model,
        input_tokens=usage.prompt_tokens,
        output_tokens=_output(usage, reasoning, outside=outside),
        total_tokens=usage.total_tokens,
        reasoning_tokens=reasoning,
        cached_input_tokens=cached,
        cache_write_input_tokens=_first_count(taken.cache_write_tokens, usage.cache_creation_input_tokens),
    )


def _output(usage: Usage, reasoning: int | None, *, outside: bool) -> int | None:
    """Count reasoning as output, which some vendors leave out of ``completion_tokens``."""
    prompt, completion, total = usage.prompt_tokens, usage.completion_tokens, usage.total_tokens
    if completion is None or not reasoning:
        return completion
    if total is not None and prompt is not None:
        outside = total == prompt + completion + reasoning
    return completion + reasoning if outside else completion


def _first_count(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
