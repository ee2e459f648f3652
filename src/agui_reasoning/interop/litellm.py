"""Reads LiteLLM's streams in a run, and writes conversations as messages for ``litellm.completion``.

LiteLLM is not imported: its messages are dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_reasoning._driver import ModelStream, Reading
from agui_reasoning.interop._messages import with_names
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.run import Run

__all__ = ["messages", "stream"]

_API: Final = "litellm"
_LEFT_OUT: Final = "(Not sent in a tool result: image.)"
_CACHED: Final[Mapping[str, Any]] = {"type": "ephemeral"}


def stream(source: Any) -> ModelStream:
    """Read what ``litellm.completion`` or ``litellm.acompletion`` returns.

    Args:
        source: The stream or the whole response, or anything else that `ModelStream` accepts.

    Returns:
        A model stream to yield from an agent. The provider is the upstream; it and the model are those of
        the run.
    """
    return ModelStream(
        source, reader=lambda run: Reading(run, ModelStream(None, _API, run.provider, run.model))
    )


def messages(
    run: Run,
    *,
    system: str | None = None,
    cache: bool = False,
    vision: bool | None = None,
    function_calling: bool | None = None,
) -> list[dict[str, Any]]:
    """Write the conversation of a run as ``messages``, with the reasoning that the upstream accepts.

    Content is a string, which every upstream accepts, unless a capability asks for a list of content parts.

    Args:
        run: The run. Its provider is the upstream, and its model the name passed to LiteLLM.
        system: System instructions.
        cache: Mark the system message and the last message of the user or a tool for prompt caching. Content
            is a list.
        vision: Whether the model sees images. With ``False`` they are left out, with a warning; with
            ``True`` content is a list; by default only messages with images have a list.
        function_calling: Whether the model calls functions natively. With ``True`` content is a list.

    Returns:
        Plain dicts, which ``litellm.token_counter`` also accepts.

    Warns:
        ReasoningLostWarning: The upstream requires reasoning that cannot be sent.

    Examples:
        >>> question = {"id": "1", "role": "user", "content": "Hi."}
        >>> empty = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        >>> run = Run({"threadId": "t", "runId": "r", "messages": [question], **empty}, provider="openai")
        >>> messages(run)
        [{'role': 'user', 'content': 'Hi.'}]
        >>> messages(run, function_calling=True)
        [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi.'}]}]
    """
    request = run.request(api=_API, system=system, tools=())
    as_list = cache or bool(vision) or bool(function_calling)
    made = list(with_names(request.body["messages"]))
    if vision is False:
        made = [_without_images(message, run) for message in made]
    made = [_as_list(message) for message in made] if as_list else made
    return _cached(made) if cache else made


def _without_images(message: JSONObject, run: Run) -> JSONObject:
    """Remove images; if only text remains, write it as a string."""
    content = message.get("content")
    if not isinstance(content, list) or all(part["type"] != "image_url" for part in content):
        return message
    run.warn_once(["An image was left out of the messages for LiteLLM: vision is off."])
    # A result must neither be empty nor seem to have been.
    instead = [{"type": "text", "text": _LEFT_OUT}] if message["role"] == "tool" else []
    kept = [kept for part in content for kept in (instead if part["type"] == "image_url" else [part])]
    if any(part["type"] != "text" for part in kept):
        return {**message, "content": kept}
    return {**message, "content": "\n".join(part["text"] for part in kept)}


def _as_list(message: JSONObject) -> JSONObject:
    """Write text as a list of one part; keep empty content in the form for the upstream."""
    content = message.get("content")
    if not isinstance(content, str) or not content:
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def _cached(made: list[JSONObject]) -> list[JSONObject]:
    """Mark the ends of cached prefixes: the system message and the last message to the model."""
    ends = {number for number, message in enumerate(made[:1]) if message["role"] == "system"}
    input_numbers = [number for number, message in enumerate(made) if message["role"] in ("user", "tool")]
    ends |= set(input_numbers[-1:])
    return [_marked(message) if number in ends else message for number, message in enumerate(made)]


def _marked(message: JSONObject) -> JSONObject:
    """Mark a message; for a tool result, LiteLLM reads the mark beside the content."""
    content = message["content"]
    if message["role"] == "tool" or not isinstance(content, list) or not content:
        return {**message, "cache_control": dict(_CACHED)}
    return {**message, "content": [*content[:-1], {**content[-1], "cache_control": dict(_CACHED)}]}
