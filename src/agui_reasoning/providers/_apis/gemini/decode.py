"""Decodes Gemini's ``generateContent``: every payload of a stream is a response with the next parts.

Consecutive texts of one kind are one unit, which ends before a part of another kind or after a signature:
signatures stay on their part. The decoder changes only after the whole payload was read.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from msgspec import UNSET

from agui_reasoning._strict_json import flaw, load
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
    counted,
)
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.parts import Opaque
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import (
    BLANK,
    LATER,
    JSONObject,
    Members,
    Only,
    Shape,
    TextOf,
    Whole,
    as_text,
    compact_json,
    dumped,
    kept,
    other_fields,
    plain,
    read,
    reject,
    shape,
    string,
    total,
)

SIGNATURE: Final = "gemini.thought_signature"
CUT_REASONS: Final = frozenset(
    {"MAX_TOKENS", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"}
)
_NUMBERED: Final = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}
"""The finish reasons with the same number in both of Google's APIs."""


class _PartialArg(Members, rename="camel"):
    """An element of ``partialArgs``."""

    json_path: str | None = None
    string_value: str | None = None
    bool_value: Any = None
    number_value: int | float | None = None


class _GeminiCall(Members, rename="camel"):
    """A function call, or a fragment of one."""

    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None
    partial_args: list[_PartialArg] | None = None
    will_continue: Any = None


class _GeminiTool(Members, rename="camel"):
    """A call of one of the provider's own tools, or its result."""

    id: str | None = None
    tool_type: str | None = None
    output: str | None = None
    response: Any = None


class _GeminiPart(Members, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _GeminiCall | None = None
    executable_code: _GeminiTool | None = None
    tool_call: _GeminiTool | None = None
    code_execution_result: _GeminiTool | None = None
    tool_response: _GeminiTool | None = None


class _GeminiContent(Members):
    parts: list[dict[str, Any]] | None = None


class _GeminiCandidate(Members, rename="camel"):
    content: _GeminiContent | None = None
    finish_reason: Any = None
    index: Whole | None = None


class _Feedback(Members, rename="camel"):
    block_reason: str | None = None


class _GeminiUsage(Members, rename="camel", kw_only=True):
    prompt_token_count: Whole | None = None
    candidates_token_count: Whole | None = None
    total_token_count: Whole | None = None
    thoughts_token_count: Whole | None = None
    cached_content_token_count: Whole | None = None
    tool_use_prompt_token_count: Whole | None = None


class _GeminiPayload(Members, rename="camel"):
    candidates: list[_GeminiCandidate] | None = None
    usage_metadata: Any = UNSET
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: _Feedback | None = None
    error: Any = None


@cache
def _growth(thought: bool) -> Shape:
    """Return the shape of payloads that have only a text or a thought, and token counts."""
    part = Only({"text": str, "thought": bool if thought else None})
    ending = {"index": Literal[0] | None, "finishReason": BLANK, "finish_reason": None}
    beside = {"usageMetadata": LATER, "modelVersion": str | None, "responseId": str | None}
    absent = dict.fromkeys(("usage_metadata", "promptFeedback", "error"))
    return shape(
        {"candidates": [{"content": {"parts": [part]}, **ending}], **beside, **absent}, _GeminiPayload
    )


class _GeminiRun(NamedTuple):
    """A stretch of text or thought that may continue."""

    thought: bool
    key: str


@dataclass(slots=True)
class _GeminiOpenCall:
    """A call whose arguments arrive in fragments."""

    id: str
    args: JSONObject
    fragments: list[_GeminiFragment]


_UNREAD: Final = "The token counts could not be read; the rest of the response was."


@dataclass(slots=True)
class _Kept:
    """The token counts of a response that came with text, and that no delta has reported yet.

    In a stretch of text the newest include those before; beside other parts, the API leaves some out. They
    come with every text, and are read when somebody asks for them.
    """

    provider: str | None
    warnings: list[str]
    model: str | None = None
    usage: Any = UNSET

    def read(self) -> UsageDelta | None:
        """Return the counts; tools count as input, thoughts as output."""
        found = kept(self.usage)
        if not found:
            return None
        try:
            usage: _GeminiUsage = read(found, _GeminiUsage, "/usageMetadata")
        except DecodeError:
            self.warnings += [] if _UNREAD in self.warnings else [_UNREAD]
            return None
        if usage == _GeminiUsage():
            return None
        return UsageDelta(
            provider=self.provider,
            model=self.model,
            input_tokens=total(usage.prompt_token_count, usage.tool_use_prompt_token_count),
            output_tokens=total(usage.candidates_token_count, usage.thoughts_token_count),
            total_tokens=usage.total_token_count,
            reasoning_tokens=usage.thoughts_token_count,
            cached_input_tokens=usage.cached_content_token_count,
        )

    def report(self) -> list[Delta]:
        """Return the counts as deltas, once."""
        found, self.usage = self.read(), UNSET
        return [] if found is None else [found]


class GeminiDecoder(Decoder):
    """Decodes streams and responses of Gemini's ``generateContent`` in AI Studio and Vertex AI."""

    api: ClassVar[str] = "gemini"
    vendor: ClassVar[str | None] = "google"
    payload = response = _GeminiPayload

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._reason: str | None = None
        self._named_model = model
        self._runs = 0
        self._run: _GeminiRun | None = None
        self._last: str | None = None
        self._call: _GeminiOpenCall | None = None
        self._kept = _Kept(self.provider, self.warnings)

    def _plain(self, payload: Any) -> Any:
        # An error in place of a stream may be in an array.
        alone = isinstance(payload, list) and len(payload) == 1
        return _wire_json(payload[0] if alone else payload)

    def _decode(self, payload: _GeminiPayload, raw: JSONObject) -> list[Delta]:
        if (data := _wire_names(raw)) is not raw:
            payload = read(data, _GeminiPayload)
        if payload.error:
            refused = google_error(payload.error)
            refused.deltas = (*self._kept.report(), *refused.deltas)
            self._reset()
            raise refused
        is_empty = payload.candidates is None and payload.prompt_feedback is None
        if is_empty and not self._running and payload.usage_metadata in (None, UNSET):
            return []
        model = payload.model_version or self._named_model or self.model
        candidates = payload.candidates or []
        candidate = next((one for one in candidates if not one.index), _GeminiCandidate())
        parts = (candidate.content and candidate.content.parts) or []
        pieces = [_read_part(part, f"/candidates/content/parts/{place}") for place, part in enumerate(parts)]
        reason = _reason(candidate) or (payload.prompt_feedback and payload.prompt_feedback.block_reason)
        if len(candidates) > (candidate in candidates):
            self._warn("The response has several candidates; only the first is decoded.")
        deltas: list[Delta] = [] if self._running else [self._start(payload, model)]
        for piece in pieces:
            deltas += self._take(*piece)
        self._reason = reason or self._reason
        return self._counting(deltas, payload, model, raw)

    def _start(self, payload: _GeminiPayload, model: str | None) -> ResponseStart:
        self._running, self._named_model, self._kept = True, model, _Kept(self.provider, self.warnings)
        return counted(ResponseStart(self._origin_of(model), id=payload.response_id or None), self._kept.read)

    def _counting(
        self, deltas: list[Delta], payload: _GeminiPayload, model: str | None, raw: JSONObject
    ) -> list[Delta]:
        """Keep the token counts of a payload that only adds text; report them beside anything else."""
        counts, usage = self._kept, payload.usage_metadata
        if self._run is not None and len(deltas) == 1 and isinstance(deltas[0], ReasoningDelta | TextDelta):
            if usage is not UNSET:
                counts.usage, counts.model = usage, model
            thought = self._run.thought
            added = _added(thought, counts, self._named_model or self.model)
            self._continue(_growth(thought), added, raw, deltas)
            return deltas
        before = counts.report()
        counts.usage, counts.model = usage, model
        return [*before, *deltas, *counts.report()]

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        if self._reason is None:
            counts = self._kept.report()
            self._reset()
            raise self._truncated([*counts, CloseDelta(status="incomplete")])
        return self._finish()

    def _whole(self, response: _GeminiPayload, raw: JSONObject) -> list[Delta]:
        return self._decode(response, raw) + self._finish()

    def _finish(self) -> list[Delta]:
        """End the response; if it was cut, its last unit is incomplete, unless that is a complete call."""
        reason, cut = self._reason, self._reason in CUT_REASONS
        if self._call is not None and cut:
            deltas: list[Delta] = [CloseDelta(key=self._call.id, status="incomplete")]
        else:
            deltas = self._end_call()
        if cut and self._last is not None:
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        self._reset()
        return [*deltas, *self._kept.report(), FinishDelta(reason)]

    def _reset(self) -> None:
        self._running, self._reason, self._runs = False, None, 0
        self._run, self._last, self._call = None, None, None

    # -- pieces

    def _take(self, part: JSONObject, known: _GeminiPart, fragments: list[_GeminiFragment]) -> list[Delta]:
        if known.function_call is not None:
            return self._hear_call(part, known, known.function_call, fragments)
        settled = _settled(part, known)
        return self._say(part, known) if settled is None else [*self._end_call(), *self._end_run(), *settled]

    def _say(self, part: JSONObject, known: _GeminiPart) -> list[Delta]:
        text, signature, bare = known.text or "", known.thought_signature, known.text is None
        if not (text or signature):
            return []
        deltas, run, thought = self._end_call(), self._run, known.thought or bare
        # A signature signs the text of its part; if that is empty, it signs the previous text.
        joins = known.thought or not bare
        before = run
        if run is None or run.thought != thought or (text and signature) or not joins:
            deltas += self._end_run()
            run = self._run = _GeminiRun(thought, f"{'thought' if thought else 'text'}:{self._runs}")
            self._runs += 1
        deltas += _spoken(run, text, other_fields(part, *_PROSE), begins=run is not before)
        self._last = run.key
        if signature:
            deltas += _signed(known, "self" if thought else "text", run.key)
            deltas += self._end_run(keep_last=True)
        return deltas

    def _hear_call(
        self, part: JSONObject, known: _GeminiPart, call: _GeminiCall, fragments: list[_GeminiFragment]
    ) -> list[Delta]:
        args, goes_on = call.args or {}, call.will_continue is True
        if call.name:
            call_id, streamed = call.id or "", goes_on or bool(fragments)
            ext = other_fields(part, "functionCall", "thoughtSignature") or None
            deltas = [*self._end_call(), *self._end_run()]
            deltas.append(ToolCallDelta(call_id, call.name, "" if streamed else _assemble(args, ()), ext=ext))
            deltas += _signed(known, f"tool_call:{call_id}")
            if not streamed:
                return [*deltas, CloseDelta(key=call_id)]
            self._call = _GeminiOpenCall(call_id, args, fragments)
        elif self._call is not None:
            self._call.args |= args
            self._call.fragments += fragments
            deltas = _signed(known, f"tool_call:{self._call.id}")
        else:
            return []
        return deltas if goes_on else deltas + self._end_call()

    def _end_call(self) -> list[Delta]:
        """Close the open call, whose arguments are complete."""
        call, self._call = self._call, None
        if call is None:
            return []
        return [ToolCallDelta(call.id, "", _assemble(call.args, call.fragments)), CloseDelta(key=call.id)]

    def _end_run(self, *, keep_last: bool = False) -> list[Delta]:
        run, self._run = self._run, None
        if not keep_last:
            self._last = None
        return [CloseDelta(key=run.key)] if run is not None else []


def google_error(error: Any) -> ProviderError:
    """Build the error for a status of Google's APIs, as JSON."""
    if not isinstance(error, dict):
        raise reject("an object", error, "/error")
    code = error.get("code")
    return ProviderError(
        provider_code=None if code is None else str(code)[:64],
        provider_type=string(error, "status", "/error") or None,
        provider_message=string(error, "message", "/error"),
        deltas=(CloseDelta(status="incomplete"),),
    )


def _added(thought: bool, counts: _Kept, model: str | None) -> TextOf:
    """Return what reads payloads that only add text to a stretch, and keeps the token counts of the model."""

    def text_of(payload: Any) -> str:
        part = payload.candidates[0].content.parts[0]
        text: str = part.text
        if not text or (thought and not part.thought):
            return ""
        usage = payload.usageMetadata
        if usage is not UNSET:
            counts.usage, counts.model = usage, payload.modelVersion or model
        return text

    return text_of


def _reason(candidate: _GeminiCandidate) -> str | None:
    """Return the name of the finish reason, which the API sends to some clients as a number."""
    reason = candidate.finish_reason
    if reason in (None, "", 0):
        return None
    if isinstance(reason, int) and not isinstance(reason, bool):
        return _NUMBERED.get(reason, str(reason)[:64])
    if not isinstance(reason, str):
        raise reject("a string", reason, "/candidates/finishReason")
    return reason


def _spoken(run: _GeminiRun, text: str, ext: JSONObject, *, begins: bool) -> list[Delta]:
    """Return the delta of a text; one that only a signature follows is explicit if it begins a unit."""
    if text:
        return [(ReasoningDelta if run.thought else TextDelta)(text, key=run.key, ext=ext or None)]
    if run.thought or not begins:  # the signature of a thought itself creates the unit
        return []
    return [TextDelta("", key=run.key, ext={**ext, "explicit_empty": True})]


# -- the parts of a candidate

_PROSE: Final = ("text", "thought", "thoughtSignature")
_ASIDE: Final = frozenset({*_PROSE, "videoMetadata", "mediaResolution", "partMetadata"})
"""Fields of a part that do not tell its kind."""


def _read_part(part: JSONObject, path: str) -> tuple[JSONObject, _GeminiPart, list[_GeminiFragment]]:
    """Return a part, what is known of it, and the fragments of its arguments."""
    known: _GeminiPart = read(part, _GeminiPart, path)
    call = known.function_call or _GeminiCall()
    compact_json(call.args)
    at = f"{path}/functionCall/partialArgs"
    fragments = [
        _GeminiFragment(_steps(one.json_path or "", f"{at}/{number}/jsonPath"), _value(one))
        for number, one in enumerate(call.partial_args or ())
    ]
    return part, known, fragments


def _settled(part: JSONObject, known: _GeminiPart) -> list[Delta] | None:
    """Return the deltas of a part that is a separate unit; ``None`` if it is text, or only signed."""
    if (code := known.executable_code) is not None:
        source = part["executableCode"]
        first = {name: source[name] for name in ("language", "code") if name in source}
        arguments = first | {name: value for name, value in source.items() if name != "id"}
        return _server_call(known, code.id or "", "code_execution", arguments, {"type": "executableCode"})
    if (tool := known.tool_call) is not None:
        source = part["toolCall"]
        ext = {**other_fields(source, "id", "toolType", "args"), "type": "toolCall"}
        name = (tool.tool_type or "tool").lower()
        return _server_call(known, tool.id or "", name, source.get("args") or {}, ext)
    if (result := known.code_execution_result) is not None:
        return [ToolResultDelta(result.id or "", result.output or "", native=part)]
    if (result := known.tool_response) is not None:
        return [ToolResultDelta(result.id or "", as_text(result.response), native=part)]
    other = next((name for name, value in part.items() if name not in _ASIDE and value is not None), None)
    return None if other is None or known.text is not None else [NativeDelta(f"gemini.{other}", part)]


def _server_call(known: _GeminiPart, call_id: str, name: str, arguments: Any, ext: JSONObject) -> list[Delta]:
    call = ToolCallDelta(call_id, name, compact_json(arguments), server=True, ext=ext)
    return [call, *_signed(known, f"tool_call:{call_id}"), CloseDelta(key=call_id)]


def _signed(known: _GeminiPart, attach: str, key: str | None = None) -> list[Delta]:
    """Return the value of the signature of a part, if there is one."""
    signature = known.thought_signature
    return [OpaqueDelta(Opaque(SIGNATURE, signature, "base64", attach), key=key)] if signature else []


# -- arguments that are streamed as values at JSON paths

_ArgumentPath: TypeAlias = tuple[str | int, ...]

_DEEPEST: Final = 100
"""The maximum number of steps in a path."""
_STEP: Final = re.compile(
    r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,9})\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]"
)
_EXACT: Final = 2**53
"""Below this, a float represents every integer exactly."""


class _GeminiFragment(NamedTuple):
    """A value at a path; consecutive strings at the same path are joined."""

    path: _ArgumentPath
    value: Any


def _steps(text: str, path: str) -> _ArgumentPath:
    """Return the steps of an RFC 9535 path to a single value."""
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or len(steps) == _DEEPEST:
            raise reject("a JSON path to one value", text, path)
        steps.append(_name(step))
        at = step.end()
    if not text.startswith("$") or not steps or isinstance(steps[0], int):
        raise reject("a JSON path to one value", text, path)
    return tuple(steps)


def _name(step: re.Match[str]) -> str | int:
    if step["index"] is not None:
        return int(step["index"])
    quoted = step["quoted"]
    if quoted is None:
        return step["name"]
    # Within single quotes, single quotes are escaped and double quotes are not, the opposite of JSON.
    inner = quoted[1:-1]
    if quoted[0] == "'":
        inner = re.sub(r'\\(.)|(")', lambda m: "'" if m[1] == "'" else '\\"' if m[2] else m[0], inner)
    read = load(f'"{inner}"')
    return read if isinstance(read, str) else inner


def _value(one: _PartialArg) -> Any:
    if one.string_value is not None:
        return one.string_value
    if isinstance(one.bool_value, bool):
        return one.bool_value
    number = one.number_value
    compact_json(number)
    whole = isinstance(number, float) and number.is_integer() and abs(number) < _EXACT
    return int(number) if whole and number is not None else number


def _assemble(start: JSONObject, parts: Iterable[_GeminiFragment]) -> str:
    """Assemble complete arguments and fragments as compact JSON.

    A value replaces a value of another type at the same path; missing array indices are skipped.
    """
    root: dict[str | int, Any] = {}
    for part in parts:
        _put(root, part)
    return compact_json(_plain_value(root) | start)


class _Text(list[str]):
    """The pieces of a string."""


class _Array(dict[str | int, Any]):
    """The items of an array, by index."""


def _put(root: dict[str | int, Any], part: _GeminiFragment) -> None:
    holder = root
    for step, following in pairwise(part.path):
        kind: type[dict[str | int, Any]] = _Array if isinstance(following, int) else dict
        inner = holder.get(step)
        if type(inner) is not kind:
            inner = holder[step] = kind()
        holder = inner
    last = part.path[-1]
    if not isinstance(part.value, str):
        holder[last] = part.value
    elif isinstance(holder.get(last), _Text):
        holder[last].append(part.value)
    else:
        holder[last] = _Text([part.value])


def _plain_value(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, _Array):
        return [_plain_value(value[index]) for index in sorted(value)]
    if isinstance(value, dict):
        return {name: _plain_value(inner) for name, inner in value.items()}
    return value


# -- objects of google-genai, and what their ``model_dump`` returns
#
# The SDK's JSON mode writes URL-safe base64, unlike the API. Without ``by_alias``, names are those of Python.

_FREE: Final = frozenset({"args", "response", "partMetadata", "part_metadata"})
"""Members whose names are not the API's."""
_OF_RESPONSES: Final = frozenset(
    {"candidates", "prompt_feedback", "usage_metadata", "model_version", "response_id", "sdk_http_response"}
)
"""The members of a response by which a dump of it is told from what other APIs send."""
_BYTES: Final = frozenset({"thought_signature", "data"})
STANDARD: Final = str.maketrans("-_", "+/")


def _wire_json(payload: Any) -> Any:
    """Return the wire JSON of an SDK object; convert other values with `plain`.

    Examples:
        >>> _wire_json({"thoughtSignature": "+/8="})
        {'thoughtSignature': '+/8='}
    """
    if not callable(getattr(payload, "model_dump", None)):
        return plain(payload)
    try:
        return _spelled(dumped(payload, mode="python"))
    except RecursionError:
        pass  # not raised here: its text may quote the value
    raise reject("an object that can be written as JSON", payload, "")


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _spelled(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(inner) for inner in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, datetime | date) else value


def _wire_names(payload: JSONObject) -> JSONObject:
    """Return the wire JSON of what ``model_dump`` of the SDK returns; return wire JSON unchanged.

    Examples:
        >>> _wire_names({"candidates": [], "model_version": "gemini-3-pro", "prompt_feedback": None})
        {'candidates': [], 'modelVersion': 'gemini-3-pro'}
    """
    if not _is_dump(payload) or flaw(payload) is not None:
        return payload
    converted: JSONObject = _renamed(_spelled(payload))
    return converted


def _is_dump(payload: JSONObject) -> bool:
    """Return whether a response, a candidate or a part has a name or a value of Python."""
    if _OF_RESPONSES.isdisjoint(payload):
        return False
    return _is_of_python(payload) or any(
        _is_of_python(candidate) or any(map(_is_of_python, _objects(candidate.get("content"), "parts")))
        for candidate in _objects(payload, "candidates")
    )


def _is_of_python(members: JSONObject) -> bool:
    for name, value in members.items():
        if type(name) is str and "_" in name:
            return True
        if type(value) is not str and isinstance(value, bytes | Enum):
            return True
    return False


def _objects(holder: Any, name: str) -> list[JSONObject]:
    items = holder.get(name) if isinstance(holder, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _renamed(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {_camel(name): _member(name, inner) for name, inner in value.items() if inner is not None}


def _member(name: str, value: Any) -> Any:
    if isinstance(value, str) and name in _BYTES:
        return value.translate(STANDARD)
    return value if name in _FREE else _renamed(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
