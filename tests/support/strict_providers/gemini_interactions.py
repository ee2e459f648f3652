"""Gemini Interactions, with the whole conversation in the request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonEmpty, Open, Strict
from tests.support.validators_interactions import check_interactions


class Text(Strict):
    type: Literal["text"]
    text: NonEmpty
    annotations: list[Any] | None = None


class Media(Strict):
    type: Literal["image", "audio", "video", "document"]
    mime_type: NonEmpty
    data: NonEmpty | None = None
    uri: NonEmpty | None = None
    resolution: str | None = None


class FunctionResult(Strict):
    type: Literal["function_result"]
    call_id: NonEmpty
    name: NonEmpty
    result: str | list[Annotated[Text | Media, Field(discriminator="type")]]
    is_error: bool = False


class UserInput(Strict):
    type: Literal["user_input"]
    content: Annotated[
        list[Annotated[Text | Media | FunctionResult, Field(discriminator="type")]], Field(min_length=1)
    ]


class ModelOutput(Strict):
    type: Literal["model_output"]
    content: Annotated[list[Annotated[Text | Media, Field(discriminator="type")]], Field(min_length=1)]


class Thought(Strict):
    type: Literal["thought"]
    signature: NonEmpty
    summary: list[Text] | None = None


class FunctionCall(Strict):
    type: Literal["function_call"]
    id: NonEmpty
    name: NonEmpty
    arguments: dict[str, Any]
    signature: NonEmpty | None = None


class ServerStep(Open):
    type: Annotated[str, StringConstraints(pattern=r"_(call|result)$")]


_KINDS = ("user_input", "model_output", "thought", "function_call")


def _kind(step: Any) -> str:
    return step["type"] if step["type"] in _KINDS else "server"


Step = Annotated[
    Annotated[UserInput, Tag("user_input")]
    | Annotated[ModelOutput, Tag("model_output")]
    | Annotated[Thought, Tag("thought")]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[ServerStep, Tag("server")],
    Discriminator(_kind),
]


class Tool(Strict):
    type: Literal["function"]
    name: NonEmpty
    description: str = ""
    parameters: dict[str, Any]


class Request(Strict):
    input: list[Step]
    system_instruction: NonEmpty | None = None
    tools: list[Tool] | None = None
    store: bool | None = None
    previous_interaction_id: NonEmpty | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_interactions


def artefacts(body: Body) -> Iterator[Artefact]:
    """Signatures; those of thoughts with their summary."""
    for step in body["input"]:
        if step.get("signature"):
            summary = "".join(entry["text"] for entry in step.get("summary") or ())
            yield Artefact(step["signature"], summary if step["type"] == "thought" else None)
