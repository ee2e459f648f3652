"""How Pydantic AI names the values of each API, a row per API, and the media of results."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning.parts import Channel, Opaque

__all__ = ["SPELLINGS", "THOUGHT_SIGNATURE", "Spelling", "result_blocks"]

THOUGHT_SIGNATURE: Final = "thought_signature"
"""The provider detail of texts and calls that have a value."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The meaning of the fields of a thinking part.

    Attributes:
        signature: The kind of its ``signature``; empty if the API has none.
        redacted: The kind of the signature of redacted parts.
        redacted_id: The ID of redacted parts.
        redacted_bytes: Whether the signature of redacted parts is text whose bytes are the value.
        channel: The channel of its text.
        id_is_item: Its ``id`` is the ID of an item; parts with the same ID are segments of one unit.
        id_is_field: Its ``id`` is the name of the field that contained the text.
        thought_signature: The kind of the provider detail `THOUGHT_SIGNATURE`.
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
    thought_signature: str = ""
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


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "anthropic-messages": Spelling("anthropic.signature", "anthropic.redacted_thinking", marks_errors=True),
    "bedrock-converse": Spelling(
        "anthropic.signature",
        "bedrock.redacted_content",
        redacted_id="redacted_content",
        redacted_bytes=True,
        marks_errors=True,
    ),
    "openai-responses": Spelling("openai.encrypted_content", channel="summary", id_is_item=True),
    "openai-chat": Spelling(id_is_field=True),
    "gemini": Spelling(
        "gemini.thought_signature", thought_signature="gemini.thought_signature", marks_errors=True
    ),
    "xai-grpc": Spelling("xai.encrypted_content"),
}


def result_blocks(event: Any) -> Any:
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
