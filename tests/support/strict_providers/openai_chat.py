"""Chat Completions: one shape, and a row of additional fields for each vendor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, create_model

from tests.support.strict_providers.shapes import (
    Artefact,
    Body,
    Function,
    FunctionTool,
    NonEmpty,
    Open,
    Strict,
    named,
)


class Text(Strict):
    type: Literal["text"]
    text: str


class ImageURL(Strict):
    url: NonEmpty
    detail: str | None = None


class Image(Strict):
    type: Literal["image_url"]
    image_url: ImageURL


class AudioData(Strict):
    data: NonEmpty
    format: Literal["wav", "mp3"]


class Audio(Strict):
    type: Literal["input_audio"]
    input_audio: AudioData


class FileData(Strict):
    file_data: NonEmpty | None = None
    file_id: NonEmpty | None = None
    filename: NonEmpty | None = None


class File(Strict):
    type: Literal["file"]
    file: FileData


UserPart = Annotated[Text | Image | Audio | File, Field(discriminator="type")]


class Custom(Strict):
    name: NonEmpty
    input: str


class CustomCall(Strict):
    id: NonEmpty
    type: Literal["custom"]
    custom: Custom


class Call(Strict):
    id: NonEmpty
    type: Literal["function"]
    function: Function


class GoogleValue(Strict):
    thought_signature: NonEmpty


class ExtraContent(Strict):
    google: GoogleValue | None = None
    vertex: GoogleValue | None = None


class GoogleContent(Strict):
    google: GoogleValue


class GoogleCall(Call):
    extra_content: GoogleContent | None = None


class VertexContent(Strict):
    vertex: GoogleValue


class VertexCall(Call):
    extra_content: VertexContent | None = None


class ProviderFields(Strict):
    thought_signature: NonEmpty


class LiteLLMCall(Call):
    provider_specific_fields: ProviderFields | None = None


class User(Strict):
    role: Literal["user"]
    content: str | Annotated[list[UserPart], Field(min_length=1)]


class System(Strict):
    role: Literal["system", "developer"]
    content: str


class ToolMessage(Strict):
    role: Literal["tool"]
    tool_call_id: NonEmpty
    content: str


class MediaResult(ToolMessage):
    """LiteLLM hands media in results on to Claude: `ChatCompletionToolMessage`."""

    content: str | Annotated[list[Text | Image | File], Field(min_length=1)]  # type: ignore[assignment]


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | None = None


class ThinkingBlock(Strict):
    type: Literal["thinking"]
    thinking: str
    signature: NonEmpty


class RedactedBlock(Strict):
    type: Literal["redacted_thinking"]
    data: NonEmpty


class Detail(Open):
    type: Literal["reasoning.text", "reasoning.summary", "reasoning.encrypted", "reasoning.server_tool_call"]


class ReasoningItem(Strict):
    type: Literal["reasoning"]
    id: NonEmpty | None = None
    summary: list[dict[str, Any]]
    encrypted_content: NonEmpty


FIELDS: dict[str, Any] = {
    **dict.fromkeys(("reasoning_content", "reasoning", "reasoning_text"), (str, None)),
    "reasoning_details": (list[Detail], None),
    "reasoning_opaque": (NonEmpty, None),
    "thinking_blocks": (
        list[Annotated[ThinkingBlock | RedactedBlock, Field(discriminator="type")]],
        None,
    ),
    "extra_content": (ExtraContent, None),
    "provider_specific_fields": (dict[str, list[NonEmpty]], None),
    "reasoning_items": (list[ReasoningItem], None),
}
"""What a vendor may take beside OpenAI's fields of an assistant message."""


def shape(*fields: str, call: type[Call] = Call, result: type[ToolMessage] = ToolMessage) -> TypeAdapter[Any]:
    """The shape of a request for a vendor that takes some more fields in an assistant message.

    Args:
        fields: Names in `FIELDS`.
        call: The shape of its calls.
        result: The shape of the results of tools.
    """
    calls = list[Annotated[call | CustomCall, Field(discriminator="type")]]
    more: dict[str, Any] = {name: FIELDS[name] for name in fields}
    more["tool_calls"] = (Annotated[calls, Field(min_length=1)], None)
    assistant = create_model("VendorAssistant", __base__=Assistant, **more)
    message = Annotated[User | System | result | assistant, Field(discriminator="role")]
    members: dict[str, Any] = {"messages": (list[message], ...), "tools": (list[FunctionTool], None)}
    return TypeAdapter(create_model("VendorRequest", __base__=Strict, **members))


def artefacts(body: Body) -> Iterator[Artefact]:
    """Signatures on calls and texts, and the values in blocks and entries."""
    for message in body["messages"]:
        if message["role"] != "assistant":
            continue
        for block in message.get("thinking_blocks") or ():
            yield Artefact(block.get("signature") or block["data"], block.get("thinking", ""))
        for detail in message.get("reasoning_details") or ():
            yield from (Artefact(detail[name]) for name in ("signature", "data") if detail.get(name))
        rest = {name: message.get(name) for name in ("tool_calls", "extra_content", "reasoning_items")}
        yield from named(rest, "thought_signature", "encrypted_content")
        yield from map(
            Artefact, (message.get("provider_specific_fields") or {}).get("thought_signatures", ())
        )
        yield from map(Artefact, filter(None, [message.get("reasoning_opaque")]))
