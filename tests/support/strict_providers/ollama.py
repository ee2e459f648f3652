"""Ollama's chat: what Go cannot read into its types is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, TypeAdapter

from tests.support.strict_providers.shapes import Artefact, Body, FunctionTool, NonEmpty, Strict
from tests.support.validators_native import check_ollama


class CalledFunction(Strict):
    name: NonEmpty
    arguments: dict[str, Any]


class Call(Strict):
    id: NonEmpty | None = None
    function: CalledFunction


Base64 = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$")]


class Message(Strict):
    role: Literal["user", "system", "assistant", "tool"]
    content: str
    thinking: NonEmpty | None = None
    images: list[Base64] | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None
    tool_name: NonEmpty | None = None
    tool_call_id: NonEmpty | None = None


class Request(Strict):
    messages: list[Message]
    tools: list[FunctionTool] | None = None


SHAPE: TypeAdapter[Any] = TypeAdapter(Request)
rules = check_ollama


def artefacts(body: Body) -> Iterator[Artefact]:
    """Ollama signs and encrypts nothing."""
    return iter(())


def rules_by_name(body: Body) -> list[str]:
    """Of older servers, too: results stand behind their calls in the order of these, with their names."""
    faults = rules(body)
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        waiting += [call["function"]["name"] for call in message.get("tool_calls") or ()]
        if message["role"] == "tool" and (not waiting or message.get("tool_name") != waiting.pop(0)):
            faults.append(f"{number}: the result is not of the next call")
    return faults
