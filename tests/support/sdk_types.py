"""The official SDKs' own types of a request, checked to the bottom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module, util
from typing import Any

import anthropic.types.beta.message_create_params as beta_params
import anthropic.types.message_create_params as message_params
import openai.types.chat.completion_create_params as chat_params
import openai.types.responses.response_create_params as response_params
from pydantic import TypeAdapter, ValidationError
from xai_sdk.proto import chat_pb2

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
    """What the SDK's types have against a body; empty when they take it, or when the SDK is absent."""
    if api == "xai-grpc":
        return _check_messages(body)
    if api == "gemini":
        return _gemini_fault(body)
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


def _gemini_fault(body: dict[str, Any]) -> str:
    if util.find_spec("google") is None or util.find_spec("google.genai") is None:
        return ""
    types = import_module("google.genai.types")
    try:
        types.GenerateContentConfig.model_validate(body.get("config", {}))
        for content in body["contents"]:
            types.Content.model_validate(content)
    except ValidationError as error:
        return str(error.errors(include_input=False, include_url=False)[:3])
    return ""


def _check_messages(body: dict[str, Any]) -> str:
    """What the protocol buffers of xAI have against a body."""
    try:
        chat_pb2.GetCompletionsRequest(model="any", **body)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _completed(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """The types demand ids that the API does not: Codex and Azure take items without."""
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


# -- the SDKs that tests may lack


def _botocore(body: dict[str, Any]) -> str:
    try:
        from botocore.session import Session
        from botocore.validate import ParamValidator
    except ImportError:
        return ""
    report = ParamValidator().validate({**body, "modelId": "any"}, _converse(Session))
    return str(report.generate_report())


@cache
def _converse(session: Any) -> Any:
    model = session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def _mistral(body: dict[str, Any]) -> str:
    try:
        from mistralai.client.models import ChatCompletionRequest
    except ImportError:
        return ""
    return _validated(ChatCompletionRequest, {**body, "model": "any"})


def _cohere(body: dict[str, Any]) -> str:
    try:
        from cohere.types import AssistantChatMessageV2
    except ImportError:
        return ""
    said = [message for message in body["messages"] if message["role"] == "assistant"]
    return "".join(_validated(AssistantChatMessageV2, message) for message in said)


def _ollama(body: dict[str, Any]) -> str:
    try:
        from ollama._types import ChatRequest
    except ImportError:
        return ""
    return _validated(ChatRequest, {**body, "model": "any"})


def _validated(model: Any, value: dict[str, Any]) -> str:
    try:
        model.model_validate(value)
    except ValidationError as error:
        return str(error.errors(include_input=False, include_url=False)[:3])
    return ""


_CHECKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "bedrock-converse": _botocore,
    "mistral-chat": _mistral,
    "cohere-chat": _cohere,
    "ollama": _ollama,
}
