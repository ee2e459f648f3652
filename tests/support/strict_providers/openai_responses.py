"""OpenAI Responses, and the providers that speak it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonEmpty, Open, Strict, named
from tests.support.validators import check_responses

CallId = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class InputText(Strict):
    type: Literal["input_text"]
    text: str


class InputImage(Strict):
    type: Literal["input_image"]
    image_url: NonEmpty | None = None
    file_id: NonEmpty | None = None
    detail: Literal["auto", "low", "high"] = "auto"


class InputFile(Strict):
    type: Literal["input_file"]
    file_data: NonEmpty | None = None
    file_id: NonEmpty | None = None
    file_url: NonEmpty | None = None
    filename: NonEmpty | None = None


InputPart = Annotated[InputText | InputImage | InputFile, Field(discriminator="type")]


class EasyMessage(Strict):
    role: Literal["user", "system", "developer", "assistant"]
    content: str | list[InputPart]
    phase: str | None = None


class Output(Open):
    type: Literal["output_text", "refusal"]


class OutputMessage(Strict):
    type: Literal["message"]
    id: NonEmpty
    role: Literal["assistant"]
    status: Literal["completed", "incomplete", "in_progress"]
    content: list[Output]
    phase: Literal["commentary", "final_answer"] | None = None


class SummaryText(Strict):
    type: Literal["summary_text"]
    text: str


class ReasoningText(Strict):
    type: Literal["reasoning_text"]
    text: str


class Reasoning(Strict):
    type: Literal["reasoning"]
    id: NonEmpty | None = None
    summary: list[SummaryText]
    content: list[ReasoningText] | None = None
    encrypted_content: NonEmpty | None = None


class FunctionCall(Strict):
    type: Literal["function_call"]
    id: NonEmpty | None = None
    call_id: CallId
    name: NonEmpty
    arguments: NonEmpty
    status: Literal["completed", "incomplete", "in_progress"] | None = None
    namespace: str | None = None
    thought_signature: str | None = None


class CustomCall(Strict):
    type: Literal["custom_tool_call"]
    id: NonEmpty | None = None
    call_id: CallId
    name: NonEmpty
    input: str


class CallOutput(Strict):
    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: CallId
    output: str | list[InputPart]


class Other(Open):
    """Items of the server's own tools, and compaction items, which go back verbatim."""

    type: Annotated[str, StringConstraints(pattern=r"_call(_output)?$|^compaction|^item_reference$|^mcp_")]


KINDS = frozenset(
    {
        *("reasoning", "message", "function_call", "custom_tool_call"),
        *("function_call_output", "custom_tool_call_output", None),
    }
)


def _kind(item: Any) -> str:
    kind = item.get("type")
    return str(kind) if kind in KINDS else "other"


Item = Annotated[
    Annotated[Reasoning, Tag("reasoning")]
    | Annotated[OutputMessage, Tag("message")]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[CustomCall, Tag("custom_tool_call")]
    | Annotated[CallOutput, Tag("function_call_output")]
    | Annotated[CallOutput, Tag("custom_tool_call_output")]
    | Annotated[EasyMessage, Tag("None")]
    | Annotated[Other, Tag("other")],
    Discriminator(_kind),
]


class Tool(Strict):
    type: Literal["function"]
    name: NonEmpty
    description: str | None = None
    parameters: dict[str, Any]
    strict: bool | None = None


class Request(Strict):
    input: list[Item]
    instructions: NonEmpty | None = None
    tools: list[Tool] | None = None
    store: bool | None = None
    previous_response_id: NonEmpty | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_responses


def artefacts(body: Body) -> Iterator[Artefact]:
    """What is encrypted; the summaries beside it are not compared."""
    for item in body["input"]:
        if item.get("type") == "reasoning":
            yield from named(item, "encrypted_content")


def rules_stateless(body: Body) -> list[str]:
    """Of a server that stores nothing."""
    return rules({**body, "store": False})
