"""Signs that identify each API's payloads, so that those of another API are reported instead of skipped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from agui_reasoning.providers.payload import JSONObject

__all__ = ["SIGNS", "bears_sign", "is_error", "looks_like"]

_Sign: TypeAlias = Mapping[str, type | re.Pattern[str]]
"""Fields of a payload, each with its JSON type, or for a string with the pattern of the whole value."""

_COHERE_TYPES: Final = re.compile(r"(message|content|tool-call|citation)-(start|delta|end)|tool-plan-delta")
_ANTHROPIC_TYPES: Final = re.compile(r"message_(start|delta|stop)|content_block_(start|delta|stop)")
_BEDROCK_EXCEPTIONS: Final = (
    *("internalServerException", "modelStreamErrorException", "serviceUnavailableException"),
    *("throttlingException", "validationException"),
)

_CHAT: Final[tuple[_Sign, ...]] = (
    {"choices": list},
    {"object": re.compile(r"chat\.completion.*")},
    {"type": re.compile("chunk"), "chunk": dict},
)

SIGNS: Final[Mapping[str, tuple[_Sign, ...]]] = MappingProxyType(
    {
        "anthropic-messages": (
            {"type": _ANTHROPIC_TYPES},
            {"type": re.compile("message"), "content": list},
            {"content": list, "stop_reason": object},
            {"content": list, "role": re.compile("assistant")},
        ),
        "openai-responses": (
            {"type": re.compile(r"response\..*")},
            {"object": re.compile(r"response(\..*)?")},
            {"output": list},
        ),
        "openai-chat": _CHAT,
        "mistral-chat": (
            {"choices": list, "p": str},
            {"choices": list},
            {"object": re.compile(r"chat\.completion.*")},
            {"object": re.compile("error")},
        ),
        "gemini": ({"candidates": list}, {"promptFeedback": dict}, {"usageMetadata": dict}),
        "gemini-interactions": (
            {"event_type": re.compile(r"(interaction|step)\..*")},
            {"steps": list},
            {"object": re.compile("interaction")},
        ),
        "bedrock-converse": (
            {"messageStart": dict},
            {"contentBlockStart": dict},
            {"contentBlockDelta": dict},
            {"contentBlockStop": dict},
            {"messageStop": dict},
            {"contentBlockIndex": int},
            {"stopReason": str},
            {"output": dict, "stopReason": str},
            {"metrics": dict, "usage": dict},
            *({name: dict} for name in _BEDROCK_EXCEPTIONS),
        ),
        "cohere-chat": ({"type": _COHERE_TYPES}, {"message": dict, "finish_reason": str}),
        "ollama": ({"done": bool, "message": dict}, {"done": bool, "response": str}),
        "xai-grpc": ({"outputs": list},),
        "litellm": _CHAT,
    }
)
"""API ID to its signs, each of which suffices. Of APIs with equal signs the first is reported."""


def bears_sign(api: str, data: JSONObject) -> bool:
    """Return whether a payload has a sign of an API.

    Examples:
        >>> bears_sign("openai-chat", {"choices": []})
        True
    """
    return any(_fits(sign, data) for sign in SIGNS.get(api, ()))


def looks_like(data: JSONObject) -> list[str]:
    """Return the APIs that a payload may belong to, starting with the one with the most specific sign.

    Examples:
        >>> looks_like({"candidates": []})
        ['gemini']
    """
    fitting = {api: max((len(s) for s in signs if _fits(s, data)), default=0) for api, signs in SIGNS.items()}
    return sorted(filter(fitting.__getitem__, fitting), key=lambda api: -fitting[api])


def is_error(data: JSONObject) -> bool:
    """Return whether a payload is an error in the format that all APIs use."""
    return bool(data.get("error")) or "error" in (data.get("type"), data.get("object"))


def _fits(sign: _Sign, data: JSONObject) -> bool:
    return all(name in data and _is(data[name], wanted) for name, wanted in sign.items())


def _is(value: Any, wanted: type | re.Pattern[str]) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(value, str) and wanted.fullmatch(value) is not None
    return isinstance(value, wanted)
