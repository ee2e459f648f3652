"""Cohere's chat, version 2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, Function, FunctionTool, NonEmpty, Strict
from tests.support.validators_native import check_cohere


class Text(Strict):
    type: Literal["text"]
    text: str


class Thinking(Strict):
    type: Literal["thinking"]
    thinking: NonEmpty


class ImageURL(Strict):
    url: NonEmpty
    detail: str | None = None


class Image(Strict):
    type: Literal["image_url"]
    image_url: ImageURL


class Call(Strict):
    id: NonEmpty
    type: Literal["function"]
    function: Function


class User(Strict):
    role: Literal["user"]
    content: str | Annotated[list[Annotated[Text | Image, Field(discriminator="type")]], Field(min_length=1)]


class System(Strict):
    role: Literal["system"]
    content: str


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | list[Annotated[Text | Thinking, Field(discriminator="type")]] | None = None
    tool_plan: NonEmpty | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None


class Tool(Strict):
    role: Literal["tool"]
    tool_call_id: NonEmpty
    content: str


class Request(Strict):
    messages: list[Annotated[User | System | Assistant | Tool, Field(discriminator="role")]]
    tools: list[FunctionTool] | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_cohere


def artefacts(body: Body) -> Iterator[Artefact]:
    """Cohere signs and encrypts nothing."""
    return iter(())


def rules_without_thinking(body: Body) -> list[str]:
    """Of a model that does not reason: it has a plan, and no blocks."""
    blocks = [b for m in body["messages"] if isinstance(m.get("content"), list) for b in m["content"]]
    return [*rules(body), *("thinking is not supported" for block in blocks if block["type"] == "thinking")]
