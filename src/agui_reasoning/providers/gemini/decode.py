"""Decodes Gemini's ``generateContent``: every payload of a stream is a response with the next parts.

Consecutive texts of one kind are one unit, which ends before a part of another kind or after a signature:
signatures stay on their part. The decoder changes only after the whole payload was read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.gemini.arguments import PartialArg, assemble
from agui_reasoning.providers.gemini.parts import Call, CandidatePart, Prose, Settled, read_part, signed
from agui_reasoning.providers.gemini.sdk import wire_json, wire_names
from agui_reasoning.providers.payload import JSONObject, array, integer, obj, reject, string, total

__all__ = ["GeminiDecoder"]

CUT_REASONS: Final = frozenset(
    {"MAX_TOKENS", "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"}
)
_NUMBERED: Final = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}
"""The finish reasons with the same number in both of Google's APIs."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A stretch of text or thought that may continue."""

    thought: bool
    key: str


@dataclass(slots=True)
class _OpenCall:
    """A call whose arguments arrive in fragments."""

    id: str
    args: JSONObject
    fragments: list[PartialArg] = field(default_factory=list)


class GeminiDecoder(Decoder):
    """Decodes streams and responses of Gemini's ``generateContent`` in AI Studio and Vertex AI."""

    api: ClassVar[str] = "gemini"
    vendor: ClassVar[str | None] = "google"
    repeatable = Repeatable(
        texts=frozenset({"text"}), unread=frozenset({"candidates/safetyRatings"}), counts="usageMetadata"
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._running = False
        self._reason: str | None = None
        self._named_model = model
        self._runs = 0
        self._run: _Run | None = None
        self._last: str | None = None
        self._call: _OpenCall | None = None

    def _plain(self, payload: Any) -> Any:
        # An error in place of a stream may be in an array.
        alone = isinstance(payload, list) and len(payload) == 1
        return _by_wire_names(wire_json(payload[0] if alone else payload))

    def _read_anew(self, data: Any) -> list[Delta]:
        # Lanes compare wire JSON, so a dump is read each time.
        return super()._read_anew(_by_wire_names(data))

    def _decode(self, data: JSONObject) -> list[Delta]:
        if data.get("error"):
            raise self._error(data)
        if not (self._running or data.keys() & {"candidates", "promptFeedback", "usageMetadata"}):
            return []
        model, response_id = self._model_of(data), string(data, "responseId")
        candidate, others = _first_candidate(data)
        pieces = [read_part(part, path) for path, part in _parts(candidate)]
        reason = _reason(candidate) or string(obj(data, "promptFeedback"), "blockReason", "/promptFeedback")
        usage = self._read_usage(data)
        if others:
            self._warn("The response has several candidates; only the first is decoded.")
        deltas: list[Delta] = []
        if not self._running:
            deltas.append(ResponseStart(self._origin_of(model), id=response_id or None))
            self._running, self._named_model = True, model
        for piece in pieces:
            deltas += self._take(piece)
        self._reason = reason or self._reason
        return deltas + self._counted(usage)

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        if self._reason is None:
            self._reset()
            raise self._truncated()
        return self._finish()

    def _whole(self, data: JSONObject) -> list[Delta]:
        return self._decode(data) + self._finish()

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
        return [*deltas, FinishDelta(reason)]

    def _reset(self) -> None:
        self._running, self._reason, self._runs = False, None, 0
        self._run, self._last, self._call = None, None, None

    def _model_of(self, data: JSONObject) -> str | None:
        return string(data, "modelVersion") or self._named_model or self.model

    # -- pieces

    def _take(self, piece: CandidatePart) -> list[Delta]:
        if isinstance(piece, Prose):
            return self._say(piece)
        if isinstance(piece, Call):
            return self._call_piece(piece)
        assert isinstance(piece, Settled)
        return [*self._end_call(), *self._end_run(), *piece.deltas]

    def _say(self, piece: Prose) -> list[Delta]:
        if not (piece.text or piece.signature):
            return []
        deltas = self._end_call()
        thought = piece.thought or piece.bare
        run = self._run
        # A signature signs the text of its part; if that is empty, it signs the previous text.
        joins = not piece.bare and not (piece.text and piece.signature)
        if run is None or run.thought != thought or not joins:
            deltas += self._end_run()
            run = self._run = _Run(thought, f"{'thought' if thought else 'text'}:{self._runs}")
            self._runs += 1
            deltas += _opened(run, piece)
        elif piece.text:
            deltas += _grown(run, piece)
        self._last = run.key
        if piece.signature:
            deltas += signed(piece.signature, "self" if thought else "text", run.key)
            deltas += self._end_run(keep_last=True)
        return deltas

    def _call_piece(self, piece: Call) -> list[Delta]:
        if not piece.name:
            return self._grow_call(piece) if self._call is not None else []
        deltas = [*self._end_call(), *self._end_run()]
        streamed = piece.goes_on or bool(piece.fragments)
        written = "" if streamed else assemble(piece.args, ())
        deltas.append(ToolCallDelta(piece.id, piece.name, written, ext=piece.ext or None))
        deltas += signed(piece.signature, f"tool_call:{piece.id}")
        if not streamed:
            return [*deltas, CloseDelta(key=piece.id)]
        self._call = _OpenCall(piece.id, piece.args, list(piece.fragments))
        return deltas if piece.goes_on else deltas + self._end_call()

    def _grow_call(self, piece: Call) -> list[Delta]:
        call = self._call
        assert call is not None
        call.args = call.args | piece.args
        call.fragments += piece.fragments
        deltas = signed(piece.signature, f"tool_call:{call.id}")
        return deltas if piece.goes_on else deltas + self._end_call()

    def _end_call(self) -> list[Delta]:
        """Close the open call, whose arguments are complete."""
        call, self._call = self._call, None
        if call is None:
            return []
        return [ToolCallDelta(call.id, "", assemble(call.args, call.fragments)), CloseDelta(key=call.id)]

    def _end_run(self, *, keep_last: bool = False) -> list[Delta]:
        run, self._run = self._run, None
        if not keep_last:
            self._last = None
        return [CloseDelta(key=run.key)] if run is not None else []

    # -- beside the parts

    def _read_usage(self, data: JSONObject) -> UsageDelta | None:
        """Read the token counts; tools count as input, thoughts as output."""
        usage, path = obj(data, "usageMetadata"), "/usageMetadata"
        prompt = integer(usage, "promptTokenCount", path)
        tools = integer(usage, "toolUsePromptTokenCount", path)
        answer = integer(usage, "candidatesTokenCount", path)
        thoughts = integer(usage, "thoughtsTokenCount", path)
        cached = integer(usage, "cachedContentTokenCount", path)
        together = integer(usage, "totalTokenCount", path)
        if (prompt, tools, answer, thoughts, together) == (None,) * 5:
            return None
        return UsageDelta(
            provider=self.provider,
            model=self._model_of(data),
            input_tokens=total(prompt, tools),
            output_tokens=total(answer, thoughts),
            total_tokens=together,
            reasoning_tokens=thoughts,
            cached_input_tokens=cached,
        )

    def _error(self, data: JSONObject) -> ProviderError:
        error = obj(data, "error")
        code = error.get("code")
        self._reset()
        return ProviderError(
            provider_code=None if code is None else str(code)[:64],
            provider_type=string(error, "status", "/error") or None,
            provider_message=string(error, "message", "/error"),
            deltas=(CloseDelta(status="incomplete"),),
        )


def _by_wire_names(data: Any) -> Any:
    return wire_names(data) if isinstance(data, dict) else data


def _first_candidate(data: JSONObject) -> tuple[JSONObject, bool]:
    """Return the first candidate, or ``{}`` if it is missing, and whether there are others."""
    chosen: JSONObject | None = None
    listed = array(data, "candidates")
    for number, candidate in enumerate(listed):
        if chosen is None and not integer(candidate, "index", f"/candidates/{number}"):
            chosen = candidate
    return chosen or {}, len(listed) > (chosen is not None)


def _parts(candidate: JSONObject) -> list[tuple[str, JSONObject]]:
    path = "/candidates/content"
    content = obj(candidate, "content", "/candidates")
    return [(f"{path}/parts/{number}", part) for number, part in enumerate(array(content, "parts", path))]


def _reason(candidate: JSONObject) -> str | None:
    """Return the name of the finish reason, which the API sends to some clients as a number."""
    reason = candidate.get("finishReason")
    if reason in (None, "", 0):
        return None
    if isinstance(reason, int) and not isinstance(reason, bool):
        return _NUMBERED.get(reason, str(reason)[:64])
    if not isinstance(reason, str):
        raise reject("a string", reason, "/candidates/finishReason")
    return reason


def _opened(run: _Run, piece: Prose) -> list[Delta]:
    if piece.text:
        return _grown(run, piece)
    # A part with only a signature is a unit; for a thought, the signature itself creates it.
    return [] if run.thought else [TextDelta("", key=run.key, ext={**piece.ext, "explicit_empty": True})]


def _grown(run: _Run, piece: Prose) -> list[Delta]:
    ext = piece.ext or None
    if run.thought:
        return [ReasoningDelta(piece.text, key=run.key, ext=ext)]
    return [TextDelta(piece.text, key=run.key, ext=ext)]
