"""Turns the pieces of one response into deltas."""

from __future__ import annotations

from collections.abc import Callable

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import Ext, Opaque
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers._tagging import Tagging
from agui_reasoning.providers.openai_chat.blocks import ChatBlock
from agui_reasoning.providers.openai_chat.calls import Calls
from agui_reasoning.providers.openai_chat.content import ContentSplitter
from agui_reasoning.providers.openai_chat.deduplication import Deduplicator, shares
from agui_reasoning.providers.openai_chat.details import Details
from agui_reasoning.providers.openai_chat.fields import DETAILS, RANK, MessagePiece
from agui_reasoning.providers.openai_chat.runs import Runs
from agui_reasoning.providers.openai_chat.units import FLAT, TEXT, UnitTracker

__all__ = ["ChatResponse"]

REFUSAL = "refusal"


class ChatResponse:
    """Turns the pieces of one response into deltas.

    Attributes:
        id: The provider's ID of the response.
        reason: The finish reason, once received.
        counted: Whether the newest chunk has token counts and no choice, so that it is the last one.
    """

    def __init__(self, response_id: str, traits: VendorTraits, tagging: Tagging) -> None:
        self.id = response_id
        self.reason: str | None = None
        self.declined = False
        self.counted = False
        self._traits = traits
        self._units = UnitTracker()
        self._content = ContentSplitter(self._units, traits, tagging)
        self._details = Details(self._units)
        self._runs = Runs(self._units, self._content)
        self._calls = Calls(self._units, traits.thought_signature_kind)
        self._deduplicator = Deduplicator()
        self._source: str | None = None
        self._flat = False
        self._field_noted = False
        self._part = self._number = 0
        self._annotations: list[object] = []
        self._empty: list[str] = []
        self._held: list[tuple[str, Ext]] = []
        self._signatures: set[str] = set()
        self._signed = 0

    def receive(self, piece: MessagePiece) -> list[Delta]:
        """Decode a whole message, or the next delta."""
        self._empty += [name for name in piece.empty if name not in self._empty]
        speaker = self._choose(piece)
        fresh = self._fresh(piece, speaker)
        deltas = self._content.doubt() if fresh else []
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

    def reader_of(self, delta: Delta) -> Callable[[str], bool]:
        """Return what is asked whether another text than that of the delta passes unchanged."""
        if isinstance(delta, TextDelta):
            return self._content.passes
        if isinstance(delta, ReasoningDelta):
            return self._content.passes if self._content.thinks(delta.key) else self._deduplicator.passes
        return bool

    @property
    def refused(self) -> bool:
        """Whether the model declined, and declines every request that contains the turn."""
        return self.declined or self.reason in self._traits.refusal_reasons

    def flush(self, *, cut: bool = True) -> list[Delta]:
        """Return what was held back; ``cut`` tells whether the response was cut off."""
        deltas = [*self._content.end(cut=cut), *self._calls.settle(), *self._details.end()]
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
        return deltas

    # -- reasoning

    def _choose(self, piece: MessagePiece) -> str | None:
        """Return the field to take the text from: the same one as before while it has text."""
        if self._source in piece.spoken:
            return self._source
        return min(piece.spoken, key=RANK.__getitem__, default=None)

    def _fresh(self, piece: MessagePiece, speaker: str | None) -> str:
        if speaker is None:
            return ""
        mirror = self._source not in (None, speaker)
        cumulative = self._traits.cumulative
        fresh = self._deduplicator.fresh(piece.spoken[speaker], cumulative=cumulative, mirror=mirror)
        if fresh:
            self._source = speaker
        return fresh

    def _reason(self, piece: MessagePiece, speaker: str | None, fresh: str) -> list[Delta]:
        deltas: list[Delta] = []
        if speaker in piece.flat and fresh:
            deltas += self._flatly(fresh, speaker, piece.part)
        for opaque in piece.opaque:
            deltas += [*self._units.reasoning(FLAT, grows=False), OpaqueDelta(opaque, key=FLAT)]
        if piece.details:
            texts = shares([d.text for d in piece.details], fresh if speaker == DETAILS else None)
            mirror = next((name for name, text in piece.flat.items() if text), None)
            deltas += self._details.receive(
                piece.details, texts, mirror=mirror, flat=self._flat, whole=piece.whole
            )
        for source, blocks in piece.blocks.items():
            deltas += self._block(source, blocks, fresh if speaker == source else None, piece.whole)
        return deltas

    def _flatly(self, text: str, field: str | None, part: int) -> list[Delta]:
        # Each item numbers its parts from 0, but all of them are one unit here.
        self._number += part != self._part
        self._part = part
        # The field is noted so that the text can be sent back under the same name.
        ext = None if self._field_noted else {"field": field}
        self._flat = self._field_noted = True
        return [*self._units.reasoning(FLAT), ReasoningDelta(text, key=FLAT, index=self._number, ext=ext)]

    def _block(self, source: str, blocks: list[ChatBlock], fresh: str | None, whole: bool) -> list[Delta]:
        deltas: list[Delta] = []
        texts = shares([block.text if block.kind == "reasoning" else "" for block in blocks], fresh)
        for block, text in zip(blocks, texts, strict=True):
            deltas += self._runs.receive(source, block, text, flat=self._flat, whole=whole)
        return deltas

    # -- the answer

    def _say(self, piece: MessagePiece) -> list[Delta]:
        deltas: list[Delta] = []
        blocks = piece.blocks.get("content_blocks", ())
        # Portkey's blocks also contain the text of `content`, at its original place.
        if piece.content and not any(block.kind == "text" for block in blocks):
            deltas += self._content.feed(piece.content, thought=piece.thought)
        if piece.refusal:
            deltas += self._units.text(REFUSAL)
            deltas.append(TextDelta(piece.refusal, key=REFUSAL, ext={"type": REFUSAL}))
        if piece.annotations:
            self._annotations = [*self._annotations, *piece.annotations]
            ext = {"annotations": self._annotations}
            deltas.append(TextDelta("", key=self._units.text_key, ext=ext))
        return deltas

    def _call(self, piece: MessagePiece) -> list[Delta]:
        deltas = self._content.pause()
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
        if not self._held or not (self._units.spoke or self._calls.first is not None):
            return []
        held, self._held = self._held, []
        deltas: list[Delta] = []
        for value, ext in held:
            deltas += self._attach(value, ext)
        return deltas

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
        call = self._calls.first or ""
        return [ToolCallDelta(call, ext=ext), self._signature(value, f"tool_call:{call}")]

    def _signature(self, value: str, attach: str, key: str | None = None) -> OpaqueDelta:
        return OpaqueDelta(Opaque(self._traits.thought_signature_kind, value, attach=attach), key=key)
