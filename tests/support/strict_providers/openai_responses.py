"""OpenAI Responses, and the providers that speak it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Discriminator, Field, StringConstraints, Tag, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, NonEmpty, Open, Strict, named
from tests.support.validators import check_calls, check_responses

ReasoningT = TypeVar("ReasoningT")
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


class Agent(Strict):
    """Who wrote an item, in the multi-agent beta."""

    agent_name: NonEmpty


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
    agent: Agent | None = None


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
    agent: Agent | None = None


class RoutedReasoning(Reasoning):
    """Of OpenRouter, whose types have two fields more."""

    signature: NonEmpty | None = None
    format: NonEmpty | None = None


class FunctionCall(Strict):
    type: Literal["function_call"]
    id: NonEmpty | None = None
    call_id: CallId
    name: NonEmpty
    arguments: NonEmpty
    status: Literal["completed", "incomplete", "in_progress"] | None = None
    namespace: str | None = None
    agent: Agent | None = None
    thought_signature: str | None = None


class CustomCall(Strict):
    type: Literal["custom_tool_call"]
    id: NonEmpty | None = None
    call_id: CallId
    name: NonEmpty
    input: str


class Effort(Strict):
    effort: Literal["low", "medium", "high", "xhigh", "max"]


class ConfigurationUpdate(Strict):
    type: Literal["configuration_update"]
    reasoning: Effort


class CallOutput(Strict):
    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: CallId
    output: str | list[InputPart]


class Other(Open):
    """Items of the server's own tools, and compaction items, which go back verbatim."""

    type: Annotated[
        str, StringConstraints(pattern=r"_call(_output)?$|^agent_message$|^compaction|^item_reference$|^mcp_")
    ]


KINDS = frozenset(
    {
        *("reasoning", "message", "function_call", "custom_tool_call"),
        *("function_call_output", "custom_tool_call_output", "configuration_update", None),
    }
)


def _kind(item: Any) -> str:
    kind = item.get("type")
    return str(kind) if kind in KINDS else "other"


Item = Annotated[
    Annotated[ReasoningT, Tag("reasoning")]
    | Annotated[OutputMessage, Tag("message")]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[CustomCall, Tag("custom_tool_call")]
    | Annotated[CallOutput, Tag("function_call_output")]
    | Annotated[CallOutput, Tag("custom_tool_call_output")]
    | Annotated[ConfigurationUpdate, Tag("configuration_update")]
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


class Request(Strict, Generic[ReasoningT]):
    input: list[Item[ReasoningT]]
    instructions: NonEmpty | None = None
    tools: list[Tool] | None = None
    store: bool | None = None
    previous_response_id: NonEmpty | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request[Reasoning])
ROUTED: TypeAdapter[Any] = TypeAdapter(Request[RoutedReasoning])


def rules(body: Body, **options: Any) -> list[str]:
    """Of a model before GPT-6, whose effort belongs to the request."""
    changes = any(item.get("type") == "configuration_update" for item in body["input"])
    refused = ["The 'configuration_update' item type is not supported with this model."] if changes else []
    return [*refused, *check_responses(body, **options)]


def rules_gpt_6(body: Body) -> list[str]:
    """Of a model that takes changes of the effort as items, but not two in a row."""
    kinds = [item.get("type") for item in body["input"]]
    twice = any(before == after == "configuration_update" for before, after in pairwise(kinds))
    faults = check_responses(body)
    return [*(["Two 'configuration_update' items cannot be adjacent."] if twice else []), *faults]


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


# -- other implementers, by what they refuse of a whole request


def _deepseek(body: Body) -> list[str]:
    """No reasoning between parallel calls (pydantic-ai)."""
    items, faults = body["input"], check_calls(body)
    for number, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        around = [one.get("type") for one in (*items[number - 1 : number], *items[number + 1 : number + 2])]
        if around == ["function_call", "function_call"]:
            faults.append("reasoning between parallel calls")
    return faults


def lacks_reasoning(body: Body) -> list[str]:
    """Of DeepSeek, in a tool loop that it began itself: calls need raw reasoning before them (inferred).

    It is no rule of the provider here, because nothing is known that could stand for the reasoning of others.
    """
    items = _loop(body["input"])
    before = [None, *(item.get("type") for item in items)]
    return [
        "The reasoning content in the thinking mode must be passed back to the API."
        for last, item in zip(before, items, strict=False)
        if item.get("type") == "function_call" and last not in ("reasoning", "function_call")
    ]


def _loop(items: list[Any]) -> list[Any]:
    """The items after the last message of the user."""
    asked = [number for number, item in enumerate(items) if item.get("role") == "user"]
    return items[asked[-1] + 1 :] if asked else items


def _lmstudio(body: Body) -> list[str]:
    """It serves open models, so an item is its text (pydantic-ai; what it refuses is inferred)."""
    return check_calls(body) + [
        "input[].content: expected reasoning_text"
        for item in body["input"]
        if item.get("type") == "reasoning"
        and not (item.get("content") or item["summary"] or item.get("encrypted_content"))
    ]


def _perplexity(body: Body) -> list[str]:
    """Its SDK has three types of input items, none for reasoning and none with an ID."""
    kinds = {"function_call", "function_call_output", None}
    return check_calls(body) + [
        f"input[{number}].type: unexpected {item.get('type')} {item.get('id')}"
        for number, item in enumerate(body["input"])
        if item.get("type") not in kinds or item.get("id")
    ]


def rules_openrouter(body: Body) -> list[str]:
    """Of OpenRouter, which stores nothing. Its types require the ID of reasoning, but its server does not."""
    refers = any(item.get("type") == "item_reference" for item in body["input"])
    if refers or "previous_response_id" in body or body.get("store"):
        return ["Invalid Responses API request: responses are not stored"]
    return check_calls(body)


VENDORS: dict[str, tuple[str, str, Callable[[Body], list[str]]]] = {
    "deepseek responses": ("deepseek", "deepseek-v4-flash", _deepseek),
    "lmstudio responses": ("lmstudio", "openai/gpt-oss-20b", _lmstudio),
    "bedrock-mantle": ("bedrock-mantle", "openai.gpt-5.6-luna", rules),
    "perplexity": ("perplexity", "google/gemini-3.5-flash", _perplexity),
}
"""The provider, the model, and what it refuses."""
