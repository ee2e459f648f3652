"""Gemini's generateContent, as google-genai takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonBlank, NonEmpty, Strict
from tests.support.validators import check_gemini

Signature = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/_-]+={0,2}$")]


class Blob(Strict):
    mimeType: NonEmpty  # noqa: N815
    data: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/_-]+={0,2}$")]
    displayName: str | None = None  # noqa: N815


class FileData(Strict):
    mimeType: NonEmpty | None = None  # noqa: N815
    fileUri: NonEmpty  # noqa: N815


class FunctionCall(Strict):
    id: NonEmpty | None = None
    name: NonEmpty
    args: dict[str, Any]


class FunctionResponse(Strict):
    id: NonEmpty | None = None
    name: NonEmpty
    response: dict[str, Any]


class ExecutableCode(Strict):
    id: NonEmpty | None = None
    code: str
    language: str


class CodeExecutionResult(Strict):
    id: NonEmpty | None = None
    outcome: str | None = None
    output: str | None = None


class ToolCall(Strict):
    id: NonEmpty | None = None
    toolType: NonEmpty  # noqa: N815
    args: dict[str, Any] | None = None


class ToolResponse(Strict):
    id: NonEmpty | None = None
    toolType: NonEmpty | None = None  # noqa: N815
    response: Any = None


class Part(Strict):
    text: str | None = None
    inlineData: Blob | None = None  # noqa: N815
    fileData: FileData | None = None  # noqa: N815
    functionCall: FunctionCall | None = None  # noqa: N815
    functionResponse: FunctionResponse | None = None  # noqa: N815
    executableCode: ExecutableCode | None = None  # noqa: N815
    codeExecutionResult: CodeExecutionResult | None = None  # noqa: N815
    toolCall: ToolCall | None = None  # noqa: N815
    toolResponse: ToolResponse | None = None  # noqa: N815
    thoughtSignature: Signature | None = None  # noqa: N815
    thought: bool | None = None
    videoMetadata: Any = None  # noqa: N815
    partMetadata: Any = None  # noqa: N815


class Content(Strict):
    role: Literal["user", "model"]
    parts: Annotated[list[Part], Field(min_length=1)]


class Declaration(Strict):
    name: NonEmpty
    description: str = ""
    parametersJsonSchema: dict[str, Any]  # noqa: N815


class Tool(Strict):
    functionDeclarations: list[Declaration]  # noqa: N815


class Config(Strict):
    systemInstruction: NonBlank | None = None  # noqa: N815
    tools: list[Tool] | None = None


class Request(Strict):
    contents: list[Content]
    config: Config | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_gemini


def artefacts(body: Body) -> Iterator[Artefact]:
    """Signatures, with the text of the part that they stand on, if it has one."""
    for content in body["contents"]:
        for part in content["parts"]:
            if "thoughtSignature" in part:
                yield Artefact(part["thoughtSignature"], part.get("text"))


def rules_unenforced(body: Body) -> list[str]:
    """Of a model before Gemini 3: calls need no signature."""
    return rules(body, enforced=False)
