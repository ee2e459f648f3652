"""Check a request against the official SDKs' own types, to the bottom; the SDKs are in the group ``sdk``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import anthropic.types.beta.message_create_params as beta_params
import anthropic.types.message_create_params as message_params
import openai.types.chat.completion_create_params as chat_params
import openai.types.responses.response_create_params as response_params
from pydantic import TypeAdapter, ValidationError

_ADAPTERS: dict[str, list[tuple[TypeAdapter[Any], dict[str, Any]]]] = {
    "anthropic-messages": [
        (TypeAdapter(message_params.MessageCreateParamsNonStreaming), {"max_tokens": 1}),
        (TypeAdapter(beta_params.MessageCreateParamsNonStreaming), {"max_tokens": 1}),
    ],
    "openai-responses": [(TypeAdapter(response_params.ResponseCreateParamsNonStreaming), {})],
    "openai-chat": [(TypeAdapter(chat_params.CompletionCreateParamsNonStreaming), {})],
    "litellm": [(TypeAdapter(chat_params.CompletionCreateParamsNonStreaming), {})],
}


def check_types(api: str, body: dict[str, Any]) -> str:
    """What the SDK's types have against a body; empty when they take it."""
    if api in _CHECKS:
        return _CHECKS[api](body)
    fault = ""
    for adapter, more in _ADAPTERS[api]:
        try:
            _force(adapter.validate_python({**_completed(api, body), **more, "model": "any"}))
        except ValidationError as error:
            fault = fault or str(error.errors(include_input=False, include_url=False)[:3])
        else:
            return ""
    return fault


def _completed(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """What OpenAI's types demand and the API does not.

    They demand IDs: Codex and Azure take items without. They want text as results of tools: LiteLLM's own
    type, `ChatCompletionToolMessage`, takes images, too.
    """
    if api == "litellm":
        results = [{**m, "content": "…"} if m["role"] == "tool" else m for m in body["messages"]]
        return {**body, "messages": results}
    if api != "openai-responses":
        return body
    items = [{"id": "rs_none", **item} if item.get("type") == "reasoning" else item for item in body["input"]]
    return {**body, "input": items}


def _force(value: Any) -> None:
    """Walk everything: pydantic checks an ``Iterable`` only as it is read."""
    if isinstance(value, Mapping):
        for inner in value.values():
            _force(inner)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for inner in value:
            _force(inner)


# -- models and schemas; each SDK is imported when it is asked


def _gemini(body: dict[str, Any]) -> str:
    from google.genai.types import Content, GenerateContentConfig

    fault = _validated(GenerateContentConfig, body.get("config", {}))
    return fault or _validated(list[Content], body["contents"])


def _botocore(body: dict[str, Any]) -> str:
    from botocore.validate import ParamValidator

    report = ParamValidator().validate({**body, "modelId": "any"}, _converse())
    return str(report.generate_report())


@cache
def _converse() -> Any:
    from botocore.session import Session

    model = Session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def _mistral(body: dict[str, Any]) -> str:
    from mistralai.client.models import ChatCompletionRequest

    return _validated(ChatCompletionRequest, {**body, "model": "any"})


def _cohere(body: dict[str, Any]) -> str:
    from cohere.types import ChatMessageV2

    return _validated(list[ChatMessageV2], body["messages"])


def _ollama(body: dict[str, Any]) -> str:
    from ollama import Tool
    from ollama._client import _copy_messages

    try:
        list(_copy_messages(body["messages"]))
    except ValidationError as error:
        return str(error.errors(include_input=False, include_url=False)[:3])
    return _validated(list[Tool], body.get("tools", []))


def _xai(body: dict[str, Any]) -> str:
    """What the protocol buffers of xAI have against a body."""
    from xai_sdk.proto import chat_pb2

    try:
        chat_pb2.GetCompletionsRequest(model="any", **body)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _validated(kind: Any, value: Any) -> str:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        return str(error.errors(include_input=False, include_url=False)[:3])
    return ""


def _interactions(body: dict[str, Any]) -> str:
    """What google-genai's types have against an interaction, unknown steps and content included."""
    try:
        from google.genai.interactions import CreateModelInteraction
    except ImportError:
        return ""
    fault = _validated(CreateModelInteraction, {**body, "model": "any"})
    if fault:
        return fault
    read = CreateModelInteraction.model_validate({**body, "model": "any"})
    inner = [content for step in read.input for content in getattr(step, "content", None) or ()]
    unknown = [one.raw["type"] for one in (*read.input, *inner) if getattr(one, "is_unknown", False)]
    # The types have it as a step; the API takes it in the user's content, too.
    return str([kind for kind in unknown if kind != "function_result"] or "")


_CHECKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "bedrock-converse": _botocore,
    "cohere-chat": _cohere,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "mistral-chat": _mistral,
    "ollama": _ollama,
    "xai-grpc": _xai,
}
