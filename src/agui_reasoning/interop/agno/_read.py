"""Reads the events of Agno's agents and teams, which are told apart by their ``event``."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, cast

from ag_ui.core import BaseEvent, Interrupt

from agui_reasoning._driver import AgentItem, ModelStream, Reading
from agui_reasoning._strict_json import load
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
from agui_reasoning.errors import ConfigurationError, ProviderError
from agui_reasoning.interop._client import answered_calls, approval, question
from agui_reasoning.interop._messages import result_part
from agui_reasoning.interop._stream import FrameworkReader, OpenResponse, Subagents, gemini_signature
from agui_reasoning.interop.agno._write import settled, written_ids
from agui_reasoning.parts import Opaque, Part
from agui_reasoning.providers.payload import JSONObject, compact_json
from agui_reasoning.run import Run

_ENDS: Final = frozenset({"RunCompleted", "RunCancelled", "RunPaused"})


class TeamReader(FrameworkReader):
    """Reads the events of one run, and of the runs inside: their events have IDs of their own.

    The run of the first event is the one that the user asked. A member that fails ends alone: its leader gets
    an empty result.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._id: str | None = None
        self._leader = _RunReader(run)
        self._members: Subagents[str, _RunReader] = Subagents(partial(_RunReader, is_member=True))

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        run_id = getattr(payload, "run_id", None)
        self._id = self._id or run_id
        if run_id is None or run_id == self._id:
            return self._leader.receive(payload)
        return self._member(run_id, payload)

    def whole(self, response: Any) -> Sequence[AgentItem]:
        return self._leader.whole(response) if hasattr(response, "messages") else self.receive(response)

    def close(self) -> Sequence[AgentItem]:
        return [*self._members.end(), *self._leader.close()]

    def _member(self, run_id: str, event: Any) -> Sequence[AgentItem]:
        parent = self._members.run(getattr(event, "parent_run_id", None)) or self._run
        name = getattr(event, "agent_name", None) or getattr(event, "team_name", None) or "member"
        try:
            shown = self._members.read(run_id, parent, name, lambda reader: reader.receive(event))
        except ProviderError as error:
            return self._members.fail(run_id, error)
        return [*shown, *(self._members.end(run_id.__eq__) if _kind_of(event) in _ENDS else ())]


# -- one run

_API: Final = "anthropic-messages"

_UNCLEAR: Final = re.compile(r"[A-Za-z0-9+/_=-]{64,}", re.ASCII)
"""What may be redacted thinking: Agno streams its data like the first fragment of a thought."""

_UNSIGNED: Final = "TeamRunContent"
"""The content events that leave out the signatures at the ends of Claude's thoughts."""

_FIRST: Final = "thought:0"

_FRAME: Final = (ResponseStart, UsageDelta, FinishDelta)

_CALL_SIGNATURES: Final = "call_signatures"
"""The signatures of Gemini's calls, by their IDs. Agno streams none: a subclass of its model can add them."""

_REFUSED: Final = re.compile(r"(?:Error code: (\d{3}) - )?(.*)", re.ASCII | re.DOTALL)
_BODY_CHARS: Final = 20_000


class _RunReader(FrameworkReader):
    """Reads the events of one run, a response after the other.

    Which thoughts of Anthropic's are redacted, and what stands between two of them, Agno tells only with the
    whole blocks at the end. So from a thought on whose kind or place is unclear, the response is kept, and
    then read from the blocks. What comes before is shown at once.
    """

    def __init__(self, run: Run, *, is_member: bool = False) -> None:
        super().__init__(run)
        self._is_member = is_member
        self._field = {"field": "reasoning_content"} if run.api == "openai-chat" else None
        self._seen: set[str] = set()
        self._signed: dict[str, str] = {}
        self._begin()

    def _begin(self) -> None:
        self._response = OpenResponse(self._run.origin)
        self._thoughts = 0
        self._shown: list[Delta] = []
        self._kept: list[Delta] | None = None

    def receive(self, payload: Any) -> list[AgentItem]:
        kind = _kind_of(payload)
        if kind in _UNREAD:
            self._ignored(f"Events of the type {kind!r}")
        read = _EVENTS.get(kind)
        return list(read(self, payload)) if read else []

    def whole(self, response: Any) -> list[AgentItem]:
        if getattr(response.status, "value", "") == "ERROR":
            raise _failure(str(response.content or ""), None, ())
        written = written_ids(self._run)
        known = [n for n, one in enumerate(response.messages or ()) if one.id.startswith(written)]
        new = (response.messages or ())[max(known, default=-1) + 1 :]
        items = [item for message in new for item in self._message(message)]
        counts, paused = response.metrics, SimpleNamespace(event="RunPaused", tools=response.tools)
        return [*items, *(self._usage(counts) if counts else ()), *self._paused(paused)]

    def _message(self, message: Any) -> Iterator[Any]:
        """Read a message as the events that would have streamed it."""
        if message.role == "assistant":
            yield from self._answer(message)
        elif message.role == "tool":
            tool = SimpleNamespace(
                tool_call_id=message.tool_call_id,
                result=message.get_content_string(),
                tool_call_error=message.tool_call_error,
            )
            media = {name: getattr(message, name) for name in _MEDIA}
            yield from self._completed(SimpleNamespace(**media, tool=tool))

    def _answer(self, message: Any) -> Iterator[Delta]:
        data = message.provider_data or {}
        calls = message.tool_calls or ()
        signed = {one["id"]: one["thought_signature"] for one in calls if "thought_signature" in one}
        whole = {"content_blocks": data["content_blocks"]} if data.get("content_blocks") else None
        yield from self._content(
            SimpleNamespace(
                event="RunContent",
                reasoning_content=None if whole else message.reasoning_content,
                content=None if whole else message.content,
                model_provider_data=whole or {**data, _CALL_SIGNATURES: signed},
            )
        )
        for call in calls:
            function = call["function"]
            args = load(function["arguments"] or "{}")
            yield from self._call(
                SimpleNamespace(tool_call_id=call["id"], tool_name=function["name"], tool_args=args)
            )
        yield from self._end()

    def close(self) -> list[AgentItem]:
        return list(self._end())

    def _end(self, _: Any = None) -> Iterator[Delta]:
        yield from self._take_kept()
        yield from self._response.end()
        self._begin()

    def _take_kept(self) -> list[Delta]:
        """Return what was kept, if no blocks came."""
        kept, self._kept = self._kept or [], None
        return kept

    def _content(self, event: Any) -> Iterator[Delta]:
        data, kept = event.model_provider_data or {}, self._kept
        thought = self._thought(event.reasoning_content, signs=event.event != _UNSIGNED)
        read = [*thought, *self._text(event.content), *self._signature(data)]
        blocks = data.get("content_blocks", ())
        if read or blocks:
            yield from self._response.begin()
        if self._kept is None:
            self._shown += read
            yield from read
        else:
            self._kept += read
            if kept is None:
                yield CloseDelta()
        if blocks:
            yield from self._rest(blocks)

    def _thought(self, text: str | None, *, signs: bool) -> Iterator[Delta]:
        """Read a piece of a thought. If no signature ends thoughts, redacted data may follow at any place."""
        if not text:
            return
        key = f"thought:{self._thoughts}"
        begins, may_be_redacted = self._response.current != key, False
        if self._run.api == _API and (begins or not signs):
            may_be_redacted = _UNCLEAR.fullmatch(text) is not None
            if may_be_redacted or (begins and self._shown):
                self._kept = self._kept or []
        if may_be_redacted and not begins:
            self._thoughts += 1
            key = f"thought:{self._thoughts}"
        yield from self._response.unit(key, text)
        if may_be_redacted:
            yield OpaqueDelta(Opaque("anthropic.redacted_thinking", text), key=key)
            self._thoughts += 1
        else:
            yield ReasoningDelta(text, key=key, ext=self._field)

    def _text(self, text: Any) -> Iterator[Delta]:
        if isinstance(text, str) and text:
            yield from self._response.unit("text", text)
            yield TextDelta(text, key="text")

    def _signature(self, data: Mapping[str, Any]) -> Iterator[Delta]:
        """Read the signature that ends a thought of Claude, or a text of Gemini."""
        self._signed |= data.get(_CALL_SIGNATURES) or {}
        if signature := data.get("thought_signature"):
            if not self._response.has("text"):
                yield from self._response.unit("text")
                yield TextDelta("", key="text", ext={"explicit_empty": True})
            yield OpaqueDelta(gemini_signature(signature, "text"), key="text")
        if signature := data.get("signature"):
            key = f"thought:{self._thoughts}"
            yield from self._response.unit(key)
            yield OpaqueDelta(Opaque("anthropic.signature", signature), key=key)
            self._thoughts += 1

    def _rest(self, blocks: list[JSONObject]) -> Iterator[Delta]:
        """Read the whole blocks that were not shown, in their order."""
        self._kept = None
        shown = {str(number) for number in _texts_in(blocks, self._shown)}
        if any(isinstance(delta, ReasoningDelta | OpaqueDelta) for delta in self._shown):
            thoughts = (pair for pair in enumerate(blocks) if pair[1]["type"] == "thinking")
            number, block = next(thoughts, (-1, {}))
            if (rest := self._rest_of_thought(block)) is not None:
                shown.add(str(number))
                yield from rest
            else:
                yield CloseDelta(key=_FIRST, status="incomplete")
        yield CloseDelta()
        message = {"type": "message", "content": blocks}
        for delta in cast("list[Delta]", Reading(self._run, ModelStream(None, _API)).whole(message)):
            if isinstance(delta, ToolCallDelta):
                self._seen.add(delta.id)
            if not isinstance(delta, _FRAME) and getattr(delta, "key", None) not in shown:
                yield delta

    def _rest_of_thought(self, block: JSONObject) -> list[Delta] | None:
        """Return what was not shown of the first thought; ``None`` if it is another one.

        Teams stream no signatures, so that two thoughts in a row look like one: that one is not sent back.
        """
        pieces = (delta for delta in self._shown if isinstance(delta, ReasoningDelta))
        told, whole = "".join(delta.text for delta in pieces), block.get("thinking", "")
        if not block or not whole.startswith(told):
            return None
        rest: list[Delta] = [ReasoningDelta(whole[len(told) :], key=_FIRST)] if len(told) < len(whole) else []
        signature, signed = block.get("signature"), any(isinstance(one, OpaqueDelta) for one in self._shown)
        if signature and not signed:
            rest.append(OpaqueDelta(Opaque("anthropic.signature", signature), key=_FIRST))
        return rest

    def _call(self, tool: Any) -> Iterator[Delta]:
        """Read a call, unless the blocks had it."""
        if tool.tool_call_id not in self._seen:
            self._seen.add(tool.tool_call_id)
            yield from self._take_kept()
            yield from self._response.begin()
            yield from self._response.end_unit()
            yield ToolCallDelta(tool.tool_call_id, tool.tool_name, compact_json(tool.tool_args or {}))
            if signature := self._signed.get(tool.tool_call_id):
                yield OpaqueDelta(gemini_signature(signature, f"tool_call:{tool.tool_call_id}"))

    def _paused(self, event: Any) -> Iterator[Delta | Interrupt]:
        """Read the calls that wait for the front end, or for the user's decision."""
        for tool in event.tools or ():
            yield from self._call(tool)
        yield from self._end()
        asked = list(_interrupts(event.tools or ()))
        if asked and (self._is_member or event.event.startswith("Team")):
            raise ConfigurationError(
                f"The call {asked[0].tool_call_id!r} waits for the user, but no team can be continued.",
                code="unsupported_approval",
                hint="Give tools that pause a run to an agent that is no member of a team.",
            )
        yield from asked

    def _continued(self, _: Any) -> Iterator[Part]:
        """Return the results that Agno does not report: of calls for which it runs no tool."""
        answers = answered_calls(self._run)
        self._seen |= answers.keys()
        for call_id, (told, failed) in settled(answers).items():
            yield result_part(call_id, told, failed=failed)

    def _completed(self, event: Any) -> Iterator[Delta | Part]:
        yield from self._end()
        tool = event.tool
        content = [tool.result or "", *_media(event)]
        yield result_part(tool.tool_call_id, content, failed=bool(tool.tool_call_error))

    def _custom(self, event: Any) -> Iterator[BaseEvent]:
        """Read the AG-UI events among the attributes of an application's event."""
        events = [one for value in vars(event).values() for one in self._events_in(value)]
        if not events:
            self._ignored("Custom events without AG-UI events")
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


def _kind_of(event: Any) -> str:
    """Return the kind of an event; teams have the same ones as agents."""
    return str(getattr(event, "event", type(event).__name__)).removeprefix("Team")


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


_MEDIA: Final = {"images": "image", "videos": "video", "audio": "audio", "files": "file"}


def _media(event: Any) -> Iterator[JSONObject]:
    """Yield the media that a tool produced as blocks, which Agno shows to the model after all results."""
    for name, kind in _MEDIA.items():
        for media in getattr(event, name, None) or ():
            typed = media.mime_type or (f"{kind}/{media.format}" if media.format else None)
            data = media.content.encode() if isinstance(media.content, str) else media.content
            yield {"type": kind, "data": data, "url": media.url, "media_type": typed}


_EVENTS: Final[Mapping[str, Callable[[_RunReader, Any], Iterator[Any]]]] = {
    "ModelRequestStarted": _RunReader._end,
    "RunContent": _RunReader._content,
    "ModelRequestCompleted": _RunReader._usage,
    "ToolCallStarted": lambda reader, event: reader._call(event.tool),
    "ToolCallCompleted": _RunReader._completed,
    "RunPaused": _RunReader._paused,
    "RunContinued": _RunReader._continued,
    "RunCompleted": _RunReader._end,
    "RunError": _RunReader._failed,
    "CustomEvent": _RunReader._custom,
}
_UNREAD: Final = frozenset(
    {"RunIntermediateContent", "ReasoningStep", "ReasoningContentDelta", "TaskCreated", "TaskStateUpdated"}
)
"""The events with content that AG-UI has no place for."""


def _texts_in(blocks: list[JSONObject], deltas: Sequence[Delta]) -> Iterator[int]:
    """Return the numbers of the texts that were shown."""
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    for number, block in enumerate(blocks):
        if block["type"] == "text" and text.startswith(block["text"]):
            text = text.removeprefix(block["text"])
            yield number


# -- what a paused run asks

_TYPES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def _interrupts(tools: Iterable[Any]) -> Iterator[Interrupt]:
    """Yield what the user must approve or answer; calls that run elsewhere are pending."""
    for tool in tools:
        call_id, name = tool.tool_call_id, tool.tool_name
        if not tool.is_paused or tool.external_execution_required:
            continue
        if tool.user_feedback_schema:
            yield question(call_id, name, schema=_choices(tool.user_feedback_schema))
        elif tool.requires_user_input:
            yield question(call_id, name, schema=_fields(tool.user_input_schema or ()))
        else:
            yield approval(call_id, name)


def _fields(fields: Iterable[Any]) -> JSONObject:
    """Return the schema of an object with the fields; the model may have given values of some."""
    written, required = {}, []
    for field in fields:
        name = getattr(field.field_type, "__name__", str(field.field_type))
        given = {"type": _TYPES.get(name), "description": field.description, "default": field.value}
        written[field.name] = {key: value for key, value in given.items() if value is not None}
        required += [field.name] if field.value is None else []
    return {"type": "object", "properties": written, "required": required}


def _choices(questions: Iterable[Any]) -> JSONObject:
    """Return the schema of an object with the labels that were chosen, by question."""
    written = {}
    for one in questions:
        labels = [option.label for option in one.options or ()]
        chosen = {"type": "array", "items": {"type": "string", "enum": labels}}
        written[one.question] = chosen if one.multi_select else chosen | {"maxItems": 1}
    return {"type": "object", "properties": written, "required": list(written)}
