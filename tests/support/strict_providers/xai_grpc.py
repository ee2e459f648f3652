"""xAI's gRPC chat: the fields of its protocol buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonEmpty, Strict
from tests.support.validators_outputs import check_xai


class ImageURL(Strict):
    image_url: NonEmpty | None = None
    file_id: NonEmpty | None = None
    detail: str | None = None


class File(Strict):
    file_id: NonEmpty | None = None
    url: NonEmpty | None = None
    data: Annotated[bytes, Field(min_length=1)] | None = None
    filename: str | None = None
    mime_type: str | None = None


class Content(Strict):
    text: str | None = None
    image_url: ImageURL | None = None
    file: File | None = None


class CalledFunction(Strict):
    name: NonEmpty
    arguments: NonEmpty


class Call(Strict):
    id: NonEmpty
    type: str
    status: str | None = None
    function: CalledFunction


class Message(Strict):
    role: Literal["ROLE_SYSTEM", "ROLE_USER", "ROLE_ASSISTANT", "ROLE_TOOL"]
    content: Annotated[list[Content], Field(min_length=1)]
    reasoning_content: NonEmpty | None = None
    encrypted_content: NonEmpty | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: NonEmpty | None = None


class Declaration(Strict):
    name: NonEmpty
    description: str = ""
    parameters: NonEmpty


class Tool(Strict):
    function: Declaration


class Request(Strict):
    messages: list[Message]
    tools: list[Tool] | None = None
    use_encrypted_content: bool | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_xai


def artefacts(body: Body) -> Iterator[Artefact]:
    """What is encrypted, with the reasoning beside it."""
    for message in body["messages"]:
        if message.get("encrypted_content"):
            model = message["role"] == "ROLE_ASSISTANT"
            text = message.get("reasoning_content", "") if model else None
            yield Artefact(message["encrypted_content"], text)
