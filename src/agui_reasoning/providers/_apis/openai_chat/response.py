"""Decodes OpenAI Chat Completions and the many compatible APIs.

A stream's ``delta`` and a response's ``message`` have the same fields and are read by the same code
(`read`), so that both give the same parts in the normal form: reasoning, text, calls, with reasoning that
resumes joined. Reasoning may be in any of a dozen fields, often in two at once. The text is taken from the
preferred field as long as that has text; values that must be sent back (signatures, encrypted data) are
taken from every field.

Only the choice with index 0 is decoded. Of audio, the transcript is; images and log probabilities are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from msgspec.structs import replace

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
    counted,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.parts import Ext, Opaque, Origin
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers._apis.openai_chat.blocks import FLAT, TEXT, ChatBlock, UnitTracker
from agui_reasoning.providers._apis.openai_chat.calls import Calls
from agui_reasoning.providers._apis.openai_chat.details import Details
from agui_reasoning.providers._apis.openai_chat.read import (
    DETAILS,
    RANK,
    UNCOUNTED,
    ChatChoice,
    Chunk,
    MessagePiece,
    Usage,
    merged,
    place_of_text,
    read_message,
    usage_delta,
)
from agui_reasoning.providers.base import Decoder, provider_error
from agui_reasoning.providers.inline import InlineThought, Tagging
from agui_reasoning.providers.payload import JSONObject, Shape, TextOf, compact_json, read, reject
from agui_reasoning.providers.vendors import vendor_traits

DECLINED: Final = "refusal"
"""Claude's stop reason for a refusal, which OpenRouter passes on as ``native_finish_reason``."""

REFUSAL: Final = "refusal"


class OpenAIChatDecoder(Decoder):
    """Decodes streams and responses of OpenAI Chat Completions and compatible APIs."""

    api: ClassVar[str] = "openai-chat"
    splits_tags = True
    payload = response = Chunk
    _response: _ChatResponse | None = None

    def _unwrapped(self, payload: Any) -> Any:
        """Return the chunk of an event of the openai SDK's ``chat.completions.stream()``.

        Its other events, which repeat the chunk, are ignored, without serializing their snapshots.
        """
        if isinstance(payload, str | Mapping) or not isinstance(getattr(payload, "type", None), str):
            return payload
        if payload.type == "chunk":
            return getattr(payload, "chunk", payload)
        return payload if hasattr(payload, "choices") else {}

    def _whole(self, response: Chunk, raw: JSONObject) -> list[Delta]:
        deltas = self._receive(response, raw, "message")
        if response.choices is None:
            raise reject("an array", None, "/choices")
        return deltas + self._settle()

    def _decode(self, payload: Chunk, raw: JSONObject) -> list[Delta]:
        if payload.choices is None and payload.chunk is not None:
            payload = read(payload.chunk, Chunk, "/chunk")
        return self._receive(payload, raw, "delta")

    def _done(self) -> list[Delta]:
        return self._settle()

    def _end(self) -> list[Delta]:
        response = self._response
        if response is None or response.reason is not None or response.counted:
            return self._settle()
        self._response = None
        raise self._truncated([*response.flush(), CloseDelta(status="incomplete")])

    # -- reading: the decoder changes only after the whole payload was read

    def _receive(self, chunk: Chunk, raw: JSONObject, field: str) -> list[Delta]:
        choice = self._choice(chunk.choices or [], field)
        piece = None if choice is None else self._read_piece(choice, field)
        deltas = [] if piece is None else self._open(chunk, piece)
        response = self._response
        usage = _usage(chunk)
        if response is not None and choice is not None and piece is not None:
            deltas += response.receive(piece)
            response.reason = choice.finish_reason or response.reason
            response.declined = choice.native_finish_reason == DECLINED or response.declined
            response.counted = False
        elif response is not None and usage is not None:
            response.counted = True
        if usage is not None and response is None:
            deltas.append(self._counts(usage))
        elif usage is not None and response is not None:
            response.keep(usage)
        if chunk.error or (choice is not None and choice.error) or chunk.object == "error":
            self._response = None
            held = response.flush() if response else []
            raise _provider_error(chunk.error or (choice and choice.error) or raw, deltas + held)
        if response is not None and piece is not None and field == "delta":
            added = response.added(deltas, piece)
            if added is not None:
                self._continue(*added, raw, deltas)
        return deltas

    def _start(self, chunk: Chunk) -> ResponseStart:
        """Return the start of a response, with the upstream if a gateway names it."""
        origin = self._origin_of(chunk.model or self.model)
        known = self._traits.upstreams.get(chunk.provider) if isinstance(chunk.provider, str) else None
        named = origin if known is None else replace(origin, upstream=known)
        return ResponseStart(named, id=chunk.id or None)

    def _choice(self, choices: list[ChatChoice], field: str) -> ChatChoice | None:
        """Return the first choice; LiteLLM's Responses bridge uses its index as the number of a summary."""
        first = next((choice for choice in choices if not choice.index), None)
        if first is None and self._traits.summary_in_choice_index and field == "delta" and len(choices) == 1:
            delta = _object(choices[0].delta, field)
            first = choices[0] if delta.get("reasoning_content") and not delta.get("content") else None
        return first

    def _read_piece(self, choice: ChatChoice, field: str) -> MessagePiece:
        whole = field == "message"
        if not whole and choice.delta is None and self._response is None:
            # Some gateways answer a streaming request with one chunk that contains a message.
            field, whole = "message", choice.message is not None
        message = _object(getattr(choice, field), field)
        piece = read_message(message, f"/choices/0/{field}", whole=whole)
        piece.part = choice.index or 0
        for name in piece.unread:
            self._warn_unread(name)
        return piece

    def _open(self, chunk: Chunk, piece: MessagePiece) -> list[Delta]:
        """Start a response, if the chunk belongs to a new one.

        IDs may change with every chunk of one response (Groq's agents), and chunks after the finish reason
        may repeat it: only content with a new ID after the finish reason starts another response.
        """
        response = self._response
        if response is not None:
            another = response.reason is not None and (chunk.id or "") not in ("", response.id)
            if not (another and piece.carries):
                return []
        deltas, start = self._settle(), self._start(chunk)
        # Traits also depend on the model, which the payload may name.
        traits = vendor_traits(start.origin or Origin())
        self._response = _ChatResponse(chunk.id or "", traits, self.tagging, self._counts)
        return [*deltas, counted(start, self._response.counts)]

    def _counts(self, usage: Usage) -> UsageDelta:
        outside = self._traits.reasoning_outside_output
        return usage_delta(usage, self.provider, self._last_origin.model, outside=outside)

    def _settle(self) -> list[Delta]:
        """End the response, which stays open after its finish reason because more chunks may follow."""
        response, self._response = self._response, None
        return response.end() if response else []


def _object(value: Any, field: str) -> JSONObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise reject("an object", value, f"/choices/0/{field}")
    return value


def _usage(chunk: Chunk) -> Usage | None:
    """Return the counts of a chunk; Groq streams them in a member of its own."""
    found = chunk.usage
    if found in UNCOUNTED and chunk.x_groq is not None:
        found = chunk.x_groq.usage
    return None if found in UNCOUNTED else found


def _provider_error(error: Any, deltas: list[Delta]) -> ProviderError:
    """Build an error: OpenRouter puts it beside the choices or in a choice; vLLM's is the whole payload."""
    named = error if isinstance(error, dict) else {}
    words = named.get("message") if named else error if isinstance(error, str) else compact_json(error)
    return provider_error(named, words if isinstance(words, str) else "", deltas)


# -- one response


class _ChatResponse:
    """Turns the pieces of one response into deltas.

    Attributes:
        reason: The finish reason, once received.
        counted: Whether the newest chunk has token counts and no choice, so that it is the last one.
    """

    def __init__(
        self, response_id: str, traits: VendorTraits, tagging: Tagging, count: Callable[[Usage], UsageDelta]
    ) -> None:
        self.id = response_id
        self.reason: str | None = None
        self.declined = False
        self.counted = False
        self._count = count
        self._usage: Usage | None = None
        self._newest: Usage | None = None
        self._traits = traits
        self._units = UnitTracker()
        self._content = InlineThought(
            tags=tagging.tags,
            starts_in_reasoning=tagging.starts_in_reasoning,
            anywhere=traits.tags_anywhere,
            guessed=traits.tags_prefilled,
        )
        self._details = Details(self._units)
        self._calls = Calls(self._units, traits.thought_signature_kind)
        self._deduplicator = _Deduplicator(cumulative=traits.cumulative)
        self._source = ""
        self._flat = False
        self._part = self._number = 0
        self._annotations: list[object] = []
        self._empty: list[str] = []
        self._held: list[tuple[str, Ext]] = []
        self._signatures: set[str] = set()
        self._signed = 0

    def receive(self, piece: MessagePiece) -> list[Delta]:
        """Decode a whole message, or the next delta."""
        self._empty += [name for name in piece.empty if name not in self._empty]
        speaker, fresh = self._hear(piece)
        deltas = self._placed(self._content.doubt()) if fresh else []
        if not piece.calls and (fresh or piece.content or piece.blocks):
            deltas += self._calls.settle()
        deltas += self._reason(piece, speaker, fresh)
        for tool in piece.executed:
            deltas += self._calls.execute(tool)
        deltas += self._say(piece)
        if piece.calls:
            deltas += self._call(piece)
        deltas += self._details.release(self._calls.ids, self._calls.begun())
        return deltas + self._sign(piece.signatures)

    def keep(self, usage: Usage) -> None:
        """Keep token counts until the response ends, or somebody asks for them."""
        self._usage, self._newest = merged(merged(self._usage, self._newest), usage), None

    def counts(self) -> UsageDelta | None:
        """Return the token counts so far."""
        usage = merged(self._usage, self._newest)
        return None if usage is None else self._count(usage)

    def added(self, deltas: list[Delta], piece: MessagePiece) -> tuple[Shape, TextOf] | None:
        """Return how chunks are read that only add text, and counts, if the last one did.

        It became ``deltas``, and added ``piece`` to the message.
        """
        only = deltas[0] if len(deltas) == 1 else None
        if self.reason is not None or not isinstance(only, ReasoningDelta | TextDelta):
            return None
        name = "content" if piece.content else self._source
        place = place_of_text(piece, name, blank=RANK if self._units.reasoned else self._empty)
        if place is None:
            return None
        shape, listed = place
        passes = self._content.passes if piece.content else self._deduplicator.passes

        def text_of(chunk: Any) -> str:
            delta = chunk.choices[0].delta
            text: str = delta.text if listed is None else getattr(delta, listed)[0].text
            if not text or (passes is not None and not passes(text)):
                return ""
            usage = chunk.usage
            if usage is not None and usage not in UNCOUNTED:
                self._newest = usage
            return text

        return shape, text_of

    def flush(self, *, cut: bool = True) -> list[Delta]:
        """Return what was held back; ``cut`` tells whether the response was cut off."""
        counts = self.counts()
        deltas: list[Delta] = [] if counts is None else [counts]
        deltas += self._placed(self._content.close("incomplete" if cut else "complete"))
        deltas += [*self._calls.settle(), *self._details.end()]
        held, self._held = self._held, []
        # The assembler keeps values without a unit.
        return deltas + [self._signature(value, TEXT) for value, _ in held]

    def end(self) -> list[Delta]:
        """End a response that was received completely."""
        cut = self.reason in self._traits.cut_reasons
        deltas = self.flush(cut=cut)
        if self._empty and not self._units.reasoned:
            field = min(self._empty, key=RANK.__getitem__)
            deltas.append(ReasoningDelta(key=FLAT, ext={"field": field, "explicit_empty": True}))
        if cut and self._units.last is not None:
            deltas.append(CloseDelta(key=self._units.last, status="incomplete"))
        # A model that declined declines every request that contains the turn.
        refused = self.declined or self.reason in self._traits.refusal_reasons
        return [*deltas, FinishDelta(self.reason, refused=refused)]

    # -- reasoning

    def _hear(self, piece: MessagePiece) -> tuple[str, str]:
        """Return the field to take the text from, the same one while it has text, and what of it is new."""
        if not piece.spoken:
            return "", ""
        before = self._source
        speaker = before if before in piece.spoken else min(piece.spoken, key=RANK.__getitem__)
        fresh = self._deduplicator.fresh(piece.spoken[speaker], mirror=before not in ("", speaker))
        if fresh:
            self._source = speaker
        return speaker, fresh

    def _reason(self, piece: MessagePiece, speaker: str, fresh: str) -> list[Delta]:
        deltas: list[Delta] = []
        if speaker in piece.flat and fresh:
            deltas += self._flatly(fresh, speaker, piece.part)
        for opaque in piece.opaque:
            deltas += [*self._units.reasoning(FLAT, grows=False), OpaqueDelta(opaque, key=FLAT)]
        if piece.details:
            texts = _shares([d.text for d in piece.details], fresh if speaker == DETAILS else None)
            mirror = next((name for name, text in piece.flat.items() if text), None)
            deltas += self._details.receive(
                piece.details, texts, mirror=mirror, flat=self._flat, whole=piece.whole
            )
        for source, blocks in piece.blocks.items():
            deltas += self._block(source, blocks, fresh if speaker == source else None, piece.whole)
        return deltas

    def _flatly(self, text: str, field: str, part: int) -> list[Delta]:
        # Each item numbers its parts from 0, but all of them are one unit here.
        self._number += part != self._part
        self._part = part
        # The field is noted so that the text can be sent back under the same name.
        ext = None if self._flat else {"field": field}
        self._flat = True
        return [*self._units.reasoning(FLAT), ReasoningDelta(text, key=FLAT, index=self._number, ext=ext)]

    def _block(self, source: str, blocks: list[ChatBlock], fresh: str | None, whole: bool) -> list[Delta]:
        deltas: list[Delta] = []
        texts = _shares([block.text if block.kind == "reasoning" else "" for block in blocks], fresh)
        for block, text in zip(blocks, texts, strict=True):
            if block.kind == "reasoning":
                deltas += self._units.block(source, block, text, flat=self._flat, whole=whole)
            elif block.kind == "text":
                deltas += self._text_block(source, block)
            elif isinstance(block.payload, dict):
                name = block.payload.get("type")
                kind = name if isinstance(name, str) and name else "block"
                deltas.append(NativeDelta(f"openai_chat.{kind}", block.payload))
        return deltas

    # -- the answer

    def _feed(self, text: str, key: str | None = None, *, thought: bool = False) -> list[Delta]:
        """Split more of the answer, or of the text of a numbered block."""
        return self._placed([*self._content.turn_to(key), *self._content.feed(text, thought=thought)])

    def _placed(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Return deltas of the answer, with the closes of other units that they imply."""
        placed: list[Delta] = []
        for delta in deltas:
            if isinstance(delta, CloseDelta):
                placed += self._units.close(delta.key or "", delta.status)
            elif isinstance(delta, TextDelta):
                key = delta.key or self._units.text_key
                placed += [*self._units.text(key), TextDelta(delta.text, key=key)]
            elif isinstance(delta, ReasoningDelta):
                self._units.break_text()
                grows = bool(delta.text) or "explicit_empty" in (delta.ext or {})
                placed += [*self._units.reasoning(delta.key or "", grows=grows), delta]
        return placed

    def _text_block(self, source: str, block: ChatBlock) -> list[Delta]:
        self._units.end_run(source)
        key = f"{source}:{block.key}" if block.key else None
        deltas = self._feed(block.text, key) if block.text else []
        if block.ext:
            deltas.append(TextDelta("", key=key or self._units.text_key, ext=block.ext))
        return deltas

    def _say(self, piece: MessagePiece) -> list[Delta]:
        deltas: list[Delta] = []
        blocks = piece.blocks.get("content_blocks", ())
        # Portkey's blocks also contain the text of `content`, at its original place.
        if piece.content and not any(block.kind == "text" for block in blocks):
            deltas += self._feed(piece.content, thought=piece.thought)
        if piece.refusal:
            deltas += self._units.text(REFUSAL)
            deltas.append(TextDelta(piece.refusal, key=REFUSAL, ext={"type": REFUSAL}))
        if piece.annotations:
            self._annotations = [*self._annotations, *piece.annotations]
            deltas.append(TextDelta("", key=self._units.text_key, ext={"annotations": self._annotations}))
        return deltas

    def _call(self, piece: MessagePiece) -> list[Delta]:
        deltas = self._placed(self._content.pause())
        # LiteLLM repeats the signatures of calls in a list on the message.
        repeated = {call.signature for call in piece.calls}
        self._signatures |= repeated
        self._held = [item for item in self._held if item[0] not in repeated]
        for call in piece.calls:
            deltas += self._calls.receive(call)
        return deltas

    # -- signatures of the message

    def _sign(self, signatures: list[tuple[str, Ext]]) -> list[Delta]:
        """Attach the signatures of a message to its text or first call; hold them until there is one."""
        self._held += [item for item in signatures if item[0] not in self._signatures]
        self._signatures.update(value for value, _ in signatures)
        if not self._held or not (self._units.spoke or self._calls.ids):
            return []
        held, self._held = self._held, []
        return [delta for value, ext in held for delta in self._attach(value, ext)]

    def _attach(self, value: str, ext: Ext) -> list[Delta]:
        self._signed += 1
        if self._signed > 1:
            # A unit holds one signature, so each further one gets its own unit.
            key = f"signature:{self._signed}"
            opened = self._units.reasoning(key)
            signature = self._signature(value, "self", key)
            return [*opened, ReasoningDelta(key=key, ext=ext), signature, *self._units.close(key)]
        if self._units.spoke:
            return [TextDelta("", key=self._units.text_key, ext=ext), self._signature(value, TEXT)]
        call = next(iter(self._calls.ids))
        return [ToolCallDelta(call, ext=ext), self._signature(value, f"tool_call:{call}")]

    def _signature(self, value: str, attach: str, key: str | None = None) -> OpaqueDelta:
        return OpaqueDelta(Opaque(self._traits.thought_signature_kind, value, attach=attach), key=key)


# -- reasoning sent twice: in two fields, cumulatively, or again at the end

_CLEARLY = 32
"""The minimum length at which a delta that starts with all previous text counts as a repetition."""

_VARIED = 8
"""The minimum number of distinct characters in a repetition, to exclude lines of dashes."""


class _Deduplicator:
    """Keeps the reasoning text so far, to filter out repetitions of it.

    Small equal deltas ("ha", "ha") are text. A delta counts as a repetition only if it contains the whole
    text so far and that is long and varied, or if there is another reason to expect repetitions: a provider
    is ``cumulative`` if it may send all previous text with every delta.
    """

    def __init__(self, *, cumulative: bool) -> None:
        self._previous: list[str] = []
        self._length = self._measured = 0
        self._expected = cumulative
        self._cumulative = False

    def fresh(self, text: str, *, mirror: bool) -> str:
        """Return the part of ``text`` that is new, and note it.

        ``mirror`` tells whether it is from another field than the previous text.
        """
        new = text[self.length :] if self._repeats(text, mirror) else text
        if new:
            self._previous.append(new)
        return new

    @property
    def passes(self) -> Callable[[str], bool]:
        """What notes a text that is new because it is shorter than all before, and returns whether it was."""
        new_below, note = self.length, self._previous.append

        def passes(text: str) -> bool:
            if len(text) < new_below:
                note(text)
                return True
            return False

        return passes

    @property
    def length(self) -> int:
        """The length of the text so far."""
        self._length += sum(map(len, self._previous[self._measured :]))
        self._measured = len(self._previous)
        return self._length

    def _repeats(self, text: str, mirror: bool) -> bool:
        # Only a text at least as long as all before is compared, so that the sum of comparisons is linear.
        length = self.length
        if not length or len(text) < length:
            return False
        previous = "".join(self._previous)
        self._previous, self._measured = [previous], 1
        if not text.startswith(previous):
            return False
        if self._cumulative or mirror or (len(previous) >= _CLEARLY and len(set(previous)) >= _VARIED):
            return True
        self._cumulative = self._expected and len(text) > len(previous) and any(map(str.isalnum, previous))
        return self._cumulative


def _shares(texts: Sequence[str], fresh: str | None) -> list[str]:
    """Distribute the new part of all texts joined over them; it is ``None`` if another field provides it."""
    if fresh is None:
        return [""] * len(texts)
    if fresh == "".join(texts):
        return list(texts)
    last = max(number for number, text in enumerate(texts) if text)
    return [fresh if number == last else "" for number in range(len(texts))]


class LiteLLMDecoder(OpenAIChatDecoder):
    """Decodes what ``litellm.completion`` and ``litellm.acompletion`` return.

    Gateways that are based on LiteLLM add its fields too, so the decoder of Chat Completions reads them. It
    prefers blocks to items, and items to flat strings.
    """

    api: ClassVar[str] = "litellm"
