"""Gemini Interactions: steps and their deltas.

Every step is a unit whose key is its index; the key of a call is its ID. Signatures arrive whole; empty ones
are ignored. Steps that the provider runs are returned when they stop, because they go back verbatim.

In a request, the steps of a response keep their order and signatures; one of only thoughts is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, TypeAlias

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers._apis.gemini.decode import google_error
from agui_reasoning.providers._apis.gemini.encode import google_media
from agui_reasoning.providers.alternating import (
    BlockStyle,
    Key,
    Writing,
    alternate,
    part_writers,
    written_units,
)
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.encoding import (
    RESULT,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    as_object,
    leftovers,
    native_id,
    source_of,
    spelled,
    tools_of,
    type_of,
    values,
)
from agui_reasoning.providers.payload import (
    NO_ITEMS,
    Events,
    JSONObject,
    Members,
    Shape,
    Whole,
    array,
    as_text,
    compact_json,
    obj,
    other_fields,
    required_index,
    shape,
    string,
    total,
)

SIGNATURE: Final = "gemini.interaction_signature"
INPUT: Final = "user_input"
CUT_STATUSES: Final = frozenset({"incomplete", "cancelled", "budget_exceeded"})


class _InteractionUsage(Members):
    total_input_tokens: Whole | None = None
    total_tool_use_tokens: Whole | None = None
    total_output_tokens: Whole | None = None
    total_thought_tokens: Whole | None = None
    total_tokens: Whole | None = None
    total_cached_tokens: Whole | None = None


class _Metadata(Members):
    usage: _InteractionUsage | None = None


class _Interaction(Members):
    id: str | None = None
    model: str | None = None
    status: str | None = None
    usage: _InteractionUsage | None = None
    steps: list[dict[str, Any]] | None = None
    errors: list[dict[str, Any]] | None = None
    error: Any = None


class _Untyped(Members):
    error: Any = None


class _InteractionEvent(_Untyped):
    index: Whole | None = None
    delta: dict[str, Any] | None = None
    step: dict[str, Any] | None = None
    interaction: _Interaction | None = None
    metadata: _Metadata | None = None


@lru_cache(64)
def _growth(kind: str, name: str, index: int) -> Shape:
    """Return the shape of deltas that only add text to a step."""
    delta = {"type": Literal[kind], name: str, "annotations": NO_ITEMS, "signature": None}
    members = {"event_type": Literal["step.delta"], "index": Literal[index], "delta": delta, "metadata": None}
    return shape(members, _InteractionEvent)


@dataclass(slots=True)
class _Step:
    """An open step.

    Attributes:
        start: The step as it was opened; with its deltas, if it is returned when it stops.
        entries: The number of entries in its summary.
        filled: Whether it has content.
        runs: The number of complete stretches of text.
        annotations: The annotations of the open stretch.
    """

    type: str
    key: str
    start: JSONObject
    entries: int = 0
    filled: bool = False
    runs: int = 0
    annotations: list[Any] = field(default_factory=list)

    @property
    def text_key(self) -> str:
        """The key of the open stretch of text."""
        return f"{self.key}.{self.runs}"


class GeminiInteractionsDecoder(Decoder):
    """Decodes streams and whole interactions of the Interactions API."""

    api: ClassVar[str] = "gemini-interactions"
    vendor: ClassVar[str | None] = "google"
    response = _Interaction

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._steps: dict[int, _Step] = {}
        self._last: _Step | None = None
        self._named_model = model

    def _whole(self, response: _Interaction, raw: JSONObject) -> list[Delta]:
        if response.error:
            raise self._failure(response.error)
        deltas = self._created(_InteractionEvent(interaction=response), raw)
        for index, step in enumerate(response.steps or ()):
            deltas += self._open(index, step, f"/steps/{index}")
            deltas += self._stop(_InteractionEvent(index=index), raw)
        return deltas + self._completed(_InteractionEvent(interaction=response), raw)

    # -- events

    def _created(self, event: _InteractionEvent, raw: JSONObject) -> list[Delta]:
        interaction = event.interaction or _Interaction()
        origin = self._origin_of(interaction.model or self.model)
        self._running, self._named_model = True, origin.model
        self._steps, self._last = {}, None
        return [ResponseStart(origin, id=interaction.id or None)]

    def _start(self, event: _InteractionEvent, raw: JSONObject) -> list[Delta]:
        return self._open(required_index(event.index), event.step or {}, "/step")

    def _open(self, index: int, start: JSONObject, path: str) -> list[Delta]:
        kind = string(start, "type", path)
        if kind == INPUT:  # of the user
            self._running, self._last = True, None
            self._steps.pop(index, None)
            return []
        called = kind == "function_call"
        step = _Step(kind, (string(start, "id", path) if called else "") or str(index), dict(start))
        deltas = _OPENERS.get(kind, _open_other)(step, path)
        self._running = True
        self._steps[index] = self._last = step
        return deltas

    def _delta(self, event: _InteractionEvent, raw: JSONObject) -> list[Delta]:
        index, delta = required_index(event.index), event.delta or {}
        step = self._steps.get(index)
        usage = self._count(event.metadata.usage) if event.metadata is not None else []
        if step is None:
            return usage
        kind = string(delta, "type", "/delta")
        deltas = _GROW.get(step.type, _DELTAS.get(kind, _grow_other))(step, delta)
        name = _ADDED.get((step.type, kind), "")
        if name and delta.get(name):
            self._continue(_growth(kind, name, index), attrgetter(f"delta.{name}"), raw, deltas)
        return [*deltas, *usage]

    def _stop(self, event: _InteractionEvent, raw: JSONObject) -> list[Delta]:
        step = self._steps.pop(required_index(event.index), None)
        return _stopped(step) if step is not None else []

    def _completed(self, event: _InteractionEvent, raw: JSONObject) -> list[Delta]:
        interaction = event.interaction or _Interaction()
        if interaction.status == "failed":
            raise self._failure((interaction.errors or [{}])[0])
        deltas = self._count(interaction.usage)
        for step in self._steps.values():
            deltas += _stopped(step)
        if interaction.status in CUT_STATUSES and (last := self._last) is not None:
            cut = last.text_key if last.type == "model_output" else last.key
            deltas.append(CloseDelta(key=cut, status="incomplete"))
        self._steps, self._last, self._running = {}, None, False
        return [*deltas, FinishDelta(interaction.status or None)]

    def _error(self, event: _InteractionEvent, raw: JSONObject) -> list[Delta]:
        raise self._failure(event.error or {})

    def _other(self, event: _Untyped, raw: JSONObject) -> list[Delta]:
        """Refuse an error without a type; other payloads without one are ignored."""
        if event.error:
            raise self._failure(event.error)
        return []

    def _failure(self, error: Any) -> ProviderError:
        refused = google_error(error)
        self._running = False
        return refused

    def _count(self, usage: _InteractionUsage | None) -> list[Delta]:
        """Return the token counts; tools count as input, thoughts as output."""
        if usage is None or usage == _InteractionUsage():
            return []
        count = UsageDelta(
            provider=self.provider,
            model=self._named_model,
            input_tokens=total(usage.total_input_tokens, usage.total_tool_use_tokens),
            output_tokens=total(usage.total_output_tokens, usage.total_thought_tokens),
            total_tokens=usage.total_tokens,
            reasoning_tokens=usage.total_thought_tokens,
            cached_input_tokens=usage.total_cached_tokens,
        )
        return [count]

    events = Events(
        "event_type",
        {
            "interaction.created": (_InteractionEvent, _created),
            "step.start": (_InteractionEvent, _start),
            "step.delta": (_InteractionEvent, _delta),
            "step.stop": (_InteractionEvent, _stop),
            "interaction.completed": (_InteractionEvent, _completed),
            "error": (_InteractionEvent, _error),
            None: (_Untyped, _other),
        },
    )


def _signature(signature: str, key: str, attach: str = "self") -> list[Delta]:
    """Return the value of a signature, unless it is empty."""
    value = Opaque(SIGNATURE, signature, "base64", attach)
    return [OpaqueDelta(value, key=key)] if signature else []


# -- how a step of each type opens


def _open_thought(step: _Step, path: str) -> list[Delta]:
    ext = other_fields(step.start, "type", "signature", "summary") or None
    deltas: list[Delta] = [ReasoningDelta(key=step.key, ext=ext)]
    for number, entry in enumerate(array(step.start, "summary", path)):
        deltas += _entry(step, entry, f"{path}/summary/{number}")
    signature = _signature(string(step.start, "signature", path), step.key)
    step.filled = step.filled or bool(signature)
    return deltas + signature


def _open_output(step: _Step, path: str) -> list[Delta]:
    contents = enumerate(array(step.start, "content", path))
    return [delta for n, one in contents for delta in _say(step, one, f"{path}/content/{n}")]


def _open_call(step: _Step, path: str) -> list[Delta]:
    call_id, name = string(step.start, "id", path), string(step.start, "name", path)
    step.key = call_id
    compact_json(step.start.get("arguments"))
    signature = _signature(string(step.start, "signature", path), call_id, f"tool_call:{call_id}")
    ext = other_fields(step.start, "type", "id", "name", "arguments", "signature")
    return [ToolCallDelta(call_id, name, ext=ext or None), *signature]


def _open_other(step: _Step, path: str) -> list[Delta]:
    string(step.start, "id", path), string(step.start, "call_id", path), string(step.start, "signature", path)
    compact_json(step.start)
    return []


# -- how each delta grows a step


def _grow_summary(step: _Step, delta: JSONObject) -> list[Delta]:
    return _entry(step, obj(delta, "content", "/delta"), "/delta/content")


def _entry(step: _Step, entry: JSONObject, path: str) -> list[Delta]:
    """Add an entry of the summary."""
    text = string(entry, "text", path)
    step.entries += 1
    step.filled = step.filled or bool(text)
    return [ReasoningDelta(text, key=step.key, channel="summary", index=step.entries - 1)]


def _grow_signature(step: _Step, delta: JSONObject) -> list[Delta]:
    signature = _signature(string(delta, "signature", "/delta"), step.key)
    step.filled = step.filled or bool(signature)
    return signature


def _grow_output(step: _Step, delta: JSONObject) -> list[Delta]:
    if string(delta, "type", "/delta") == "text_annotation_delta":
        return _annotated(step, array(delta, "annotations", "/delta"))
    return _say(step, delta, "/delta")


def _say(step: _Step, content: JSONObject, path: str) -> list[Delta]:
    """Add text; other content is kept whole and divides the text into stretches."""
    kind = string(content, "type", path)
    if kind == "text":
        more = _annotated(step, array(content, "annotations", path))
        return [TextDelta(string(content, "text", path), key=step.text_key), *more]
    compact_json(content)
    before = step.text_key
    step.runs += 1
    step.annotations = []
    return [CloseDelta(key=before), NativeDelta(f"gemini.{kind}", content)]


def _annotated(step: _Step, annotations: list[JSONObject]) -> list[Delta]:
    if not annotations:
        return []
    step.annotations = [*step.annotations, *annotations]
    return [TextDelta("", key=step.text_key, ext={"annotations": step.annotations})]


def _grow_call(step: _Step, delta: JSONObject) -> list[Delta]:
    arguments = string(delta, "arguments", "/delta")
    signature = _signature(string(delta, "signature", "/delta"), step.key, f"tool_call:{step.key}")
    step.filled = step.filled or bool(arguments)
    return [ToolCallDelta(step.key, "", arguments), *signature]


def _grow_other(step: _Step, delta: JSONObject) -> list[Delta]:
    """Merge a delta into a step that is returned when it stops; empty signatures are ignored."""
    string(delta, "signature", "/delta")
    compact_json(delta)
    fresh = {name: value for name, value in delta.items() if name != "type"}
    if not fresh.get("signature"):
        fresh.pop("signature", None)
    step.start |= fresh
    return []


# -- how a step stops


def _stopped(step: _Step) -> list[Delta]:
    return _CLOSERS.get(step.type, _stop_other)(step)


def _stop_thought(step: _Step) -> list[Delta]:
    empty = [] if step.filled else [ReasoningDelta(key=step.key, ext={"explicit_empty": True})]
    return [*empty, CloseDelta(key=step.key)]


def _stop_call(step: _Step) -> list[Delta]:
    close = CloseDelta(key=step.key)
    if step.filled:
        return [close]
    return [ToolCallDelta(step.key, "", compact_json(step.start.get("arguments") or {})), close]


def _stop_other(step: _Step) -> list[Delta]:
    """Return a server tool call or result, or a step of an unknown type."""
    kind, start = step.type, step.start
    if kind.endswith("_call") and isinstance(start.get("id"), str):
        call_id = start["id"]
        ext = {**other_fields(start, "id", "arguments", "signature"), "type": kind}
        arguments = compact_json(start.get("arguments") or {})
        call = ToolCallDelta(call_id, kind.removesuffix("_call"), arguments, server=True, ext=ext)
        signature = start.get("signature") or ""
        return [call, *_signature(signature, call_id, f"tool_call:{call_id}"), CloseDelta(key=call_id)]
    if kind.endswith("_result") and isinstance(start.get("call_id"), str):
        error = "" if start.get("is_error") is True else None
        return [ToolResultDelta(start["call_id"], as_text(start.get("result")), error=error, native=start)]
    return [NativeDelta(f"gemini.{kind}", start)]


_ADDED: Final = {("model_output", "text"): "text", ("function_call", "arguments_delta"): "arguments"}
"""The member that adds text to a step, by the types of the step and of the delta."""
_OPENERS: Final[dict[str, Callable[[_Step, str], list[Delta]]]] = {
    "thought": _open_thought,
    "model_output": _open_output,
    "function_call": _open_call,
}
_Grow: TypeAlias = Callable[[_Step, JSONObject], list[Delta]]

_DELTAS: Final[dict[str, _Grow]] = {"thought_summary": _grow_summary, "thought_signature": _grow_signature}
_GROW: Final[dict[str, _Grow]] = {"model_output": _grow_output, "function_call": _grow_call}
"""Types of steps that read all of their deltas in the same way."""
_CLOSERS: Final[dict[str, Callable[[_Step], list[Delta]]]] = {
    "thought": _stop_thought,
    "model_output": lambda step: [CloseDelta(key=step.text_key)],
    "function_call": _stop_call,
}


# -- requests

OUTPUT: Final = "model_output"

_CONTENT_TYPES: Final = frozenset({"image", "audio", "video", "document"})
"""Types of native parts in the content of a step; all others are steps."""
_SPELLED: Final = frozenset({INPUT, OUTPUT, "thought", "text", "function_call", "function_result"})


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``input``, and ``system_instruction`` and ``tools`` if there are any."""
    messages, system = alternate(conversation, options, _STYLE, _server_pairs(conversation))
    body: JSONObject = {"input": [step for message in messages for step in _steps(message)]}
    if system:
        body["system_instruction"] = "\n\n".join(system)
    if tools := tools_of(options.tools, _tool):
        body["tools"] = tools
    return body


def _steps(message: JSONObject) -> list[JSONObject]:
    """Return the steps of a message; a user message is a single step."""
    content: list[JSONObject] = message["content"]
    return content if message["role"] == "model" else [{"type": INPUT, "content": content}]


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"type": "function", "name": name, "description": description, "parameters": schema}


# -- a response


def _response(writing: Writing) -> list[JSONObject]:
    step, options, _ = writing
    written = written_units(writing, _PARTS)
    if all(isinstance(unit.part, ReasoningPart) for unit, _ in written):
        options.report.drop_step(step)
        return []
    for unit, made in written:
        # A server tool's result contains its signature and has no entry in the report.
        has_value = made["type"] == "thought" or "signature" in made or isinstance(unit.part, NativePart)
        if has_value and unit.key in options.report.verdicts:
            options.report.echo(unit)
    return list(_joined(made for _, made in written))


def _joined(steps: Iterable[JSONObject]) -> list[JSONObject]:
    """Join consecutive output steps of the model."""
    joined: list[JSONObject] = []
    for step in steps:
        if step["type"] == OUTPUT and joined and joined[-1]["type"] == OUTPUT:
            joined[-1]["content"] += step["content"]
        else:
            joined.append(step)
    return joined


def _signed(unit: EchoUnit, step: JSONObject) -> JSONObject:
    """Return the step with its original signature."""
    signature = values(unit, SIGNATURE)
    return {**step, "signature": signature[0].value} if signature else step


def _thought(part: ReasoningPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    if unit.refused:
        return None
    if writing.options.rule.needs == "signature" and not values(unit, SIGNATURE):
        writing.options.report.drop(unit, "missing_signature")
        return None
    entries: dict[int, str] = {}
    for segment in part.segments:
        entries[segment.index] = entries.get(segment.index, "") + segment.text
    summary = [{"type": "text", "text": entries[index]} for index in sorted(entries)]
    summary_field = {"summary": summary} if summary else {}
    return _signed(unit, {**leftovers(unit, "phase", "id"), "type": "thought", **summary_field})


def _text(part: TextPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    annotations = leftovers(unit).get("annotations")
    cited = {"annotations": annotations} if isinstance(annotations, list) and annotations else {}
    return _output({"type": "text", "text": part.text, **cited}) if part.text else None


def _output(content: JSONObject) -> JSONObject:
    return {"type": OUTPUT, "content": [content]}


def _call(part: ToolCallPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    if part.server:
        call = {**leftovers(unit, "phase"), "id": native_id(part), "arguments": as_object(part)}
        return _signed(unit, call) if unit.key in writing.pairs else None
    call = {"id": unit.call_id, "name": part.name, "arguments": as_object(part)}
    return _signed(unit, {**leftovers(unit, "type", "id", "phase"), "type": "function_call", **call})


def _native(part: NativePart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    kind = type_of(part.payload)
    if not unit.same_format or not kind or kind in _SPELLED or part.kind != f"gemini.{kind}":
        return None
    return _output(dict(part.payload)) if kind in _CONTENT_TYPES else dict(part.payload)


_PARTS: Final = part_writers(_thought, _text, _call, _native)


def _server_pairs(conversation: PreparedConversation) -> set[Key]:
    """Return the keys of answered server tool calls and their results, matched by ID, else by order."""
    waiting: dict[str, deque[EchoUnit]] = {}
    paired: set[Key] = set()
    for step in conversation:
        for unit in step.units if isinstance(step, ResponseStep) else ():
            part = unit.part
            if isinstance(part, ToolCallPart) and part.server and unit.same_format and not unit.incomplete:
                waiting.setdefault(str(leftovers(unit).get("type")), deque()).append(unit)
            elif isinstance(part, ToolResultPart) and unit.same_format and (kind := _called(part)):
                call = _take(waiting.get(kind, deque()), part.tool_call_id)
                paired |= {call.key, unit.key} if call is not None else set()
    return paired


def _called(part: ToolResultPart) -> str:
    """Return the type of the call that a result answers, or ``""`` if it has another format."""
    kind = type_of(part.native)
    known = kind.endswith("_result") and kind not in _SPELLED
    return f"{kind.removesuffix('_result')}_call" if known else ""


def _take(calls: deque[EchoUnit], call_id: str) -> EchoUnit | None:
    for call in calls:
        if isinstance(call.part, ToolCallPart) and call.part.id == call_id:
            calls.remove(call)
            return call
    return calls.popleft() if calls else None


# -- what is not the model's


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    content = answer.content
    result = content if isinstance(content, str) else spelled(content, _OF_RESULTS, report, RESULT)
    failed = {"is_error": True} if answer.is_error else {}
    named = {"call_id": answer.call_id, "name": answer.call.name}
    return {"type": "function_result", **named, "result": result, **failed}


def _media(part: Any, media: str) -> JSONObject:
    kind, value = source_of(part)
    return {"type": part.type, "mime_type": media, "data" if kind == "data" else "uri": value}


_STYLE: Final = BlockStyle(
    model="model",
    field="content",
    text=lambda text: {"type": "text", "text": text},
    parts=google_media(_media),
    response=_response,
    result=_result,
)
_OF_RESULTS: Final[PartSpelling] = {"text": _STYLE.text_part, "image": _STYLE.parts["image"]}
