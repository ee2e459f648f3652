"""Decodes Gemini Interactions: steps and their deltas.

Every step is a unit whose key is its index; the key of a call is its ID. Signatures arrive whole; empty ones
are ignored. Steps that the provider runs itself are returned when they stop, because they are sent back
verbatim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

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
from agui_reasoning.parts import Opaque
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    as_text,
    compact_json,
    integer,
    obj,
    other_fields,
    reject,
    string,
    total,
)

__all__ = ["SIGNATURE", "GeminiInteractionsDecoder"]

SIGNATURE: Final = "gemini.interaction_signature"
CUT_STATUSES: Final = frozenset({"incomplete", "cancelled", "budget_exceeded"})


@dataclass(slots=True)
class _Step:
    """An open step.

    Attributes:
        type: Its type on the wire.
        key: The key of its unit.
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

    @property
    def last_key(self) -> str:
        """The key of the unit that a limit would cut."""
        return self.text_key if self.type == "model_output" else self.key


class GeminiInteractionsDecoder(Decoder):
    """Decodes streams and whole interactions of the Interactions API."""

    api: ClassVar[str] = "gemini-interactions"
    vendor: ClassVar[str | None] = "google"
    repeatable = Repeatable(texts=frozenset({"text", "arguments"}), counts="metadata")

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._running = False
        self._steps: dict[int, _Step] = {}
        self._last: _Step | None = None
        self._named_model = model

    def _decode(self, data: JSONObject) -> list[Delta]:
        kind = string(data, "event_type") or ("error" if data.get("error") else "")
        handler = _EVENTS.get(kind)
        return handler(self, data) if handler else []

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        self._running = False
        raise self._truncated()

    def _whole(self, data: JSONObject) -> list[Delta]:
        if data.get("error"):
            return self._error(data)
        deltas = self._created({"interaction": data})
        for index, step in enumerate(array(data, "steps")):
            deltas += self._open(index, step, f"/steps/{index}")
            deltas += self._stop({"index": index})
        return deltas + self._completed({"interaction": data})

    # -- events

    def _created(self, data: JSONObject) -> list[Delta]:
        interaction = obj(data, "interaction")
        origin = self._origin(interaction)
        response_id = string(interaction, "id", "/interaction")
        self._running, self._named_model = True, origin.model
        self._steps, self._last = {}, None
        return [ResponseStart(origin, id=response_id or None)]

    def _start(self, data: JSONObject) -> list[Delta]:
        return self._open(_index(data), obj(data, "step"), "/step")

    def _open(self, index: int, start: JSONObject, path: str) -> list[Delta]:
        kind = string(start, "type", path)
        called = kind == "function_call"
        step = _Step(kind, (string(start, "id", path) if called else "") or str(index), dict(start))
        deltas = _OPENERS.get(kind, _open_other)(step, path)
        self._running = True
        self._steps[index] = step
        self._last = None if kind == "user_input" else step
        return deltas

    def _delta(self, data: JSONObject) -> list[Delta]:
        step = self._steps.get(_index(data))
        usage = self._counted(self._read_usage(data))
        if step is None:
            return usage
        delta = obj(data, "delta")
        grow = _DELTAS.get(string(delta, "type", "/delta"), _grow_other)
        return [*_GROW.get(step.type, grow)(step, delta), *usage]

    def _stop(self, data: JSONObject) -> list[Delta]:
        step = self._steps.pop(_index(data), None)
        return _stopped(step) if step is not None else []

    def _completed(self, data: JSONObject) -> list[Delta]:
        interaction = obj(data, "interaction")
        status = string(interaction, "status", "/interaction")
        if status == "failed":
            return self._failed(interaction)
        deltas = self._counted(self._usage(obj(interaction, "usage", "/interaction")))
        for step in self._steps.values():
            deltas += _stopped(step)
        if status in CUT_STATUSES and self._last is not None:
            deltas.append(CloseDelta(key=self._last.last_key, status="incomplete"))
        self._steps, self._last, self._running = {}, None, False
        return [*deltas, FinishDelta(status or None)]

    def _failed(self, interaction: JSONObject) -> list[Delta]:
        errors = array(interaction, "errors", "/interaction")
        return self._error({"error": errors[0] if errors else {}})

    def _error(self, data: JSONObject) -> list[Delta]:
        error = obj(data, "error")
        code = error.get("code")
        self._running = False
        raise ProviderError(
            provider_code=None if code is None else str(code)[:64],
            provider_type=string(error, "status", "/error") or None,
            provider_message=string(error, "message", "/error"),
            deltas=(CloseDelta(status="incomplete"),),
        )

    def _read_usage(self, data: JSONObject) -> UsageDelta | None:
        return self._usage(obj(obj(data, "metadata"), "usage", "/metadata"))

    def _usage(self, usage: JSONObject) -> UsageDelta | None:
        """Read the token counts; tools count as input, thoughts as output."""

        def count(name: str) -> int | None:
            return integer(usage, name, "/usage")

        if not usage:
            return None
        return UsageDelta(
            provider=self.provider,
            model=self._named_model,
            input_tokens=total(count("total_input_tokens"), count("total_tool_use_tokens")),
            output_tokens=total(count("total_output_tokens"), count("total_thought_tokens")),
            total_tokens=count("total_tokens"),
            reasoning_tokens=count("total_thought_tokens"),
            cached_input_tokens=count("total_cached_tokens"),
        )


def _index(data: JSONObject) -> int:
    index = integer(data, "index")
    if index is None:
        raise reject("a whole number", None, "/index")
    return index


def _signed(signature: str, key: str, attach: str = "self") -> list[Delta]:
    """Return the value of a signature, unless it is empty."""
    value = Opaque(SIGNATURE, signature, "base64", attach)
    return [OpaqueDelta(value, key=key)] if signature else []


# -- how a step of each type opens


def _open_thought(step: _Step, path: str) -> list[Delta]:
    deltas: list[Delta] = [ReasoningDelta(key=step.key, ext=other_fields(step.start, *_THOUGHT) or None)]
    for number, entry in enumerate(array(step.start, "summary", path)):
        deltas += _entry(step, entry, f"{path}/summary/{number}")
    signature = _signed(string(step.start, "signature", path), step.key)
    step.filled = step.filled or bool(signature)
    return deltas + signature


def _open_output(step: _Step, path: str) -> list[Delta]:
    return [
        delta
        for number, content in enumerate(array(step.start, "content", path))
        for delta in _say(step, content, f"{path}/content/{number}")
    ]


def _open_call(step: _Step, path: str) -> list[Delta]:
    call_id, name = string(step.start, "id", path), string(step.start, "name", path)
    step.key = call_id
    compact_json(step.start.get("arguments"))
    signature = _signed(string(step.start, "signature", path), call_id, f"tool_call:{call_id}")
    ext = other_fields(step.start, "type", "id", "name", "arguments", "signature")
    return [ToolCallDelta(call_id, name, ext=ext or None), *signature]


def _open_input(step: _Step, path: str) -> list[Delta]:
    return []


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
    signature = _signed(string(delta, "signature", "/delta"), step.key)
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
    signature = _signed(string(delta, "signature", "/delta"), step.key, f"tool_call:{step.key}")
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


def _ignore(step: _Step, delta: JSONObject) -> list[Delta]:
    return []


# -- how a step stops


def _stopped(step: _Step) -> list[Delta]:
    return _CLOSERS.get(step.type, _stop_other)(step)


def _stop_thought(step: _Step) -> list[Delta]:
    close = CloseDelta(key=step.key)
    if step.filled:
        return [close]
    return [ReasoningDelta(key=step.key, ext={"explicit_empty": True}), close]


def _stop_output(step: _Step) -> list[Delta]:
    return [CloseDelta(key=step.text_key)]


def _stop_call(step: _Step) -> list[Delta]:
    close = CloseDelta(key=step.key)
    if step.filled:
        return [close]
    return [ToolCallDelta(step.key, "", compact_json(step.start.get("arguments") or {})), close]


def _stop_input(step: _Step) -> list[Delta]:
    return []


def _stop_other(step: _Step) -> list[Delta]:
    """Return a server tool call or result, or a step of an unknown type."""
    kind, start = step.type, step.start
    if kind.endswith("_call") and isinstance(start.get("id"), str):
        call_id = start["id"]
        ext = {**other_fields(start, "id", "arguments", "signature"), "type": kind}
        arguments = compact_json(start.get("arguments") or {})
        call = ToolCallDelta(call_id, kind.removesuffix("_call"), arguments, server=True, ext=ext)
        signature = start.get("signature") or ""
        return [call, *_signed(signature, call_id, f"tool_call:{call_id}"), CloseDelta(key=call_id)]
    if kind.endswith("_result") and isinstance(start.get("call_id"), str):
        error = "" if start.get("is_error") is True else None
        return [ToolResultDelta(start["call_id"], as_text(start.get("result")), error=error, native=start)]
    return [NativeDelta(f"gemini.{kind}", start)]


_THOUGHT: Final = ("type", "signature", "summary")

_EVENTS: Final[dict[str, Callable[[GeminiInteractionsDecoder, JSONObject], list[Delta]]]] = {
    "interaction.created": GeminiInteractionsDecoder._created,
    "step.start": GeminiInteractionsDecoder._start,
    "step.delta": GeminiInteractionsDecoder._delta,
    "step.stop": GeminiInteractionsDecoder._stop,
    "interaction.completed": GeminiInteractionsDecoder._completed,
    "error": GeminiInteractionsDecoder._error,
}
_OPENERS: Final[dict[str, Callable[[_Step, str], list[Delta]]]] = {
    "thought": _open_thought,
    "model_output": _open_output,
    "function_call": _open_call,
    "user_input": _open_input,
}
_DELTAS: Final[dict[str, Callable[[_Step, JSONObject], list[Delta]]]] = {
    "thought_summary": _grow_summary,
    "thought_signature": _grow_signature,
}
_GROW: Final[dict[str, Callable[[_Step, JSONObject], list[Delta]]]] = {
    "model_output": _grow_output,
    "function_call": _grow_call,
    "user_input": _ignore,
}
"""Types of steps that read all of their deltas in the same way."""
_CLOSERS: Final[dict[str, Callable[[_Step], list[Delta]]]] = {
    "thought": _stop_thought,
    "model_output": _stop_output,
    "function_call": _stop_call,
    "user_input": _stop_input,
}
