"""Mistral's chat: 422 ``extra_forbidden`` for any field it does not name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter

from tests.support.strict_providers.shapes import (
    Artefact,
    Body,
    Function,
    FunctionTool,
    NonEmpty,
    Open,
    Strict,
)
from tests.support.validators_native import check_mistral

CallId = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9]{9}$")]


class Text(Strict):
    type: Literal["text"]
    text: str


class Thinking(Strict):
    type: Literal["thinking"]
    thinking: Annotated[list[Text], Field(min_length=1)]
    closed: bool = True
    signature: NonEmpty | None = None


class ImageURL(Strict):
    url: NonEmpty
    detail: str | None = None


class Image(Strict):
    type: Literal["image_url"]
    image_url: str | ImageURL


class Document(Strict):
    type: Literal["document_url"]
    document_url: NonEmpty
    document_name: str | None = None


class File(Strict):
    type: Literal["file"]
    file_id: NonEmpty


class Audio(Strict):
    type: Literal["input_audio"]
    input_audio: NonEmpty


class Reference(Open):
    type: Literal["reference", "tool_file", "tool_reference"]


UserPart = Annotated[Text | Image | Document | File | Audio, Field(discriminator="type")]
ModelPart = Annotated[Text | Thinking | Image | Reference, Field(discriminator="type")]


class Call(Strict):
    id: CallId
    type: Literal["function"] = "function"
    function: Function


class User(Strict):
    role: Literal["user"]
    content: str | Annotated[list[UserPart], Field(min_length=1)]


class System(Strict):
    role: Literal["system"]
    content: str


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | list[ModelPart] | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None


class Tool(Strict):
    role: Literal["tool"]
    tool_call_id: CallId
    name: NonEmpty
    content: str


class Request(Strict):
    messages: list[Annotated[User | System | Assistant | Tool, Field(discriminator="role")]]
    tools: list[FunctionTool] | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_mistral


def artefacts(body: Body) -> Iterator[Artefact]:
    """Signatures of thinking chunks."""
    for message in body["messages"]:
        for chunk in message["content"] if isinstance(message.get("content"), list) else ():
            if chunk.get("signature"):
                yield Artefact(chunk["signature"], "".join(part["text"] for part in chunk["thinking"]))
