"""Anthropic Messages, thinking on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonBlank, NonEmpty, Open, Strict
from tests.support.validators import check_anthropic

ImageType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


class Base64Image(Strict):
    type: Literal["base64"]
    media_type: ImageType
    data: NonEmpty


class PDF(Strict):
    type: Literal["base64"]
    media_type: Literal["application/pdf"]
    data: NonEmpty


class PlainText(Strict):
    type: Literal["text"]
    media_type: Literal["text/plain"]
    data: str


class URL(Strict):
    type: Literal["url"]
    url: NonEmpty


class Uploaded(Strict):
    type: Literal["file"]
    file_id: NonEmpty


class Text(Strict):
    type: Literal["text"]
    text: NonBlank
    citations: list[Any] | None = None
    cache_control: Any = None


class Image(Strict):
    type: Literal["image"]
    source: Annotated[Base64Image | URL | Uploaded, Field(discriminator="type")]


class Document(Strict):
    type: Literal["document"]
    source: PDF | PlainText | URL | Uploaded
    title: str | None = None


class Thinking(Strict):
    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinking(Strict):
    type: Literal["redacted_thinking"]
    data: NonEmpty


class ToolUse(Strict):
    type: Literal["tool_use"]
    id: NonEmpty
    name: NonEmpty
    input: dict[str, Any]
    caller: Any = None
    cache_control: Any = None


class ServerToolUse(ToolUse):
    type: Literal["server_tool_use", "mcp_tool_use"]  # type: ignore[assignment]
    server_name: str | None = None


class ToolResult(Strict):
    type: Literal["tool_result"]
    tool_use_id: NonEmpty
    content: str | list[Annotated[Text | Image | Document, Field(discriminator="type")]]
    is_error: bool = False


class ServerResult(Open):
    type: Literal[
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "advisor_tool_result",
        "mcp_tool_result",
    ]
    tool_use_id: NonEmpty
    content: Any


class Verbatim(Open):
    type: Literal["compaction", "fallback", "container_upload"]


Block = Annotated[
    Text
    | Image
    | Document
    | Thinking
    | RedactedThinking
    | ToolUse
    | ServerToolUse
    | ToolResult
    | ServerResult
    | Verbatim,
    Field(discriminator="type"),
]


class Message(Strict):
    role: Literal["user", "assistant"]
    content: Annotated[list[Block], Field(min_length=1)]


class OutputConfig(Strict):
    effort: NonEmpty


class Instructions(Strict):
    role: Literal["system"]
    content: list[Text]
    output_config: OutputConfig | None = None


class Tool(Strict):
    name: NonEmpty
    description: str = ""
    input_schema: dict[str, Any]
    cache_control: Any = None


class Request(Strict):
    messages: list[Annotated[Message | Instructions, Field(discriminator="role")]]
    system: NonBlank | list[Text] | None = None
    tools: list[Tool] | None = None
    extra_headers: dict[str, str] | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)


def rules(body: Body) -> list[str]:
    """In both versions of the API that are in use, 2023-06-01 and 2026-10-21."""
    return [*check_anthropic(body), *refused_since_2026_10_21(body)]


def refused_since_2026_10_21(body: Body) -> Iterator[str]:
    """What the newer version no longer takes in a conversation."""
    for number, message in enumerate(body["messages"]):
        for place, block in enumerate(message["content"]):
            where = f"messages.{number}.content.{place}"
            if message["role"] == "assistant" and block["type"] == "document":
                yield f"{where}: `document` blocks are not allowed in assistant messages"
            if message["role"] == "user" and block.get("citations"):
                yield f"{where}: `citations` are not allowed in user messages"


def rules_inside(body: Body) -> list[str]:
    """Of a model that takes instructions and changes of effort inside a conversation."""
    faults = check_anthropic(body, inside=("system", "effort"))
    return [*faults, *refused_since_2026_10_21(body)]


def artefacts(body: Body) -> Iterator[Artefact]:
    """Signatures with the text that they sign, and redacted thoughts."""
    for message in body["messages"]:
        for block in message["content"]:
            if block["type"] == "thinking" and block["signature"]:
                yield Artefact(block["signature"], block["thinking"])
            elif block["type"] == "redacted_thinking":
                yield Artefact(block["data"], "")
