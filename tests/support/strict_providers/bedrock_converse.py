"""Bedrock Converse, as boto3 takes it; the shapes are unions of one member."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter, model_validator

from tests.support.strict_providers.shapes import Artefact, Body, NonBlank, NonEmpty, Strict
from tests.support.validators_native import check_bedrock, check_bedrock_unsigned

Blob = Annotated[bytes, Field(min_length=1)]
DocumentName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9()\[\]-]+(\s[A-Za-z0-9()\[\]-]+)*$", max_length=200)
]


class Union(Strict):
    """A union of the service model: exactly one of its members."""

    @model_validator(mode="after")
    def one_member(self) -> Union:
        if len(self.model_fields_set) != 1:
            raise ValueError("is a union: exactly one member must be set")
        return self


class S3(Strict):
    uri: Annotated[str, StringConstraints(pattern=r"^s3://")]
    bucketOwner: str | None = None  # noqa: N815


class Source(Union):
    bytes: Blob | None = None
    s3Location: S3 | None = None  # noqa: N815


class Image(Strict):
    format: Literal["png", "jpeg", "gif", "webp"]
    source: Source


class Document(Strict):
    format: Literal["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]
    name: DocumentName
    source: Source


class Video(Strict):
    format: Literal["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"]
    source: Source


class ReasoningText(Strict):
    text: str
    signature: NonEmpty | None = None


class Reasoning(Union):
    reasoningText: ReasoningText | None = None  # noqa: N815
    redactedContent: Blob | None = None  # noqa: N815


class ToolUse(Strict):
    toolUseId: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_.:-]{1,64}$")]  # noqa: N815
    name: NonEmpty
    input: dict[str, Any]
    type: Literal["server_tool_use"] | None = None


class ResultContent(Union):
    text: NonBlank | None = None
    json_: Annotated[Any, Field(alias="json")] = None
    image: Image | None = None
    document: Document | None = None
    video: Video | None = None


class ToolResult(Strict):
    toolUseId: NonEmpty  # noqa: N815
    content: Annotated[list[ResultContent], Field(min_length=1)]
    status: Literal["success", "error"] = "success"
    type: str | None = None


class Block(Union):
    text: NonBlank | None = None
    image: Image | None = None
    document: Document | None = None
    video: Video | None = None
    reasoningContent: Reasoning | None = None  # noqa: N815
    toolUse: ToolUse | None = None  # noqa: N815
    toolResult: ToolResult | None = None  # noqa: N815
    citationsContent: dict[str, Any] | None = None  # noqa: N815
    guardContent: dict[str, Any] | None = None  # noqa: N815
    audio: dict[str, Any] | None = None
    cachePoint: dict[str, Any] | None = None  # noqa: N815
    searchResult: dict[str, Any] | None = None  # noqa: N815


class Message(Strict):
    role: Literal["user", "assistant"]
    content: Annotated[list[Block], Field(min_length=1)]

    @model_validator(mode="after")
    def text_beside_documents(self) -> Message:
        fields = [name for block in self.content for name in block.model_fields_set]
        if "document" in fields and "text" not in fields:
            raise ValueError("a message with a document must have a text")
        return self


class InputSchema(Strict):
    json_: Annotated[dict[str, Any], Field(alias="json")]


class ToolSpec(Strict):
    name: NonEmpty
    description: NonEmpty | None = None
    inputSchema: InputSchema  # noqa: N815


class Tool(Strict):
    toolSpec: ToolSpec  # noqa: N815


class ToolConfig(Strict):
    tools: Annotated[list[Tool], Field(min_length=1)]


class SystemText(Strict):
    text: NonBlank


class Request(Strict):
    messages: list[Message]
    system: list[SystemText] | None = None
    toolConfig: ToolConfig | None = None  # noqa: N815


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_bedrock
rules_unsigned = check_bedrock_unsigned


def artefacts(body: Body) -> Iterator[Artefact]:
    """Signatures with the text that they sign, and redacted thoughts."""
    for message in body["messages"]:
        for block in message["content"]:
            reasoning = block.get("reasoningContent", {})
            signed = reasoning.get("reasoningText", {})
            if signed.get("signature"):
                yield Artefact(signed["signature"], signed["text"])
            if "redactedContent" in reasoning:
                yield Artefact(b64encode(reasoning["redactedContent"]).decode("ascii"), "")
