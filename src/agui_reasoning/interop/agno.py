"""Shows runs of Agno agents, and writes conversations as Agno's messages.

Agno is imported by `messages` only: its events are told apart by their ``event``.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agui_reasoning._shells.driver import AgentItem, ModelStream
from agui_reasoning.deltas import (
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.errors import ConfigurationError, ProviderError
from agui_reasoning.interop._content import result_part
from agui_reasoning.parts import Opaque, Origin, Part
from agui_reasoning.providers.payload import JSONObject, compact_json
from agui_reasoning.run import Run

__all__ = ["messages", "stream"]

_OPAQUE: Final = re.compile(r"[A-Za-z0-9+/_=-]{64,}", re.ASCII)
"""Agno streams the data of redacted thinking as if it were text; no fragment of text looks like this."""


_REFUSED: Final = re.compile(r"(?:Error code: (\d{3}) - )?(.*)", re.ASCII | re.DOTALL)
_BODY_CHARS: Final = 20_000


def stream(source: Any) -> ModelStream:
    """Read the events of an Agno run inside a run.

    Args:
        source: What ``agent.arun(…, stream=True, stream_events=True)`` returns, or anything else that
            `ModelStream` accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run.

    Raises:
        ProviderError: Agno reports an error as an event.

    Source:
        agno 3.1.10: the content blocks of Anthropic come again, whole and in order, as the last content.
    """
    return ModelStream(source, reader=_Reader)


def messages(run: Run) -> list[Any]:
    """Write the conversation of a run as the input of ``agent.arun``.

    Args:
        run: The run. Its API is ``anthropic-messages`` or ``openai-chat``.

    Returns:
        Agno's messages, with the reasoning that the provider accepts.

    Raises:
        ConfigurationError: The run has another API (``unknown_api``) or none (``no_api``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    request = run.request(tools=())
    write = _WRITERS.get(request.target.api or "")
    if write is None:
        raise ConfigurationError(
            f"Conversations for {request.target.api!r} cannot be written as messages of Agno.",
            code="unknown_api",
            hint=f"Pass one of these to the run: {', '.join(_WRITERS)}.",
        )
    from agno.models.message import Message

    return [Message(**message) for message in write(request.body)]


class _Reader:
    """Reads the events of one run, a response after the other."""

    def __init__(self, run: Run) -> None:
        self._origin = Origin(run.provider, run.api, run.model)
        self._field = {"field": "reasoning_content"} if run.api == "openai-chat" else None
        self._number = self._block = 0
        self._open = False
        self._seen: set[str] = set()

    def receive(self, payload: Any) -> list[AgentItem]:
        """Read an event; those that report progress give nothing."""
        read = _EVENTS.get(payload.event)
        return list(read(self, payload)) if read else []

    def whole(self, response: Any) -> list[AgentItem]:
        """Read a source that is not a stream: one event."""
        return self.receive(response)

    def close(self) -> list[AgentItem]:
        """End the last response."""
        return list(self._end())

    def _end(self, _: Any = None) -> Iterator[Delta]:
        if self._open:
            self._open = False
            yield FinishDelta("")

    def _begin(self) -> Iterator[Delta]:
        if not self._open:
            self._open = True
            self._number += 1
            self._block = 0
            yield ResponseStart(self._origin)

    def _next(self, _: Any) -> Iterator[Delta]:
        yield from self._end()
        yield from self._begin()

    def _key(self, kind: str = "reasoning") -> str:
        return f"{self._number}:{kind}:{self._block}"

    def _content(self, event: Any) -> Iterator[Delta]:
        """Read a fragment. A signature ends its block."""
        if text := event.reasoning_content:
            yield from self._begin()
            if self._field is None and _OPAQUE.fullmatch(text):
                yield from self._redacted(text)
            else:
                yield ReasoningDelta(text, key=self._key(), ext=self._field)
        if isinstance(event.content, str) and event.content:
            yield from self._begin()
            yield TextDelta(event.content)
        data = event.model_provider_data or {}
        if signature := data.get("signature"):
            yield OpaqueDelta(Opaque("anthropic.signature", signature), key=self._key())
            self._block += 1
        for block in data.get("content_blocks") or ():
            if block["type"] == "tool_use":
                yield from self._call(block["id"], block["name"], block["input"])
            elif block["type"] == "redacted_thinking" and block["data"] not in self._seen:
                yield from self._redacted(block["data"])

    def _redacted(self, data: str) -> Iterator[Delta]:
        self._block += 1
        yield OpaqueDelta(Opaque("anthropic.redacted_thinking", data), key=self._key())
        self._seen.add(data)
        self._block += 1

    def _call(self, call_id: str, name: str, args: Any) -> Iterator[Delta]:
        if call_id not in self._seen:
            self._seen.add(call_id)
            yield ToolCallDelta(call_id, name, compact_json(args or {}))

    def _started(self, event: Any) -> Iterator[Delta]:
        yield from self._call(event.tool.tool_call_id, event.tool.tool_name, event.tool.tool_args)

    def _completed(self, event: Any) -> Iterator[Delta | Part]:
        yield from self._end()
        tool = event.tool
        content = [tool.result or "", *_media(event)]
        yield result_part(tool.tool_call_id, content, failed=bool(tool.tool_call_error))

    def _usage(self, event: Any) -> Iterator[Delta]:
        yield UsageDelta(
            input_tokens=event.input_tokens,
            output_tokens=event.output_tokens,
            total_tokens=event.total_tokens,
            reasoning_tokens=event.reasoning_tokens,
            cached_input_tokens=event.cache_read_tokens,
            cache_write_input_tokens=event.cache_write_tokens,
        )

    def _failed(self, event: Any) -> Iterator[Delta]:
        raise _failure(str(event.content or ""), event.error_type)


def _failure(said: str, kind: str | None) -> ProviderError:
    """Return the error of an event, which has the status and body only in the text of the SDK's error.

    Source:
        anthropic 2.12 and openai 3.54: ``Error code: 529 - {body}``, and ``{body}`` inside a stream.
    """
    status, body = _REFUSED.fullmatch(said).groups()  # type: ignore[union-attr] # it matches any text
    try:
        parsed = literal_eval(body) if len(body) <= _BODY_CHARS else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        parsed = None
    inner = parsed.get("error", parsed) if isinstance(parsed, dict) else None
    error = inner if isinstance(inner, dict) else {}
    return ProviderError(
        provider_type=str(error.get("type") or kind or "") or None,
        provider_code=str(error.get("code") or "") or None,
        provider_message=said,
        status_code=int(status) if status else None,
    )


def _media(event: Any) -> Iterator[JSONObject]:
    """Yield the media that a tool produced as blocks, which Agno shows to the model after all results."""
    for name, kind in (("images", "image"), ("videos", "video"), ("audio", "audio"), ("files", "file")):
        for media in getattr(event, name, None) or ():
            typed = media.mime_type or (f"{kind}/{media.format}" if media.format else None)
            data = media.content.encode() if isinstance(media.content, str) else media.content
            yield {"type": kind, "data": data, "url": media.url, "media_type": typed}


_EVENTS: Final[Mapping[str, Callable[[_Reader, Any], Iterator[Any]]]] = {
    "ModelRequestStarted": _Reader._next,
    "RunContent": _Reader._content,
    "ModelRequestCompleted": _Reader._usage,
    "ToolCallStarted": _Reader._started,
    "ToolCallCompleted": _Reader._completed,
    "RunCompleted": _Reader._end,
    "RunError": _Reader._failed,
}


def _anthropic(body: Mapping[str, Any]) -> Iterator[JSONObject]:
    for message in body["messages"]:
        blocks = message["content"]
        if message["role"] == "assistant":
            calls = [_function(block) for block in blocks if block["type"] == "tool_use"]
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            kept = {"content_blocks": blocks}
            yield {"role": "assistant", "content": text, "provider_data": kept, "tool_calls": calls or None}
        elif isinstance(blocks, str):
            yield {"role": "user", "content": blocks}
        else:
            yield from map(_told, blocks)


def _told(block: JSONObject) -> JSONObject:
    if block["type"] != "tool_result":
        return {"role": "user", "content": [block]}
    content, error = block.get("content", ""), block.get("is_error")
    return {
        "role": "tool",
        "tool_call_id": block["tool_use_id"],
        "content": content,
        "tool_call_error": error,
    }


def _function(block: JSONObject) -> JSONObject:
    function = {"name": block["name"], "arguments": compact_json(block["input"])}
    return {"id": block["id"], "type": "function", "function": function}


def _chat(body: Mapping[str, Any]) -> Iterator[JSONObject]:
    yield from body["messages"]


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[JSONObject]]]] = {
    "anthropic-messages": _anthropic,
    "openai-chat": _chat,
}
