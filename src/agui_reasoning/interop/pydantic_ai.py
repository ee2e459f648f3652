"""Shows runs of Pydantic AI agents, and writes conversations as their message history.

Pydantic AI is imported by the functions that build its classes, not by `stream`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any, Final

from ag_ui.core import CustomEvent, Interrupt, UserMessage

from agui_reasoning._driver import AgentItem, ModelStream
from agui_reasoning.deltas import (
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.interop._client import (
    UserAnswer,
    answered_calls,
    approval,
    client_results,
    decision,
    front_end_tools,
    history_without,
    imported,
    question,
    wrong_answer,
)
from agui_reasoning.interop._messages import Media, result_part, text_or_media
from agui_reasoning.interop._stream import FrameworkReader, OpenResponse, Subagents
from agui_reasoning.parts import Channel, Opaque, Origin, Part, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers.encoding import MessageContent
from agui_reasoning.providers.payload import JSONObject, compact_json
from agui_reasoning.request import PreparedConversation, PreparedResponse
from agui_reasoning.run import Run

__all__ = ["message_history", "resume", "stream", "subagent", "toolset"]

_FRAMEWORK: Final = ("Pydantic AI", "pydantic-ai, or pydantic-ai-slim with the extra of your provider")


def stream(source: Any) -> ModelStream:
    """Read the events of an agent inside a run.

    Thinking parts become reasoning with its signatures, and the results of the agent's tools become tool
    results. Agents that run with a handler of `subagent` become subagents. Calls that wait for an approval,
    and questions, interrupt the run: see `resume`.

    Args:
        source: What ``agent.run_stream_events`` returns, or ``agent.run``, which is shown when it is over; or
            anything else that `ModelStream` accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run, and must be
        those of the agent's model.

    Source:
        pydantic-ai 2.68: parts arrive as part_start, part_delta and part_end events.
    """
    return _AgentReader.stream(source)


def message_history(run: Run, *, deferred_tool_results: Any = None) -> list[Any]:
    """Write the conversation of a run, ending with the user's message, as a ``message_history``.

    Run the agent with it and without a prompt. Instructions and tools are those of the agent.

    Args:
        run: The run. Its provider is the name of the agent's provider in Pydantic AI.
        deferred_tool_results: What `resume` returned, or other ``DeferredToolResults`` that you pass to the
            agent. Their calls have no result in the history, and what the user wrote with the answers stands
            before the calls. All other calls that nobody answered have a result that says so: the agent would
            run them otherwise, although the client could have invented them.

    Returns:
        Model messages, with the reasoning that the provider accepts.

    Raises:
        ConfigurationError: The run has no API (``no_api``), or Pydantic AI is not installed
            (``missing_framework``).

    Warns:
        ReasoningLostWarning: The provider requires reasoning that cannot be sent.
    """
    adapter = imported("pydantic_ai.messages", *_FRAMEWORK).ModelMessagesTypeAdapter
    given = deferred_tool_results
    deferred = frozenset({*given.calls, *given.approvals} if given else ())
    history = history_without(run, deferred) if deferred else None
    conversation = run.request(tools=(), history=history).conversation
    messages: list[Any] = adapter.validate_python(_message_dicts(conversation, run.warn_once, deferred))
    return messages


def resume(run: Run) -> Any:
    """Return the user's answers to the interrupts of the run before, to continue where the agent stopped.

    Pass them to `message_history` and to the agent's run, as ``deferred_tool_results``. ``approved`` in an
    answer decides on a call that needs an approval: ``editedArgs`` are other arguments for it, ``reason``
    tells the model why not, and a cancelled interrupt is a refusal. The answer to a question is the result of
    the call.

    Returns:
        ``DeferredToolResults``; ``None`` if the user answered nothing.

    Raises:
        RemoteProtocolError: An answer has not the form that the interrupt asked for (``bad_answer``).
        ConfigurationError: Pydantic AI is not installed (``missing_framework``).
    """
    answers = answered_calls(run)
    if not answers:
        return None
    framework = imported("pydantic_ai", *_FRAMEWORK)
    results = framework.DeferredToolResults()
    for call_id, answer in answers.items():
        if answer.is_decision or answer.entry.status == "cancelled":
            results.approvals[call_id] = _approved(answer, framework)
        elif answer.entry.payload is None:
            raise wrong_answer(answer.entry, "the result of the call")
        else:
            results.calls[call_id] = answer.entry.payload
    return results


def _approved(answer: UserAnswer, framework: Any) -> Any:
    decided = decision(answer.entry)
    if decided.approved:
        return framework.ToolApproved(override_args=decided.edited)
    return framework.ToolDenied(*([] if decided.reason is None else [decided.reason]))


def toolset(run: Run) -> Any:
    """Return the tools of the front end as a toolset, for ``toolsets=`` of the agent's run.

    The agent needs ``DeferredToolRequests`` among its output types. It runs its own tools, and then ends with
    the calls that the front end answers in its next input.

    Returns:
        An ``ExternalToolset``; empty if the front end has no tools.

    Raises:
        ConfigurationError: Pydantic AI is not installed (``missing_framework``).
    """
    made = imported("pydantic_ai.toolsets", *_FRAMEWORK).ExternalToolset
    definition = imported("pydantic_ai.tools", *_FRAMEWORK).ToolDefinition
    return made([definition(**tool) for tool in front_end_tools(run, "parameters_json_schema")])


def subagent(context: Any, name: str) -> Callable[[Any, AsyncIterable[Any]], Awaitable[None]]:
    """Return the ``event_stream_handler`` of an agent that a tool runs, to show it as a subagent.

    `stream` reads the delegate's events in those of the agent that has the tool. The subagent ends with the
    result of the tool.

    Args:
        context: The ``RunContext`` of the tool, which must be ``async``.
        name: The name of the subagent.

    Raises:
        ConfigurationError: Pydantic AI is not installed (``missing_framework``).

    Source:
        pydantic-ai 2.68: ``RunContext.emit`` puts custom events into the stream of the run.
    """
    made = _delegate_event()

    async def forward(_: Any, events: AsyncIterable[Any]) -> None:
        async for event in events:
            await context.emit(made(delegate=name, event=event))

    return forward


@cache
def _delegate_event() -> Any:
    """Return the class of events that carry those of a delegate through the run that called it."""
    base: Any = imported("pydantic_ai", *_FRAMEWORK).CustomEvent

    @dataclass(kw_only=True)
    class DelegateEvent(base, name="agui_reasoning_delegate", ui=False):  # type: ignore[misc, call-arg]
        delegate: str
        event: Any

    return DelegateEvent


# -- the values of each API

_THOUGHT_SIGNATURE: Final = "thought_signature"
"""The provider detail of texts and calls that have a value."""


@dataclass(frozen=True, slots=True)
class _Spelling:
    """The meaning of the fields of a thinking part.

    Attributes:
        signature: The kind of its ``signature``; empty if the API has none.
        redacted: The kind of the signature of redacted parts.
        redacted_id: The ID of redacted parts.
        redacted_bytes: Whether the signature of redacted parts is text whose bytes are the value.
        channel: The channel of its text.
        id_is_item: Its ``id`` is the ID of an item; parts with the same ID are segments of one unit.
        id_is_field: Its ``id`` is the name of the field that contained the text.
        thought_signature: Texts and calls have a value, too: the provider detail `_THOUGHT_SIGNATURE`.
        marks_errors: Whether the API marks results of tools that failed. For others, Pydantic AI rewrites
            the text of such results.
    """

    signature: str = ""
    redacted: str = ""
    redacted_id: str = "redacted_thinking"
    redacted_bytes: bool = False
    channel: Channel = "text"
    id_is_item: bool = False
    id_is_field: bool = False
    thought_signature: bool = False
    marks_errors: bool = False

    def value(self, part_id: str | None, signature: str) -> Opaque | None:
        """Return the value of a thinking part; ``None`` if the API has none."""
        if part_id != self.redacted_id:
            return Opaque(self.signature, signature) if self.signature else None
        if not self.redacted_bytes:
            return Opaque(self.redacted, signature) if self.redacted else None
        return Opaque(self.redacted, b64encode(signature.encode()).decode("ascii"), "base64")

    def written(self, values: Iterable[Opaque]) -> tuple[str | None, str | None]:
        """Return the ID, if it tells that the part is redacted, and the signature of a thinking part."""
        for value in values:
            if value.kind == self.redacted:
                text = b64decode(value.value).decode() if self.redacted_bytes else value.value
                return self.redacted_id, text
            if value.kind == self.signature:
                return None, value.value
        return None, None


_SPELLINGS: Final[Mapping[str, _Spelling]] = {
    "anthropic-messages": _Spelling("anthropic.signature", "anthropic.redacted_thinking", marks_errors=True),
    "bedrock-converse": _Spelling(
        "anthropic.signature",
        "bedrock.redacted_content",
        redacted_id="redacted_content",
        redacted_bytes=True,
        marks_errors=True,
    ),
    "openai-responses": _Spelling("openai.encrypted_content", channel="summary", id_is_item=True),
    "openai-chat": _Spelling(id_is_field=True),
    "gemini": _Spelling("gemini.thought_signature", thought_signature=True, marks_errors=True),
    "xai-grpc": _Spelling("xai.encrypted_content"),
}


# -- reading events

_FAILED: Final = frozenset({"failed", "retried"})
"""The outcomes of tools that Pydantic AI reports as errors."""

_CALLS: Final = frozenset({"tool-call", "builtin-tool-call"})
_RESULTS: Final = frozenset({"tool-return", "retry-prompt"})


_SILENT: Final = frozenset({"final_result", "deferred_tool_requests", "deferred_tool_results"})
"""The events that repeat what others say."""


class _AgentReader(FrameworkReader):
    """Reads the events of one run of an agent."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._subagents: Subagents[tuple[str | None, str], _AgentReader] = Subagents(_AgentReader)
        self._spelling = _SPELLINGS.get(run.api or "", _Spelling())
        self._begin()

    def _begin(self) -> None:
        self._response = OpenResponse(self._run.origin)
        self._keys: dict[int, str] = {}

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        kind = getattr(payload, "event_kind", type(payload).__name__)
        if kind in _SILENT:
            return []
        read = _EVENTS.get(kind)
        return self._ignored(f"Events of the kind {kind!r}") if read is None else read(self, payload)

    def whole(self, response: Any) -> Sequence[AgentItem]:
        if not hasattr(response, "new_messages"):
            return self.receive(response)
        items = [item for message in response.new_messages() for item in self._message(message)]
        return [*items, *self._over(SimpleNamespace(result=response))]

    def close(self) -> Sequence[AgentItem]:
        return [*self._subagents.end(), *self._response.end()]

    def _message(self, message: Any) -> Iterator[AgentItem]:
        """Read a message as the events that would have streamed it; results of the client are known."""
        if message.kind == "response":
            for index, part in enumerate(message.parts):
                yield from self._start(SimpleNamespace(index=index, part=part))
                yield from self._end(SimpleNamespace(index=index, part=part))
            yield from self._response.end()
            return
        told = client_results(self._run)
        for part, after in zip_longest(message.parts, message.parts[1:]):
            if part.part_kind in _RESULTS and part.tool_name and part.tool_call_id not in told:
                prompt = after.content if getattr(after, "part_kind", "") == "user-prompt" else None
                yield from self._result(SimpleNamespace(part=part, content=prompt))

    # -- events

    def _start(self, event: Any) -> list[Delta]:
        part, ended = event.part, []
        if event.index == 0:
            ended = self._response.end()
            self._begin()
        key = self._keys[event.index] = self._key(event.index, part)
        response, read = self._response, _PARTS.get(part.part_kind)
        begun = response.end_unit() if part.part_kind in _CALLS else response.unit(key, part.part_kind)
        if read is None:
            self._ignored(f"Parts of the kind {part.part_kind!r}")
        return [*ended, *response.begin(), *begun, *(read(self, event.index, part) if read else ())]

    def _delta(self, event: Any) -> list[Delta]:
        delta = event.delta
        read = _PART_DELTAS.get(delta.part_delta_kind)
        return read(self, event.index, delta) if read else []

    def _end(self, event: Any) -> list[Delta]:
        part = event.part
        value, key = self._value(part), self._keys[event.index]
        if part.part_kind in _CALLS:
            return [] if value is None else [OpaqueDelta(value, key=key)]
        self._response.keep(key, value)
        if part.part_kind == "thinking" and self._spelling.id_is_item:
            return []
        return self._response.end_unit()

    def _result(self, event: Any) -> list[AgentItem]:
        part = event.part
        failed = getattr(part, "outcome", "success") in _FAILED
        result = result_part(part.tool_call_id, _result_blocks(event), failed=failed)
        ended = self._subagents.end(lambda key: key[0] == part.tool_call_id)
        return [*ended, *self._response.end(), result, *self._events_in(getattr(part, "metadata", None))]

    def _custom(self, event: Any) -> Sequence[AgentItem]:
        """Read an event of a delegate; others are the application's, and pass as they do in AGUIAdapter."""
        if type(event).__name__ != "DelegateEvent":
            payload = event.to_payload()
            return self._events_in(payload) or [CustomEvent(name=event.name, value=payload)]
        key = event.tool_call_id, event.delegate
        return self._subagents.read(
            key, self._run, event.delegate, lambda reader: reader.receive(event.event)
        )

    def _over(self, event: Any) -> list[AgentItem]:
        """Read the last event: the counts of the whole run, and the calls that wait for the user."""
        usage = event.result.usage
        counts = UsageDelta(
            input_tokens=usage.input_tokens or None,
            output_tokens=usage.output_tokens or None,
            total_tokens=usage.total_tokens or None,
            reasoning_tokens=usage.details.get("reasoning_tokens"),
            cached_input_tokens=usage.cache_read_tokens or None,
            cache_write_input_tokens=usage.cache_write_tokens or None,
        )
        return [*([counts] if usage.total_tokens else []), *_interrupts(event.result.output)]

    # -- parts

    def _thinking(self, index: int, part: Any) -> list[Delta]:
        self._response.keep(self._keys[index], self._value(part))
        if part.content is not None:
            self._response.segment(self._keys[index], index)
        return self._reasoning(index, part.content or "", part.id)

    def _more_thinking(self, index: int, delta: Any) -> list[Delta]:
        if delta.signature_delta and self._spelling.signature:
            self._response.keep(self._keys[index], Opaque(self._spelling.signature, delta.signature_delta))
        return self._reasoning(index, delta.content_delta or "", None)

    def _reasoning(self, index: int, text: str, part_id: str | None) -> list[Delta]:
        spelling, key = self._spelling, self._keys[index]
        segment = self._response.segment(key, index) if text and spelling.id_is_item else 0
        item_id = part_id if spelling.id_is_item else None
        ext = {"field": part_id} if spelling.id_is_field and part_id else None
        if not text and item_id is None:
            return []
        return [
            ReasoningDelta(text, key=key, channel=spelling.channel, index=segment, item_id=item_id, ext=ext)
        ]

    def _text(self, index: int, part: Any) -> list[Delta]:
        details = part.provider_details or {}
        ext = {"id": part.id, "phase": details.get("phase")}
        given = {name: value for name, value in ext.items() if value is not None}
        if not part.content and not given:
            return []
        return [TextDelta(part.content, key=self._keys[index], ext=given or None)]

    def _more_text(self, index: int, delta: Any) -> list[Delta]:
        return [TextDelta(delta.content_delta, key=self._keys[index])] if delta.content_delta else []

    def _call(self, index: int, part: Any) -> list[Delta]:
        ext = {"id": part.id} if part.id else None
        server = part.part_kind == "builtin-tool-call"
        arguments = _arguments(part.args)
        return [ToolCallDelta(part.tool_call_id, part.tool_name, arguments, server=server, ext=ext)]

    def _more_call(self, index: int, delta: Any) -> list[Delta]:
        arguments = _arguments(delta.args_delta)
        return [ToolCallDelta(self._keys[index], arguments=arguments)] if arguments else []

    def _server_result(self, index: int, part: Any) -> list[Delta]:
        return [ToolResultDelta(part.tool_call_id, part.model_response_str())]

    # -- units

    def _key(self, index: int, part: Any) -> str:
        """Return the key of a part's unit: its call ID, its item's ID, or its place."""
        if part.part_kind in _CALLS:
            return str(part.tool_call_id)
        is_item = part.part_kind == "thinking" and self._spelling.id_is_item
        return part.id if is_item and part.id else str(index)

    def _value(self, part: Any) -> Opaque | None:
        spelling = self._spelling
        if part.part_kind == "thinking" and part.signature:
            return spelling.value(part.id, part.signature)
        signature = (getattr(part, "provider_details", None) or {}).get(_THOUGHT_SIGNATURE)
        if not signature or not spelling.thought_signature:
            return None
        attach = f"tool_call:{part.tool_call_id}" if part.part_kind == "tool-call" else "text"
        return Opaque(spelling.signature, signature, "base64", attach)


def _interrupts(output: Any) -> Iterator[Interrupt]:
    """Yield what the user must approve or answer. Other calls wait for their results: they are pending."""
    if type(output).__name__ != "DeferredToolRequests":
        return
    questions = (held for held in output.calls if output.kind(held.tool_call_id) == "question")
    for ask, calls in ((approval, output.approvals), (question, questions)):
        for held in calls:
            yield ask(held.tool_call_id, held.tool_name, metadata=output.metadata.get(held.tool_call_id))


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else "" if args is None else compact_json(args)


_EVENTS: Final[Mapping[str, Callable[[_AgentReader, Any], Sequence[AgentItem]]]] = {
    "part_start": _AgentReader._start,
    "part_delta": _AgentReader._delta,
    "part_end": _AgentReader._end,
    # The response ends before its tools run: one that raises ends the run.
    **dict.fromkeys(("function_tool_call", "output_tool_call"), lambda reader, _: reader._response.end()),
    "function_tool_result": _AgentReader._result,
    "output_tool_result": _AgentReader._result,
    "custom": _AgentReader._custom,
    "agent_run_result": _AgentReader._over,
}
_PARTS: Final[Mapping[str, Callable[[_AgentReader, int, Any], list[Delta]]]] = {
    "thinking": _AgentReader._thinking,
    "text": _AgentReader._text,
    "tool-call": _AgentReader._call,
    "builtin-tool-call": _AgentReader._call,
    "builtin-tool-return": _AgentReader._server_result,
}
_PART_DELTAS: Final[Mapping[str, Callable[[_AgentReader, int, Any], list[Delta]]]] = {
    "thinking": _AgentReader._more_thinking,
    "text": _AgentReader._more_text,
    "tool_call": _AgentReader._more_call,
}


def _result_blocks(event: Any) -> Any:
    """Return what a tool returned: text, or content blocks if there is media or a prompt follows."""
    part, after = event.part, getattr(event, "content", None) or ()
    if not after and not getattr(part, "files", ()):
        return part.content if isinstance(part.content, str) else part.model_response_str()
    items = part.content_items(mode="str", wrap_if_error=False)
    prompt = [after] if isinstance(after, str) else after
    return [_block(item) for item in (*items, *prompt) if getattr(item, "kind", "") != "cache-point"]


def _block(item: Any) -> Any:
    """Write an item of the content as a block. Its media type is not guessed, which fails for some URLs."""
    if isinstance(item, str):
        return item
    fields = vars(item)
    if "metadata" in fields:  # tagged text
        return item.content
    media_type = fields.get("media_type") or fields.get("_media_type")
    return {**fields, "type": item.kind, "media_type": media_type}


# -- writing messages

_LEFT_OUT: Final = "Tools that the provider runs itself, and its own blocks, are left out for Pydantic AI."


def _message_dicts(
    conversation: PreparedConversation,
    warn: Callable[[list[str]], None],
    deferred: frozenset[str] = frozenset(),
) -> list[JSONObject]:
    """Write the messages, in the form that ``ModelMessagesTypeAdapter`` validates.

    The last response leaves calls that are deferred without a result.
    """
    provider, items = conversation.target.provider, conversation.items
    written: list[JSONObject] = []
    for item in items:
        if isinstance(item, PreparedResponse):
            written += _exchange(item, conversation.target, deferred if item is items[-1] else frozenset())
            if not all(map(_has_place, item.parts)):
                warn([_LEFT_OUT])
        elif isinstance(item, UserMessage):
            content = _contents(item.content, provider)
            written.append(_request({"part_kind": "user-prompt", "content": content}))
        else:
            written.append(_request({"part_kind": "system-prompt", "content": item.content}))
    return written


def _exchange(item: PreparedResponse, target: Origin, deferred: frozenset[str]) -> Iterator[JSONObject]:
    """Write a response, and the results of its calls."""
    spelling = _SPELLINGS.get(target.api or "", _Spelling())
    parts = [
        one
        for part in item.parts
        if _has_place(part)
        for one in _WRITERS[type(part)](part, spelling, target.provider)
    ]
    if parts:
        origin = {"provider_name": target.provider, "model_name": target.model}
        yield {"kind": "response", "parts": parts, **origin}
    names = {part.id: part.name for part in item.parts if isinstance(part, ToolCallPart)}
    returns = [
        {
            "part_kind": "tool-return",
            "tool_name": names.get(result.tool_call_id, "unknown"),
            "content": _contents(result.content, target.provider),
            "tool_call_id": result.tool_call_id,
            "outcome": "failed" if spelling.marks_errors and result.error is not None else "success",
        }
        for result in item.results
        if result.tool_call_id not in deferred
    ]
    if returns:
        yield _request(*returns)


def _request(*parts: JSONObject) -> JSONObject:
    return {"kind": "request", "parts": [*parts]}


def _has_place(part: Part) -> bool:
    """Return whether messages have a place for a part; calls and results of server tools go in pairs."""
    return type(part) in _WRITERS and not (isinstance(part, ToolCallPart) and part.server)


def _thinking(part: ReasoningPart, spelling: _Spelling, provider: str | None) -> list[JSONObject]:
    """Write one part; items of the Responses API become a part per segment, the first with the value."""
    redacted_id, signature = spelling.written(part.opaque)
    part_id = (part.ext or {}).get("field") if spelling.id_is_field else part.item_id
    made = {"part_kind": "thinking", "id": redacted_id or part_id, "provider_name": provider}
    if not spelling.id_is_item:
        return [{**made, "content": part.text, "signature": signature}]
    summary = [one.text for one in part.segments if one.channel == spelling.channel] or [""]
    raw = [one.text for one in part.segments if one.channel == "text"]
    details = {"provider_details": {"raw_content": raw}} if raw else {}
    first = {**made, "content": summary[0], "signature": signature, **details}
    return [first, *({**made, "content": text} for text in summary[1:])]


def _text(part: TextPart, spelling: _Spelling, provider: str | None) -> list[JSONObject]:
    ext = part.ext or {}
    details = _details(part) | ({"phase": ext["phase"]} if "phase" in ext else {})
    made = {"part_kind": "text", "content": part.text, "id": ext.get("id")}
    return [made | _named(provider, details, ext.get("id"))]


def _call(part: ToolCallPart, spelling: _Spelling, provider: str | None) -> list[JSONObject]:
    native_id = (part.ext or {}).get("id")
    made = {"tool_name": part.name, "args": part.arguments, "tool_call_id": part.id, "id": native_id}
    return [{"part_kind": "tool-call", **made} | _named(provider, _details(part), native_id)]


def _details(part: TextPart | ToolCallPart) -> JSONObject:
    return {_THOUGHT_SIGNATURE: part.opaque[0].value} if part.opaque else {}


def _named(provider: str | None, details: JSONObject, native_id: Any) -> JSONObject:
    """Name the provider, as IDs and details require."""
    if not details and native_id is None:
        return {}
    return {"provider_name": provider, "provider_details": details or None}


_WRITERS: Final[Mapping[type, Callable[[Any, _Spelling, str | None], list[JSONObject]]]] = {
    ReasoningPart: _thinking,
    TextPart: _text,
    ToolCallPart: _call,
}


# -- content


def _contents(content: MessageContent, provider: str | None) -> Any:
    """Write what a user said or a tool returned: a string, or a list if there are several parts."""
    if isinstance(content, str):
        return content
    written = [one for part in content if (one := _content(text_or_media(part), provider)) != ""]
    return written[0] if [type(one) for one in written] == [str] else written


def _content(found: str | Media, provider: str | None) -> Any:
    """Write text as a string, and media as data, as a URL or as a file at the provider."""
    if isinstance(found, str):
        return found
    typed = {"media_type": found.media_type}
    if found.place == "data":
        return {"kind": "binary", "data": found.value, **typed}
    if found.place == "file":
        return {"kind": "uploaded-file", "file_id": found.value, "provider_name": provider, **typed}
    return {"kind": f"{found.type}-url", "url": found.value, **typed}
