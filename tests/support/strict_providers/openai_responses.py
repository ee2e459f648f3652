"""OpenAI Responses, and the providers that speak it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonEmpty, Open, Strict, named
from tests.support.validators import check_calls, check_responses

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
    type: Literal["reasoning_text", "output_text", "text"]
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


# -- implementers of Open Responses


def server(refuse: Callable[[Body], str]) -> Callable[[Body], list[str]]:
    """Of a server that knows no items but those of Open Responses, and stores nothing.

    Args:
        refuse: Why it refuses a reasoning item, or cannot use it; empty if it reads it.
    """
    inner = gateway(refuse)

    def check(body: Body) -> list[str]:
        faults = ["Cannot determine type of 'item'" for item in body["input"] if _kind(item) == "other"]
        if "previous_response_id" in body:
            faults.append("does not support 'previous_response_id'")
        return faults + inner(body)

    return check


def gateway(refuse: Callable[[Body], str]) -> Callable[[Body], list[str]]:
    """Of a gateway that passes on the items of OpenAI."""

    def check(body: Body) -> list[str]:
        faults = [refuse(item) for item in body["input"] if item.get("type") == "reasoning"]
        return [fault for fault in faults if fault] + check_calls(body)

    return check


def _vllm(item: Body) -> str:
    if item.get("encrypted_content"):
        return "Encrypted content is not supported."
    return "" if len(item.get("content") or item["summary"]) == 1 else "one part of an item is read"


def _llamacpp(item: Body) -> str:
    content = item.get("content")
    if not isinstance(content, list):
        return "item['content'] is not an array"
    return "" if content and content[0]["text"] else "item['content'] is empty"


def _ollama(item: Body) -> str:
    return "" if item.get("encrypted_content") else "the item has nothing that is read"


def _huggingface(item: Body) -> str:
    return "Invalid input: expected one of 'message', 'function_call', 'function_call_output'"


def _schema(item: Body) -> str:
    return "content: Input should be null" if item.get("content") else ""


def _without_ids(item: Body) -> str:
    if item.get("id"):
        return f"Item with id '{item['id']}' not found."
    return "" if item.get("encrypted_content") else "Missing required parameter: 'input[].id'."


def _rotating(item: Body) -> str:
    return "reasoning `encrypted_content` was not issued to this caller"


SERVERS: dict[str, tuple[str, str, Callable[[Body], str]]] = {
    "vllm responses": ("vllm", "openai/gpt-oss-120b", _vllm),
    "llama.cpp responses": ("llamacpp", "gpt-oss-20b", _llamacpp),
    "ollama responses": ("ollama", "qwen3:4b", _ollama),
    "huggingface responses": ("huggingface", "openai/gpt-oss-120b", _huggingface),
    "open responses": ("open-responses", "model-1", _schema),
}
"""The provider, the model, and why it refuses a reasoning item."""

GATEWAYS: dict[str, tuple[str, str, Callable[[Body], str]]] = {
    "meta behind openrouter": ("openrouter", "meta/muse-spark-1.3", _without_ids),
    "meta behind zen": ("opencode-zen", "muse-spark-1.3", _rotating),
}
"""The same of models behind a gateway."""
