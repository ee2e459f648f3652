"""Reads OpenHands events as model output, input messages, or tool results.

Reads two generations of event dicts: the app of 2025 wrote ``action`` or ``observation`` with ``args`` and
``extras``; today's SDK writes a ``kind`` per class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    compact_json,
    obj,
    other_fields,
    reject,
    string,
)

__all__ = ["ActionCall", "ActionResult", "Meaning", "ModelInput", "ModelOutput", "event_kind", "meaning_of"]


@dataclass(frozen=True, slots=True, repr=False)
class ActionCall:
    """A tool call.

    Attributes:
        id: The provider's ID, or an empty string.
        name: The tool, or the kind of action.
        arguments: JSON text.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, repr=False)
class ModelOutput:
    """The model output in one event.

    Attributes:
        text: The text before a call, or the answer.
        reasoning: Reasoning as one string.
        blocks: Reasoning as Anthropic's blocks.
        item: Reasoning as an item of the Responses API.
        call: The call.
        response_id: The ID of the model response, which its events share.
    """

    text: str = ""
    reasoning: str = ""
    blocks: tuple[JSONObject, ...] = ()
    item: JSONObject | None = None
    call: ActionCall | None = None
    response_id: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class ModelInput:
    """A message to the model."""

    role: Literal["user", "system"]
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ActionResult:
    """The result of an action.

    Attributes:
        call_id: The ID of the call, or an empty string.
        action_id: The ID of the action event.
        content: The result.
        failed: Whether it is an error.
        images: The URLs of its images, mostly with the data in them.
    """

    call_id: str
    action_id: object
    content: str
    failed: bool = False
    images: tuple[str, ...] = ()


Meaning: TypeAlias = ModelOutput | ModelInput | ActionResult


def event_kind(event: JSONObject) -> str:
    """Return the kind of an event, or ``"event"``."""
    kinds = (event.get(name) for name in ("kind", "action", "observation"))
    return next((kind for kind in kinds if isinstance(kind, str) and kind), "event")


def meaning_of(event: JSONObject) -> Meaning | None:
    """Read an event dict; return ``None`` for other events, such as state changes and condensation.

    Raises:
        DecodeError: A field has the wrong type (``bad_payload``).
    """
    if isinstance(event.get("kind"), str):
        return _SDK.get(event["kind"], _nothing)(event)
    if isinstance(event.get("action"), str):
        return _action(event)
    if isinstance(event.get("observation"), str):
        return _observation(event)
    return None


def _nothing(event: JSONObject) -> None:
    return None


# -- the app's events

CONTROL: Final = frozenset(
    {
        "change_agent_state",
        "condensation",
        "condensation_request",
        "loop_recovery",
        "null",
        "pause",
        "push",
        "recall",
        "resume",
        "send_pr",
        "start",
        "stop",
        "system",
    }
)
"""Actions that are not tool calls of the model."""


def _action(event: JSONObject) -> Meaning | None:
    source, kind = string(event, "source") or "agent", event["action"]
    if kind == "message":
        return _message(event, source)
    return None if kind in CONTROL or source != "agent" else _call(event)


def _message(event: JSONObject, source: str) -> Meaning:
    args = obj(event, "args")
    text = string(args, "content", "/args")
    if source != "agent":
        return ModelInput("user" if source == "user" else "system", text)
    _, reasoning = _thought(args)
    return ModelOutput(text, reasoning, response_id=_response_id(event))


def _call(event: JSONObject) -> ModelOutput:
    args, metadata = obj(event, "args"), obj(event, "tool_call_metadata")
    text, reasoning = _thought(args)
    arguments = {name: value for name, value in args.items() if name not in ("thought", "reasoning_content")}
    if event["action"] == "think":
        # The thought is the argument of this tool.
        arguments, text = arguments | ({"thought": text} if "thought" in args else {}), ""
    call = ActionCall(
        string(metadata, "tool_call_id", "/tool_call_metadata") or string(event, "tool_call_id"),
        string(metadata, "function_name", "/tool_call_metadata") or event["action"],
        compact_json(arguments),
    )
    return ModelOutput(text, reasoning, _blocks_of(metadata), None, call, _response_id(event))


def _thought(args: JSONObject) -> tuple[str, str]:
    """Return the text and the reasoning of ``args``; the thought is the text, or an object with both."""
    thought = args.get("thought")
    beside = string(args, "reasoning_content", "/args")
    if isinstance(thought, dict):
        text, inside = (string(thought, name, "/args/thought") for name in ("text", "reasoning_content"))
        return text, beside or inside
    if thought is None or isinstance(thought, str):
        return thought or "", beside
    raise reject("a string or an object", thought, "/args/thought")


def _response_id(event: JSONObject) -> str:
    metadata = obj(event, "tool_call_metadata")
    response = obj(metadata, "model_response", "/tool_call_metadata")
    return string(event, "llm_response_id") or string(response, "id", "/tool_call_metadata/model_response")


def _blocks_of(metadata: JSONObject) -> tuple[JSONObject, ...]:
    """Return the signed blocks in the copy of LiteLLM's response in an action."""
    path = "/tool_call_metadata/model_response"
    for choice in array(obj(metadata, "model_response", "/tool_call_metadata"), "choices", path):
        message = obj(choice, "message", f"{path}/choices/0")
        return tuple(array(message, "thinking_blocks", f"{path}/choices/0/message"))
    return ()


def _observation(event: JSONObject) -> ActionResult:
    metadata = obj(event, "tool_call_metadata")
    call_id = string(metadata, "tool_call_id", "/tool_call_metadata")
    return ActionResult(call_id, event.get("cause"), string(event, "content"))


# -- the SDK's events


def _action_event(event: JSONObject) -> ModelOutput:
    called = obj(event, "tool_call")
    arguments = called.get("arguments")
    if not isinstance(arguments, str):
        arguments = compact_json(other_fields(obj(event, "action"), "kind"))
    call = ActionCall(
        string(event, "tool_call_id") or string(called, "id", "/tool_call"),
        string(event, "tool_name") or string(called, "name", "/tool_call"),
        arguments,
    )
    return _output(event, _texts(event, "thought", ""), call, "")


def _message_event(event: JSONObject) -> Meaning | None:
    message = obj(event, "llm_message")
    text = _texts(message, "content", "/llm_message")
    role = string(message, "role", "/llm_message")
    if role == "assistant":
        return _output(
            {**message, "llm_response_id": event.get("llm_response_id")}, text, None, "/llm_message"
        )
    return ModelInput("user" if role == "user" else "system", text) if role in ("user", "system") else None


def _output(source: JSONObject, text: str, call: ActionCall | None, path: str) -> ModelOutput:
    return ModelOutput(
        text,
        string(source, "reasoning_content", path),
        tuple(array(source, "thinking_blocks", path)),
        obj(source, "responses_reasoning_item", path) or None,
        call,
        string(source, "llm_response_id"),
    )


def _observation_event(event: JSONObject) -> ActionResult:
    observation = obj(event, "observation")
    if isinstance(observation.get("content"), str | list):
        pieces = [_texts(observation, "content", "/observation")]
    else:
        pieces = [compact_json(other_fields(observation, "kind"))]
    pieces += [_texts(event, "extended_content", "")] if event.get("extended_content") else []
    return replace(_result(event, "\n".join(pieces)), images=tuple(_images(observation.get("content"))))


def _error_event(event: JSONObject) -> ActionResult:
    return _result(event, string(event, "error"), failed=True)


def _rejection(event: JSONObject) -> ActionResult:
    return _result(event, f"Action rejected: {string(event, 'rejection_reason')}", failed=True)


def _result(event: JSONObject, content: str, *, failed: bool = False) -> ActionResult:
    return ActionResult(string(event, "tool_call_id"), event.get("action_id"), content, failed)


def _texts(source: JSONObject, name: str, path: str) -> str:
    """Return the text of content that is a string or a list of content parts."""
    if isinstance(source.get(name), str):
        return string(source, name, path)
    parts = array(source, name, path)
    return "\n".join(string(part, "text", f"{path}/{name}") for part in parts if "text" in part)


def _images(content: Any) -> Iterator[str]:
    """Yield the URLs in a list of content parts."""
    for part in content if isinstance(content, list) else ():
        urls = part.get("image_urls")
        yield from (url for url in urls if isinstance(url, str)) if isinstance(urls, list) else ()


_SDK: Mapping[str, Callable[[Any], Meaning | None]] = {
    "ActionEvent": _action_event,
    "AgentErrorEvent": _error_event,
    "MessageEvent": _message_event,
    "ObservationEvent": _observation_event,
    "UserRejectObservation": _rejection,
}
