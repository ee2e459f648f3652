"""Decodes Mistral's chat completions: a list of thinking and text chunks, or text as plain strings.

Consecutive chunks of one kind are one unit, because ``closed`` is set on nearly every fragment of a thought.
A unit ends when content of another kind follows, and a thought also at its signature, so units need no keys.
"""

from __future__ import annotations

from collections.abc import Callable
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
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.parts import Opaque, Status
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers._prose import prose, spelled
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

__all__ = ["MistralChatDecoder"]

SIGNATURE: Final = "mistral.signature"
CUT_REASONS: Final = frozenset({"length", "model_length"})

_NO_ID: Final = "null"
"""The SDK's ID for calls without one."""


class MistralChatDecoder(Decoder):
    """Decodes choice 0 of streams and responses of Mistral's chat completions."""

    api: ClassVar[str] = "mistral-chat"
    vendor: ClassVar[str | None] = "mistral"
    splits_tags = True
    repeatable = Repeatable(
        texts=frozenset({"content", "text", "thinking", "arguments"}),
        unread=frozenset({"created", "p", "choices/delta/content/closed"}),
        counts="usage",
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._running = False
        self._reason: str | None = None
        self._call: str | None = None
        self._asides: list[JSONObject] = []
        self._inline: InlineThought | None = None

    def _unwrapped(self, payload: Any) -> Any:
        # The events of the SDK contain it in `data`.
        inner = getattr(payload, "data", None)
        return payload if inner is None else inner

    def _decode(self, data: JSONObject) -> list[Delta]:
        return self._chunk(data, "delta")

    def _whole(self, data: JSONObject) -> list[Delta]:
        return [*self._chunk(data, "message"), *self._done()]

    def _done(self) -> list[Delta]:
        if not self._running or self._reason is None:
            return []
        self._running = False
        held = self._flush()
        cut = [CloseDelta(key=self._call, status="incomplete")] if self._reason in CUT_REASONS else []
        return [*held, *cut, FinishDelta(self._reason)]

    def _end(self) -> list[Delta]:
        if self._running and self._reason is None:
            self._running = False
            raise self._truncated([*self._flush("incomplete"), CloseDelta(status="incomplete")])
        return self._done()

    def _chunk(self, data: JSONObject, name: str) -> list[Delta]:
        if is_error(data):
            raise self._refused(data)
        deltas = self._start(data)
        for place, choice in enumerate(array(data, "choices")):
            if not integer(choice, "index"):
                path = f"/choices/{place}/{name}"
                deltas += self._message(obj(choice, name, f"/choices/{place}"), path)
                self._reason = string(choice, "finish_reason", f"/choices/{place}") or self._reason
        return deltas + self._counted(self._read_usage(data))

    def _start(self, data: JSONObject) -> list[Delta]:
        if self._running or "choices" not in data:
            return []
        self._running, self._reason, self._call, self._asides = True, None, None, []
        # Before the API had thinking chunks, Magistral wrote its thinking between tags.
        self._inline = InlineThought(
            tags=self.tagging.tags, starts_in_reasoning=self.tagging.starts_in_reasoning
        )
        return [ResponseStart(self._origin(data), id=string(data, "id") or None)]

    def _refused(self, data: JSONObject) -> ProviderError:
        held = self._flush("incomplete") if self._running else []
        self._running = False
        error = self._refusal(data)
        error.deltas = (*held, *error.deltas)
        return error

    def _flush(self, status: Status = "complete") -> list[Delta]:
        """Return the text held back as a possible tag; further tags are text."""
        inline, self._inline = self._inline, None
        return inline.close(status) if inline else []

    def _reader_of(self, delta: Delta) -> Callable[[str], bool]:
        return self._inline.passes if self._inline else bool

    # -- a message or a delta

    def _message(self, message: JSONObject, path: str) -> list[Delta]:
        content = message.get("content")
        if isinstance(content, list):
            deltas = [
                delta
                for place, chunk in enumerate(array(message, "content", path))
                for delta in self._piece(chunk, f"{path}/content/{place}")
            ]
        else:
            deltas = self._say(string(message, "content", path))
        for place, call in enumerate(array(message, "tool_calls", path)):
            deltas += self._call_piece(call, f"{path}/tool_calls/{place}")
        return deltas

    def _piece(self, chunk: JSONObject, path: str) -> list[Delta]:
        kind = string(chunk, "type", path)
        reader = _CHUNKS.get(kind)
        return self._native(chunk) if reader is None else reader(self, chunk, path)

    def _native(self, chunk: JSONObject) -> list[Delta]:
        self._call = None
        return [*self._flush(), NativeDelta(f"mistral.{chunk.get('type') or 'chunk'}", chunk)]

    def _think(self, chunk: JSONObject, path: str) -> list[Delta]:
        """Decode a fragment of a thought; its references are in ``ext``."""
        name = spelled(chunk) or "thinking"
        thinking: Any = chunk.get(name)
        listed = isinstance(thinking, list)
        fragments = [(one, prose(one)) for one in (thinking if listed else [thinking])]
        others: list[Any] = [one for one, words in fragments if words is None]
        if not _is_thought(chunk, others, listed=listed):
            self._warn_unread(name)
            return self._native(chunk)
        signature = chunk.get("signature")
        ext = other_fields(chunk, "type", name, "closed", "signature")
        if others:
            self._asides = [*self._asides, *others]
            ext["references"] = self._asides
        text = "".join(words or "" for _, words in fragments)
        deltas: list[Delta] = [ReasoningDelta(text, ext=ext or None)] if text or ext else []
        if signature:
            deltas.append(OpaqueDelta(Opaque(SIGNATURE, signature)))
        if signature or deltas:
            self._call = None
        if signature:
            self._asides = []
        return [*self._flush(), *deltas] if deltas else []

    def _text(self, chunk: JSONObject, path: str) -> list[Delta]:
        return self._say(string(chunk, "text", path))

    def _say(self, text: str) -> list[Delta]:
        if not text:
            return []
        self._call, self._asides = None, []
        return self._inline.feed(text) if self._inline else [TextDelta(text)]

    def _call_piece(self, call: JSONObject, path: str) -> list[Delta]:
        """Decode a call; one without a name, or with the same ID, continues the last one."""
        function = obj(call, "function", path)
        name = string(function, "name", f"{path}/function")
        given = string(call, "id", path)
        call_id = "" if given == _NO_ID else given
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else compact_json(arguments or {})
        if self._call is not None and (not name or call_id == self._call != ""):
            return [ToolCallDelta(self._call, "", text)]
        ended: list[Delta] = [] if self._call is None else [CloseDelta(key=self._call)]
        self._call, self._asides = call_id, []
        ext = other_fields(call, "id", "type", "index", "function") or None
        return [*self._flush(), *ended, ToolCallDelta(call_id, name, text, ext=ext)]

    def _read_usage(self, data: JSONObject) -> UsageDelta | None:
        usage = obj(data, "usage")
        if not usage:
            return None
        details = obj(usage, "prompt_tokens_details", "/usage")
        return UsageDelta(
            provider=self.provider,
            model=string(data, "model") or self.model,
            input_tokens=integer(usage, "prompt_tokens", "/usage"),
            output_tokens=integer(usage, "completion_tokens", "/usage"),
            total_tokens=integer(usage, "total_tokens", "/usage"),
            cached_input_tokens=integer(details, "cached_tokens", "/usage/prompt_tokens_details"),
        )


def _is_thought(chunk: JSONObject, others: list[Any], *, listed: bool) -> bool:
    """Return whether a chunk has a thought, or a value of one, in a form that can be read."""
    signature = chunk.get("signature") or ""
    if not isinstance(signature, str) or not all(listed and isinstance(one, dict) for one in others):
        return False
    return bool(signature or spelled(chunk) or not other_fields(chunk, "type", "closed"))


_CHUNKS: Final[dict[str, Callable[[MistralChatDecoder, JSONObject, str], list[Delta]]]] = {
    "thinking": MistralChatDecoder._think,
    "reasoning": MistralChatDecoder._think,
    "text": MistralChatDecoder._text,
}
