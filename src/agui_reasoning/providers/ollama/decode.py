"""Decodes Ollama's ``/api/chat`` and ``/api/generate``: a string of thinking, a string of text, whole calls.

Each line of a stream is JSON with a fragment of the message. Thinking that resumes after text or a call
continues the same unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

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
from agui_reasoning.parts import Status
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers._signs import is_error
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.inline import InlineThought
from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    compact_json,
    integer,
    obj,
    other_fields,
    string,
)

__all__ = ["OllamaDecoder"]

THINKING: Final = "thinking"
TEXT: Final = "text"
CUT_REASONS: Final = frozenset({"length"})


class OllamaDecoder(Decoder):
    """Decodes the chat and generate responses of Ollama, local or in the cloud."""

    api: ClassVar[str] = "ollama"
    vendor: ClassVar[str | None] = "ollama"
    splits_tags = True
    repeatable = Repeatable(
        texts=frozenset({"thinking", "content", "response"}), unread=frozenset({"created_at"})
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._running = False
        self._reset()

    def _reset(self) -> None:
        self._open: str | None = None
        self._last: str | None = None
        # Models whose template Ollama does not know have their thinking between tags.
        self._inline: InlineThought | None = InlineThought(
            TEXT, self.tagging.tags, starts_in_reasoning=self.tagging.starts_in_reasoning
        )

    def _decode(self, data: JSONObject) -> list[Delta]:
        if is_error(data):
            raise self._refused(data)
        if not ("message" in data or "response" in data or "done" in data):
            return []
        deltas = self._start(data)
        path, message = ("/message", obj(data, "message")) if "message" in data else ("", data)
        deltas += self._think(self._prose(message, "thinking"))
        deltas += self._say(string(message, "content" if path else "response", path))
        for place, call in enumerate(array(message, "tool_calls", path)):
            deltas += self._call(call, f"{path}/tool_calls/{place}")
        return [*deltas, *self._finish(data)] if data.get("done") else deltas

    def _whole(self, data: JSONObject) -> list[Delta]:
        return self._decode({"done": True, **data})

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        self._running = False
        raise self._truncated([*self._flush("incomplete"), CloseDelta(status="incomplete")])

    def _start(self, data: JSONObject) -> list[Delta]:
        if self._running:
            return []
        self._running = True
        self._reset()
        return [ResponseStart(self._origin(data))]

    def _refused(self, data: JSONObject) -> ProviderError:
        held = self._flush("incomplete") if self._running else []
        self._running = False
        error = self._refusal(data)
        error.deltas = (*held, *error.deltas)
        return error

    def _reader_of(self, delta: Delta) -> Callable[[str], bool]:
        return self._inline.passes if self._inline else bool

    # -- the message

    def _think(self, text: str) -> list[Delta]:
        if not text:
            return []
        # With thinking in its own field, tags in the content are part of the answer.
        held, self._inline = self._flush(), None
        return [*held, *self._turn_to(THINKING), ReasoningDelta(text, key=THINKING)]

    def _say(self, text: str) -> list[Delta]:
        if not text:
            return []
        return self._answered(self._inline.feed(text) if self._inline else [TextDelta(text, key=TEXT)])

    def _answered(self, deltas: list[Delta]) -> list[Delta]:
        """Return deltas of the content, after the close of another open unit."""
        named = [delta.key for delta in deltas if isinstance(delta, ReasoningDelta | TextDelta)]
        turned = self._turn_to(named[0]) if named else []
        if named:
            self._open = self._last = named[-1]
        return [*turned, *deltas]

    def _flush(self, status: Status = "complete") -> list[Delta]:
        inline, self._inline = self._inline, None
        return self._answered(inline.close(status)) if inline else []

    def _call(self, call: JSONObject, path: str) -> list[Delta]:
        function = obj(call, "function", path)
        name = string(function, "name", f"{path}/function")
        call_id = string(call, "id", path)
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else compact_json(arguments or {})
        turned = [*self._flush(), *self._turn_to(None)]
        self._last = call_id
        ext = other_fields(call, "id", "type", "function") or None
        return [*turned, ToolCallDelta(call_id, name, text, ext=ext), CloseDelta(key=call_id)]

    def _turn_to(self, key: str | None) -> list[Delta]:
        """Close the open unit when content of another kind follows."""
        before, self._open = self._open, key
        if key is not None:
            self._last = key
        return [] if before in (None, key) else [CloseDelta(key=before)]

    # -- the end

    def _finish(self, data: JSONObject) -> list[Delta]:
        reason = string(data, "done_reason") or None
        deltas = [*self._flush(), *self._count(data)]
        if reason in CUT_REASONS and self._last is not None:
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        self._running = False
        return [*deltas, FinishDelta(reason)]

    def _count(self, data: JSONObject) -> list[Delta]:
        read, written = integer(data, "prompt_eval_count"), integer(data, "eval_count")
        if read is None and written is None:
            return []
        delta = UsageDelta(
            provider=self.provider,
            model=string(data, "model") or self.model,
            input_tokens=read,
            output_tokens=written,
            total_tokens=None if read is None or written is None else read + written,
        )
        return [delta]
