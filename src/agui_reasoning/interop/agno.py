"""Shows runs of Agno agents, and writes conversations as Agno's messages.

Agno is imported by `messages` and `tools` only: its events are told apart by their ``event``.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ag_ui.core import BaseEvent, Interrupt

from agui_reasoning._shells.driver import AgentItem, ModelStream, Reading
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.interop._content import result_part
from agui_reasoning.interop._front_end import front_end_tools, imported
from agui_reasoning.interop._lanes import ResponseLane
from agui_reasoning.interop._plain import plain_request
from agui_reasoning.interop._stream import events_in, framework_stream, note_ignored
from agui_reasoning.parts import Opaque, Part
from agui_reasoning.providers.payload import JSONObject, compact_json
from agui_reasoning.run import Run

__all__ = ["messages", "stream", "tools"]

_FRAMEWORK: Final = ("Agno", "agno")

_API: Final = "anthropic-messages"

_UNCLEAR: Final = re.compile(r"[A-Za-z0-9+/_=-]{64,}", re.ASCII)
"""What may be redacted thinking: Agno streams its data like the first fragment of a thought."""

_FRAME: Final = (ResponseStart, UsageDelta, FinishDelta)


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
        agno 3.1.10: the content blocks of Anthropic come again, whole and in order, as the last content; only
        there is redacted thinking told from text, and calls have their places.
    """
    return framework_stream(source, _Reader)


def messages(run: Run) -> list[Any]:
    """Write the conversation of a run as the input of ``agent.arun``.

    Args:
        run: The run. For other APIs than ``anthropic-messages`` and ``openai-chat``, the messages have no
            reasoning.

    Returns:
        Agno's messages, with the reasoning that the provider accepts.

    Raises:
        ConfigurationError: The run has no API (``no_api``), or Agno is not installed
            (``missing_framework``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    known = run.api is None or run.api in _WRITERS
    request = run.request(tools=()) if known else plain_request(run, "Agno")
    write = _WRITERS[request.target.api or ""]
    made = imported("agno.models.message", *_FRAMEWORK).Message
    return [made(**message) for message in write(request.body)]


def tools(run: Run) -> list[Any]:
    """Return the tools of the front end, to pass to the agent beside your own.

    A call of one of them pauses the run of Agno, when all other calls of the same answer have their results.
    The run of the agent then ends, and the front end answers in its next input.

    Args:
        run: The run.

    Returns:
        Agno's functions, with ``external_execution``.

    Raises:
        ConfigurationError: Agno is not installed (``missing_framework``).
    """
    made = imported("agno.tools.function", *_FRAMEWORK).Function
    return [made(**tool, external_execution=True) for tool in front_end_tools(run)]


class _Reader:
    """Reads the events of one run, a response after the other.

    Which thoughts of Anthropic's are redacted, and what stands between two of them, Agno tells only with the
    whole blocks at the end. So from a thought on whose kind or place is unclear, the response is kept, and
    then read from the blocks. What comes before is shown at once.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._origin = run.origin
        self._field = {"field": "reasoning_content"} if run.api == "openai-chat" else None
        self._seen: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self._lane = ResponseLane(self._origin)
        self._thoughts = 0
        self._shown: list[Delta] = []
        self._kept: list[Delta] | None = None

    def receive(self, payload: Any) -> list[AgentItem]:
        """Read an event; those that report progress give nothing."""
        kind = getattr(payload, "event", type(payload).__name__)
        read = _EVENTS.get(kind)
        if read is None and (kind in _UNREAD or kind.startswith("Team")):
            note_ignored(self._run, f"Events of the type {kind!r}")
        return list(read(self, payload)) if read else []

    def whole(self, response: Any) -> list[AgentItem]:
        """Read a source that is not a stream: one event."""
        return self.receive(response)

    def close(self) -> list[AgentItem]:
        """End the last response."""
        return list(self._end())

    def _end(self, _: Any = None) -> Iterator[Delta]:
        yield from self._take_kept()
        yield from self._lane.end()
        self._begin()

    def _take_kept(self) -> list[Delta]:
        """Return what was kept, if no blocks came."""
        kept, self._kept = self._kept or [], None
        return kept

    def _content(self, event: Any) -> Iterator[Delta]:
        data, kept = event.model_provider_data or {}, self._kept
        read = [*self._thought(event.reasoning_content), *self._text(event.content), *self._signature(data)]
        blocks = data.get("content_blocks", ())
        if read or blocks:
            yield from self._lane.begin()
        if self._kept is None:
            self._shown += read
            yield from read
        else:
            self._kept += read
            if kept is None:
                yield CloseDelta()
        if blocks:
            yield from self._rest(blocks)

    def _thought(self, text: str | None) -> Iterator[Delta]:
        if not text:
            return
        key = f"thought:{self._thoughts}"
        may_be_redacted = False
        if self._origin.api == _API and self._lane.current != key:
            may_be_redacted = _UNCLEAR.fullmatch(text) is not None
            if may_be_redacted or self._shown:
                self._kept = self._kept or []
        yield from self._lane.unit(key, text)
        if may_be_redacted:
            yield OpaqueDelta(Opaque("anthropic.redacted_thinking", text), key=key)
            self._thoughts += 1
        else:
            yield ReasoningDelta(text, key=key, ext=self._field)

    def _text(self, text: Any) -> Iterator[Delta]:
        if isinstance(text, str) and text:
            yield from self._lane.unit("text", text)
            yield TextDelta(text, key="text")

    def _signature(self, data: Mapping[str, Any]) -> Iterator[Delta]:
        """Read the signature that ends a thought."""
        if signature := data.get("signature"):
            key = f"thought:{self._thoughts}"
            yield from self._lane.unit(key)
            yield OpaqueDelta(Opaque("anthropic.signature", signature), key=key)
            self._thoughts += 1

    def _rest(self, blocks: list[JSONObject]) -> Iterator[Delta]:
        """Read the whole blocks that were not shown, in their order."""
        self._kept = None
        shown = {str(number) for number in _shown(blocks, self._shown)}
        yield CloseDelta()
        message = {"type": "message", "content": blocks}
        for delta in cast("list[Delta]", Reading(self._run, ModelStream(None, _API)).whole(message)):
            if isinstance(delta, ToolCallDelta):
                self._seen.add(delta.id)
            if not isinstance(delta, _FRAME) and getattr(delta, "key", None) not in shown:
                yield delta

    def _started(self, event: Any) -> Iterator[Delta]:
        yield from self._call(event.tool)

    def _call(self, tool: Any) -> Iterator[Delta]:
        """Read a call, unless the blocks had it."""
        if tool.tool_call_id not in self._seen:
            self._seen.add(tool.tool_call_id)
            yield from self._take_kept()
            yield from self._lane.begin()
            yield from self._lane.end_unit()
            yield ToolCallDelta(tool.tool_call_id, tool.tool_name, compact_json(tool.tool_args or {}))

    def _paused(self, event: Any) -> Iterator[Delta | Interrupt]:
        """Read the calls that wait for the front end, or for the user's decision."""
        for tool in event.tools or ():
            yield from self._call(tool)
        yield from self._end()
        for tool in event.tools or ():
            if tool.is_paused and not tool.external_execution_required:
                call_id, question = tool.tool_call_id, f"Call {tool.tool_name}?"
                yield Interrupt(id=call_id, reason="tool_call", tool_call_id=call_id, message=question)

    def _completed(self, event: Any) -> Iterator[Delta | Part]:
        yield from self._end()
        tool = event.tool
        content = [tool.result or "", *_media(event)]
        yield result_part(tool.tool_call_id, content, failed=bool(tool.tool_call_error))

    def _custom(self, event: Any) -> Iterator[BaseEvent]:
        """Read the AG-UI events among the attributes of an application's event."""
        events = [one for value in vars(event).values() for one in events_in(value)]
        if not events:
            note_ignored(self._run, "Custom events without AG-UI events")
        yield from events

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
        raise _failure(str(event.content or ""), event.error_type, self._take_kept())


def _failure(said: str, kind: str | None, deltas: Sequence[Delta]) -> ProviderError:
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
        deltas=deltas,
    )


def _media(event: Any) -> Iterator[JSONObject]:
    """Yield the media that a tool produced as blocks, which Agno shows to the model after all results."""
    for name, kind in (("images", "image"), ("videos", "video"), ("audio", "audio"), ("files", "file")):
        for media in getattr(event, name, None) or ():
            typed = media.mime_type or (f"{kind}/{media.format}" if media.format else None)
            data = media.content.encode() if isinstance(media.content, str) else media.content
            yield {"type": kind, "data": data, "url": media.url, "media_type": typed}


_EVENTS: Final[Mapping[str, Callable[[_Reader, Any], Iterator[Any]]]] = {
    "ModelRequestStarted": _Reader._end,
    "RunContent": _Reader._content,
    "ModelRequestCompleted": _Reader._usage,
    "ToolCallStarted": _Reader._started,
    "ToolCallCompleted": _Reader._completed,
    "RunPaused": _Reader._paused,
    "RunCompleted": _Reader._end,
    "RunError": _Reader._failed,
    "CustomEvent": _Reader._custom,
}
_UNREAD: Final = frozenset({"RunIntermediateContent", "ReasoningStep", "ReasoningContentDelta"})
"""The events with content that AG-UI has no place for, besides those of teams."""


def _shown(blocks: list[JSONObject], deltas: Sequence[Delta]) -> Iterator[int]:
    """Return the numbers of the blocks that were shown: the first thought, and texts."""
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    thought = any(isinstance(delta, ReasoningDelta | OpaqueDelta) for delta in deltas)
    for number, block in enumerate(blocks):
        if block["type"] == "thinking" and thought:
            thought = False
            yield number
        elif block["type"] == "text" and text.startswith(block["text"]):
            text = text.removeprefix(block["text"])
            yield number


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
